"""Reading tokenizer files: of every kind, compressed or not, and tiktoken's ranks."""

from __future__ import annotations

import base64
import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.texts import Texts
from dataprep.tokenizers import choose_engine, describe
from dataprep.tokenizers.backends import Reference
from dataprep.tokenizers.files import file_name, load_stored, read_tokenizer, stored
from dataprep.tokenizers.tiktoken_file import PUBLISHED, tokenizer_json_of_ranks
from manifests.errors import UserError
from tests.dataprep.tokenizers.models import BYTE_BPE, trained

PATTERN = PUBLISHED["cl100k_base"][0]
TOKENS = [*(bytes([byte]) for byte in range(256)), b"th", b"the", b" the", b"er", b"ther", b"\xe6\xb0", b"ee"]
SETTINGS = {"pat_str": PATTERN, "special_tokens": {"<|endoftext|>": 300}}


def ranks_file(tokens: list[bytes] = TOKENS) -> bytes:
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))


def write(folder: Path, name: str, data: bytes) -> Path:
    if name.endswith(".zst"):
        data = zstandard.ZstdCompressor().compress(data)
    elif name.endswith(".gz"):
        data = gzip.compress(data)
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("suffix", ["", ".zst", ".gz"])
def test_kinds_and_compression(tmp_path: Path, tiny_json: str, suffix: str) -> None:
    assert read_tokenizer(write(tmp_path, f"t.json{suffix}", tiny_json.encode())) == tiny_json
    spaced = "\n" + tiny_json
    assert read_tokenizer(write(tmp_path, f"s.json{suffix}", spaced.encode())) == spaced
    model = trained(**BYTE_BPE)
    assert read_tokenizer(write(tmp_path, f"t.model{suffix}", model)) == model
    (tmp_path / "config.json").write_text(json.dumps(SETTINGS))
    # Llama 3 calls a rank file tokenizer.model.
    found = read_tokenizer(write(tmp_path, f"r.model{suffix}", ranks_file()))
    assert describe(found).eos_id == 300


def test_what_is_stored_is_loaded_again(tmp_path: Path, tiny_json: str) -> None:
    for definition in (tiny_json, trained(**BYTE_BPE)):
        (tmp_path / file_name(definition)).write_bytes(stored(definition))
        assert load_stored(tmp_path / file_name(definition)) == definition


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    for name, data in (("a.json", b"\xff"), ("b.json", b"{"), ("c.json.zst", b"no"), ("d.json.gz", b"no")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError) as caught:
            read_tokenizer(tmp_path / name)
        assert caught.value.where == str(tmp_path / name)
    with pytest.raises(UserError, match="cannot read the tokenizer"):
        read_tokenizer(tmp_path / "none.json")


def test_ranks_need_settings(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="don't say how text is cut") as caught:
        read_tokenizer(write(tmp_path, "mine.tiktoken", ranks_file()))
    assert "config.json" in str(caught.value.hint)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(UserError, match="no `pat_str`"):
        read_tokenizer(tmp_path / "mine.tiktoken")
    with pytest.raises(UserError, match="line 2 is no base64 and rank"):
        tokenizer_json_of_ranks(b"AA== 0\n=? 1\n", "cl100k_base", tmp_path / "none")
    with pytest.raises(UserError, match="the same rank"):
        tokenizer_json_of_ranks(b"AA== 0\nAQ== 0\n", "cl100k_base", tmp_path / "none")


def slow_ids(ranks: dict[bytes, int], cut: bytes) -> list[int]:
    """tiktoken's rule, as its README has it: join the pair of the lowest rank until there is none."""
    if cut in ranks:
        return [ranks[cut]]
    parts = [bytes([byte]) for byte in cut]
    while True:
        joined = [ranks.get(left + right) for left, right in pairwise(parts)]
        known = [rank for rank in joined if rank is not None]
        if not known:
            return [ranks[part] for part in parts]
        at = joined.index(min(known))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


@given(
    longer=st.lists(st.text("abe ", min_size=2, max_size=5).map(str.encode), unique=True, max_size=12),
    words=st.lists(st.text("abe", min_size=1, max_size=9), max_size=4),
)
def test_ids_are_those_of_tiktokens_rule(longer: list[bytes], words: list[str]) -> None:
    """Also for tokens that their own bytes do not come to."""
    tokens = [*TOKENS, *(token for token in longer if token not in TOKENS)]
    ranks = {token: rank for rank, token in enumerate(tokens)}
    definition = tokenizer_json_of_ranks(ranks_file(tokens), "cl100k_base", Path("none"))
    cuts = [word if place == 0 else f" {word}" for place, word in enumerate(words)]
    ids, _ = Reference(definition).encode(Texts.from_strings(["".join(cuts)]))
    assert ids.tolist() == [token for cut in cuts for token in slow_ids(ranks, cut.encode())]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_published_ranks_without_settings(data_pack: Path, tmp_path: Path, name: str) -> None:
    """Known by their names, and cut by the expressions that gigatoken knows."""
    source = data_pack / "tokenizers" / name / f"{name}.tiktoken.zst"
    (tmp_path / source.name).write_bytes(source.read_bytes())
    definition = read_tokenizer(tmp_path / source.name)
    assert choose_engine(definition, Texts.from_strings([])).engine == "gigatoken"
    config: dict[str, Any] = json.loads((source.parent / "config.json").read_text())
    assert PUBLISHED[name][1] == config["special_tokens"]
    texts = Texts.from_strings(["don't WE'LL", "<|endoftext|> \u6c34"])
    ids = [Reference(each).encode(texts)[0] for each in (definition, read_tokenizer(source))]
    assert np.array_equal(*ids)

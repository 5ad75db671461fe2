"""Model files that are damaged, cut, or made to lead the kernels astray are refused by name."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.fasttext import cursor, label_scores, predictions, read_model
from dataprep.fasttext.reader import MAX_BUCKET
from dataprep.kernels.texts import Texts
from manifests.errors import UserError
from tests.dataprep.fasttext.models import GOLDEN, LABELS
from tests.reference import fasttext as slow

NAMES = ["softmax.bin", "tree.ftz"]
TEXTS = Texts.from_strings(
    ["ab cd </s> ef", "", "\u0430\u0431\u0432 \u4e00\u4e8c klm", "__label__more", "abcdefghij" * 30]
)
FIELDS = [
    "magic", "version", "dim", "ws", "epoch", "minCount", "neg", "wordNgrams", "loss", "model", "bucket",
    "minn", "maxn",
]  # fmt: skip
"""Four bytes each, at the beginning of a file."""


def changed(tmp_path: Path, name: str, at: int, data: bytes) -> Path:
    content = bytearray((GOLDEN / name).read_bytes())
    content[at : at + len(data)] = data
    path = tmp_path / name
    path.write_bytes(content)
    return path


def dictionary_end(name: str) -> int:
    """Where the entries end (and the pruned n-grams begin)."""
    twin, data = slow.read(GOLDEN / name), (GOLDEN / name).read_bytes()
    return data.index(list(twin.labels)[-1] + b"\0") + len(list(twin.labels)[-1]) + 10


def refusal(path: Path) -> str:
    with pytest.raises(UserError) as raised:
        read_model(path)
    assert raised.value.where == str(path) and raised.value.hint
    return raised.value.what


def test_a_model_is_read() -> None:
    model = read_model(GOLDEN / "softmax.bin")
    assert set(model.names) == set(LABELS)
    assert (model.tables.dim, model.tables.min_n, model.tables.max_n, model.tables.word_ngrams) == (
        10,
        2,
        3,
        2,
    )
    assert not model.tables.is_pruned and read_model(GOLDEN / "tree.ftz").tables.is_pruned


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_file_is_refused(name: str, tmp_path: Path) -> None:
    data = (GOLDEN / name).read_bytes()
    for size in [*range(200), *range(200, len(data), 97), len(data) - 1]:
        path = tmp_path / name
        path.write_bytes(data[:size])
        assert "not a whole fastText model" in refusal(path)
    path.write_bytes(data + b"\0")
    assert refusal(path) == "not a whole fastText model: 1 bytes follow its end"


@pytest.mark.parametrize("name", NAMES)
@given(at=st.integers(0, 1 << 20), data=st.binary(min_size=1, max_size=8))
def test_a_damaged_file_is_refused_or_read(name: str, at: int, data: bytes, tmp_path_factory: Any) -> None:
    """Whatever the bytes: no crash, no index outside, no score outside 0 to 1."""
    folder = tmp_path_factory.mktemp("damaged")
    at %= (GOLDEN / name).stat().st_size
    try:
        model = read_model(changed(folder, name, at, data))
        labels, scores = predictions(model, TEXTS)
        label_scores(model, TEXTS, model.names[-1])
    except UserError:
        return
    assert labels.min() >= -1 and labels.max() < len(model.names)
    assert scores.min() >= 0 and scores.max() <= 1_000_000


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("magic", 0, "it begins with other bytes"),
        ("version", 13, "its format version is 13; read are 11 and 12"),
        ("dim", 0, "dim is 0"),
        ("dim", 11, "rows of 10 and 10 components, not 11"),
        ("wordNgrams", 1000, "wordNgrams is 1,000"),
        ("loss", 5, "loss is 5"),
        ("model", 7, "model is 7"),
        ("bucket", 0, "bucket is 0"),
        ("bucket", MAX_BUCKET + 1, "bucket is 268,435,457"),
        ("bucket", 301, "rows for"),
        ("minn", -1, "minn is -1"),
        ("maxn", 100, "maxn is 100"),
    ],
)
def test_numbers_out_of_range(field: str, value: int, what: str, tmp_path: Path) -> None:
    data = struct.pack("<i", value)
    assert what in refusal(changed(tmp_path, "softmax.bin", 4 * FIELDS.index(field), data))


@pytest.mark.parametrize(("model", "what"), [(1, "word vectors (cbow)"), (2, "word vectors (skipgram)")])
def test_word_vectors_are_no_classifier(model: int, what: str, tmp_path: Path) -> None:
    path = changed(tmp_path, "softmax.bin", 4 * FIELDS.index("model"), struct.pack("<i", model))
    assert refusal(path) == f"{what} and no classifier"


def test_version_11_spells_no_tokens_out(tmp_path: Path) -> None:
    path = changed(tmp_path, "softmax.bin", 4, struct.pack("<i", 11))
    assert read_model(path).tables.max_n == 0
    twin = slow.read(path)
    labels, scores = predictions(read_model(path), TEXTS)
    for text, label, score in zip(TEXTS, labels[:, 0], scores[:, 0], strict=True):
        if label >= 0:
            best, wanted = twin.scores(text)[0]
            assert read_model(path).names[label] == best
            assert abs(score / 1e6 - min(wanted, 1)) < 2e-6


@pytest.mark.parametrize(
    ("at", "data", "what"),
    [
        (64, struct.pack("<3i", 3, 5, -2), "a dictionary of 5 words, -2 labels, 3 in all"),
        (64, struct.pack("<3i", 2_000_000_000, 1_999_999_999, 1), "the file ends early, in its dictionary"),
        (84, struct.pack("<q", 1), "its dictionary is pruned but its matrix is whole"),
        (84, struct.pack("<q", 1 << 60), "the file ends early"),
    ],
)
def test_a_dictionary_that_cannot_be(at: int, data: bytes, what: str, tmp_path: Path) -> None:
    if "pruned" in what:  # eight bytes of pairs more
        content = (GOLDEN / "softmax.bin").read_bytes()
        end = dictionary_end("softmax.bin")
        path = tmp_path / "model.bin"
        path.write_bytes(content[:84] + data + content[92:end] + bytes(8) + content[end:])
    else:
        path = changed(tmp_path, "softmax.bin", at, data)
    assert what in refusal(path)


def test_words_among_labels(tmp_path: Path) -> None:
    end = dictionary_end("softmax.bin")
    path = changed(tmp_path, "softmax.bin", end - 1, b"\0")
    assert "words and labels of its dictionary are mixed up" in refusal(path)


@pytest.mark.parametrize(
    ("pair", "what"),
    [
        ((1000, 0), "an n-gram that it keeps is outside its buckets"),
        ((-1, 0), "an n-gram that it keeps is outside its buckets"),
        ((0, 5000), "an n-gram that it keeps is outside its matrix"),
        ((0, -1), "an n-gram that it keeps is outside its matrix"),
        (None, "it keeps an n-gram twice"),
    ],
)
def test_pruned_ngrams_that_lead_outside(pair: tuple[int, int] | None, what: str, tmp_path: Path) -> None:
    start = dictionary_end("tree.ftz")
    second = (GOLDEN / "tree.ftz").read_bytes()[start + 8 : start + 16]
    path = changed(tmp_path, "tree.ftz", start, second if pair is None else struct.pack("<2i", *pair))
    assert what in refusal(path)


def test_a_quantizer_of_other_parts(tmp_path: Path) -> None:
    twin = slow.read(GOLDEN / "tree.ftz")
    assert twin.pruned is not None
    start = dictionary_end("tree.ftz") + 8 * len(twin.pruned) + 1
    num_codes = struct.unpack_from("<i", (GOLDEN / "tree.ftz").read_bytes(), start + 17)[0]
    at = start + 21 + num_codes
    assert struct.unpack_from("<4i", (GOLDEN / "tree.ftz").read_bytes(), at) == (10, 4, 3, 1)
    assert "a quantizer of (10, 4, 4, 1)" in refusal(
        changed(tmp_path, "tree.ftz", at + 8, struct.pack("<i", 4))
    )
    assert "codes for" in refusal(changed(tmp_path, "tree.ftz", start + 1, struct.pack("<q", 7)))
    assert "2 where 0 or 1" in refusal(changed(tmp_path, "tree.ftz", start - 1, b"\2"))


def test_scores_that_are_no_numbers(tmp_path: Path) -> None:
    size = (GOLDEN / "softmax.bin").stat().st_size
    model = read_model(changed(tmp_path, "softmax.bin", size - 4, np.float32("nan").tobytes()))
    with pytest.raises(UserError, match="not a number"):
        predictions(model, TEXTS)


def test_no_such_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read a model: No such file"):
        read_model(tmp_path / "nothing.bin")
    with pytest.raises(UserError, match="cannot read a model: Is a directory"):
        read_model(tmp_path)
    (tmp_path / "empty.bin").touch()
    with pytest.raises(UserError, match="it begins with other bytes"):
        read_model(tmp_path / "empty.bin")


def test_a_large_file_is_mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    read = predictions(read_model(GOLDEN / "softmax.bin"), TEXTS)
    monkeypatch.setattr(cursor, "MAP_BYTES", 0)
    mapped = predictions(read_model(GOLDEN / "softmax.bin"), TEXTS)
    assert all((a == b).all() for a, b in zip(read, mapped, strict=True))

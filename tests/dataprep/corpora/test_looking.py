"""peek, lineage and diff: what they say is what is in the files."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.corpora.compare import compare, difference
from dataprep.corpora.lineage import lineage
from dataprep.corpora.peek import peek
from dataprep.corpora.tables import is_among, sorted_hashes
from manifests.corpus import open_corpus
from manifests.errors import UserError
from tests.dataprep.corpora import tokenfiles as files
from tests.dataprep.corpora.runs import TEXTS, make_run
from tests.dataprep.corpora.test_importing import documents_in
from trainer.data.source_tokens import SourceTokens

HASHES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


# --- peek --------------------------------------------------------------------------------------------------


def test_a_document_by_every_name(made: Path) -> None:
    (found,) = peek(made, document="web-7")["documents"]
    assert found["text"] == TEXTS["web"][7] and found["is_exact"] and found["path"] == "web.jsonl"
    assert found["fields"] == {"url": "web-7"} and found["license"] == "CC0-1.0"
    assert found["input"]["size_bytes"] > 0 and found["input"]["digest"].startswith("blake2b-128:")
    for name in (found["content_hash"], found["key"], f"web.jsonl:{found['position']}"):
        assert peek(made, document=name, source="web")["documents"] == [found]
    assert peek(made, shard=found["shard"], row=found["row"])["documents"] == [found]


def test_every_token_as_a_trainer_counts_it(made: Path) -> None:
    corpus = open_corpus(made)
    tokens = SourceTokens(corpus, "code")
    starts = set(tokens.document_starts(0, tokens.num_tokens).tolist())
    for token in range(0, tokens.num_tokens, 37):
        (found,) = peek(made, token=token, source="code")["documents"]
        assert found["token"]["id"] == tokens.read(token, 1)[0]
        assert found["token_start_in_source"] in starts
        assert found["token_start_in_source"] + found["token"]["in_document"] == token
    total = sum(shard.tokens for shard in corpus.shards)
    last = peek(made, token=total - 1)["documents"][0]
    assert last["shard"] == corpus.shards[-1].name and last["token"]["id"] == files.eos_id()
    with pytest.raises(UserError, match=f"the corpus has the tokens 0 to {total - 1:,}"):
        peek(made, token=total)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({}, "say one of"),
        ({"document": "a", "token": 1}, "say one of"),
        ({"document": "nobody"}, "no document is called 'nobody'"),
        ({"document": "\udc80"}, "no document is called"),
        ({"document": "web.jsonl:99999999999999999999"}, "no document is called"),
        ({"shard": "web-train-0000"}, "there is no shard web-train-0000; did you mean"),
        ({"shard": "web-holdout-00000", "row": 1000}, "and no 1,000"),
        ({"token": 1, "source": "wbe"}, 'did you mean "web"'),
    ],
)
def test_what_is_not_there(arguments: dict[str, object], what: str, made: Path) -> None:
    with pytest.raises(UserError, match=what):
        peek(made, **arguments)  # type: ignore[arg-type]


def test_ids_that_are_not_unique(tmp_path: Path) -> None:
    made = make_run(tmp_path, "twins", {"web": ["a", "b"]}, holdout={"documents": 0.0001})
    shutil.copytree(made, tmp_path / "copy")
    found = peek(made, document="web.jsonl:0")
    assert len(found["documents"]) == 1 and found["more"] == 0


# --- lineage -----------------------------------------------------------------------------------------------


def test_from_a_shard_to_its_raw_files(made: Path) -> None:
    corpus = open_corpus(made)
    whole = lineage(made)
    assert whole["made_by"] == "run" and whole["parents"] == []
    assert [len(source["shards"]) for source in whole["sources"]] == [
        len([shard for shard in corpus.shards if shard.source == name]) for name in ("web", "code")
    ]
    shard = corpus.shards[1]
    (source,) = lineage(made, shard.name)["sources"]
    assert source["steps"] == [
        {"name": "exact_dedup", "version": 1, "documents_in": 60, "documents_out": 60, "dropped": {}}
    ]
    ((file,),) = (each["inputs"] for each in source["shards"])
    assert file["name"] == "web.jsonl" and file["documents"] == shard.documents
    assert file["digest"].startswith("blake2b-128:")
    with pytest.raises(UserError, match="there is no shard x"):
        lineage(made, "x")


# --- diff --------------------------------------------------------------------------------------------------


def test_a_corpus_and_itself(made: Path) -> None:
    found = compare(made, made)
    assert found["identical"] and not (
        found["recipe"] or found["tokenizer"] or found["steps"] or found["tools"]
    )
    assert all(part["files"] == 0 for part in found["inputs"].values())
    assert all(each["documents"]["removed"] == each["documents"]["added"] == 0 for each in found["sources"])


def test_what_a_change_did(made: Path, tmp_path: Path) -> None:
    texts = {"web": [*TEXTS["web"][:58], "A new page.", "A new page."], "more": ["x y z"]}
    other = make_run(tmp_path, "made", texts, version="1.1.0")
    found = compare(made, other)
    assert not found["identical"]
    assert {"field": "version", "left": "1.0.0", "right": "1.1.0"} in found["recipe"]
    assert found["inputs"]["changed"] == {"files": 1, "shown": ["web: web.jsonl"]}
    assert found["inputs"]["added"]["shown"] == ["more: more.jsonl"]
    assert found["inputs"]["removed"]["shown"] == ["code: code.jsonl"]
    steps = {(each["step"], each["source"]): each for each in found["steps"]}
    assert steps["exact_dedup", "web"]["right"]["dropped"] == {"exact_dedup": 1}
    assert steps["exact_dedup", "more"]["left"] is None
    web = [each for each in found["sources"] if each["source"] == "web"]
    assert sum(each["documents"]["removed"] for each in web) == 2
    assert sum(each["documents"]["added"] for each in web) == 1
    removed = [row["id"] for each in web for row in each["documents"]["removed_shown"]]
    assert sorted(removed) == ["web-58", "web-59"]
    code = [each for each in found["sources"] if each["source"] == "code"]
    assert all(each["right"] is None and each["documents"]["same"] == 0 for each in code)


@given(before=HASHES, now=HASHES)
def test_difference_counts_copies(before: list[tuple[int, int]], now: list[tuple[int, int]]) -> None:
    removed, added = difference(
        np.array(before, np.uint64).reshape(-1, 2), np.array(now, np.uint64).reshape(-1, 2)
    )
    assert Counter(before[row] for row in removed) == Counter(before) - Counter(now)
    assert Counter(now[row] for row in added) == Counter(now) - Counter(before)


@given(hashes=HASHES, among=HASHES)
def test_is_among(hashes: list[tuple[int, int]], among: list[tuple[int, int]]) -> None:
    found = is_among(
        np.array(hashes, np.uint64).reshape(-1, 2), sorted_hashes(np.array(among, np.uint64).reshape(-1, 2))
    )
    assert found.tolist() == [each in among for each in hashes]


def test_documents_are_those_of_the_run(made: Path) -> None:
    """The fixture holds what it says: every text once, the end-of-text token at each end."""
    total = [
        row
        for source in TEXTS
        for subset in ("train", "holdout")
        for row in documents_in(made, source, subset)
    ]
    assert len(total) == 100 and all(row[-1] == files.eos_id() for row in total)

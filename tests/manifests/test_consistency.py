from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manifests.consistency import inconsistencies
from manifests.corpus import open_corpus
from manifests.lists import Shard
from manifests.manifest import Manifest, ManifestError
from manifests.seal import seal_corpus
from tests.manifests.corpora import Part, make_corpus

Change = Callable[[list[Shard]], list[Shard]]


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Manifest, list[Shard]]:
    folder = tmp_path_factory.mktemp("corpus")
    make_corpus(folder)
    corpus = open_corpus(folder)
    return corpus.manifest, list(corpus.shards)


def first(**changes: Any) -> Change:
    return lambda shards: [shards[0].model_copy(update=changes), *shards[1:]]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda shards: shards, []),
        (lambda shards: shards[:-1], ["prose train: the manifest says 2 documents", "8 tokens", "32", "1"]),
        (lambda shards: shards[::-1], ["order", "numbered [1, 0], not", "first keys of the shards do not"]),
        (first(name="code/train-00001"), ["2 shards have the name code/train-00001"]),
        (first(max_token_id=1000), ["code/train-00000: the token id 1000 is outside the vocabulary of 1000"]),
        (first(bin_bytes=17), ["code/train-00000: 8 tokens of uint16 in 17 bytes"]),
        (first(idx_bytes=17), ["code/train-00000: 3 documents in an index of 17 bytes"]),
        (first(first_key=""), ["code/train-00000: 3 documents and the first key ''"]),
        (first(first_key="f" * 32), ["code train: the first keys of the shards do not ascend"]),
        (first(text_bytes=33), ["code train: the manifest says 100 text_bytes, its shards add up to 101"]),
        (first(index=5), ["order", "code train: the shards are numbered [5, 1], not"]),
        (
            lambda shards: [*shards, shards[-1].model_copy(update={"subset": "holdout", "name": "prose/h"})],
            ["prose holdout: 1 shards of a subset that the manifest does not have"],
        ),
        (first(documents=9, idx_bytes=222), ["9 documents in 8 tokens", "manifest says 7 documents"]),
    ],
)
def test_findings(change: Change, wanted: list[str], sealed: tuple[Manifest, list[Shard]]) -> None:
    manifest, shards = sealed
    found = inconsistencies(manifest, change(shards))
    assert len(found) == len(wanted), found
    for line, part in zip(found, wanted, strict=True):
        assert part in line


def test_an_inconsistent_corpus_is_not_sealed(sealed: tuple[Manifest, list[Shard]], tmp_path: Path) -> None:
    manifest, shards = sealed
    with pytest.raises(ManifestError, match="prose train: the manifest says 2 documents"):
        seal_corpus(tmp_path, manifest, shards[:-1])
    assert list(tmp_path.iterdir()) == []


def test_empty_shards_and_subsets_are_consistent(tmp_path: Path) -> None:
    make_corpus(tmp_path, [Part("code", "train", (2,)), Part("code", "holdout", ())])
    corpus = open_corpus(tmp_path)
    assert corpus.num_tokens("code", "holdout") == 0
    assert corpus.reader(corpus.shards[1]).num_documents == 0

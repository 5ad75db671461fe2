"""Near-duplicates of the data pack, for which all similarities are known: from texts to who stays.

Rank is the order in the file, or its reverse, or a shuffle: what must hold does not depend on it.
"""

from __future__ import annotations

import gzip
import io
import json
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from dataprep.decide.bands import best_bands, candidates, distinct_pairs, keys_of_bands, keys_of_signatures
from dataprep.decide.independent import Removed, cluster_sizes, independent
from dataprep.decide.verify import edges_of, unsettled
from dataprep.kernels.minhash import estimate_ppm, low_bytes, signatures
from dataprep.kernels.shingles import Shingling, jaccard_ppm, shingle_hashes
from dataprep.kernels.texts import Texts
from tests.reference.shingles import SPACELESS

SETS = {
    "pep_revisions": ("dedup/pep_revisions.jsonl.zst", "dedup/pep_revisions_pairs.jsonl.gz"),
    "copyright": ("debian/copyright_files.jsonl.gz", "dedup/copyright_pairs.jsonl.gz"),
}
THRESHOLD = 750_000
names = pytest.mark.parametrize("name", SETS)


@dataclass(frozen=True)
class Known:
    strings: list[str]
    texts: Texts
    pairs: np.ndarray  # rows of two texts
    jaccard: np.ndarray  # as the data pack says
    expected: dict[str, Any]
    exact: np.ndarray  # ppm [n, n], ours


@lru_cache(maxsize=2)
def known(data_pack: Path, name: str) -> Known:
    documents, listed = (lines(data_pack / path) for path in SETS[name])
    numbers = {document["id"]: number for number, document in enumerate(documents)}
    strings = [document["text"] for document in documents]
    texts = Texts.from_strings(strings)
    a, b = np.triu_indices(len(strings))
    exact = np.zeros((len(strings), len(strings)), dtype=np.int32)
    exact[a, b] = jaccard_ppm(
        *shingle_hashes(texts.data, texts.offsets, Shingling()), np.column_stack([a, b])
    )
    exact[b, a] = exact[a, b]
    return Known(
        strings,
        texts,
        np.array([(numbers[pair["a"]], numbers[pair["b"]]) for pair in listed]),
        np.array([pair["jaccard_w5"] for pair in listed]),
        json.loads((data_pack / "dedup" / "expected.json").read_text())["sets"][name],
        exact,
    )


def lines(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        text = gzip.decompress(data).decode()
    else:
        text = (
            zstandard.ZstdDecompressor()
            .stream_reader(io.BytesIO(data), read_across_frames=True)
            .read()
            .decode()
        )
    return [json.loads(line) for line in text.splitlines()]


def has_letters_of_its_own(text: str) -> bool:
    """Whether our words are not the \\w+ of the text as it is."""
    return unicodedata.normalize("NFC", text) != text or SPACELESS.search(text) is not None


def removed_of(texts: Texts, ranks: np.ndarray, exact: np.ndarray | None) -> Removed:
    """The whole way, with documents named by rank; `exact` [n, n] by row, or None to trust the estimate."""
    found, flags, _ = signatures(texts.data, texts.offsets, Shingling(), 112)
    assert not flags.any()
    rows = np.argsort(ranks)  # of each rank
    bands, depth = best_bands(0.75, 112)
    records = (
        keys_of_bands(found, bands, depth).ravel(),
        np.repeat(ranks, bands),
        np.repeat(keys_of_signatures(found), bands),
    )
    pairs = distinct_pairs(np.concatenate(list(candidates(*records).chunks(100))))
    similarity = estimate_ppm(low_bytes(found), rows[pairs])
    if exact is not None:
        near = unsettled(similarity, THRESHOLD)
        similarity[near] = exact[rows[pairs[near, 0]], rows[pairs[near, 1]]]
    return independent(edges_of(pairs, similarity, THRESHOLD))


@names
def test_similarities_are_those_that_the_pack_lists(data_pack: Path, name: str) -> None:
    facts = known(data_pack, name)
    ours = facts.exact[facts.pairs[:, 0], facts.pairs[:, 1]] / 10**6
    own = np.array([has_letters_of_its_own(text) for text in facts.strings])
    assert own.mean() < 0.01
    odd = own[facts.pairs].any(axis=1)
    assert np.abs(ours - facts.jaccard)[~odd].max() < 2e-6  # theirs are rounded, ours cut
    assert np.abs(ours - facts.jaccard)[odd].max(initial=0) < 0.001
    for threshold, wanted in facts.expected["thresholds"].items():
        reached = np.triu(facts.exact >= int(float(threshold) * 10**6), 1)
        assert reached.sum() == wanted["pairs"]


@names
@pytest.mark.parametrize("verify", ["exact", "estimate"])
def test_precision_and_recall(data_pack: Path, name: str, verify: str) -> None:
    facts = known(data_pack, name)
    count = len(facts.strings)
    for ranks in (
        np.arange(count),
        np.arange(count)[::-1].copy(),
        np.random.default_rng(1).permutation(count),
    ):
        removed = removed_of(facts.texts, ranks, facts.exact if verify == "exact" else None)
        rows = np.argsort(ranks)
        right = facts.exact[rows[removed.documents], rows[removed.matches]] >= THRESHOLD
        assert right.mean() >= (0.999 if verify == "exact" else 0.97)
        gone = np.zeros(count, dtype=bool)
        gone[rows[removed.documents]] = True
        for low, high in ((THRESHOLD + 100_000, 10**6 + 1), (THRESHOLD + 100_000, THRESHOLD + 150_000)):
            a, b = np.nonzero(np.triu((facts.exact >= low) & (facts.exact < high), 1))
            assert a.size > 20 and (gone[a] | gone[b]).mean() >= 0.95
        assert not gone[rows[removed.matches]].any()
        keepers, sizes = cluster_sizes([removed.matches])
        assert sizes.sum() - keepers.size == removed.documents.size


@names
def test_identical_texts_keep_one(data_pack: Path, name: str) -> None:
    facts = known(data_pack, name)
    removed = removed_of(facts.texts, np.arange(len(facts.strings)), facts.exact)
    gone = set(removed.documents.tolist())
    first = {text: row for row, text in reversed(list(enumerate(facts.strings)))}
    assert all(row in gone for row, text in enumerate(facts.strings) if first[text] != row)
    assert len(gone) >= len(facts.strings) - len(first) > 0


def test_band_and_signature_keys_agree_with_the_estimate(data_pack: Path) -> None:
    """Texts with equal signatures are estimated equal, and meet in every band."""
    facts = known(data_pack, "copyright")
    found, _, _ = signatures(facts.texts.data, facts.texts.offsets, Shingling(), 112)
    a, b = np.nonzero(np.triu(facts.exact == 10**6, 1))
    assert a.size >= 800
    whole, keys = keys_of_signatures(found), keys_of_bands(found, 14, 8)
    assert (whole[a] == whole[b]).all() and (keys[a] == keys[b]).all()
    assert (estimate_ppm(low_bytes(found), np.column_stack([a, b])) == 10**6).all()

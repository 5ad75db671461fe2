"""All pairs of real documents that are near-duplicates, exactly: the truth that precision and recall need.

Every pair at a Jaccard similarity of 0.75 or more, without MinHash and without a sample, by prefix filtering
(Chaudhuri, Ganti and Kaushik 2006; Bayardo, Ma and Srikant 2007): two sets so similar share at least one of
the rarest quarter of each, so only documents that share such a shingle are compared, by the exact similarity
of their sets of 64-bit hashes. Checked against all pairs in `tests/dataprep/decide/test_near.py`.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import zstandard
from numba import njit

from dataprep.kernels.radix import order_of
from dataprep.kernels.shingles import Shingling, jaccard_ppm, shingle_hashes
from dataprep.kernels.texts import Texts

Int64s = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

THRESHOLD_PPM = 750_000
FEW = (
    "debian/copyright_files.jsonl.gz",
    "dedup/pep_revisions.jsonl.zst",
    "udhr/udhr.jsonl.zst",
    "qa_stackexchange/posts.jsonl.zst",
    "dictionaries/foldoc_jargon.jsonl.zst",
)
"""20,367 documents, 27 MB."""

MANY = (
    *FEW,
    "code/code.parquet",
    "debian/changelogs.jsonl.zst",
    "docs_versions/django_docs_4_versions.jsonl.zst",
    "html/html_pages.jsonl.zst",
    "manpages/manpages.jsonl.zst",
    "wiki/wiki_zh.jsonl.zst",
)
"""40,739 documents, 137 MB, 6,866 pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Texts, and all their pairs at THRESHOLD_PPM or more.

    pairs           int64[k, 2]
    similarity_ppm  int32[k]
    """

    texts: Texts
    hashes: Hashes
    hash_offsets: Int64s
    pairs: Int64s
    similarity_ppm: npt.NDArray[np.int32]


def truth_of(texts: Texts) -> Truth:
    hashes, offsets = shingle_hashes(texts.data, texts.offsets, Shingling())
    pairs, similarity = similar_pairs(hashes, offsets, THRESHOLD_PPM)
    return Truth(texts, hashes, offsets, pairs, similarity)


def strings_of(path: Path) -> list[str]:
    """The field `text` of each document of a file of the data pack."""
    if path.suffix == ".parquet":
        values: list[str] = pq.read_table(path, columns=["text"])["text"].to_pylist()
        return values
    if path.suffix == ".gz":
        lines = gzip.decompress(path.read_bytes())
    else:
        with path.open("rb") as file:
            stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            lines = stream.read()
    return [json.loads(line)["text"] for line in lines.decode().split("\n") if line]


def similar_pairs(
    hashes: Hashes, offsets: Int64s, threshold_ppm: int
) -> tuple[Int64s, npt.NDArray[np.int32]]:
    """(pairs int64[k, 2], similarity int32[k]) of all pairs of sets that reach the threshold."""
    order = order_of(hashes)
    ordered = hashes[order]
    new = np.ones(ordered.size, dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    numbers = np.empty(ordered.size, dtype=np.int64)
    numbers[order] = np.cumsum(new) - 1
    frequency = np.bincount(numbers)
    rarity = frequency[numbers] * frequency.size + numbers  # a total order, the same for all sets
    rare = np.zeros(numbers.size, dtype=bool)
    _mark_rarest(rarity, offsets, threshold_ppm, rare)
    numbers, starts = numbers[rare], np.concatenate([[0], np.cumsum(rare)])[offsets]
    counts = np.bincount(numbers, minlength=frequency.size)
    heads = np.concatenate([[0], np.cumsum(counts)])
    sizes, room = np.diff(offsets), 1 << 20
    while True:
        pairs = np.empty((room, 2), dtype=np.int64)
        lists, seen = np.empty(numbers.size, dtype=np.int64), np.full(sizes.size, -1)
        found = _candidates(
            numbers, starts, sizes, threshold_ppm, heads, np.zeros_like(counts), lists, seen, pairs
        )
        if found <= room:
            break
        room = found
    similarity = jaccard_ppm(hashes, offsets, pairs[:found])
    similar = similarity >= threshold_ppm
    return pairs[:found][similar], similarity[similar]


@njit(cache=True)
def _mark_rarest(rarity, offsets, threshold_ppm, rare):  # type: ignore[no-untyped-def]
    for index in range(offsets.size - 1):
        begin, size = offsets[index], offsets[index + 1] - offsets[index]
        order = np.argsort(rarity[begin : offsets[index + 1]])
        for place in order[: size - (size * threshold_ppm + 999_999) // 1_000_000 + 1]:
            rare[begin + place] = True


@njit(cache=True)
def _candidates(numbers, starts, sizes, threshold_ppm, heads, counts, lists, seen, pairs):  # type: ignore[no-untyped-def]
    """Pairs that share a rare shingle and whose sizes allow for the similarity; how many there are."""
    found = 0
    for index in range(sizes.size):
        for number in numbers[starts[index] : starts[index + 1]]:
            head, count = heads[number], counts[number]
            for other in lists[head : head + count]:
                less, more = min(sizes[index], sizes[other]), max(sizes[index], sizes[other])
                if seen[other] != index and less * 1_000_000 >= more * threshold_ppm:
                    if found < pairs.shape[0]:
                        pairs[found, 0], pairs[found, 1] = other, index
                    found += 1
                seen[other] = index
            lists[head + count] = index
            counts[number] = count + 1
    return found

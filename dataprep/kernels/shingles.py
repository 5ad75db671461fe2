"""Shingles: the n-grams of words or characters of a text after a named normalisation, each as one hash.

The hash of a shingle is XXH3 (64 bits, seed 0) of its UTF-8 bytes, words joined by one space: the value of
`xxhash.xxh3_64_intdigest`. MinHash takes its low 32 bits (`minhash.hash32`), exact Jaccard similarities take
all 64.

Normalisations:

plain      the text in NFC, then `kernels/plain.py`: words are \\w+ of the text in lower case, and letters of
           scripts without spaces are words by themselves.
datatrove  `simplify_text` of datatrove 0.10.1 (`kernels/simplify.py`), then the words of `kernels/words.py`,
           which come near those of spaCy's English tokenizer that datatrove uses, but are not the same.

Characters are code points of the words joined by one space; scripts without spaces then get none.
A short text (fewer words or characters than n) has one shingle: the text itself in NFC, each run of
White_Space one space and none at its ends, nothing else folded (so "Total 17" is not "Total 18"). A text
without words has none.

Slow twin: `tests/reference/shingles.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.hashing import collapse_spaces
from dataprep.kernels.normalize import composed
from dataprep.kernels.plain import plain_words
from dataprep.kernels.simplify import simplified_words
from dataprep.kernels.texts import Bytes, Offsets, Texts
from dataprep.kernels.utf8 import longest, pointer, read_only
from dataprep.kernels.xxh3 import xxh3

Hashes64 = npt.NDArray[np.uint64]

SHORT, WORDLESS = 1, 2
"""Flags of a text: fewer units than n; no word at all."""


@dataclass(frozen=True, slots=True)
class Shingling:
    """What the shingles of a text are."""

    ngram: int = 5
    unit: Literal["words", "characters"] = "words"
    normalization: Literal["plain", "datatrove"] = "plain"


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The words or characters of n normalised texts.

    data          uint8: the texts, one after the other; some bytes more at the end
    starts        int64 [m + n]: of each text its units' first bytes, and the place where one more would start
    unit_offsets  int64 [n + 1]: where each text begins in `starts`
    gap           bytes from the end of a unit to the start of the next
    """

    data: Bytes
    starts: Offsets
    unit_offsets: Offsets
    gap: int

    @property
    def counts(self) -> Offsets:
        """int64 [n]: units of each text."""
        return np.diff(self.unit_offsets) - 1


def units_of(data: Bytes, offsets: Offsets, shingling: Shingling) -> Units:
    """The normalised texts, cut."""
    words = shingling.unit == "words"
    if shingling.normalization == "plain":
        cut = plain_words(*composed(data, offsets), split=words)
    else:
        cut = simplified_words(data, offsets, split=words)
    if words:
        return Units(*cut, gap=1)
    joined, starts, unit_offsets = cut
    characters = np.empty(joined.size + unit_offsets.size, dtype=np.int64)
    character_offsets = np.zeros(unit_offsets.size, dtype=np.int64)
    _code_points(joined, starts, unit_offsets, characters, character_offsets)
    return Units(joined, characters[: character_offsets[-1]], character_offsets, gap=0)


def short_hashes(data: Bytes, offsets: Offsets, counts: Offsets, ngram: int) -> Hashes64:
    """uint64[n]: of texts with fewer units than n the hash of their one shingle; else 0."""
    hashes = np.zeros(counts.size, dtype=np.uint64)
    rows = np.flatnonzero((counts > 0) & (counts < ngram))
    if rows.size:
        texts = Texts(data, offsets).take(rows)
        few, few_offsets = composed(texts.data, texts.offsets)
        scratch = np.empty(longest(few_offsets) + 1, dtype=np.uint8)
        _hash_short(read_only(few), read_only(few_offsets), rows, scratch, hashes)
    return hashes


def flags_of(counts: Offsets, ngram: int) -> npt.NDArray[np.uint8]:
    """uint8[n]: SHORT or WORDLESS of each text, 0 of most."""
    return np.where(counts == 0, WORDLESS, np.where(counts < ngram, SHORT, 0)).astype(np.uint8)


def shingle_hashes(
    data: Bytes, offsets: Offsets, shingling: Shingling, distinct: bool = True
) -> tuple[Hashes64, Offsets]:
    """(hashes uint64[m], hash_offsets int64[n + 1]): the shingles of each text.

    distinct  each once, ascending, as `jaccard_ppm` wants them; else as they come
    """
    units = units_of(data, offsets, shingling)
    short = short_hashes(data, offsets, units.counts, shingling.ngram)
    sizes = np.maximum(units.counts - shingling.ngram + 1, np.minimum(units.counts, 1))
    hashes = np.empty(int(sizes.sum()), dtype=np.uint64)
    hash_offsets = np.zeros(sizes.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=hash_offsets[1:])
    _hash_all(
        units.data, units.starts, units.unit_offsets, units.gap, shingling.ngram, short, hash_offsets, hashes
    )
    if distinct:
        hashes = hashes[: _sort_each(hashes, hash_offsets)]
    return hashes, hash_offsets


def jaccard_ppm(
    hashes: Hashes64, hash_offsets: Offsets, pairs: npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:
    """int32[k]: Jaccard similarity of the shingle sets of the texts pairs[:, 0] and pairs[:, 1], in
    millionths, rounded down; two texts without shingles have 0."""
    return _jaccard_ppm(read_only(hashes), read_only(hash_offsets), read_only(pairs))


@njit(cache=True, nogil=True)
def _code_points(data, starts, unit_offsets, out, out_offsets):  # type: ignore[no-untyped-def]
    count = 0
    for index in range(unit_offsets.size - 1):
        at, stop = starts[unit_offsets[index]], starts[unit_offsets[index + 1] - 1]
        stop -= stop > at  # the space after the last word
        for place in range(at, stop):
            out[count] = place
            count += data[place] & 0xC0 != 0x80
        out[count] = stop
        count += 1
        out_offsets[index + 1] = count


@njit(cache=True, nogil=True)
def _hash_short(data, offsets, rows, scratch, hashes):  # type: ignore[no-untyped-def]
    text, normal = pointer(data), pointer(scratch)
    for index in range(rows.size):
        size = collapse_spaces(text, offsets[index], offsets[index + 1], normal)
        hashes[rows[index]] = xxh3(normal, 0, size)


@njit(cache=True, nogil=True)
def _hash_all(data, starts, unit_offsets, gap, ngram, short, hash_offsets, hashes):  # type: ignore[no-untyped-def]
    text = pointer(data)
    for index in range(short.size):
        first, count = unit_offsets[index], hash_offsets[index + 1] - hash_offsets[index]
        if unit_offsets[index + 1] - first - 1 < ngram:
            hashes[hash_offsets[index] : hash_offsets[index + 1]] = short[index]
            continue
        for place in range(count):
            unit = first + place
            hashes[hash_offsets[index] + place] = xxh3(text, starts[unit], starts[unit + ngram] - gap)


@njit(cache=True, nogil=True)
def _sort_each(hashes, hash_offsets):  # type: ignore[no-untyped-def]
    """Sort and thin out the hashes of each text, in place, offsets too; how many are left."""
    size, begin = 0, hash_offsets[0]
    for index in range(hash_offsets.size - 1):
        end = hash_offsets[index + 1]
        mine = hashes[begin:end]
        mine.sort()
        for place in range(mine.size):
            if place == 0 or mine[place] != mine[place - 1]:
                # Never overtakes what is still to be compared: `size` is at most `begin + place`.
                hashes[size] = mine[place]
                size += 1
        begin = end
        hash_offsets[index + 1] = size
    return size


@njit(cache=True, nogil=True)
def _jaccard_ppm(hashes, hash_offsets, pairs):  # type: ignore[no-untyped-def]
    out = np.zeros(pairs.shape[0], dtype=np.int32)
    for row in range(pairs.shape[0]):
        a, a_end = hash_offsets[pairs[row, 0]], hash_offsets[pairs[row, 0] + 1]
        b, b_end = hash_offsets[pairs[row, 1]], hash_offsets[pairs[row, 1] + 1]
        union, common = a_end - a + b_end - b, 0
        while a < a_end and b < b_end:
            x, y = hashes[a], hashes[b]
            common += x == y
            a += x <= y
            b += y <= x
        if union:
            out[row] = common * 1_000_000 // (union - common)
    return out

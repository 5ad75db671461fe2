"""The index of evaluation sets: their tested texts as words and n-grams, in flat arrays in one file that all
workers map, so that it is in memory once.

An example is tested by its question; one with fewer words than an n-gram by its question and its answer after
it; one that is still too short, or has no word, cannot be tested and is counted as such, never as clean.
Examples with the same words to test and the same answer share one *text*; all of them are found with it.

100,000 examples take about 200 MB, and some 10 seconds to make. An n-gram in more than MOST_SEED_PLACES
places seeds no runs (`kernels/overlaps.py`), unless a text has no rarer one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.evals.definitions import PPM, Definition, words_needed
from dataprep.evals.sets import EvalSet
from dataprep.kernels.grams import HOLES, NO_GRAM, gram_hashes, gram_table
from dataprep.kernels.hashing import hash128
from dataprep.kernels.overlaps import References
from dataprep.kernels.texts import Texts
from dataprep.kernels.word_keys import ALONE_BIT, BLANK, JANITOR, Keys, word_keys

INDEX_VERSION = 1
MAGIC = b"headrace eval index\n"
ALIGNMENT = 64
MOST_SEED_PLACES = 64
UNTESTED = -1
SHORT_NGRAMS = 4
"""A text of fewer words than this many n-grams also has seeds with a hole."""
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class IndexedSet:
    """A set in the index: its examples are `first` to `first + examples` of all."""

    name: str
    digest: str
    first: int
    examples: int


@dataclass(frozen=True, slots=True, eq=False)
class EvalIndex:
    """See the module's docstring.

    shares         int32 [t]: the share that makes each text contaminated, in millionths: the definition's, or
                   the least that its sets ask for
    example_texts  int32 [e]: the text of each example, UNTESTED for one too short
    ids            the examples' ids
    """

    definition: Definition
    sets: tuple[IndexedSet, ...]
    references: References
    shares: npt.NDArray[np.int32]
    example_texts: npt.NDArray[np.int32]
    ids: Texts

    @property
    def num_texts(self) -> int:
        return int(self.references.word_offsets.size - 1)

    @property
    def example_sets(self) -> npt.NDArray[np.int32]:
        """int32 [e]: place of each example's set."""
        return np.repeat(np.arange(len(self.sets), dtype=np.int32), [each.examples for each in self.sets])

    @property
    def text_words(self) -> Int64s:
        """int64 [t]: words of each text."""
        return np.diff(self.references.word_offsets)


def build_index(
    sets: Sequence[EvalSet], definition: Definition, shares: Sequence[int | None] = ()
) -> EvalIndex:
    """The index of sets under a definition; depends on their order, which the caller fixes.

    shares  of each set a share of its own in millionths, None for that of the definition
    """
    examples = [example for each in sets for example in each.examples]
    asked = word_keys(*_laid(example.question for example in examples), definition.manner)
    answered = word_keys(*_laid(example.answer for example in examples), definition.manner)
    if (
        definition.manner == JANITOR
    ):  # which drops words without letters of what it looks for, and of no other
        asked, answered = _without_blanks(*asked), _without_blanks(*answered)
    tested = _joined(asked, answered, np.diff(asked[1]) < definition.ngram)
    example_texts, chosen = _distinct(tested, answered, definition.ngram)
    words, word_offsets = _taken(tested, chosen)
    answer_words, answer_offsets = _taken(answered, chosen)
    sizes = [len(each.examples) for each in sets]
    text_shares = np.full(chosen.size, PPM + 1, dtype=np.int32)
    of_example = np.repeat(
        [definition.share_ppm if share is None else share for share in shares or [None] * len(sets)], sizes
    )
    is_tested = example_texts != UNTESTED
    np.minimum.at(text_shares, example_texts[is_tested], of_example[is_tested].astype(np.int32))
    grams, keys, gram_offsets, places = _listed(*gram_hashes(words, word_offsets, definition.ngram))
    holed = np.zeros(0, dtype=np.uint64), np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    needs = np.zeros(chosen.size, dtype=np.int32)
    if definition.kind == "run":
        holed = _holed(words, word_offsets, definition.ngram)
        needs = _needs(words, word_offsets, text_shares, definition)
    whole_table, holed_table = gram_table(keys), gram_table(holed[0])
    references = References(
        words=words,
        word_offsets=word_offsets,
        needs=needs,
        grams=grams,
        gram_offsets=gram_offsets,
        places=places,
        seeds=_seeds(grams, word_offsets, np.diff(gram_offsets)),
        answer_words=answer_words,
        answer_offsets=answer_offsets,
        keys=whole_table.keys,
        slots=whole_table.slots,
        filter=whole_table.filter,
        coarse=whole_table.coarse,
        holed_offsets=holed[1],
        holed_places=holed[2],
        holed_keys=holed_table.keys,
        holed_slots=holed_table.slots,
        holed_filter=holed_table.filter,
        holed_coarse=holed_table.coarse,
    )
    firsts = np.cumsum([0, *sizes]).tolist()
    indexed = tuple(
        IndexedSet(each.name, each.digest, first, len(each.examples))
        for each, first in zip(sets, firsts, strict=False)
    )
    ids = Texts.from_strings(_writable(example.id) for example in examples)
    return EvalIndex(definition, indexed, references, text_shares, example_texts, ids)


def _without_blanks(keys: Keys, offsets: Int64s) -> tuple[Keys, Int64s]:
    kept = keys != BLANK
    totals = np.concatenate([[0], np.cumsum(kept)])
    return keys[kept], totals[offsets].astype(np.int64)


def _needs(
    words: Keys, word_offsets: Int64s, shares: npt.NDArray[np.int32], definition: Definition
) -> npt.NDArray[np.int32]:
    """int32[t]: matched words that a run over each text needs."""
    totals = np.concatenate([[0], np.cumsum((words & ALONE_BIT).astype(np.int64))])
    lengths, letters = np.diff(word_offsets).tolist(), np.diff(totals[word_offsets]).tolist()
    values = zip(lengths, letters, shares.tolist(), strict=True)
    return np.array(
        [words_needed(length, alone, share, definition) for length, alone, share in values], dtype=np.int32
    )


def _writable(text: str) -> str:
    """A lone surrogate, which JSON may hold and UTF-8 may not, as a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _laid(strings: Any) -> tuple[npt.NDArray[np.uint8], Int64s]:
    texts = Texts.from_strings(_writable(string) for string in strings)
    return texts.data, texts.offsets


def _joined(
    first: tuple[Keys, Int64s], second: tuple[Keys, Int64s], chosen: npt.NDArray[np.bool_]
) -> tuple[Keys, Int64s]:
    """The words of each first text, and after those of the chosen ones the words of the second."""
    added = np.where(chosen, np.diff(second[1]), 0)
    lengths = np.diff(first[1]) + added
    offsets = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    out = np.empty(int(offsets[-1]), dtype=np.uint64)
    of_first = np.arange(first[0].size) + np.repeat(offsets[:-1] - first[1][:-1], np.diff(first[1]))
    out[of_first] = first[0]
    for row in np.flatnonzero(added).tolist():
        out[offsets[row + 1] - added[row] : offsets[row + 1]] = second[0][second[1][row] : second[1][row + 1]]
    return out, offsets


def _distinct(
    tested: tuple[Keys, Int64s], answered: tuple[Keys, Int64s], ngram: int
) -> tuple[npt.NDArray[np.int32], Int64s]:
    """(text of each example, UNTESTED for one with fewer words than an n-gram; the first example of each)."""
    hashes = [hash128(keys.view(np.uint8), 8 * offsets) for keys, offsets in (tested, answered)]
    rows = np.flatnonzero(np.diff(tested[1]) >= ngram)
    both = np.ascontiguousarray(np.concatenate(hashes, axis=1)[rows])
    _, firsts, numbers = np.unique(both, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(firsts, kind="stable")  # texts are numbered as they first come
    ranks = np.empty(order.size, dtype=np.int64)
    ranks[order] = np.arange(order.size)
    example_texts = np.full(tested[1].size - 1, UNTESTED, dtype=np.int32)
    example_texts[rows] = ranks[numbers.reshape(-1)]
    return example_texts, rows[firsts[order]]


def _taken(texts: tuple[Keys, Int64s], rows: Int64s) -> tuple[Keys, Int64s]:
    """The words of the given texts."""
    keys, offsets = texts
    lengths = np.diff(offsets)[rows]
    new_offsets = np.zeros(rows.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=new_offsets[1:])
    at = np.arange(int(new_offsets[-1])) + np.repeat(offsets[:-1][rows] - new_offsets[:-1], lengths)
    return keys[at], new_offsets


def _listed(
    hashes: Keys, whole: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int32], Keys, Int64s, npt.NDArray[np.int32]]:
    """(number of the n-gram at each word or NO_GRAM, the distinct hashes in order, where the places of each
    begin, the places)."""
    keys, numbers, counts = np.unique(hashes[whole], return_inverse=True, return_counts=True)
    grams = np.full(hashes.size, NO_GRAM, dtype=np.int32)
    grams[whole] = numbers
    offsets = np.zeros(keys.size + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    places = np.flatnonzero(whole)[np.argsort(numbers, kind="stable")].astype(np.int32)
    return grams, keys, offsets, places


def _holed(words: Keys, word_offsets: Int64s, ngram: int) -> tuple[Keys, Int64s, npt.NDArray[np.int32]]:
    """(hashes, where their places begin, places) of the n-grams with a hole of short texts; those in many
    places are left out."""
    is_short = np.repeat(np.diff(word_offsets) < SHORT_NGRAMS * ngram, np.diff(word_offsets))
    parts = [gram_hashes(words, word_offsets, ngram + 1, hole) for hole in HOLES]
    hashes = np.stack([part[0] for part in parts], axis=1)
    whole = np.stack([part[1] & is_short for part in parts], axis=1)
    _, keys, offsets, places = _listed(hashes.reshape(-1), whole.reshape(-1))
    few = np.diff(offsets) <= MOST_SEED_PLACES
    kept = np.repeat(few, np.diff(offsets))
    places = (places[kept] // len(HOLES)).astype(np.int32)
    return keys[few], np.concatenate([[0], np.cumsum(np.diff(offsets)[few])]), places


def _seeds(grams: npt.NDArray[np.int32], word_offsets: Int64s, counts: Int64s) -> npt.NDArray[np.uint8]:
    """uint8[g]: 1 for an n-gram in few places, and for the rarest, or first such, of a text that has none."""
    seeds = (counts <= MOST_SEED_PLACES).astype(np.uint8)
    if not grams.size:
        return seeds
    often = np.where(grams >= 0, counts[grams] if counts.size else 0, np.iinfo(np.int64).max)
    rarest = np.minimum.reduceat(often, word_offsets[:-1])
    for text in np.flatnonzero(rarest > MOST_SEED_PLACES).tolist():
        start = word_offsets[text]
        seeds[grams[start + np.argmin(often[start : word_offsets[text + 1]])]] = 1
    return seeds


def save_index(index: EvalIndex, path: Path) -> None:
    """Write the arrays one after the other, each at a multiple of 64 bytes, after a header in JSON."""
    arrays = {**index.references._asdict(), "shares": index.shares, "example_texts": index.example_texts}
    arrays |= {"id_data": index.ids.data, "id_offsets": index.ids.offsets}
    kinds = [[name, array.dtype.str, int(array.size)] for name, array in arrays.items()]
    sets = [[each.name, each.digest, each.first, each.examples] for each in index.sets]
    header = {
        "version": INDEX_VERSION,
        "definition": definition_values(index.definition),
        "sets": sets,
        "arrays": kinds,
    }
    with open(path, "wb") as file:
        file.write(MAGIC + json.dumps(header).encode() + b"\n")
        for array in arrays.values():
            file.write(b"\0" * (-file.tell() % ALIGNMENT))
            file.write(np.ascontiguousarray(array).data)


def definition_values(definition: Definition) -> dict[str, Any]:
    """A definition as JSON values, for keys and manifests."""
    return {name: getattr(definition, name) for name in definition.__slots__}


def open_index(path: Path) -> EvalIndex:
    """Map an index file. What is no index of this version is a ValueError."""
    mapped = np.memmap(path, dtype=np.uint8, mode="r")
    head = bytes(mapped[: 1 << 20])
    if not head.startswith(MAGIC):
        raise ValueError(f"{path} is no index of evaluation sets")
    end = head.index(b"\n", len(MAGIC)) + 1 if b"\n" in head[len(MAGIC) :] else 0
    if not end:
        end = bytes(mapped).index(b"\n", len(MAGIC)) + 1
    header = json.loads(bytes(mapped[len(MAGIC) : end]))
    if header["version"] != INDEX_VERSION:
        raise ValueError(f"{path} is an index of version {header['version']}")
    arrays, at = {}, end
    for name, kind, size in header["arrays"]:
        at += -at % ALIGNMENT
        arrays[name] = np.frombuffer(mapped, dtype=kind, count=size, offset=at) if size else np.zeros(0, kind)
        at += arrays[name].nbytes
    return EvalIndex(
        Definition(**header["definition"]),
        tuple(IndexedSet(*each) for each in header["sets"]),
        References(*(arrays[name] for name in References._fields)),
        arrays["shares"],
        arrays["example_texts"],
        Texts(arrays["id_data"], arrays["id_offsets"]),
    )

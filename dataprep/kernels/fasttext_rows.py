"""Which rows of a fastText model's input matrix belong to a token, and how they are added up.

A token of the dictionary has a row of its own; its character n-grams (with "<" and ">" around the token) have
rows that they share by hash, and so have the n-grams of words. The definition is dictionary.cc of fastText
0.9.2. Sums are float64. Texts, and what is kept between them, are for `kernels/fasttext_sums.py`. Slow twin:
`tests/reference/fasttext.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from dataprep.kernels.fasttext_dictionary import FNV_BASIS, LOW_32, find_slot, fnv, fnv_step
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import pointer

LANES, FEW_LANES = 16, 4
"""Components that are added in one go, which are a line of the processor's cache, and at the end of a row. A
sum has room for a multiple of LANES."""

NOTED, MAX_CHARACTERS, MAX_WORDS = 512, 64, 32
"""Numbers of rows that are noted before they are added; the most characters and words of an n-gram."""

EOS = np.frombuffer(b"</s>", dtype=np.uint8)
LABEL = np.frombuffer(b"__label__", dtype=np.uint8)
IS_LABEL = np.uint64(1 << 32)  # beside the 32 bits of a token's hash
FIRST_BYTE = -64  # a byte inside a character of UTF-8 is less, as a signed number
WORD_FACTOR = np.uint64(116049371)
ONES, ZERO, ONE = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0), np.uint64(1)


class Tables(NamedTuple):
    """The part of a model that makes the sum of a text. The kernels check nothing: whoever makes one
    (`dataprep/fasttext/tables.py`) sees to it that every index lies inside its array.

    file, starts, ends, slots   the dictionary (`fasttext_dictionary`); entries from num_words on are labels
    num_words, dim              rows of words come first; components of a row
    min_n, max_n                characters of a character n-gram; max_n 0: there are none
    bucket, word_ngrams         n-grams are hashed to numbers below `bucket`; words of the longest word n-gram
    is_pruned, kept, ranks      n-gram i has row num_words + i; if pruned, it has one only if bit i % 64 of
                                kept[i // 64] is set: num_words + ranks[i // 64] + the bits set below
    rows, first_row             float32 rows, from byte `first_row` of `rows` on; no bytes: the next four
    codes, norms, centroids     row i is norms[i] times, for part p of its components, centroid codes[i, p] of
    part                        that part; a part has `part` components, the last one maybe fewer
    """

    file: Bytes
    starts: Offsets
    ends: Offsets
    slots: npt.NDArray[np.int32]
    num_words: int
    dim: int
    min_n: int
    max_n: int
    bucket: int
    word_ngrams: int
    is_pruned: bool
    kept: npt.NDArray[np.uint64]
    ranks: npt.NDArray[np.int32]
    rows: Bytes
    first_row: int
    codes: npt.NDArray[np.uint8]
    norms: npt.NDArray[np.float32]
    centroids: npt.NDArray[np.float32]
    part: int


class Pointers(NamedTuple):
    """`Tables` as inner functions take it: pointers for arrays (see `utf8.pointer`)."""

    file: Any
    starts: Any
    ends: Any
    slots: Any
    slot_mask: Any
    num_words: Any
    dim: Any
    min_n: Any
    max_n: Any
    bucket: Any
    is_pruned: Any
    kept: Any
    ranks: Any
    is_dense: Any
    rows: Any
    first_row: Any
    codes: Any
    norms: Any
    centroids: Any
    part: Any


def _add_floats(lanes):  # type: ignore[no-untyped-def]
    def add(typingctx, target, target_at, source, start, stride, numbers, count):  # type: ignore[no-untyped-def]
        """target[target_at:] += `lanes` float32 at byte start + stride * number of `source`, for each of
        numbers[:count] in turn. The sum stays in registers, and the loads need not wait for one another."""

        def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            to, to_at, origin, first, step, chosen, size = arguments
            wide, narrow = ir.VectorType(ir.DoubleType(), lanes), ir.VectorType(ir.FloatType(), lanes)
            place = builder.bitcast(builder.gep(to, [to_at]), wide.as_pointer())
            total = cgutils.alloca_once_value(builder, builder.load(place, align=8))
            with cgutils.for_range(builder, size) as loop:
                number = builder.load(builder.gep(chosen, [loop.index]))
                address = builder.gep(origin, [builder.add(first, builder.mul(step, number))])
                row = builder.load(builder.bitcast(address, narrow.as_pointer()), align=1)
                builder.store(builder.fadd(builder.load(total), builder.fpext(row, wide)), total)
            builder.store(builder.load(total), place, align=8)
            return context.get_dummy_value()

        int64 = types.int64
        return types.void(target, int64, source, int64, int64, numbers, int64), codegen

    return add


def _bits_set(typingctx, word):  # type: ignore[no-untyped-def]
    """How many bits of a uint64 are set."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), codegen


def _high_product(typingctx, left, right):  # type: ignore[no-untyped-def]
    """The high 64 bits of the product of two uint64."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(each, wide) for each in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), codegen


add_floats: Any = intrinsic(_add_floats(LANES))
add_few_floats: Any = intrinsic(_add_floats(FEW_LANES))
add_float: Any = intrinsic(_add_floats(1))
bits_set: Any = intrinsic(_bits_set)
high_product: Any = intrinsic(_high_product)


@njit(cache=True, nogil=True, forceinline=True)
def pointers_of(tables):  # type: ignore[no-untyped-def]
    return Pointers(
        pointer(tables.file), pointer(tables.starts), pointer(tables.ends), pointer(tables.slots),
        tables.slots.size - 1, tables.num_words, tables.dim, tables.min_n, tables.max_n, tables.bucket,
        tables.is_pruned, pointer(tables.kept), pointer(tables.ranks), tables.rows.size > 0,
        pointer(tables.rows), tables.first_row, pointer(tables.codes), pointer(tables.norms),
        pointer(tables.centroids), tables.part,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def add_rows(model, numbers, count, target, at):  # type: ignore[no-untyped-def]
    """target[at : at + dim] += row i of the input matrix, for i of numbers[:count] in turn."""
    if model.is_dense:
        stride, place = 4 * model.dim, 0
        while place < model.dim:
            left, start = model.dim - place, model.first_row + 4 * place
            if left >= LANES:
                add_floats(target, at + place, model.rows, start, stride, numbers, count)
                place += LANES
            elif left >= FEW_LANES:
                add_few_floats(target, at + place, model.rows, start, stride, numbers, count)
                place += FEW_LANES
            else:
                add_float(target, at + place, model.rows, start, stride, numbers, count)
                place += 1
        return
    parts = (model.dim + model.part - 1) // model.part
    for index in range(count):
        row = numbers[index]
        for part in range(parts):
            place = part * model.part
            size = min(model.part, model.dim - place)
            centroid = place * 256 + np.int64(model.codes[row * parts + part]) * size
            for lane in range(size):
                target[at + place + lane] += np.float64(model.norms[row] * model.centroids[centroid + lane])


@njit(cache=True, nogil=True, forceinline=True)
def _note_ngram(model, number, numbers, count):  # type: ignore[no-untyped-def]
    """Note the row of n-gram `number`, if it has one; returns the new count."""
    row = number
    if model.is_pruned:
        word, shift = model.kept[number >> 6], np.uint64(number & 63)
        if (word >> shift) & ONE == ZERO:
            return count
        row = np.int64(model.ranks[number >> 6]) + bits_set(word & ((ONE << shift) - ONE))
    numbers[count] = model.num_words + row
    return count + 1


@njit(cache=True, nogil=True)
def _add_spelling(model, spelled, size, numbers, count, target, at):  # type: ignore[no-untyped-def]
    """Add the rows of numbers[:count] and of the character n-grams of spelled[:size], a token in "<" and ">"
    and followed by a zero; returns how many rows that were."""
    bucket, rows = np.uint64(model.bucket), 0
    factor = ONES // bucket + ONE  # a remainder by two products: Lemire, Kaser, Kurz 2019
    for start in range(size - 1):
        if spelled[start] < FIRST_BYTE:
            continue
        # "<" and ">" alone are no n-grams; the loop over `start` leaves out the latter.
        fewest = max(model.min_n, 2 if start == 0 else 1)
        value, place = FNV_BASIS, start
        for characters in range(1, model.max_n + 1):
            value = fnv_step(value, spelled[place])
            place += 1
            while spelled[place] < FIRST_BYTE:
                value = fnv_step(value, spelled[place])
                place += 1
            if characters >= fewest:
                number = high_product(factor * (value & LOW_32), bucket)
                count = _note_ngram(model, np.int64(number), numbers, count)
            if place == size:
                break
        if count > NOTED - MAX_CHARACTERS:
            add_rows(model, numbers, count, target, at)
            rows += count
            count = 0
    add_rows(model, numbers, count, target, at)
    return rows + count


@njit(cache=True, nogil=True)
def is_word(text, at, end, word):  # type: ignore[no-untyped-def]
    """Whether text[at:end] is `word`, an array."""
    same = 0
    if end - at == word.size:
        while same < word.size and text[at + same] == word[same]:
            same += 1
    return same == word.size


@njit(cache=True, nogil=True)
def look_up(model, text, at, end):  # type: ignore[no-untyped-def]
    """(hash of the token text[at:end], with IS_LABEL if it counts for nothing; its row, or -1)."""
    value = fnv(text, at, end)
    slot = find_slot(model.file, model.starts, model.ends, model.slots, model.slot_mask, text, at, end, value)
    row = np.int64(model.slots[slot])
    if row >= model.num_words or (row < 0 and is_word(text, at, min(end, at + LABEL.size), LABEL)):
        return value | IS_LABEL, -1
    return value, row


@njit(cache=True, nogil=True)
def add_token(model, text, at, end, row, spelled, numbers, target, target_at):  # type: ignore[no-untyped-def]
    """Add row `row` of the token text[at:end], if it has one, and its character n-grams; returns how many
    rows that were. `spelled` has room for three bytes more than the token, `numbers` for NOTED."""
    numbers[0], count = row, np.int64(row >= 0)
    if is_word(text, at, end, EOS):
        add_rows(model, numbers, count, target, target_at)
        return count
    size = end - at
    for place in range(size):
        spelled[place + 1] = np.int8(text[at + place])
    spelled[0], spelled[size + 1], spelled[size + 2] = 0x3C, 0x3E, 0
    return _add_spelling(model, spelled, size + 2, numbers, count, target, target_at)


@njit(cache=True, nogil=True)
def note_word_ngrams(model, value, history, index, longest, numbers, count):  # type: ignore[no-untyped-def]
    """Note the rows of the n-grams of up to `longest` words that end with word number `index` of a text,
    whose hash is `value`. `history` (`longest` places) holds the hash of each n-gram so far, by its first
    word. Returns the new count."""
    signed = np.uint64(np.int64(np.int32(np.uint32(value))))
    for back in range(1, min(longest, index + 1)):
        first = (index - back) % longest
        history[first] = history[first] * WORD_FACTOR + signed
        count = _note_ngram(model, np.int64(history[first] % np.uint64(model.bucket)), numbers, count)
    history[index % longest] = signed
    return count

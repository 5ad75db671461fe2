"""What fastText adds up of a text: the rows of its tokens, of their character n-grams and of word n-grams.

Tokens are what stands between the bytes " \\n\\r\\t\\v\\f\\0"; a line feed is no more than that, as if the
text had been given to fastText's `predict` with spaces for line feeds. The text ends at a token "</s>", if it
has one, and "</s>" is its last token in any case. A label of the model, or what begins with "__label__", is
passed over. Which rows a token has is for `kernels/fasttext_rows.py`.

Everything is added in float64: rows within a token, tokens within a text, in order. fastText adds all rows of
a text in float32 one after the other, which loses digits on long texts. Here the sum of a token is a value of
its own, so it can be kept and used again: `cache` holds such sums, the last one for each place that its token
is hashed to, and what it holds changes no result. Slow twin: `tests/reference/fasttext.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from dataprep.kernels.fasttext_rows import (
    EOS,
    IS_LABEL,
    LANES,
    MAX_WORDS,
    NOTED,
    ONES,
    ZERO,
    Tables,
    add_rows,
    add_token,
    is_word,
    look_up,
    note_word_ngrams,
    pointers_of,
)
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import load64, longest, pointer, read_only, trailing_zeros

Sums = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

SEPARATOR = np.zeros(256, dtype=np.bool_)
SEPARATOR[[0, 9, 10, 11, 12, 13, 32]] = True
EACH, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
BELOW = EACH * np.uint64(0x21)  # all separators are below

KEY_BYTES = 32
"""Longer tokens are not kept: they rarely come again."""
HASH, ROW, COUNT, SUM = 4, 5, 6, 7
"""Places in an entry of the cache, in units of 8 bytes: the token (four of them, zero at its end), its hash,
the row of its own, and, if the model spells tokens out, how many rows it has in all and their sum."""
CACHE_BYTES, MAX_CACHE_ENTRIES = 16 << 20, 1 << 15
MIX_1, MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
HALF = np.uint64(32)


def padded(dim: int) -> int:
    """Components of a sum, with those that are there for LANES alone."""
    return -(-dim // LANES) * LANES


def new_cache(tables: Tables) -> npt.NDArray[np.uint64]:
    """uint64 [entries, size of one]: an empty cache for `token_sums`. One call at a time may use it."""
    size = -(-(SUM + (padded(tables.dim) if tables.max_n > 0 else 0)) // 8) * 8
    entries = max(2, min(MAX_CACHE_ENTRIES, CACHE_BYTES // (8 * size)))
    entries = 1 << (entries.bit_length() - 1)
    buffer = np.zeros(entries * size + 8, dtype=np.uint64)
    start = -(buffer.ctypes.data // 8) % 8  # an entry begins where a line of the processor's cache does
    return buffer[start : start + entries * size].reshape(entries, size)


def token_sums(
    data: Bytes, offsets: Offsets, tables: Tables, cache: npt.NDArray[np.uint64]
) -> tuple[Sums, Counts, Counts]:
    """(float64 [n, padded(dim)] sum of the rows of each text, int64 [n] number of these rows, int64 [n]
    number of its tokens without the "</s>" at the end)."""
    number = offsets.size - 1
    sums = np.zeros((number, padded(tables.dim)), dtype=np.float64)
    counts, tokens = np.zeros(number, dtype=np.int64), np.zeros(number, dtype=np.int64)
    scratch = (
        np.empty(longest(offsets) + EOS.size + 3, dtype=np.int8),
        np.zeros(max(1, tables.word_ngrams), dtype=np.uint64),
        np.empty((2, NOTED), dtype=np.int64),
    )
    kept = (cache, cache.view(np.float64))
    _token_sums(read_only(data), read_only(offsets), tables, *kept, *scratch, sums, counts, tokens)
    return sums, counts, tokens


def _add_doubles(typingctx, target, target_at, source, source_at):  # type: ignore[no-untyped-def]
    """target[target_at:] += LANES float64 from source[source_at] on. One vector operation: the compiler
    cannot know that the two do not overlap."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        to, to_at, origin, origin_at = arguments
        vector = ir.VectorType(ir.DoubleType(), LANES).as_pointer()
        place = builder.bitcast(builder.gep(to, [to_at]), vector)
        other = builder.bitcast(builder.gep(origin, [origin_at]), vector)
        total = builder.fadd(builder.load(place, align=8), builder.load(other, align=8))
        builder.store(total, place, align=8)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64), codegen


add_doubles: Any = intrinsic(_add_doubles)


@njit(cache=True, nogil=True, forceinline=True)
def _token_end(text, at, stop, limit):  # type: ignore[no-untyped-def]
    """The first separator from `at` on, or `stop`. Reads no byte from `limit` on."""
    while at < stop:
        if at + 8 > limit:
            if SEPARATOR[text[at]]:
                return at
            at += 1
            continue
        word = load64(text, at)
        low = (word - BELOW) & ~word & TOPS  # exact up to its first bit
        if low == ZERO:
            at += 8
            continue
        at += trailing_zeros(low) >> 3
        if at >= stop or SEPARATOR[text[at]]:
            return min(at, stop)
        at += 1
    return stop


@njit(cache=True, nogil=True, forceinline=True)
def _eight(text, at, end, limit):  # type: ignore[no-untyped-def]
    """Eight bytes of text[at:end] as a number, zero where there are fewer. Reads no byte from `limit` on."""
    if at >= end:
        return ZERO
    size = end - at
    if at + 8 <= limit:
        word = load64(text, at)
        return word if size >= 8 else word & (ONES >> np.uint64(64 - 8 * size))
    word = ZERO
    for place in range(min(size, 8)):
        word |= np.uint64(text[at + place]) << np.uint64(8 * place)
    return word


@njit(cache=True, nogil=True)
def _token_sums(  # type: ignore[no-untyped-def]
    data, offsets, tables, cache, cache_sums, spelled_array, history_array, noted, sums, counts, tokens
):
    model = pointers_of(tables)
    text, target, eos, spelled = pointer(data), pointer(sums), pointer(EOS), pointer(spelled_array)
    kept, kept_sums, history = pointer(cache), pointer(cache_sums), pointer(history_array)
    numbers, later = pointer(noted[0]), pointer(noted[1])
    limit, width, entry_size = data.size, sums.shape[1], cache.shape[1]
    shift = np.uint64(64 - trailing_zeros(np.uint64(cache.shape[0])))
    spells = tables.max_n > 0
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        target_at = index * width
        rows, seen, words, waiting, is_last = 0, 0, 0, 0, False
        while not is_last:
            while at < stop and SEPARATOR[text[at]]:
                at += 1
            start = at
            at = _token_end(text, at, stop, limit)
            is_last = start == at or is_word(text, start, at, EOS)
            more = 0
            if is_last or at - start > KEY_BYTES:
                if is_last:
                    value, row = look_up(model, eos, 0, EOS.size)
                    if spells:
                        more = add_token(model, eos, 0, EOS.size, row, spelled, numbers, target, target_at)
                else:
                    value, row = look_up(model, text, start, at)
                    if spells and value & IS_LABEL == ZERO:
                        more = add_token(model, text, start, at, row, spelled, numbers, target, target_at)
            else:
                key_1, key_2 = _eight(text, start, at, limit), _eight(text, start + 8, at, limit)
                key_3, key_4 = ZERO, ZERO
                mixed = (key_1 ^ (key_2 * MIX_1)) * MIX_2
                if at - start > 16:
                    key_3, key_4 = _eight(text, start + 16, at, limit), _eight(text, start + 24, at, limit)
                    mixed ^= (key_3 ^ (key_4 * MIX_1)) * MIX_2
                entry = np.int64(((mixed ^ (mixed >> HALF)) * MIX_1) >> shift) * entry_size
                differ = (kept[entry] ^ key_1) | (kept[entry + 1] ^ key_2)
                if (differ | (kept[entry + 2] ^ key_3) | (kept[entry + 3] ^ key_4)) != ZERO:
                    kept[entry], kept[entry + 1] = key_1, key_2
                    kept[entry + 2], kept[entry + 3] = key_3, key_4
                    value, row = look_up(model, text, start, at)
                    if spells:
                        place = entry + SUM
                        for lane in range(width):
                            kept[place + lane] = ZERO
                        if value & IS_LABEL == ZERO:
                            more = add_token(model, text, start, at, row, spelled, numbers, kept_sums, place)
                    kept[entry + HASH], kept[entry + ROW] = value, np.uint64(row)
                    kept[entry + COUNT] = np.uint64(more)
                value, row = kept[entry + HASH], np.int64(kept[entry + ROW])
                if spells:
                    more = np.int64(kept[entry + COUNT])
                    for lane in range(0, width, LANES):
                        add_doubles(target, target_at + lane, kept_sums, entry + SUM + lane)
            rows += more
            seen += not is_last
            if not spells:  # a token is one row: it waits with those of word n-grams
                later[waiting] = row
                waiting += row >= 0
            if tables.word_ngrams > 1 and value & IS_LABEL == ZERO:
                waiting = note_word_ngrams(model, value, history, words, tables.word_ngrams, later, waiting)
                words += 1
            if is_last or waiting > NOTED - MAX_WORDS:
                add_rows(model, later, waiting, target, target_at)
                rows += waiting
                waiting = 0
        counts[index] = rows
        tokens[index] = seen

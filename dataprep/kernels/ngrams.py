"""Equal n-grams of a text's words, level by level: n + 1 words can only occur again where both the first n
and the last n of them do, so that each level looks at what the one before left.

Words are hashed to 64 bits; from two words on an n-gram is the pair of the numbers of its two (n-1)-grams,
which is exact. (So n-grams are equal word by word. datatrove joins the words of what it counts as duplicates
without a space, "a bc" and "ab c" alike; `docs/reference/statistics.md` says how often that matters.)
Functions over pointers; where they are called and what is counted: `kernels/repetition.py`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dataprep.kernels.keytable import FACTOR, cleared, filter_cleared, mixed, note, put, times
from dataprep.kernels.masks import ONE, first_bits
from dataprep.kernels.pieces import SIZES, characters, hash_of
from dataprep.kernels.utf8 import load64, ones
from dataprep.kernels.words import WIDE

ORDER = np.uint64(0x9E3779B97F4A7C15)
SEEN = np.uint64(1) << np.uint64(63)
"""In the entry of an n-gram: the scan for duplicates met it before."""
LOW_BITS = np.uint64(0x0101010101010101)


@njit(cache=True, nogil=True, forceinline=True)
def _continuation_bytes(eight):  # type: ignore[no-untyped-def]
    return np.int64(ones((eight >> np.uint64(7)) & ~(eight >> np.uint64(6)) & LOW_BITS))


@njit(cache=True, nogil=True)
def hash_words(text, begin, words, first, last, keys, ends, seen):  # type: ignore[no-untyped-def]
    """Fills `keys` with the hash of each word, `ends` with the characters up to and with it, and notes each
    pair of neighbours; how far to shift a hash for `seen`. May read 16 bytes beyond a word."""
    starts, sizes, traits = words
    shift = filter_cleared(seen, 8 * (last - first))
    before, total = np.uint64(0), 0
    for word in range(first, last):
        at, size = begin + starts[word], np.int64(sizes[word])
        length = size
        if size <= 16:
            head = load64(text, at) & first_bits(8 * size)
            tail = load64(text, at + 8) & first_bits(8 * (size - 8) if size > 8 else 0)
            key = (head * FACTOR) ^ ((tail + np.uint64(size)) * SIZES)
            key ^= key >> np.uint64(32)
            if traits[word] & WIDE:
                length -= _continuation_bytes(head) + _continuation_bytes(tail)
        else:
            key = hash_of(text, at, at + size)
            if traits[word] & WIDE:
                length = characters(text, at, at + size)
        total += length
        keys[word - first] = key
        ends[word - first + 1] = total
        note(seen, pair_key(before, key) >> shift)
        before = key
    ends[0] = 0
    return shift


@njit(inline="always")
def pair_key(first, second):  # type: ignore[no-untyped-def]
    return (first * ORDER + second) * FACTOR


@njit(cache=True, nogil=True)
def repeated_pairs(keys, num_words, seen, shift, places):  # type: ignore[no-untyped-def]
    """Puts into `places` where two words may occur again, and their key into `keys`; how many."""
    count, first = 0, keys[0]
    for place in range(num_words - 1):
        second = keys[place + 1]
        key = pair_key(first, second)
        places[count], keys[count] = place, mixed(key)
        count += seen[key >> shift] > 1
        first = second
    return count


@njit(cache=True, nogil=True)
def number_keys(keys, count, numbers, slots, entries):  # type: ignore[no-untyped-def]
    """Fills `numbers` with the number of each key."""
    bits, different = cleared(slots, count), 0
    for index in range(count):
        number, bits, different = put(slots, entries, bits, different, keys[index])
        numbers[index] = number


@njit(cache=True, nogil=True)
def most_common(places, numbers, count, entries):  # type: ignore[no-untyped-def]
    """(how often the most common n-gram comes, where first): of several the one that comes first; once at 0
    if none comes twice."""
    most, where = 1, 0
    for index in range(count):
        here = times(entries, numbers[index])
        if here > most:
            most, where = here, np.int64(places[index])
    return most, where


@njit(cache=True, nogil=True)
def scanned_duplicates(places, numbers, count, entries, size, ends):  # type: ignore[no-untyped-def]
    """Characters of the n-grams of `size` words that a scan meets again: one that equals an earlier one of
    the scan counts and is jumped over, any other is remembered and the scan goes on with the next word."""
    total, free = 0, 0
    for index in range(count):
        place, entry = np.int64(places[index]), 2 * np.int64(numbers[index]) + 1
        if place < free or entries[entry] == ONE:
            continue
        if entries[entry] & SEEN:
            total += ends[place + size] - ends[place]
            free = place + size
        else:
            entries[entry] |= SEEN
    return total


@njit(cache=True, nogil=True)
def all_duplicates(places, numbers, count, entries, size, ends):  # type: ignore[no-untyped-def]
    """Characters of every n-gram of `size` words that comes more than once, each time; they may overlap."""
    total = 0
    for index in range(count):
        if times(entries, numbers[index]) > 1:
            place = np.int64(places[index])
            total += ends[place + size] - ends[place]
    return total


@njit(cache=True, nogil=True)
def longer(places, numbers, keys, count, entries):  # type: ignore[no-untyped-def]
    """From the n-grams at `places` the (n+1)-grams that may occur again: their places and keys; how many."""
    for index in range(count):
        number = np.uint64(numbers[index])
        keys[index] = number if entries[2 * np.int64(number) + 1] != ONE else np.uint64(0)
    kept = 0
    for index in range(count - 1):
        first, second = keys[index], keys[index + 1]
        together = places[index + 1] == places[index] + 1
        places[kept] = places[index]
        keys[kept] = mixed((first << np.uint64(32)) | second)
        kept += (first != 0) & (second != 0) & together
    return kept

"""Which of a few fixed phrases stand in a text, in any ASCII case, in one walk.

A phrase is looked for where its rarest pair of letters stands, so that most of a text is passed over seven
bytes at a time. Slow twins: those of the kernels that use this, `kernels/c4.py` and `kernels/code.py`.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.texts import Bytes, Offsets, Texts
from dataprep.kernels.utf8 import load64, read_only

MAX_PHRASES = 255
PAIR, BYTE = np.uint64(0xFFFF), np.uint64(8)
FREQUENCY = dict(
    zip(
        b" etaoinshrdlcumwfgypbvkjxqz",
        (
            180,
            127,
            91,
            82,
            75,
            70,
            67,
            63,
            61,
            60,
            43,
            40,
            28,
            28,
            24,
            24,
            22,
            20,
            20,
            19,
            15,
            10,
            8,
            2,
            2,
            1,
            1,
        ),
        strict=True,
    )
)
"""How often a byte stands in a thousand of English; others about 10 times."""

Phrases = tuple[Bytes, Bytes, npt.NDArray[np.int64], Bytes, Offsets]
"""(kinds uint8[0x10000], after uint8[n + 1], places int64[n], data uint8, offsets int64[n + 1]).

kinds    by two bytes, the second one above: number, from 1, of a phrase whose pair this is; 0 for none
after    number of the next phrase with the same pair
places   where its pair stands in each phrase
"""


@lru_cache(maxsize=16)
def phrase_tables(phrases: tuple[str, ...]) -> Phrases:
    """What `phrases_in` looks in. Each phrase is lower case and has at least two bytes."""
    values = [phrase.encode() for phrase in phrases]
    if len(values) > MAX_PHRASES or any(len(value) < 2 for value in values):
        raise ValueError(f"at most {MAX_PHRASES} phrases of at least two bytes each")
    kinds = np.zeros((256, 256), dtype=np.uint8)
    after = np.zeros(len(values) + 1, dtype=np.uint8)
    places = np.zeros(len(values), dtype=np.int64)
    for number, value in enumerate(values, start=1):
        commons = [FREQUENCY.get(a, 10) * FREQUENCY.get(b, 10) for a, b in itertools.pairwise(value)]
        place = commons.index(min(commons))
        places[number - 1] = place
        after[number] = kinds[value[place + 1], value[place]]
        for first in {value[place], value[place : place + 1].upper()[0]}:
            for second in {value[place + 1], value[place + 1 : place + 2].upper()[0]}:
                kinds[second, first] = number
    texts = Texts.from_bytes(values)
    kinds.flags.writeable = after.flags.writeable = places.flags.writeable = False
    return kinds.reshape(-1), after, places, read_only(texts.data), read_only(texts.offsets)


@njit(cache=True, nogil=True)
def stands(text, at, start, stop, phrases, first, last):  # type: ignore[no-untyped-def]
    """Whether phrases[first:last], in lower case, stands at text[at], all of it inside text[start:stop]."""
    if at < start or at + last - first > stop:
        return False
    for place in range(last - first):
        byte, letter = text[at + place], phrases[first + place]
        if byte != letter and (letter < 0x61 or letter > 0x7A or byte | 0x20 != letter):
            return False
    return True


@njit(cache=True, nogil=True)
def phrases_in(  # type: ignore[no-untyped-def]
    text, start, stop, kinds, after, places, phrases, ends, bits
):
    """The bits (of `bits`, by phrase) of the phrases that stand in text[start:stop]; the rest as from
    `phrase_tables`, all by pointer."""
    seen, at = 0, start
    while at + 1 < stop:
        if at + 8 <= stop:
            word = load64(text, at)
            any_pair = kinds[word & PAIR]
            for _ in range(6):
                word >>= BYTE
                any_pair |= kinds[word & PAIR]
            if not any_pair:
                at += 7
                continue
        for place in range(at, min(at + 7, stop - 1)):
            number = np.int64(kinds[np.int64(text[place]) | np.int64(text[place + 1]) << 8])
            while number:
                first, last = ends[number - 1], ends[number]
                if stands(text, place - places[number - 1], start, stop, phrases, first, last):
                    seen |= bits[number - 1]
                number = np.int64(after[number])
        at += 7
    return seen

"""The words of English that keep their full stop, as the tokenizer exceptions of spaCy 3.8 have them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numba import njit

WORDS_WITH_A_STOP = """
Adm Ak Ala Apr Ariz Ark Aug Bros Calif Co Colo Conn Corp D.C Dec Del Dr E.G E.g Feb Fla Ga Gen Gov I.E I.e Ia
Id Ill Inc Ind Jan Jr Jul Jun Kan Kans Ky La Ltd Mar Mass Md Messrs Mich Minn Miss Mo Mont Mr Mrs Ms Mt N.C
N.D N.H N.J N.M N.Y Neb Nebr Nev Nov Oct Okla Ore Pa Ph.D Prof Rep Rev S.C Sen Sep Sept St Tenn Va Wash Wis
a.m co e.g i.e p.m v.s vs a b c d e f g h i j k l m n o p q r s t u v w x y z \u00e4 \u00f6 \u00fc"""
TIMES = [f"{hour}{half}.m" for hour in range(1, 13) for half in "ap"]
ABBREVIATIONS = frozenset(WORDS_WITH_A_STOP.split() + TIMES)
"""What a full stop belongs to, without that full stop; at most eight bytes each."""

SLOTS = 512
SPREAD = np.uint64(0x9E3779B97F4A7C15)
EIGHT, SHIFT, ONE, LAST = np.uint64(8), np.uint64(55), np.uint64(1), np.uint64(SLOTS - 1)
NOTHING = np.uint64(0)


@lru_cache(maxsize=1)
def abbreviation_slots() -> npt.NDArray[np.uint64]:
    """uint64[512]: the abbreviations as little-endian numbers, in a table with linear probing; 0 is empty."""
    slots = np.zeros(SLOTS, dtype=np.uint64)
    for word in sorted(ABBREVIATIONS):
        number = int.from_bytes(word.encode(), "little")
        slot = (number * int(SPREAD) & 2**64 - 1) >> int(SHIFT)
        while slots[slot]:
            slot = (slot + 1) % SLOTS
        slots[slot] = number
    slots.flags.writeable = False
    return slots


@njit(cache=True, nogil=True)
def is_abbreviation(text, first, last, slots):  # type: ignore[no-untyped-def]
    """Whether text[first:last] is an abbreviation."""
    if last - first > 8 or last <= first:
        return False
    number = NOTHING
    for at in range(last - 1, first - 1, -1):
        number = (number << EIGHT) | np.uint64(text[at])
    slot = (number * SPREAD) >> SHIFT
    while slots[slot]:
        if slots[slot] == number:
            return True
        slot = (slot + ONE) & LAST
    return False

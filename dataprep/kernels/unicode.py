"""Tables over all code points, made from the interpreter's own `unicodedata` the first time they are asked
for.

A table is a `two_level` pair (pages, cells) of about 30 kB; making one takes about 0.1 seconds. Steps that
use one declare the Unicode version, since another interpreter may know more characters.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dataprep.kernels.utf8 import NUM_CODE_POINTS, two_level

Form = Literal["NFC", "NFKC", "NFD", "NFKD"]
Table = tuple[npt.NDArray[np.uint16], npt.NDArray[Any]]

NOT_YES = 255
"""In a quick-check table: the form forbids the character, or depends on what stands before it."""

POPULATED = (range(0x40000), range(0xE0000, 0xE1000))
"""Where Unicode assigns characters. All others have the default properties, which a test checks."""

HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)
HANGUL_MEDIAL, HANGUL_FINAL = range(0x1161, 0x1176), range(0x11A8, 0x11C3)


def populated() -> list[str]:
    """All characters of POPULATED, in order."""
    return [character for codes in POPULATED for character in map(chr, codes)]


def spread(values: npt.NDArray[Any], default: int) -> Table:
    """The table of one value for each of `populated()`, with `default` elsewhere."""
    everywhere = np.full(NUM_CODE_POINTS, default, dtype=values.dtype)
    start = 0
    for codes in POPULATED:
        everywhere[codes.start : codes.stop] = values[start : start + len(codes)]
        start += len(codes)
    return two_level(everywhere)


@lru_cache(maxsize=4)
def quick_check(form: Form) -> Table:
    """What `scan` of `kernels/normalize.py` needs: the canonical combining class of a character whose
    quick-check property for `form` is Yes (UAX #15, section 9; classes end at 254), else NOT_YES."""
    characters = populated()
    values = np.fromiter(map(unicodedata.combining, characters), dtype=np.uint8, count=len(characters))
    composing = form in ("NFC", "NFKC")
    for index, decomposition in enumerate(map(unicodedata.decomposition, characters)):
        if not decomposition:
            continue
        parts = decomposition.split()
        if unicodedata.normalize(form, characters[index]) != characters[index]:
            values[index] = NOT_YES
        elif composing and len(parts) == 2 and not parts[0].startswith("<"):
            # May join the character before it ("Maybe"). All of these are below POPULATED's first gap.
            values[int(parts[1], 16)] = NOT_YES
    if composing:
        values[HANGUL_MEDIAL] = NOT_YES
        values[HANGUL_FINAL] = NOT_YES
    else:
        values[HANGUL_SYLLABLES] = NOT_YES
    return spread(values, default=0)

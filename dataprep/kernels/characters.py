"""What each code point is to `kernels/words.py` and `kernels/quality.py`: one byte, looked up.

The class says what cuts a word, PUNCTUATION what makes a word a symbol, ALPHABETIC and LINE_BREAK are
Python's `str.isalpha` and `str.splitlines`. All from the interpreter's `unicodedata`, but for the lists
below.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np

from dataprep.kernels.unicode import Table, populated, spread

SPACE = 0
UPPER, LOWER, UNCASED, MARK, SPACELESS, DIGIT = range(1, 7)  # letters are UPPER to SPACELESS
OTHER, EQUALS, SLASH, CARET, HYPHEN, FULL_STOP, PLUS, CURRENCY, PERCENT = range(7, 16)
OUTER, QUOTE, APOSTROPHE, COMMA, COLON, ANGLE, STAR, DASH, ICON, ELLIPSIS = range(16, 26)
CLASS, PUNCTUATION, ALPHABETIC, LINE_BREAK = 0x1F, 0x20, 0x40, 0x80
"""The fields of a cell of `character_table`."""

SPACELESS_RANGES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3006), (0x303B, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F), (0x1AFF0, 0x1B16F),  # kana
    (0x3105, 0x312F), (0x31A0, 0x31BF),  # Bopomofo
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF),  # Han
)  # fmt: skip

BY_CATEGORY = {
    "Lu": UPPER, "Lt": UPPER, "Ll": LOWER, "Lo": UNCASED, "Lm": UNCASED, "Mn": MARK, "Mc": MARK, "Me": MARK,
    "Nd": DIGIT, "Pc": OUTER, "Pd": HYPHEN, "Ps": OUTER, "Pe": OUTER, "Pi": QUOTE, "Pf": QUOTE, "Po": OUTER,
    "Sc": CURRENCY, "So": ICON,
}  # fmt: skip
BY_CHARACTER = {
    "=": EQUALS, "/": SLASH, "^": CARET, "~": HYPHEN, ".": FULL_STOP, "+": PLUS, "%": PERCENT, ",": COMMA,
    ":": COLON, "<": ANGLE, ">": ANGLE, "*": STAR, "'": APOSTROPHE, "\u2019": APOSTROPHE, "\u2026": ELLIPSIS,
    "\u2013": DASH, "\u2014": DASH, "\u2015": DASH, '"': QUOTE, "`": QUOTE, "\u00b4": QUOTE,
    "\u201a": QUOTE, "\u201e": QUOTE, "@": OTHER, "\\": OTHER,
}  # fmt: skip
LINE_BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""Where `str.splitlines` cuts."""

PUNCTUATION_RANGES = """
0-8 b-1f 21-2f 3a-40 5b-60 7b-9f ab b4 bb 589 61d-61f 6d4 700-702 7f9 837 839 83d-83e 964-965 104a-104b 1362
1367-1368 166e 1735-1736 17d4-17d6 17d9-17da 1803 1809 1944-1945 1aa8-1aab 1b5a-1b5b 1b5e-1b5f 1b7d-1b7e
1c3b-1c3c 1c7e-1c7f 2013-2014 2019 201c-201e 2026 203c-203d 2047-2049 2236 2501 25ba 2e2e 2e3c 2e53-2e54
3001-3002 3008-300d 3010-3011 a4ff a60e-a60f a6f3 a6f7 a876-a877 a8ce-a8cf a92f a9c8-a9c9 aa5d-aa5f
aaf0-aaf1 abeb fe52 fe56-fe57 ff01 ff05 ff08-ff09 ff0c ff0e ff11 ff1a-ff1b ff1f ff5e ff61 10a56-10a57
10f55-10f59 10f86-10f89 11047-11048 110be-110c1 11141-11143 111c5-111c6 111cd 111de-111df 11238-11239
1123b-1123c 112a9 1144b-1144c 115c2-115c3 115c9-115d7 11641-11642 1173c-1173e 11944 11946 11a42-11a43
11a9b-11a9c 11c41-11c42 11ef7-11ef8 11f43-11f44 16a6e-16a6f 16af5 16b37-16b38 16b44 16e98 1bc9f 1da88"""
"""Code points of datatrove 0.10.1's PUNCTUATION_SET; a word made of these alone is a symbol. (It holds the
full-width digit one and lacks the left single quote; that is the definition.)"""


def _class_of(character: str, category: str) -> int:
    if category.startswith(("Z", "C")) and character.isspace():
        return SPACE
    if category in ("Lo", "Lm") and any(first <= ord(character) <= last for first, last in SPACELESS_RANGES):
        return SPACELESS
    return BY_CHARACTER.get(character) or BY_CATEGORY.get(category, OTHER)


@lru_cache(maxsize=1)
def character_table() -> Table:
    """For each code point its class and the bits PUNCTUATION, ALPHABETIC (`str.isalpha`) and LINE_BREAK."""
    characters = populated()
    values = np.zeros(len(characters), dtype=np.uint8)
    for index, (character, category) in enumerate(
        zip(characters, map(unicodedata.category, characters), strict=True)
    ):
        values[index] = _class_of(character, category) | (ALPHABETIC if category[0] == "L" else 0)
    for piece in PUNCTUATION_RANGES.split():
        first, _, last = piece.partition("-")
        values[int(first, 16) : int(last or first, 16) + 1] |= PUNCTUATION
    for character in LINE_BREAKS:
        values[ord(character)] |= LINE_BREAK
    return spread(values, default=OTHER)

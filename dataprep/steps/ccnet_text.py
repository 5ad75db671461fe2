"""Text as CCNet's language models want it: lower case, no accents, "0" for every digit, plain punctuation, no
control characters.

It is what cc_net/text_normalizer.py does to a line (github.com/facebookresearch/cc_net at 1341eec), quirks
and all: line ends are control characters, so the words on both sides of one become a single word.
Perplexities of its models mean nothing on text that was prepared in another way.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import lru_cache

# As there. That "\uff11" (a full-width 1) stands among quotation marks changes nothing: it is a digit first.
PUNCTUATION = {
    "\uff0c": ",", "\u3002": ".", "\u3001": ",",
    "\u201e": '"', "\u201d": '"', "\u201c": '"', "\xab": '"', "\xbb": '"',
    "\u300d": '"', "\u300c": '"', "\u300a": '"', "\u300b": '"',
    "\xb4": "'", "\u2019": "'",
    "\u2236": ":", "\uff1a": ":", "\uff1f": "?", "\uff01": "!", "\uff08": "(", "\uff09": ")", "\uff1b": ";",
    "\u2013": "-", "\u2014": " - ", "\uff0e": ". ", "\uff5e": "~", "\u2026": "...", "\u2501": "-",
    "\u3008": "<", "\u3009": ">", "\u3010": "[", "\u3011": "]", "\uff05": "%", "\u25ba": "-",
}  # fmt: skip


def normalized(text: str) -> str:
    """The text as the models saw their training text; white space at its ends is taken off first."""
    text = text.strip().lower()
    if not text.isascii():
        text = unicodedata.normalize("NFD", text)
    return text.translate(_table())


@lru_cache(maxsize=1)
def _table() -> dict[int, str | None]:
    """Code point -> what becomes of it. A character has one fate, so one pass does what four do there."""
    table: dict[int, str | None] = {ord(mark): plain for mark, plain in PUNCTUATION.items()}
    table |= dict.fromkeys((*range(32), *range(127, 160)))
    for code in range(sys.maxunicode + 1):
        category = unicodedata.category(chr(code))
        if category == "Mn":  # accents, which NFD has taken off their letters
            table[code] = None
        elif category == "Nd":
            table[code] = "0"
    return table

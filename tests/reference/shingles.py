"""Slow twin of `dataprep/kernels/{plain,simplify,shingles,minhash}.py`: their definitions, in strings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

from tests.reference.normalize import collapse_white_space
from tests.reference.words import SPACELESS_BLOCKS
from tests.reference.words import words as our_words

SPACELESS = re.compile(f"[{''.join(SPACELESS_BLOCKS)}]")

PUNCTUATION = (
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\xab\xb4\xbb\u2013\u2014\u2019\u201c\u201d\u201e\u2026\u2236\u2501\u25ba"
    "\u3001\u3002\u3008\u3009\u300a\u300b\u300c\u300d\u3010\u3011\uff01\uff05\uff08\uff09\uff0c\uff0e\uff11\uff1a"
    "\uff1b\uff1f\uff5e"
)
BREAK = re.compile(rf"[{re.escape(PUNCTUATION)}\x00-\x08\x0b-\x1f\x7f-\x9f\s]+")
NUMBER = re.compile(r"\d+(?:[.,\u060c\u066b\u2396\u2397\u2398]\d+)?")
Unit = Literal["words", "characters"]


def lower(text: str) -> str:
    """Each character by itself: no final sigma."""
    return "".join(map(str.lower, text))


def is_spaceless(character: str) -> bool:
    return bool(SPACELESS.match(character)) and unicodedata.category(character) in ("Lo", "Lm")


def plain_words(text: str, split: bool = True) -> list[str]:
    text = lower(unicodedata.normalize("NFC", text))
    if split:
        text = "".join(f" {each} " if is_spaceless(each) else each for each in text)
    return re.findall(r"\w+", text)


def simplified(text: str) -> str:
    """`simplify_text` of datatrove, but for the final sigma and double spaces."""
    text = BREAK.sub(" ", NUMBER.sub("0", lower(text)))
    parts = "".join(unicodedata.normalize("NFD", character) for character in text)
    return " ".join("".join(part for part in parts if unicodedata.category(part) != "Mn").split(" ")).strip()


def units(text: str, unit: Unit, normalization: str) -> Sequence[str]:
    if normalization == "plain":
        found = plain_words(text, split=unit == "words")
    else:
        found = our_words(simplified(text)) if unit == "words" else simplified(text).split()
    return found if unit == "words" else " ".join(found)


def shingles(text: str, ngram: int, unit: Unit, normalization: str) -> list[bytes]:
    """Of one text, in order, with repetitions; of a short text itself, of one without words none."""
    found = units(text, unit, normalization)
    if len(found) >= ngram:
        joint = " " if unit == "words" else ""
        return [joint.join(found[at : at + ngram]).encode() for at in range(len(found) - ngram + 1)]
    return [collapse_white_space(unicodedata.normalize("NFC", text)).encode()] if found else []


def jaccard_ppm(a: set[int], b: set[int]) -> int:
    return len(a & b) * 10**6 // len(a | b) if a | b else 0

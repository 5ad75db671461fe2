"""Slow twin of `dataprep/kernels/word_keys.py`: the same words and keys, in strings and whole numbers."""

from __future__ import annotations

import string
import unicodedata

from dataprep.kernels.word_keys import APOSTROPHES, BLANK, FACTOR_A, FACTOR_B, START
from tests.reference.shingles import is_spaceless


def _normal(character: str) -> str | None:
    if character in APOSTROPHES:
        return ""
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf"):
        return ""
    if not (character.isalnum() or category == "Mc"):
        return None
    for _ in range(2):
        character = unicodedata.normalize("NFKD", character.casefold())
    kept = [each for each in character if each.isalnum() or unicodedata.category(each) == "Mc"]
    return "".join(each for each in kept if each not in APOSTROPHES)


def plain(text: str) -> list[str]:
    """The normalised words of a text."""
    marked = ""
    for character in text:
        normal = _normal(character)
        if normal is None:
            marked += " "
        elif len(normal) == 1 and is_spaceless(normal):
            marked += f" {normal} "
        else:
            marked += normal
    return marked.split(" ")


def janitor(text: str) -> list[str]:
    lower = str.maketrans(string.ascii_uppercase, string.ascii_lowercase, string.punctuation)
    return [word.translate(lower) for word in text.split()]


def key(word: str, may_be_alone: bool = True) -> int:
    if not word:
        return int(BLANK)
    data, value = word.encode(), int(START)
    for at in range(0, len(data) + 1 if len(data) % 8 == 0 else len(data), 8):
        piece = int.from_bytes(data[at : at + 8], "little")
        product = (piece ^ int(FACTOR_A)) * (value ^ int(FACTOR_B))
        value = (product >> 64) ^ (product & (2**64 - 1))
    return value & ~1 | (may_be_alone and len(word) == 1 and is_spaceless(word))


def plain_keys(text: str) -> list[int]:
    return [key(word) for word in plain(text) if word]


def janitor_keys(text: str) -> list[int]:
    return [key(word, may_be_alone=False) for word in janitor(text)]

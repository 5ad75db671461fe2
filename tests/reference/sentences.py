"""Slow twin of `dataprep/kernels/sentences.py`: spaCy's Sentencizer over a list of words with white space."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from dataprep.kernels.abbreviations import ABBREVIATIONS
from dataprep.kernels.marks import SENTENCE_MARKS, code_points
from tests.reference.words import parts, words_of_chunk

MARKS = set(map(chr, code_points(SENTENCE_MARKS)))


def pieces(text: str) -> Iterator[tuple[str, int, bool]]:
    """(word, where it begins, whether it ends a sentence), white space but a single space included."""
    for match in re.finditer(r"\s+|\S+", text):
        chunk, start = match.group(), match.start()
        if chunk.isspace():
            own = 1 if start and chunk[0] == " " else 0
            if len(chunk) > own:
                yield chunk[own:], start + own, False
            continue
        for word, place, ends in _pieces_of_chunk(chunk):
            yield word, start + place, ends


@lru_cache(maxsize=200_000)
def _pieces_of_chunk(chunk: str) -> tuple[tuple[str, int, bool], ...]:
    front, middle, _ = parts(chunk)
    first = len("".join(front))
    last = first + len(middle)
    whole = range(0)  # where full stops belong to an abbreviation
    if middle in ABBREVIATIONS:
        whole = range(last, last + 1)
    elif middle[-1:] == "." and middle[:-1] in ABBREVIATIONS:
        whole = range(first, last)
    found, place = [], 0
    for word in words_of_chunk(chunk):
        ends = word in MARKS and not (word == "." and place in whole)
        found.append((word, place, ends))
        place += len(word)
    return tuple(found)


def starts(text: str) -> list[int]:
    """Where every sentence but the first begins."""
    found, seen = [], False
    for word, start, ends in pieces(text):
        if ends:
            seen = True
        elif seen and not all(unicodedata.category(character)[0] == "P" for character in word):
            found.append(start)
            seen = False
    return found


def sentences(text: str) -> list[str]:
    """The text cut where sentences begin; [""] for nothing."""
    cuts = [0, *starts(text), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(cuts)]

"""Slow twins of `dataprep/kernels/units.py`, `unit_forms.py` and `removal.py`, over strings and lists."""

from __future__ import annotations

import re
import unicodedata

from tests.reference.hashing import murmur
from tests.reference.sentences import starts as sentence_starts

CCNET_MARKS = "，。、„”“«»」「《》´∶：？！（）；–—．～’…━〈〉【】％►"
WHITE = r"[\t-\r\x1c-\x20]*"
Unit = tuple[tuple[int, int], int, int, int]  # hash, the first and last byte that go, characters


def form_of(text: str, form: str, joins: bool) -> str:
    if form == "exact":
        return text
    if joins:
        text = re.sub(rf"{WHITE}\n{WHITE}", " ", text)
    kept = []
    for character in text:
        if form == "ccnet":
            if unicodedata.category(character) == "Nd":
                character = "0"
            elif character in CCNET_MARKS or ord(character) < 32 or 127 <= ord(character) < 160:
                continue
        kept.append(character.lower())
    return "".join(kept)


def pieces(text: str, kind: str) -> list[tuple[int, int]]:
    """(start, end), in characters, of the lines, paragraphs or sentences that are not blank, with what goes
    with them."""
    if kind == "sentences3":
        cuts = [0, *sentence_starts(text)]
        firsts = [cut + len(text[cut:]) - len(text[cut:].lstrip()) for cut in cuts]
        firsts = [each for each in dict.fromkeys(firsts) if each < len(text)]
        return list(zip(firsts, [*firsts[1:], len(text)], strict=True)) if firsts else []
    lines = []
    at = 0
    for line in text.split("\n"):
        lines.append((at, min(at + len(line) + 1, len(text)), bool(line.strip())))
        at += len(line) + 1
    if kind == "lines":
        return [(start, end) for start, end, black in lines if black]
    found: list[tuple[int, int]] = []
    was_black = False
    for start, end, black in lines:
        if black and not was_black:
            found.append((start, end))
        elif found:
            found[-1] = (found[-1][0], end)
        was_black = black
    return found


def units(text: str, kind: str, form: str, min_chars: int) -> list[Unit]:
    width = 3 if kind == "sentences3" else 1
    cut = pieces(text, kind)
    found = []
    for first in range(len(cut) - width + 1):
        window = cut[first : first + width]
        whole = text[window[0][0] : window[-1][1]].strip()
        if len(whole) < min_chars or not any(map(str.isalpha, whole)):
            continue
        parts = [form_of(text[start:end].strip(), form, kind != "lines") for start, end in window]
        start, end = len(text[: window[0][0]].encode()), len(text[: window[-1][1]].encode())
        found.append((murmur("\n".join(parts).encode()), start, end, len(whole)))
    return found


def without(text: str, ranges: list[tuple[int, int]]) -> str:
    """`ranges` in characters, in any order."""
    gone = {place for start, end in ranges for place in range(start, end)}
    blocks: list[list[int]] = []
    for place in sorted(gone):
        if blocks and blocks[-1][1] == place:
            blocks[-1][1] += 1
        else:
            blocks.append([place, place + 1])
    if not blocks:
        return text
    left, done = "", 0
    for number, (start, end) in enumerate(blocks):
        left += text[done:start]
        done = end
        if not left.strip():
            left = ""
            following = blocks[number + 1][0] if number + 1 < len(blocks) else len(text)
            white = text[end:]
            white = white[: len(white) - len(white.lstrip())]
            done = min(end + white.rfind("\n") + 1, following)
            continue
        front, cut = left[len(left.rstrip()) :], text[start:end]
        behind = cut[len(cut.rstrip()) :]
        if behind.count("\n") > front.count("\n"):
            left = left.rstrip() + behind
    return left + text[done:] if text[done:].strip() else left.rstrip()

"""Slow twin of `dataprep/kernels/boilerplate.py`: one text, line by line."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any

from tests.reference.words import class_letter


def is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] == "L"


def is_digit(character: str) -> bool:
    return unicodedata.category(character) == "Nd"


def lower(text: str) -> str:
    return re.sub("[A-Z]", lambda match: match[0].lower(), text)


def words(line: str) -> list[str]:
    """Words of a line, each from its first letter or digit to its last."""
    found = []
    for run in line.split():
        places = [place for place, character in enumerate(run) if is_letter(character) or is_digit(character)]
        if places:
            found.append(run[places[0] : places[-1] + 1])
    return found


def num_words(found: list[str]) -> int:
    return sum(max(1, sum(class_letter(each) == "s" and is_letter(each) for each in word)) for word in found)


def without_marks(line: str, numbers: bool, marks: tuple[str, ...]) -> tuple[str, int]:
    inside = ["[0-9]{1,3}"] * numbers + [re.escape(lower(mark)) for mark in marks]
    if not inside:
        return line, 0
    pattern = re.compile(rf"\[(?:{'|'.join(inside)})\]")
    count = 0
    while match := pattern.search(lower(line)):
        line = line[: match.start()] + line[match.end() :]
        count += 1
    return line, count


def has_phrase(line: str, phrase: str, where: str) -> bool:
    inner = re.escape(lower(phrase)).replace(r"\ ", " +")
    begin = "(?<![a-z0-9])" if re.match("[A-Za-z0-9]", phrase) else ""
    end = "(?![a-z0-9])" if re.search(r"[A-Za-z0-9]\Z", phrase) else ""
    for at in range(len(line)):
        match = re.compile(begin + inner + end).match(lower(line), at)
        if match is None:
            continue
        before, behind = line[: match.start()], line[match.end() :]
        others = {"anywhere": "", "start": before, "end": behind}[where]
        if not any(is_letter(character) or is_digit(character) for character in others):
            return True
    return False


def verdict(line: str, had_marks: bool, how: Any) -> str | None:
    if not line.strip():
        return "emptied_lines" if had_marks else None
    letters = sum(map(is_letter, line))
    digits = sum(map(is_digit, line))
    capitals = sum(unicodedata.category(character) in ("Lu", "Lt") for character in line)
    found = words(line)
    count = num_words(found)
    if how.numeric and digits and not letters:
        return "numeric_lines"
    if count == 2 and len(found) == 2:
        for number, name in (found, found[::-1]):
            if re.fullmatch("[0-9][0-9.,]*[kKmMbB]?", number) and lower(name) in map(lower, how.counters):
                return "counter_lines"
    if 0 < count < (how.min_words or 0):
        return "few_word_lines"
    if how.max_uppercase_ratio is not None and capitals > how.max_uppercase_ratio * letters:
        return "uppercase_lines"
    if how.max_phrase_words is None or count <= how.max_phrase_words:
        for where, phrases in {
            "start": how.line_starts,
            "end": how.line_ends,
            "anywhere": how.phrases,
        }.items():
            if any(has_phrase(line, phrase, where) for phrase in phrases):
                return "phrase_lines"
    return None


def edited(text: str, how: Any) -> tuple[str, dict[str, int]]:
    """The text with the lines that stay, and the signals."""
    names = "citations numeric_lines counter_lines few_word_lines uppercase_lines phrase_lines emptied_lines"
    counts = dict.fromkeys(names.split(), 0)
    kept = []

    @cache
    def judged(line: str) -> tuple[str, int, str | None]:
        line, taken = without_marks(line, how.citation_numbers, how.citation_marks)
        return line, taken, verdict(line, taken > 0, how)

    for whole in text.split("\n"):
        line, taken, why = judged(whole)
        counts["citations"] += taken
        if why is None:
            kept.append(line)
        else:
            counts[why] += 1
    new = "\n".join(kept)
    sizes = {"text_bytes": len(text.encode()), "removed_bytes": len(text.encode()) - len(new.encode())}
    return new, counts | sizes

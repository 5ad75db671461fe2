"""Slow twin of `dataprep/kernels/{grams,overlaps,margins}.py` and `dataprep/decide/contamination.py`: words
as lists of whole numbers, n-grams as tuples. And Janitor's rule, from its description.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Sequence

from dataprep.kernels.overlaps import CONFIRM, SKIPS

Words = Sequence[int]


def grams(words: Words, size: int) -> list[tuple[int, ...]]:
    return [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]


def hits(document: Words, texts: Sequence[Words], size: int) -> list[tuple[int, tuple[int, ...]]]:
    """(first word, n-gram) of what a document shares with the texts."""
    every = {gram for text in texts for gram in grams(text, size)}
    return [(at, gram) for at, gram in enumerate(grams(document, size)) if gram in every]


def grown(document: Words, at: int, text: Words, place: int) -> tuple[int, int, int, int, int, int]:
    """(matched, longest stretch, first and end in the text, first and end in the document) of the run that
    grows from document[at] == text[place]."""
    right = _followed(document[at:], text[place:])
    left = _followed(document[:at][::-1], text[:place][::-1])
    middle = right[2][0] + left[2][0]
    return (
        sum(right[2]) + sum(left[2]),
        max([middle, *right[2], *left[2]]),
        place - left[1],
        place + right[1],
        at - left[0],
        at + right[0],
    )


def _followed(document: Words, text: Words) -> tuple[int, int, list[int]]:
    """(words gone in the document, in the text, the stretches of equal words)."""
    here, there, stretches = 0, 0, []
    while True:
        straight = 0
        while here < len(document) and there < len(text) and document[here] == text[there]:
            here, there, straight = here + 1, there + 1, straight + 1
        stretches.append(straight)
        for mine, theirs in SKIPS.tolist():
            wanted = min(CONFIRM, len(text) - there - theirs)
            after = document[here + mine : here + mine + wanted]
            if wanted > 0 and len(after) == wanted and list(after) == list(text[there + theirs :][:wanted]):
                here, there = here + mine, there + theirs
                break
        else:
            return here, there, stretches


def runs(
    document: Words,
    texts: Sequence[Words],
    needs: Sequence[int],
    size: int,
    holes: Sequence[int],
    most_places: int,
    short: int,
) -> list[tuple[int, ...]]:
    """(text, matched, longest stretch, first and end in the text, first and end word in the document)."""
    places: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    holed: dict[tuple[int, tuple[int, ...]], list[tuple[int, int]]] = {}
    for number, text in enumerate(texts):
        for at, gram in enumerate(grams(text, size)):
            places.setdefault(gram, []).append((number, at))
        for at, gram in enumerate(grams(text, size + 1) if len(text) < short * size else []):
            for hole in holes:
                holed.setdefault((hole, gram[:hole] + gram[hole + 1 :]), []).append((number, at))
    seeds = {gram for gram, found in places.items() if len(found) <= most_places}
    for text in texts:
        if text and not any(gram in seeds for gram in grams(text, size)):
            seeds.add(min(grams(text, size), key=lambda gram: len(places[gram])))
    kept: list[list[int]] = []
    latest: dict[int, list[int]] = {}
    for at in range(len(document) - size + 1):
        starts: list[tuple[int, int, int]] = []  # place in the document, text, place in it
        gram = tuple(document[at : at + size])
        if gram in seeds:
            for number, place in places[gram]:
                before = tuple(texts[number][place - 1 : place - 1 + size]) if place else ()
                if place and at and document[at - 1] == texts[number][place - 1] and before in seeds:
                    continue
                starts.append((at, number, place))
        wide = tuple(document[at : at + size + 1])
        for hole in holes if len(wide) == size + 1 else ():
            found = holed.get((hole, wide[:hole] + wide[hole + 1 :]), [])
            for number, place in found if len(found) <= most_places else []:
                if wide[hole] != texts[number][place + hole]:
                    starts.append((at + hole + 1, number, place + hole + 1))
        for start, number, place in starts:
            last = latest.get(number)
            if last is not None and last[5] <= start < last[6]:
                continue
            run = [number, *grown(document, start, texts[number], place)]
            if not needs[number] or run[1] < needs[number]:
                continue
            if last is not None and run[5] < last[6]:
                if run[1] > last[1]:
                    last[1:] = run[1:]
                continue
            latest[number] = run
            kept.append(run)
    return [tuple(run) for run in kept]


def janitor(text: str, contaminants: Sequence[str], size: int = 13) -> list[str]:
    """The pieces of a text that Janitor leaves, [] for a text it drops. It also drops a text of 199
    characters or fewer in which it finds nothing, and ours does not: docs/concepts/contamination.md."""
    table = str.maketrans(string.ascii_uppercase, string.ascii_lowercase, string.punctuation)
    dirty = set()
    for contaminant in contaminants:
        words = contaminant.translate(table).split()
        dirty |= {" ".join(words[at : at + size]) for at in range(len(words) - size + 1)}
    tokens = [(match.group(), match.start(), match.end() - 1) for match in re.finditer(r"\S+", text)]
    found = []
    for at in range(len(tokens) - size + 1):
        if " ".join(token[0] for token in tokens[at : at + size]).translate(table) in dirty:
            found.append((tokens[at][1], tokens[at + size - 1][2]))
    if len(found) > 10:
        return []
    pieces, done, end = [], 0, -1
    for first, last in found:
        begin, end = max(0, first - 200), min(len(text), last + 200)
        if begin - done > 200:
            pieces.append(text[done:begin])
        done = end
    if end < len(text) - 200:
        pieces.append(text[end + 1 :])
    return pieces


def widened(text: str, spans: Sequence[tuple[int, int]], margin: int) -> str:
    """The text without the spans (of characters) and a margin, what is left joined by line feeds."""
    gone = [False] * len(text)
    for first, end in spans:
        first, end = max(0, first - margin), min(len(text), end + margin)
        while first > 0 and _belongs(text[first]):
            first -= 1
        while end < len(text) and _belongs(text[end]):
            end += 1
        gone[first:end] = [True] * (end - first)
    pieces = re.findall(r"k+", "".join("g" if each else "k" for each in gone))
    kept = [character for character, is_gone in zip(text, gone, strict=True) if not is_gone]
    out, at = [], 0
    for piece in pieces:
        out.append("".join(kept[at : at + len(piece)]))
        at += len(piece)
    return "\n".join(out)


def _belongs(character: str) -> bool:
    marks = unicodedata.category(character) in ("Mn", "Me", "Cf")
    return marks or (not character.isascii() and character in "\u2018\u2019\u02bc\u02b9\uff07")


def gram_documents(documents: Sequence[Words], size: int) -> dict[tuple[int, ...], int]:
    """In how many documents each n-gram stands."""
    counts: dict[tuple[int, ...], int] = {}
    for document in documents:
        for gram in set(grams(document, size)):
            counts[gram] = counts.get(gram, 0) + 1
    return counts


def covered(text: Words, held: set[tuple[int, ...]], frequent: set[tuple[int, ...]], size: int) -> set[int]:
    """The words of a text in n-grams that a document holds; without frequent ones in stretches under 2n."""
    places = [at for at, gram in enumerate(grams(text, size)) if gram in held]
    stretches: list[list[int]] = []
    for at in places:
        if stretches and stretches[-1][-1] == at - 1:
            stretches[-1].append(at)
        else:
            stretches.append([at])
    counting = [
        at
        for stretch in stretches
        for at in stretch
        if len(stretch) + size - 1 >= 2 * size or tuple(text[at : at + size]) not in frequent
    ]
    return {at for first in counting for at in range(first, first + size)}


def counted(text: Words, run: tuple[int, ...], frequent: set[tuple[int, ...]], size: int) -> int:
    """Matched words of a run that count: of one under 2n words not those in frequent n-grams alone."""
    matched, first, end = run[1], run[3], run[4]
    if matched >= 2 * size:
        return matched
    often, rare = set(), set()
    for at in range(first, end - size + 1):
        words = set(range(at, at + size))
        if tuple(text[at : at + size]) in frequent:
            often |= words
        else:
            rare |= words
    return max(0, matched - len(often - rare))

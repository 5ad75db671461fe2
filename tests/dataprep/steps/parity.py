"""Verdicts of a step beside those of the package it follows, on real documents of the data pack."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from tests.reference.zstd_lines import texts_of

SOURCES = (
    "wiki/wiki_en.jsonl.zst",
    "qa_stackexchange/posts.jsonl.zst",
    "blogs/blogs_18f_rust.jsonl.zst",
    "books/books_en.parquet",
    "code/code.parquet",
    "peps/peps.jsonl.zst",
    "manpages/manpages.jsonl.zst",
    "news_ntrex128/ntrex128_a.jsonl.zst",
    "books/books_fr_de_hu_uk_el_ja.jsonl.zst",
    "wiki/wiki_zh.jsonl.zst",
)
ENGLISH = SOURCES[:6]
LONGEST = 60_000


def documents(data_pack: Path, source: str, characters: int) -> list[str]:
    """Documents of a source from all over the file, none too long for the original, so many characters."""
    path = data_pack / source
    if path.suffix == ".parquet":
        strings = pq.read_table(path, columns=["text"])["text"].to_pylist()
    else:
        strings = texts_of(path, 20_000)
    strings = [string[:LONGEST] if source.startswith("books") else string for string in strings]
    strings = [string for string in strings if len(string) <= LONGEST]
    step = max(1, sum(map(len, strings)) // characters)
    return strings[::step]


def disagreements(strings: Sequence[str], ours: Iterable[object], theirs: Iterable[object]) -> Counter[str]:
    """How often which two answers met; equal ones left out. What is not a verdict counts as "other text"."""
    found: Counter[str] = Counter()
    for _, mine, other in zip(strings, ours, theirs, strict=True):
        if mine != other:
            found[f"ours {_shown(mine)}, theirs {_shown(other)}"] += 1
    return found


def _shown(answer: object) -> str:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return text if len(text) < 40 else "other text"


def assert_agrees(
    sources: Sequence[str],
    data_pack: Path,
    answers: Callable[[list[str]], tuple[Iterable[object], Iterable[object]]],
    share: float,
    characters: int = 250_000,
) -> None:
    """`answers(strings)` gives ours and theirs; at least `share` of all of them are equal."""
    report, documents_in_all, different = [], 0, 0
    for source in sources:
        strings = documents(data_pack, source, characters)
        found = disagreements(strings, *answers(strings))
        documents_in_all += len(strings)
        different += sum(found.values())
        report.append(
            f"{source}: {sum(found.values())} of {len(strings)} differ, {dict(found.most_common(5))}"
        )
    assert different <= (1 - share) * documents_in_all, "\n".join(report)

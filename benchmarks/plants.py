"""Contamination with known answers: the documents of `decontam/`, examples of the evaluation sets planted
into clean text in stated ways, and clean documents.

Everything is a function of a seed in Python's `random`, so two runs plant the same.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from dataprep.evals.index import UNTESTED, EvalIndex
from dataprep.evals.sets import EvalSet

CLEAN = (
    "wiki/wiki_en.jsonl.zst",
    "blogs/blogs_18f_rust.jsonl.zst",
    "qa_stackexchange/posts.jsonl.zst",
    "dictionaries/foldoc_jargon.jsonl.zst",
    "peps/peps.jsonl.zst",
    "speeches/us_speeches_genesis.jsonl.gz",
)
"""About 33,000 English documents that no evaluation set was planted into."""

TRUE_HITS = {
    "wiki_en-56776816": "BoolQ takes its passages from Wikipedia: that on Better Call Saul",
    "wiki_en-56817507": "BoolQ: the sentence on a season of a Marvel series",
    "wiki_en-56832336": "BoolQ: the rules of a football tournament's knock-out phase",
    "wiki_en-56817587": "MMLU quotes the American Marketing Association's definition of marketing",
}
"""Documents of CLEAN that do hold an example, found by `longest` and read by hand."""

LONGEST_KINDS = ("verbatim", "reformatted", "edited")


@dataclass(frozen=True, slots=True)
class Planted:
    """Documents with one example each, as its text in the index says, planted in one way."""

    documents: list[str]
    texts: list[int]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The records of a file of JSON lines, gzip or zstd."""
    with path.open("rb") as file:
        opened: Any = gzip.GzipFile(fileobj=file)
        if path.name.endswith(".zst"):
            opened = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return [json.loads(line) for line in io.TextIOWrapper(opened, encoding="utf-8", newline="\n")]


def clean_documents(data_pack: Path) -> list[tuple[str, str]]:
    """(id, text) of the documents of CLEAN, without those known to hold an example."""
    found = [(row["id"], row["text"]) for name in CLEAN for row in rows_of(data_pack / name)]
    return [each for each in found if each[0] not in TRUE_HITS]


def planted(
    sets: Sequence[EvalSet], index: EvalIndex, hosts: Sequence[str], count: int, kind: str
) -> Planted:
    """`count` examples that can be tested, of all sets alike, each somewhere in a document of its own."""
    chance = random.Random(f"{kind} 1")
    words = [word for host in hosts[:300] for word in host.split() if word.isalpha()]
    every = [
        (each.first + row, example)
        for each, one in zip(index.sets, sets, strict=True)
        for row, example in enumerate(one.examples)
    ]
    documents, texts = [], []
    for number, example in chance.sample(every, len(every)):
        text = int(index.example_texts[number])
        if text == UNTESTED:
            continue
        question = CHANGES[kind](example.question, chance, words)
        if len(example.question.split()) < 2 * index.definition.ngram:
            question += f" {example.answer}"  # a short one may be tested with its answer
        host = chance.choice(hosts)
        place = chance.randrange(len(host) + 1)
        documents.append(f"{host[:place]}\n{question}\n{host[place:]}".encode("utf-8", "replace").decode())
        texts.append(text)
        if len(texts) == count:
            break
    return Planted(documents, texts)


def _verbatim(text: str, chance: random.Random, words: Sequence[str]) -> str:
    return text


def _reformatted(text: str, chance: random.Random, words: Sequence[str]) -> str:
    """Other case, no punctuation, other white space, or other quotes and line breaks."""
    way = chance.randrange(4)
    if way == 0:
        return text.upper()
    if way == 1:
        return "".join(each for each in text if each not in string.punctuation)
    if way == 2:
        return re.sub(r"\s+", lambda _: chance.choice(["\n", "\t", "  ", "\u00a0", "\r\n"]), text)
    text = text.lower().replace("'", "\u2019").replace('"', "\u201c")
    return re.sub(r"\s+", lambda _: chance.choice(["\n", " ", " ", "\n\n"]), text)


def _edited(text: str, chance: random.Random, words: Sequence[str]) -> str:
    """One word in fifteen is another, from a place by chance on."""
    pieces = re.split(r"(\s+)", text)
    places = [place for place in range(0, len(pieces), 2) if pieces[place]]
    for place in places[chance.randrange(15) :: 15]:
        pieces[place] = chance.choice(words)
    return "".join(pieces)


Change = Callable[[str, random.Random, Sequence[str]], str]
CHANGES: dict[str, Change] = {"verbatim": _verbatim, "reformatted": _reformatted, "edited": _edited}

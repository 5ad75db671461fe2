"""Inputs full of duplicates of every kind, and a recipe with every step that looks for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq

from dataprep.recipe import recipe_of
from dataprep.run import RunResult, run
from tests.e2e.corpora import document, sentence

MENU = ["Home of the mill", "All about the river", "Letters to the harbour"]
NOTICE = "Whoever reads this in the market or on the bridge keeps in mind that it belongs to the captain."
ELSEWHERE = [
    "水車は川の水で回り、粉をひき、村の人々に一年中パンを与えてきた。春には洪水が来る。",
    "تدور الطاحونة بماء النهر وتطحن الحبوب لأهل القرية منذ زمن طويل جدا في كل فصول السنة",
    "नदी के पानी से चक्की चलती है और गाँव के लोगों के लिए साल भर आटा पीसती है हर मौसम में",
    "Река вертит колесо мельницы, и мука для всей деревни мелется здесь круглый год, зимой и летом.",
    "Η μυλόπετρα γυρίζει με το νερό του ποταμού και αλέθει το στάρι όλου του χωριού κάθε χρόνο.",
]
STEPS: list[dict[str, Any]] = [
    {"line_dedup": {"min_chars": 5, "min_documents": 5}},
    {"normalize": {}},
    {"where": {"fields": {"kind": {"not_in": ["bad"]}}, "missing": "keep"}},
    {"substring_dedup": {"length": 80, "only": ["more"]}},
    {"minhash_dedup": {"threshold": 0.85}},
    {"exact_dedup": {"by": "url", "keep": [{"last": "date"}]}},
    {"exact_dedup": {}},
]


def page(seed: str, *more: str) -> str:
    body = [document(f"{seed}/{part}", 4) for part in range(3)]
    return "\n".join([*MENU, *body, *more])


def pages() -> list[dict[str, Any]]:
    """With ids that say what they are."""
    texts = {f"page {number}": page(f"p{number}") for number in range(24)}
    texts |= {f"copy {number}": page(f"p{number}") for number in range(6)}
    texts |= {f"near {number}": page(f"p{number}", sentence(f"near {number}")) for number in range(4, 9)}
    texts |= {f"elsewhere {number}": text for number, text in enumerate(ELSEWHERE)}
    texts |= {f"elsewhere again {number}": text + " 。" for number, text in enumerate(ELSEWHERE)}
    texts |= {f"short {number}": f"word {number % 4}" for number in range(8)}
    texts |= {"empty 0": "", "empty 1": "", "white": " \n\t", "menu": "\n".join(MENU)}
    texts |= {f"notice {number}": page(f"n{number}", f"{number} {NOTICE} {number}") for number in range(6)}
    found = []
    for place, (name, text) in enumerate(texts.items()):
        kind, date = ("bad" if place % 11 == 7 else None), f"2020-01-{1 + place % 28:02d}"
        url = f"https://mill.example/{place % 60}"
        found.append({"id": name, "text": text, "url": url, "kind": kind, "date": date})
    return found


def write_pages(
    folder: Path, records: Sequence[Mapping[str, Any]], files: int = 3, chance: Random | None = None
) -> None:
    """Two thirds of the pages as source web, over some files, the others as source more; with `chance`,
    shuffled inside each source and over another number of files."""
    folder.mkdir(parents=True, exist_ok=True)
    cut = 2 * len(records) // 3
    for source, mine in (("web", list(records[:cut])), ("more", list(records[cut:]))):
        if chance is not None:
            chance.shuffle(mine)
        for number in range(files):
            lines = [json.dumps(record) + "\n" for record in mine[number::files]]
            (folder / f"{source}-{number}.jsonl").write_text("".join(lines))


def dedup_data(folder: Path, **changes: Any) -> dict[str, Any]:
    carried = {"id": "id", "carry": ["url", "kind", "date"]}
    data: dict[str, Any] = {
        "corpus": "small",
        "version": "1.0.0",
        "sources": {
            name: {"path": str(folder / "in" / f"{name}-*.jsonl"), **carried} for name in ("web", "more")
        },
        "steps": STEPS,
        "tokenizer": {"train": {"vocab_size": 300}, "engine": "tokenizers"},
        "output": str(folder / "out"),
    }
    return data | changes


def dedup(folder: Path, workers: int = 0, **changes: Any) -> RunResult:
    return run(recipe_of(dedup_data(folder, **changes)), workers=workers, verdicts=True)


def verdicts(folder: Path) -> dict[str, dict[str, Any]]:
    """Id -> what the verdict table says of each document, but for places in files."""
    rows = pq.read_table(folder / "out" / "verdicts.parquet").to_pylist()
    places = ("path", "position", "match_path", "match_position")
    return {row["id"]: {name: row[name] for name in row if name not in places} for row in rows}


def kept(folder: Path) -> set[str]:
    return {name for name, row in verdicts(folder).items() if row["verdict"] != "dropped"}

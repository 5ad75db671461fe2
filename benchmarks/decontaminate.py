"""Decontamination of English text against every evaluation set of the data pack at once, in memory, one core;
a plain Python set of the same n-grams beside it; and how much each definition finds of what was planted.

The plain set says only whether a document holds an n-gram of 8 words, from two lines of Python as many
pipelines have them; ours also says which example, where, and how much of it. `recall_*` are of `longest` on
examples of all sets planted into clean documents (see `plants`), `false_positive_rate` on documents into
which nothing was planted. `definitions` has recall and precision of each on the documents of `decontam/`.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import MEGABYTE, ROUNDS, alternate, cpu_seconds
from benchmarks.plants import LONGEST_KINDS, clean_documents, planted, rows_of
from benchmarks.steps import strings_of
from dataprep.decide.contamination import Rule, evidence
from dataprep.evals.definitions import DEFINITIONS, Name
from dataprep.evals.index import EvalIndex, build_index
from dataprep.evals.measure import hits_in
from dataprep.evals.sets import EvalFile, EvalSet, eval_files, read_set
from dataprep.kernels.texts import Texts

PEER_BYTES = 2 * MEGABYTE
NGRAM = 8


def run(data_pack: Path, quick: bool) -> dict[str, Any]:
    """MB of text per CPU second and core, seconds, and shares of documents."""
    rounds = 3 if quick else ROUNDS
    files = eval_files([str(data_pack / "evals" / "*.jsonl.gz")])
    build_index([read_set(files[0])], DEFINITIONS["longest"])  # compiles, makes tables
    sets: list[EvalSet] = []
    indexes: list[EvalIndex] = []

    def make() -> None:
        sets[:] = [read_set(file) for file in files]
        indexes[:] = [build_index(sets, DEFINITIONS["longest"])]

    figures: dict[str, Any] = {"index_seconds": round(cpu_seconds(make), 2)}
    index = indexes[0]
    arrays = (*index.references, index.example_texts, index.ids.data, index.ids.offsets)
    figures["index_mb"] = round(sum(array.nbytes for array in arrays) / MEGABYTE)
    figures["examples"] = int(index.example_texts.size)
    strings = strings_of(data_pack / "wiki" / "wiki_en.jsonl.zst")
    texts = Texts.from_strings(strings[: len(strings) // 5] if quick else strings)
    hits_in(texts.slice(0, 10), index)
    seconds = alternate({"ours": partial(hits_in, texts, index)}, rounds)["ours"]
    figures["mb_s"] = round(texts.num_bytes / MEGABYTE / seconds, 1)
    figures |= _beside_a_set(strings, sets, index, rounds)
    figures |= found_of_plants(data_pack, sets, index, 2_000 if quick else 10_000)
    figures["definitions"] = {name: by_definition(data_pack, name) for name in DEFINITIONS}
    return figures


def _beside_a_set(strings: list[str], sets: list[EvalSet], index: EvalIndex, rounds: int) -> dict[str, Any]:
    sample = strings[:: max(1, sum(map(len, strings)) // PEER_BYTES)]
    texts = Texts.from_strings(sample)
    listed: set[str] = set()

    def make() -> None:
        for each in sets:
            for example in each.examples:
                listed.update(_grams(example.question))

    def look() -> None:
        for text in sample:
            any(gram in listed for gram in _grams(text))

    made = cpu_seconds(make)
    seconds = alternate({"ours": partial(hits_in, texts, index), "set": look}, rounds)
    return {
        "vs_python_set": round(seconds["set"] / seconds["ours"], 1),
        "python_set_mb_s": round(texts.num_bytes / MEGABYTE / seconds["set"], 2),
        "python_set_seconds": round(made, 2),
    }


def _grams(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return [" ".join(words[at : at + NGRAM]) for at in range(len(words) - NGRAM + 1)]


def found_of_plants(data_pack: Path, sets: list[EvalSet], index: EvalIndex, count: int) -> dict[str, float]:
    """What share of plants `longest` finds, each the very example, and of clean documents it flags."""
    clean = [text for _, text in clean_documents(data_pack)]
    hosts = [text for text in clean[:12_000] if len(text) > 600]
    figures = {}
    for kind in LONGEST_KINDS:
        plants = planted(sets, index, hosts, count, kind)
        runs = hits_in(Texts.from_strings(plants.documents), index).runs
        found = {tuple(row) for row in runs[:, :2].tolist()}
        hits = sum((row, text) in found for row, text in enumerate(plants.texts))
        figures[f"recall_{kind}"] = round(hits / len(plants.texts), 4)
    flagged = np.unique(hits_in(Texts.from_strings(clean), index).runs[:, 0]).size
    return {**figures, "false_positive_rate": round(flagged / len(clean), 6), "clean_documents": len(clean)}


def by_definition(data_pack: Path, name: Name) -> dict[str, float]:
    """Recall on the documents of `decontam/` that hold an example (the example must be the one planted), of
    those with one word in 14 replaced, and precision: of flagged documents, those that hold one."""
    rows = rows_of(data_pack / "decontam" / "planted.jsonl.zst")
    names = sorted({row["meta"]["planted"]["eval"] for row in rows if row["meta"]["planted"]})
    sets = [read_set(EvalFile(each, str(data_pack / "evals" / f"{each}.jsonl.gz"))) for each in names]
    index = build_index(sets, DEFINITIONS[name])
    hits = hits_in(Texts.from_strings([row["text"] for row in rows]), index)
    found = {tuple(pair) for pair in evidence(hits, index, None, Rule()).pairs[:, :2].tolist()}
    firsts = {each.name: each.first for each in index.sets}
    right: dict[str, list[bool]] = {"contaminated": [], "borderline": [], "clean": []}
    for number, row in enumerate(rows):
        expected, plant = row["meta"]["expected"], row["meta"]["planted"]
        if expected == "clean":
            right[expected].append(not any(document == number for document, _ in found))
        else:
            text = int(index.example_texts[firsts[plant["eval"]] + plant["row"]])
            right[expected].append((number, text) in found)
    flagged = len({document for document, _ in found})
    return {
        "recall": round(float(np.mean(right["contaminated"])), 4),
        "recall_replaced": round(float(np.mean(right["borderline"])), 4),
        "precision": round(1 - right["clean"].count(False) / max(1, flagged), 4),
    }

"""Checks a corpus that is built against evaluation sets, also such as came later: decodes its shards, looks
for examples, judges all documents together.

Nothing is removed; what to leave out of the next version, the step `decontaminate` or `exclude` does. Memory:
the index, one chunk of a shard, and what was found (some 100 bytes a hit).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich import box
from rich.console import Console
from rich.table import Table

from dataprep.corpora.restore import restore
from dataprep.corpora.tables import tokenizer_of
from dataprep.decide.contamination import (
    Evidence,
    Rule,
    SetTally,
    contaminated_texts,
    evidence,
    example_marks,
    gram_documents,
    tally,
)
from dataprep.evals.definitions import Definition
from dataprep.evals.index import EvalIndex
from dataprep.evals.measure import hits_in, joined_hits
from dataprep.evals.sets import EvalFile
from dataprep.evals.shared import shared_index
from dataprep.tokenizers.decode import Decoder
from manifests.corpus import Corpus, open_corpus
from manifests.files import write_atomic

SHOWN_BYTES = 400
PLACE = ["id", "path", "position"]


@dataclass(frozen=True, slots=True)
class Found:
    """One document that holds an example."""

    eval_set: str
    example: str
    matched_words: int
    example_words: int
    source: str
    subset: str
    path: str
    position: int
    id: str | None
    shard: str
    text: str


@dataclass(frozen=True, slots=True)
class Contamination:
    """What a corpus holds of evaluation sets.

    marks  of each set, in order, of each example: its id, and 1 for contaminated, 0 for clean, -1 for one
           that is too short to be tested
    """

    corpus: str
    definition: str
    documents: int
    text_bytes: int
    sets: list[SetTally]
    marks: dict[str, list[tuple[str, int]]]
    found: list[Found]


def check_corpus(
    path: Path,
    files: Sequence[EvalFile],
    definition: Definition,
    rule: Rule,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Contamination:
    """Look for the examples of `files` in every document of a corpus. `progress` is called with tokens.
    Raises UserError where either cannot be read."""
    index = shared_index(files, definition)
    corpus = open_corpus(path)
    decoder = Decoder(tokenizer_of(corpus))
    total, done, size_bytes, hits = sum(shard.tokens for shard in corpus.shards), 0, 0, []
    for shard in corpus.shards:
        parts = []
        for group in restore(corpus, shard, decoder) if shard.documents else ():
            parts.append(hits_in(group.texts, index))
            size_bytes += group.texts.num_bytes
            done += sum(group.table.column("tokens").to_pylist())
            progress(done, total)
        hits.append(joined_hits(parts))
    documents = np.zeros(index.references.keys.size, dtype=np.int64)
    for each in hits:
        documents += gram_documents(each, index)
    parts_found = [evidence(each, index, documents, rule) for each in hits]
    texts_found = contaminated_texts(parts_found, index, documents)
    return Contamination(
        f"{corpus.manifest.corpus}@{corpus.manifest.version}",
        definition.name,
        sum(each.documents for each in hits),
        size_bytes,
        tally(parts_found, texts_found, index),
        marks_of(texts_found, index),
        _found(corpus, decoder, index, parts_found, texts_found),
    )


def marks_of(texts: npt.NDArray[np.bool_], index: EvalIndex) -> dict[str, list[tuple[str, int]]]:
    """Of each set, in order, of each example: its id and mark; see `Contamination`."""
    marks, ids = example_marks(texts, index).tolist(), index.ids.to_strings()
    return {
        each.name: [(ids[row], marks[row]) for row in range(each.first, each.first + each.examples)]
        for each in index.sets
    }


def _found(
    corpus: Corpus,
    decoder: Decoder,
    index: EvalIndex,
    parts: Sequence[Evidence],
    contaminated: npt.NDArray[np.bool_],
) -> list[Found]:
    """Every pair of a document and an example, with what matched, read from the shards again."""
    by_text: dict[int, list[int]] = {}
    for example, text in enumerate(index.example_texts.tolist()):
        if text >= 0 and contaminated[text]:
            by_text.setdefault(text, []).append(example)
    names = [each.name for each in index.sets]
    of_set, words = index.example_sets.tolist(), index.text_words.tolist()
    rows = []
    for shard, part in zip(corpus.shards, parts, strict=True):
        pairs = part.pairs[contaminated[part.pairs[:, 1]]]
        if not len(pairs):
            continue
        shown: tuple[int, bytes, dict[str, Any]] = (-1, b"", {})
        for document, text, matched, _, _, first, end in pairs.tolist():
            if shown[0] != document:
                (one,) = restore(corpus, shard, decoder, range(document, document + 1))
                shown = document, one.texts[0], one.table.select(PLACE).to_pylist()[0]
            place = shown[2]
            matching = shown[1][first : min(end, first + SHOWN_BYTES)].decode("utf-8", "replace")
            rows += [
                Found(
                    names[of_set[example]], index.ids[example].decode(), matched, words[text],
                    shard.source, shard.subset, place["path"], place["position"], place["id"],
                    shard.name, matching,
                )
                for example in by_text[text]
            ]  # fmt: skip
    return rows


def write_contamination(report: Contamination, folder: Path) -> None:
    """Write contamination.json (the table), evidence.jsonl (a line for each document and example), and of
    each set SET.clean.txt, SET.dirty.txt and SET.untested.txt: ids of examples, one a line, for scores on
    the clean ones."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "contamination.json", (json.dumps(summary(report), indent=2) + "\n").encode())
    lines = "".join(json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in report.found)
    write_atomic(folder / "evidence.jsonl", lines.encode("utf-8", "replace"))
    for name, marks in report.marks.items():
        for mark, word in ((0, "clean"), (1, "dirty"), (-1, "untested")):
            ids = "".join(f"{' '.join(identity.split())}\n" for identity, each in marks if each == mark)
            write_atomic(folder / f"{name}.{word}.txt", ids.encode("utf-8", "replace"))


def summary(report: Contamination) -> dict[str, Any]:
    """The table, as JSON values."""
    return {
        "corpus": report.corpus,
        "definition": report.definition,
        "documents": report.documents,
        "text_bytes": report.text_bytes,
        "sets": [{**asdict(each), "share_ppm": each.share_ppm} for each in report.sets],
    }


def print_contamination(report: Contamination, console: Console) -> None:
    """A line for each set: examples, how many could be tested, how many are contaminated, by how many
    documents."""
    table = Table(box=box.SIMPLE, title=f"{report.corpus}, {report.definition}", title_justify="left")
    table.add_column("evaluation set")
    for name in ("examples", "tested", "contaminated", "share", "documents"):
        table.add_column(name, justify="right")
    for each in report.sets:
        counts = (each.examples, each.tested, each.contaminated)
        share = f"{each.share_ppm / 10_000:.2f} %"
        table.add_row(each.name, *(f"{count:,}" for count in counts), share, f"{each.documents:,}")
    console.print(table)

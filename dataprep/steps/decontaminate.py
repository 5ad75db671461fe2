"""decontaminate: finds examples of evaluation sets in documents, and drops the documents or cuts the examples
out of them.

    - decontaminate: {evals: ["evals/*.jsonl"], definition: longest, action: drop}
    - decontaminate: {evals: [{path: mine.csv, fields: {question: q, answer: a}, action: cut}, "evals/*.gz"]}

Which documents hold which examples is judged over all documents (`dataprep/decide/contamination.py`, in the
stages of `dataprep/stages/contaminated.py`). Definitions are in `dataprep/evals/definitions.py`, what exactly
they mean in docs/concepts/contamination.md.

`cut` takes out what matched and `margin` characters around it; of `gpt3`, Janitor's windows of 200. A
document of which nothing is left has an empty text, and one with more than 10 hits of `gpt3` too; both are
dropped. Signals name of each document the example that it matches in most words.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from dataprep.batch import Batch
from dataprep.decide.contamination import FREQUENT, Evidence, Rule, hits_of_pairs, text_sets
from dataprep.evals.cuts import without, without_windows
from dataprep.evals.definitions import DEFINITIONS, Definition, Name
from dataprep.evals.index import EvalIndex
from dataprep.evals.measure import Hits, hits_in
from dataprep.evals.sets import Action, EvalFile, EvalSpec, eval_files
from dataprep.evals.shared import index_key, ppm_of, shared_index
from dataprep.kernels.hashing import hash128
from dataprep.kernels.texts import Texts
from dataprep.steps.base import Check, CorpusEdit, Int64s, Params, Signals, above, unicode_version

NONE = -1
REPORT, CUT, DROP = 0, 1, 2
STRENGTH: dict[Action, int] = {"report": REPORT, "cut": CUT, "drop": DROP}


class DecontaminateParams(Params):
    """See the module's docstring. `share` and `min_words` are the definition's where they are null. An n-gram
    in more than `frequent` documents is no evidence while it is isolated; null is 10 for `longest`, and 0 for
    the others: all are."""

    evals: Annotated[
        tuple[EvalSpec | Annotated[str, Field(min_length=1)], ...], Field(strict=False, min_length=1)
    ]
    definition: Name = "longest"
    action: Literal["report", "drop", "cut"] = "drop"
    share: Annotated[float, Field(gt=0, le=1)] | None = None
    min_words: Annotated[int, Field(ge=1)] | None = None
    margin: Annotated[int, Field(ge=0)] = 200
    answer_near: bool = False
    frequent: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _asks_what_the_definition_knows(self) -> DecontaminateParams:
        kind = DEFINITIONS[self.definition].kind
        if kind == "any" and (self.share is not None or any(spec.share is not None for spec in self.specs)):
            raise ValueError(f"{self.definition} knows no share: any n-gram is enough")
        if kind != "run" and self.min_words is not None:
            raise ValueError(f"{self.definition} knows no min_words; that is for `longest`")
        if kind != "run" and self.answer_near:
            raise ValueError(f"{self.definition} knows no answer_near; that is for `longest`")
        return self

    @property
    def rule(self) -> Rule:
        frequent = (
            (FREQUENT if self.definition == "longest" else 0) if self.frequent is None else self.frequent
        )
        return Rule(frequent or None, self.answer_near)

    @property
    def specs(self) -> tuple[EvalSpec, ...]:
        return tuple(EvalSpec(path=each) if isinstance(each, str) else each for each in self.evals)


def definition_of(params: DecontaminateParams) -> Definition:
    """The named definition with the parameters that stand instead of its own."""
    definition = DEFINITIONS[params.definition]
    share, floor = ppm_of(params.share), params.min_words
    if share is not None:
        definition = dataclasses.replace(definition, share_ppm=share)
    return definition if floor is None else dataclasses.replace(definition, floor=floor)


def files_of(params: DecontaminateParams) -> list[EvalFile]:
    """The files of the sets. Raises UserError where a pattern finds none."""
    return eval_files(params.evals, where="step decontaminate")


@lru_cache(maxsize=4)  # every batch asks for it
def strengths(index: EvalIndex, files: tuple[EvalFile, ...], action: Action) -> npt.NDArray[np.int8]:
    """int8[t]: what becomes of documents that hold each text: REPORT, CUT or DROP, the strongest of what the
    sets with that text say."""
    out = np.full(index.num_texts, REPORT, dtype=np.int8)
    for file, mask in zip(files, text_sets(index), strict=True):
        out[mask] = np.maximum(out[mask], STRENGTH[file.action or action])
    return out


def measure(batch: Batch, params: DecontaminateParams) -> tuple[Hits, Signals]:
    """What the texts have in common with the sets, and `content_hash` uint64[n, 2], by which copies count
    once."""
    index = shared_index(files_of(params), definition_of(params))
    texts = batch.texts
    return hits_in(texts, index), {"content_hash": hash128(texts.data, texts.offsets)}


def judged(
    hits: Hits, index: EvalIndex, found: Evidence, params: DecontaminateParams
) -> tuple[Signals, Int64s]:
    """Of the documents of a split, int64[n]:

    contaminated   texts of evaluation sets that the document holds
    to_drop        those among them whose sets say `drop`
    eval_example   the first example of that which it matches in most words, counted over all sets; NONE
    matched_words  of that

    and what is to be cut: int64[k, 3] (document, first byte, end), margins not counted.
    """
    pairs = found.pairs
    strong = strengths(index, tuple(files_of(params)), params.action)
    to_cut = pairs[strong[pairs[:, 1]] == CUT]
    is_run = index.definition.kind == "run"
    cuts = to_cut[:, [0, 5, 6]] if is_run else hits_of_pairs(to_cut, hits, index)
    return _signals(pairs, strong, index, hits.documents), cuts


def cut(
    batch: Batch, params: DecontaminateParams, rows: Int64s, starts: Int64s, ends: Int64s
) -> tuple[Texts, Signals]:
    """The texts without what was found and its margins; int64[n] `cut_bytes`, and `emptied`: 1 where nothing
    is left."""
    spans = np.column_stack([rows, starts, ends])
    if params.definition == "gpt3":
        left, taken = without_windows(batch.texts, spans)
    else:
        left, taken = without(batch.texts, spans, params.margin)
    return left, {"cut_bytes": taken, "emptied": ((taken > 0) & (left.lengths == 0)).astype(np.int64)}


def _signals(pairs: Int64s, strong: npt.NDArray[np.int8], index: EvalIndex, count: int) -> Signals:
    distinct = np.unique(pairs[:, :2], axis=0)
    to_drop = distinct[strong[distinct[:, 1]] == DROP]
    example, matched = np.full(count, NONE, dtype=np.int64), np.zeros(count, dtype=np.int64)
    first_example = _first_examples(index)
    best = pairs[np.lexsort((-pairs[:, 1], pairs[:, 2], pairs[:, 0]))]  # the last of each document
    example[best[:, 0]], matched[best[:, 0]] = first_example[best[:, 1]], best[:, 2]
    return {
        "contaminated": np.bincount(distinct[:, 0], minlength=count).astype(np.int64),
        "to_drop": np.bincount(to_drop[:, 0], minlength=count).astype(np.int64),
        "eval_example": example,
        "matched_words": matched,
    }


@lru_cache(maxsize=4)
def _first_examples(index: EvalIndex) -> Int64s:
    """int64[t]: the first example of each text."""
    first = np.full(index.num_texts, NONE, dtype=np.int64)
    tested = np.flatnonzero(index.example_texts >= 0)[::-1]
    first[index.example_texts[tested]] = tested
    return first


def checks(signals: Signals, params: DecontaminateParams) -> Sequence[Check]:
    found = [above("contaminated", signals["to_drop"], 0)]
    if rewrites(params):
        found.append(above("contaminated_throughout", signals["emptied"], 0))
    return found


def depends(params: DecontaminateParams) -> Mapping[str, str]:
    """A digest of the sets, by name and content, and of the definition."""
    return {"evals": index_key(files_of(params), definition_of(params)), **unicode_version(params)}


def rewrites(params: DecontaminateParams) -> bool:
    return any((spec.action or params.action) == "cut" for spec in params.specs)


DECONTAMINATE = CorpusEdit(
    name="decontaminate",
    version=1,
    params=DecontaminateParams,
    measure=measure,
    cut=cut,
    checks=checks,
    measuring=frozenset({"definition", "share", "min_words", "margin"}),
    depends=depends,
    rewrites=rewrites,
    takes_copies=False,
)

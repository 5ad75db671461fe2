"""decontaminate: finds examples of evaluation sets in documents, and drops the documents or cuts the examples
out of them.

    - decontaminate: {evals: ["evals/*.jsonl"], definition: longest, action: drop}
    - decontaminate: {evals: [{path: mine.csv, fields: {question: q, answer: a}, action: cut}, "evals/*.gz"]}

Each document is judged by itself here: what a definition asks of all documents together (`palm`, `llama3`: an
example found in parts; n-grams that are frequent in the corpus) is the business of
`dataprep/decide/contamination.py`, of which this uses what holds for one document. Definitions are in
`dataprep/evals/definitions.py`, what exactly they mean in docs/concepts/contamination.md.

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
from dataprep.decide.contamination import Rule, evidence, hits_of_pairs, text_sets
from dataprep.evals.cuts import without, without_windows
from dataprep.evals.definitions import DEFINITIONS, Definition, Name
from dataprep.evals.index import EvalIndex
from dataprep.evals.measure import Hits, hits_in
from dataprep.evals.sets import Action, EvalFile, EvalSpec, eval_files
from dataprep.evals.shared import index_key, ppm_of, shared_index
from dataprep.kernels.texts import Texts
from dataprep.steps.base import Check, Edit, Params, Signals, above, unicode_version
from manifests.manifest import CheckedSet

Int64s = npt.NDArray[np.int64]
NONE = -1
REPORT, CUT, DROP = 0, 1, 2
STRENGTH: dict[Action, int] = {"report": REPORT, "cut": CUT, "drop": DROP}


class DecontaminateParams(Params):
    """See the module's docstring. `share` and `min_words` are the definition's where they are null."""

    evals: Annotated[
        tuple[EvalSpec | Annotated[str, Field(min_length=1)], ...], Field(strict=False, min_length=1)
    ]
    definition: Name = "longest"
    action: Literal["report", "drop", "cut"] = "drop"
    share: Annotated[float, Field(gt=0, le=1)] | None = None
    min_words: Annotated[int, Field(ge=1)] | None = None
    margin: Annotated[int, Field(ge=0)] = 200
    answer_near: bool = False

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


def edit(batch: Batch, params: DecontaminateParams) -> tuple[Texts, Signals]:
    """The texts without what was cut; int64[n]:

    contaminated   texts of evaluation sets that the document holds
    to_drop        those among them whose sets say `drop`
    eval_example   the first example of that which it matches in most words, counted over all sets; NONE
    matched_words  of that
    cut_bytes      taken out
    """
    files = files_of(params)
    index = shared_index(files, definition_of(params))
    texts = batch.texts
    hits = hits_in(texts, index)
    pairs = evidence(hits, index, None, Rule(answer=params.answer_near)).pairs
    strong = strengths(index, tuple(files), params.action)
    left, taken = _cut(texts, hits, pairs[strong[pairs[:, 1]] == CUT], index, params.margin)
    signals = _signals(pairs, strong, index, len(texts))
    signals["cut_bytes"] = taken
    signals["emptied"] = ((taken > 0) & (left.lengths == 0)).astype(np.int64)
    return left, signals


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


def _cut(texts: Texts, hits: Hits, pairs: Int64s, index: EvalIndex, margin: int) -> tuple[Texts, Int64s]:
    if index.definition.kind == "run":
        return without(texts, pairs[:, [0, 5, 6]], margin)
    found = hits_of_pairs(pairs, hits, index)
    return without_windows(texts, found) if index.definition.name == "gpt3" else without(texts, found, margin)


def checks(signals: Signals, params: DecontaminateParams) -> Sequence[Check]:
    return (
        above("contaminated", signals["to_drop"], 0),
        above("contaminated_throughout", signals["emptied"], 0),
    )


def depends(params: DecontaminateParams) -> Mapping[str, str]:
    """A digest of the sets, by name and content, and of the definition; and what each set says to do."""
    files = files_of(params)
    actions = ",".join(f"{file.name}={file.action or params.action}" for file in files)
    return {"evals": index_key(files, definition_of(params)), "actions": actions, **unicode_version(params)}


def rewrites(params: DecontaminateParams) -> bool:
    return any((spec.action or params.action) == "cut" for spec in params.specs)


def checked_sets(params: DecontaminateParams, sources: list[str] | None) -> list[CheckedSet]:
    """What a manifest says of the sets. Examples are not counted over all documents yet."""
    files = files_of(params)
    index = shared_index(files, definition_of(params))
    return [
        CheckedSet(
            name=each.name,
            digest=each.digest,
            definition=params.definition,
            action=file.action or params.action,
            sources=sources,
            examples=each.examples,
            contaminated=None,
            documents=None,
        )
        for file, each in zip(files, index.sets, strict=True)
    ]


DECONTAMINATE = Edit(
    name="decontaminate",
    version=1,
    params=DecontaminateParams,
    edit=edit,
    checks=checks,
    measuring=frozenset(DecontaminateParams.model_fields) - {"evals"},
    depends=depends,
    rewrites=rewrites,
)

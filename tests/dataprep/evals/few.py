"""Small evaluation sets and indexes for tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from dataprep.evals.definitions import DEFINITIONS, Definition, Name
from dataprep.evals.fields import Example, FieldMap
from dataprep.evals.index import EvalIndex, build_index
from dataprep.evals.sets import EvalSet


def a_set(questions: Sequence[str], answers: Sequence[str] = (), name: str = "few") -> EvalSet:
    pairs = zip(questions, answers or [""] * len(questions), strict=True)
    examples = [Example(str(number), question, answer) for number, (question, answer) in enumerate(pairs)]
    return EvalSet(name, f"digest of {name}", FieldMap(question=("question",)), examples)


def an_index(
    questions: Sequence[str], answers: Sequence[str] = (), definition: Name = "longest", **changed: int
) -> EvalIndex:
    return build_index([a_set(questions, answers)], definition_of(definition, **changed))


def definition_of(name: Name, **changed: int) -> Definition:
    return dataclasses.replace(DEFINITIONS[name], **changed)

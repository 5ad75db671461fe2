"""`FieldMap`: where in a row of an evaluation set the question, choices, answer and context are.

A field is a name, or a path with dots (`answers.text`), which goes into lists too. A value may be text, a
number, a list of values, or missing; a list is its values, one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

Name = Annotated[str, Field(min_length=1)]
Names = Name | tuple[Name, ...]

LABELS = re.compile(r"^\s*(?:question|passage|context|query|q)\s*:\s*", re.IGNORECASE)
ANSWER_LABEL = re.compile(r"\s*(?:answer|a)\s*:\s*$", re.IGNORECASE)
"""What a harness writes around a question. It is no part of the question, and documents do not have it."""


class FieldMap(BaseModel):
    """Fields by role.

    question      what is tested (with everything that the score depends on, such as a passage)
    choices       what an answer is chosen from; named in reports
    answer        the right answer
    answer_index  the right answer as a place among the choices, where `answer` is not given
    context       what the question is about; tested only where there is no question
    id            names an example; else its row number does, from 0
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    question: Names = ()
    choices: Names = ()
    answer: Names = ()
    answer_index: Name | None = None
    context: Names = ()
    id: Name | None = None

    @model_validator(mode="after")
    def _tests_something(self) -> FieldMap:
        if not (self.question or self.context):
            raise ValueError("maps no field to `question` or `context`, so there is nothing to test")
        return self

    @property
    def tested(self) -> tuple[str, ...]:
        return listed(self.question) or listed(self.context)

    def fits(self, row: Mapping[str, Any]) -> bool:
        """Whether the row has every field that is tested."""
        return all(name.partition(".")[0] in row for name in self.tested)


def listed(names: Names) -> tuple[str, ...]:
    """A name alone is a list of one."""
    return (names,) if isinstance(names, str) else names


@dataclass(frozen=True, slots=True)
class Example:
    """One example of an evaluation set, as text."""

    id: str
    question: str
    answer: str


def example_of(row: Mapping[str, Any], fields: FieldMap, number: int) -> Example:
    """The example in a row."""
    question = "\n".join(text for name in fields.tested for text in values_at(row, name))
    question = ANSWER_LABEL.sub("", LABELS.sub("", question))
    answers = [text for name in listed(fields.answer) for text in values_at(row, name)]
    if not answers and fields.answer_index is not None:
        choices = [text for name in listed(fields.choices) for text in values_at(row, name)]
        answers = _chosen(row.get(fields.answer_index), choices)
    identity = next(iter(values_at(row, fields.id)), None) if fields.id is not None else None
    return Example(str(number) if identity is None else identity, question, "\n".join(answers))


def values_at(value: Any, path: str) -> Iterator[str]:
    """The texts at a path."""
    head, _, rest = path.partition(".")
    if isinstance(value, list | tuple):
        for each in value:
            yield from values_at(each, path)
    elif isinstance(value, Mapping) and head in value:
        if rest:
            yield from values_at(value[head], rest)
        else:
            yield from _texts(value[head])


def _texts(value: Any) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    else:
        yield str(value)


def _chosen(index: Any, choices: list[str]) -> list[str]:
    """The choice that an index means: a number, a number as text, or a letter."""
    if isinstance(index, str):
        letter = ord(index.strip().upper()) - ord("A") if len(index.strip()) == 1 else -1
        index = int(index) if index.strip().isdecimal() else letter
    if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(choices):
        return [choices[index]]
    return []

"""datatrove as a step: any of its filters, formatters and extractors inside our passes, with its own reasons.

    - datatrove: {filter: GopherQualityFilter, with: {min_doc_words: 20}}
    - datatrove: {formatter: FTFYFormatter}

It is as fast as datatrove is: tens of times slower than a step of ours that does the same, so look for one
first. What differs from a pipeline of datatrove: a document's answer depends on that document alone, on no
counter and no page before it; an extractor has no time limit; an error stops the run and names the document,
where datatrove leaves the page out and goes on (`on_error: drop` does, and counts it). A record's carried
fields are the metadata, as text. Which classes there are, and which are refused: `datatrove_classes.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import model_validator

from dataprep.batch import Batch
from dataprep.columns import Texts
from dataprep.steps import datatrove_classes as classes
from dataprep.steps.base import Check, Edit, Signals, unicode_version
from dataprep.steps.foreign import Code, Failure, ForeignParams, Unusable, equal, errors_of, failed_check
from dataprep.steps.model_file import file_digest
from manifests.errors import UserError

DROPPED = "dropped"
NOTHING_EXTRACTED = "nothing_extracted"
MAX_REASONS = 20

Answer = tuple[bytes | None, str | None]
"""The new text, or None for the old one; and why the document goes, or None."""


class DatatroveParams(ForeignParams):
    """One of the first three names a class; `with` holds arguments of its constructor."""

    filter: str | None = None
    formatter: str | None = None
    extractor: str | None = None

    @model_validator(mode="after")
    def _one_class(self) -> DatatroveParams:
        given = [kind for kind in classes.METHODS if getattr(self, kind) is not None]
        if len(given) != 1:
            found = f"found {' and '.join(given)}" if given else "found none of them"
            raise ValueError(f"expected one of filter, formatter and extractor, {found}")
        return self

    @property
    def named(self) -> tuple[classes.Kind, str, str]:
        """Kind and name of the class, and its arguments as JSON text."""
        kind = next(kind for kind in classes.METHODS if getattr(self, kind) is not None)
        return kind, getattr(self, kind), json.dumps(self.with_, sort_keys=True)


def rewrites(params: DatatroveParams) -> bool:
    kind, name, _ = params.named
    return classes.rewrites(kind, name)


def depends(params: DatatroveParams) -> Mapping[str, str]:
    kind, name, arguments = params.named
    known = classes.KNOWN.get(name, classes.OTHER)
    found = {**unicode_version(params), **classes.check_class(kind, name, arguments)}
    if known.file is not None:
        found[known.file] = file_digest(str(params.with_[known.file]), "datatrove")
    return found


def edit(batch: Batch, params: DatatroveParams) -> tuple[Texts, Signals]:
    """`reason`: what datatrove gives, null for a document that stays; `error`: see `errors_of`."""
    kind, name, arguments = params.named
    ask = _ASK[kind]

    def one(batch: Batch, row: int, text: str) -> Answer:
        classes.forget(name)
        return ask(classes.made(kind, name, arguments), batch, row, text)

    answers = Code(f"datatrove's {name}", one, drops=params.on_error == "drop").answers(batch)
    reasons = [None if isinstance(answer, Failure) else answer[1] for answer in answers]
    signals = {"reason": pa.array(reasons, pa.string()), "error": errors_of(answers)}
    new = [None if isinstance(answer, Failure) else answer[0] for answer in answers]
    if not rewrites(params) or all(text is None for text in new):
        return batch.texts, signals
    texts = [old if text is None else text for old, text in zip(batch.texts, new, strict=True)]
    return Texts.from_bytes(texts), signals


def checks(signals: Signals, params: DatatroveParams) -> Sequence[Check]:
    """One check for each reason that was given, by name: datatrove declares none."""
    column = signals["reason"]
    reasons = sorted(pc.unique(column).drop_null().to_pylist())
    who = f"datatrove's {params.named[1]}"
    if len(reasons) > MAX_REASONS:
        raise UserError(
            f"{who} gives {len(reasons)} reasons, more than {MAX_REASONS}; the first is {reasons[0]}",
            hint="reasons that differ from document to document cannot be counted",
        )
    found = [Check(reason, equal(column, reason), column, f"is {reason}") for reason in reasons]
    return [*found, *failed_check(who, signals, params)]


def _filter(instance: Any, batch: Batch, row: int, text: str) -> Answer:
    from datatrove.data import Document

    own = batch.ids[row].as_py()
    fields = {name: column[row].as_py() for name, column in batch.fields.items()}
    metadata = {name: value for name, value in fields.items() if value is not None}
    document = Document(text=text, id=own or "", metadata=metadata)
    answer = instance.filter(document)
    keeps, reason = answer if isinstance(answer, tuple) else (answer, None)
    if keeps:
        return _new(text, document.text), None
    return None, str(reason or DROPPED)


def _formatter(instance: Any, batch: Batch, row: int, text: str) -> Answer:
    return _new(text, instance.format(text)), None


def _extractor(instance: Any, batch: Batch, row: int, text: str) -> Answer:
    extracted = instance.extract(text)
    return (_new(text, extracted), None) if extracted else (None, NOTHING_EXTRACTED)


_ASK: dict[classes.Kind, Callable[[Any, Batch, int, str], Answer]] = {
    "filter": _filter,
    "formatter": _formatter,
    "extractor": _extractor,
}


def _new(old: str, new: Any) -> bytes | None:
    if not isinstance(new, str):
        raise Unusable(f"gave a text of type {type(new).__name__}")
    try:
        return None if new == old else new.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Unusable("gave text with a lone surrogate, which is not UTF-8") from error


DATATROVE = Edit(
    name="datatrove",
    version=1,
    params=DatatroveParams,
    edit=edit,
    checks=checks,
    measuring=frozenset({"filter", "formatter", "extractor", "with"}),
    depends=depends,
    expensive=True,
    rewrites=rewrites,
    sees_all_fields=True,  # they are its metadata
    stopping=frozenset({"on_error"}),
)

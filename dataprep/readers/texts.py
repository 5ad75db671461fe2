"""The texts of files, without a recipe: for training a classifier or a tokenizer on files as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from dataprep.columns import texts_from_arrow
from dataprep.kernels.texts import Texts, concat
from dataprep.readers import READERS, ReadOptions
from dataprep.readers.listing import InputFile
from dataprep.readers.records import fields_of
from dataprep.readers.splits import make_splits
from manifests.errors import UserError


def read_texts(name: str, files: Sequence[InputFile], text: str) -> Iterator[tuple[Texts, int]]:
    """(documents, number of records that are none), some at a time; as `read_texts_with`."""
    for texts, _, bad in read_texts_with(name, files, text, None):
        yield texts, bad


def read_texts_with(
    name: str, files: Sequence[InputFile], text: str, field: str | None
) -> Iterator[tuple[Texts, pa.StringArray | None, int]]:
    """(documents, the values of `field`, number of records that are none), some at a time. Formats go by
    suffix.

    text   the field that holds the text
    field  another one, null where a record lacks it; None: no values are wanted

    Raises UserError for a damaged file: without a failure budget, none is passed over; and for a `field` that
    a format cannot have.
    """
    options = ReadOptions(text=text, carry=() if field is None else (field,))
    for split in make_splits(name, "auto", files, options):
        for chunk in READERS[split.format].read(split, options):
            for damage in chunk.damage:
                path = split.extents[damage.extent].file.path
                hint = "mend it or leave it out"
                raise UserError(f"a damaged file: {damage.reason}, {damage.detail}", where=path, hint=hint)
            values = None if field is None else fields_of(chunk, options)[field]
            yield concat([texts_from_arrow(chunk.records.column("text"))]), values, len(chunk.bad)

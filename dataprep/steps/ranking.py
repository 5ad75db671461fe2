"""What every deduplication asks: which copy stays (`keep`), and what may be a copy of what (`within`).

Measuring makes a column for each carried field that these name: `group` for the one that `within` names, and
`order_NAME` for each that `keep` names. Whether the first or the last value is better is asked when deciding,
so that it measures nothing again. Sources, lengths and hashes of the documents are the stage's, and so are
signals of other steps (`keep: [{highest: classifier.score_ppm}]`), which are measured already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, field_validator, model_validator

from dataprep.batch import Batch
from dataprep.columns import texts_from_arrow
from dataprep.steps.base import Int64s, Params, Signals
from dataprep.steps.listed import hashed

Words = npt.NDArray[np.uint64]

Entry = Annotated[str, Field(min_length=1)]
Signal = Annotated[str, Field(pattern=r"^.+\..+$")]
ORDER_BYTES = 24
"""As much of a value is compared: a date and a time with milliseconds and zone."""
NO_VALUE = np.uint64(0xFFFFFFFFFFFFFFFF)
"""Of `order_NAME`: after every text, since no UTF-8 has such a byte."""


class FieldName(Params):
    """A carried field."""

    field: Entry


class ByValue(Params):
    """The copy whose value of a carried field is the first, or the last, in the order of texts; or whose
    signal of another step ("step.signal") is the highest, or the lowest."""

    first: Entry | None = None
    last: Entry | None = None
    highest: Signal | None = None
    lowest: Signal | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> ByValue:
        if sum(each is not None for each in (self.first, self.last, self.highest, self.lowest)) != 1:
            raise ValueError(
                "needs first: or last: with the name of a carried field, or highest: or lowest: with a signal"
            )
        return self

    @property
    def field(self) -> str | None:
        """The carried field that is looked at."""
        return self.first or self.last

    @property
    def signal(self) -> str | None:
        """The signal that is looked at."""
        return self.highest or self.lowest


RankKey = Literal["source_priority", "longest", "shortest"] | ByValue
Within = Literal["source", "corpus"] | FieldName


class RankingParams(Params):
    """`keep`: rank of the copies, first key first; ties fall to the raw hash. `within`: documents of another
    source, or with another value of a field, are no copies. Without a value they are a group of their own."""

    keep: Annotated[tuple[RankKey, ...], Field(strict=False)] = ("source_priority", "longest")
    within: Within = "corpus"

    @field_validator("keep")
    @classmethod
    def _each_once(cls, keep: tuple[RankKey, ...]) -> tuple[RankKey, ...]:
        names = [(key,) if isinstance(key, str) else (key.field, key.signal) for key in keep]
        if ("longest",) in names and ("shortest",) in names:
            raise ValueError("names longest and shortest; the second of them decides nothing")
        if len(set(names)) != len(names):
            raise ValueError("names a key twice")
        return keep

    @property
    def group_field(self) -> str | None:
        """The carried field that documents are grouped by."""
        return self.within.field if isinstance(self.within, FieldName) else None

    @property
    def order_fields(self) -> tuple[str, ...]:
        """The carried fields that documents are ranked by."""
        return tuple(key.field for key in self.keep if not isinstance(key, str) and key.field is not None)

    @property
    def order_signals(self) -> tuple[str, ...]:
        """The signals of other steps that documents are ranked by."""
        return tuple(key.signal for key in self.keep if not isinstance(key, str) and key.signal is not None)

    @property
    def ranking_fields(self) -> tuple[str, ...]:
        """All of them, each once."""
        group = () if self.group_field is None else (self.group_field,)
        return tuple(dict.fromkeys((*group, *self.order_fields)))


class DedupParams(RankingParams):
    """`against`: older corpora (a folder, or ROOT/name@version) whose documents are better than all of ours,
    so that what they have already goes; the first listed are the best."""

    against: Annotated[tuple[Entry, ...], Field(strict=False)] = ()


def ranking_measured(params: RankingParams) -> Mapping[str, Any]:
    """What of the parameters `ranking_columns` looks at; nothing where it makes no columns."""
    group = {} if params.group_field is None else {"group": params.group_field}
    return {**group, **({"order": sorted(params.order_fields)} if params.order_fields else {})}


def ranking_columns(batch: Batch, params: RankingParams) -> Signals:
    """`group` uint64[n], if `within` names a field; `order_NAME` uint64[n, 3] for each field of `keep`."""
    columns: Signals = {}
    if params.group_field is not None:
        columns["group"] = hashed(batch.fields[params.group_field])[:, 0].copy()
    for name in sorted(params.order_fields):
        columns[f"order_{name}"] = order_words(batch.fields[name])
    return columns


def order_words(values: pa.StringArray) -> Words:
    """uint64[n, 3]: the first 24 bytes of each value as numbers that compare as they do; NO_VALUE where it is
    null or empty."""
    texts = texts_from_arrow(values.fill_null(""))
    lengths = np.minimum(texts.lengths, ORDER_BYTES)
    places = np.arange(ORDER_BYTES)
    is_there = places < lengths[:, None]
    at = (texts.offsets[:-1, None] + places)[is_there]
    raw = np.zeros((len(texts), ORDER_BYTES), dtype=np.uint8)
    raw[is_there] = texts.data[at]
    words = raw.view(">u8").astype(np.uint64)
    words[lengths == 0] = NO_VALUE
    return words


def signal_words(values: npt.NDArray[Any]) -> Int64s:
    """int64[n, 2] of numbers or booleans: 1 where there is none (NaN), else 0; a number that compares as the
    value does."""
    is_missing = np.zeros(len(values), dtype=np.int64)
    if values.dtype.kind == "f":
        is_missing = np.isnan(values).astype(np.int64)
        bits = (np.where(is_missing, 0, values) + 0.0).astype(np.float64).view(np.int64)  # no minus zero
        words = np.where(bits < 0, bits ^ np.int64(np.iinfo(np.int64).max), bits)
    elif values.dtype == np.uint64:
        words = (values ^ np.uint64(1 << 63)).view(np.int64)
    else:
        words = values.astype(np.int64)
    return np.column_stack([is_missing, words])


def ranks_of(
    params: RankingParams, columns: Mapping[str, Any], source: npt.NDArray[np.int32], text_bytes: Int64s
) -> list[Int64s]:
    """Each int64[n], lower is better and the first counts most, as `decide/exact.py` wants them.

    columns     those of `ranking_columns`, maybe others, and of each signal "step.signal" its `signal_words`
    source      place of each document's source in the recipe
    text_bytes  bytes of each document's text
    """
    found: list[Int64s] = []
    for key in params.keep:
        if isinstance(key, str):
            priority = source.astype(np.int64)
            found.append({"source_priority": priority, "longest": -text_bytes, "shortest": text_bytes}[key])
            continue
        if key.signal is not None:
            is_missing, values = columns[key.signal].T
            found += [is_missing, values if key.lowest is not None else ~values]
            continue
        words = columns[f"order_{key.field}"]
        if key.last is not None:
            words = np.where(words[:, :1] == NO_VALUE, NO_VALUE, ~words)
        signed = (words ^ np.uint64(1 << 63)).view(np.int64)  # in the same order
        found += [signed[:, place] for place in range(signed.shape[1])]
    return found

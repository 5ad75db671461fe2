"""exact_dedup: keeps one of the documents that are the same: in their text, URL, or a field.

    - exact_dedup: {by: url, keep: [{last: date}, longest]}

text             every byte
normalized_text  all but white space
url              the carried field `url_field`, in the form of `dataprep/kernels/url_forms.py`
{field: NAME}    the carried field, every byte

A document without a URL with a host, or without a value of the field, is no copy of anything and stays.

This file measures 128-bit hashes; which copy stays is decided over all documents in
`dataprep/decide/exact.py`. Near duplicates are another step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pyarrow as pa
from pydantic import model_validator

from dataprep.batch import Batch
from dataprep.columns import Texts, texts_from_arrow
from dataprep.kernels.hashing import hash128, hash_normalized
from dataprep.kernels.url_forms import url_forms
from dataprep.steps.base import Decision, Signals, unicode_version
from dataprep.steps.ranking import DedupParams, Entry, FieldName, ranking_columns, ranking_measured
from dataprep.steps.site_lists import canonical


class ExactDedupParams(DedupParams):
    """`by`: what must be equal; see the module's docstring."""

    by: Literal["text", "normalized_text", "url"] | FieldName = "text"
    url_field: Entry = "url"

    @model_validator(mode="after")
    def _asks_for_the_url(self) -> ExactDedupParams:
        if self.url_field != "url" and self.by != "url":
            raise ValueError("url_field says where URLs are, which are looked at with by: url only")
        return self

    @property
    def compared_field(self) -> str | None:
        """The carried field that is compared; None where the text is."""
        if isinstance(self.by, FieldName):
            return self.by.field
        return self.url_field if self.by == "url" else None


def needs(params: ExactDedupParams) -> tuple[str, ...]:
    compared = () if params.compared_field is None else (params.compared_field,)
    return tuple(dict.fromkeys((*compared, *params.ranking_fields)))


def also_measuring(params: ExactDedupParams) -> Mapping[str, Any]:
    return {**({"url_field": params.url_field} if params.by == "url" else {}), **ranking_measured(params)}


def depends(params: ExactDedupParams) -> Mapping[str, str]:
    """Hosts beyond ASCII are brought into one form."""
    return unicode_version(params) if params.by == "url" else {}


def measure(batch: Batch, params: ExactDedupParams) -> Signals:
    """`content_hash` uint64[n, 2] of what is compared (texts as the transforms above the step left them); for
    a field or URL `present` bool[n], false where there is none; and the columns of `ranking_columns`."""
    if params.compared_field is None:
        digest = hash128 if params.by == "text" else hash_normalized
        signals: Signals = {"content_hash": digest(batch.texts.data, batch.texts.offsets)}
    else:
        values = _compared(batch.fields[params.compared_field], params.by == "url")
        signals = {
            "content_hash": hash128(values.data, values.offsets),
            "present": values.lengths > 0,
        }
    return signals | ranking_columns(batch, params)


def _compared(values: pa.StringArray, are_urls: bool) -> Texts:
    """What is hashed, empty where there is nothing."""
    texts = texts_from_arrow(values.fill_null(""))
    if not are_urls:
        return texts
    texts = canonical(texts)
    return Texts(*url_forms(texts.data, texts.offsets))


EXACT_DEDUP = Decision(
    name="exact_dedup",
    version=1,
    params=ExactDedupParams,
    measure=measure,
    measuring=frozenset({"by"}),
    also_measuring=also_measuring,
    depends=depends,
    needs=needs,
)

"""extract_text: the text of web pages, without markup, navigation and other boilerplate.

The parser is a library: `resiliparse` (fast), or `trafilatura` (slower, often cleaner on articles). It runs
in a process of its own (`dataprep/extraction/`), so that a page that crashes it, hangs in it or eats memory
costs that page. Pages that are larger, have more tags or nest deeper than allowed are not tried: parsers take
a time there that grows with the square.

A page without text, and one that could not be extracted, is dropped with its reason; nothing is cut short.
With `sniff`, what does not begin like HTML is left as it is: text of a WET, plain text among the responses.

What is not here: decoding bytes (the readers do that), and formats other than HTML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from dataprep.batch import Batch
from dataprep.extraction.client import Client, Settings, client_of
from dataprep.extraction.outcomes import DROPPED, Outcome
from dataprep.kernels.markup import DEPTH, IS_HTML, TAGS, markup_counts
from dataprep.kernels.texts import Texts
from dataprep.steps.base import Check, Edit, Params, Signals
from manifests.errors import UserError

_PACKAGES = {  # engine -> the extra that installs it, and what its results depend on
    "resiliparse": ("warc", ["resiliparse"]),
    "trafilatura": ("extract", ["trafilatura", "lxml", "justext", "lxml_html_clean"]),
}
Positive = Annotated[int, Field(ge=1)]


class Resiliparse(Params):
    """Parameters of resiliparse's `extract_plain_text`, by its names but for `formatting`
    (preserve_formatting). main_content and alt_texts are set as DCLM has them, the rest as the library
    does."""

    main_content: bool = True
    alt_texts: bool = False
    list_bullets: bool = True
    links: bool = False
    form_fields: bool = False
    noscript: bool = False
    comments: bool = True
    post_meta: bool = True
    hidden_elements: bool = False
    formatting: bool = True


class Trafilatura(Params):
    """Parameters of trafilatura's `extract`. favor and comments are set as datatrove (and with it FineWeb)
    has them; `fast` leaves out the fallbacks."""

    favor: Literal["precision", "balance", "recall"] = "precision"
    comments: bool = False
    tables: bool = True
    formatting: bool = False
    links: bool = False
    fast: bool = False


class ExtractTextParams(Params):
    """The parser, what it is asked for, and what one page may cost."""

    engine: Literal["resiliparse", "trafilatura"] = "resiliparse"
    resiliparse: Resiliparse = Resiliparse()
    trafilatura: Trafilatura = Trafilatura()
    sniff: bool = True
    max_bytes: Positive = 10_000_000
    max_tags: Positive = 1_000_000
    max_depth: Positive = 5_000
    cpu_seconds: Positive = 20
    memory_bytes: Annotated[int, Field(ge=256 << 20)] = 2 << 30

    @model_validator(mode="after")
    def _no_other_engine(self) -> ExtractTextParams:
        other = "trafilatura" if self.engine == "resiliparse" else "resiliparse"
        if getattr(self, other) != type(getattr(self, other))():
            raise ValueError(f"{other} is set, and the engine is {self.engine}")
        return self

    @property
    def settings(self) -> Settings:
        options = getattr(self, self.engine).model_dump()
        return Settings(self.engine, options, self.cpu_seconds, self.memory_bytes)


def edit(batch: Batch, params: ExtractTextParams) -> tuple[Texts, Signals]:
    """`outcome` uint8[n], of `dataprep.extraction.outcomes`. A page that is dropped has no text."""
    return extract(batch, params, client_of(params.settings))


def extract(batch: Batch, params: ExtractTextParams, client: Client) -> tuple[Texts, Signals]:
    """The same, with a client that is given."""
    texts = batch.texts
    outcomes = _before(texts, params)
    tried = np.flatnonzero(outcomes == Outcome.OK)
    results = client.extract([texts[row] for row in tried.tolist()])
    outcomes[tried] = [outcome for outcome, _ in results]
    new = [texts[row] if outcomes[row] == Outcome.NOT_HTML else b"" for row in range(len(texts))]
    for row, (_, text) in zip(tried.tolist(), results, strict=True):
        new[row] = text
    return Texts.from_bytes(new), {"outcome": outcomes}


def _before(texts: Texts, params: ExtractTextParams) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """What can be said of pages without a parser; OK for those that one must see."""
    counts = markup_counts(texts.data, texts.offsets)
    outcomes = np.full(len(texts), Outcome.OK, dtype=np.uint8)
    outcomes[counts[:, DEPTH] > params.max_depth] = Outcome.TOO_DEEP
    outcomes[counts[:, TAGS] > params.max_tags] = Outcome.TOO_MANY_TAGS
    outcomes[texts.lengths > params.max_bytes] = Outcome.TOO_LARGE
    if params.sniff:
        outcomes[counts[:, IS_HTML] == 0] = Outcome.NOT_HTML
    return outcomes


def checks(signals: Signals, params: ExtractTextParams) -> Sequence[Check]:
    """One reason an outcome that drops."""
    outcomes = signals["outcome"]
    names = pa.array([outcome.name.lower() for outcome in Outcome]).take(pa.array(outcomes))
    return [
        Check(f"extract_{outcome.name.lower()}", outcomes == outcome, names, f"= {outcome.name.lower()}")
        for outcome in DROPPED
    ]


def depends(params: ExtractTextParams) -> Mapping[str, str]:
    """Versions of the parser and of what it parses with."""
    extra, packages = _PACKAGES[params.engine]
    try:
        return {package: version(package) for package in packages}
    except PackageNotFoundError as error:
        hint = f"pip install 'headrace[{extra}]'"
        raise UserError(f"extract_text needs the package {error.name}", hint=hint) from error


EXTRACT_TEXT = Edit(
    name="extract_text",
    version=1,
    params=ExtractTextParams,
    edit=edit,
    checks=checks,
    measuring=frozenset(ExtractTextParams.model_fields),
    depends=depends,
    expensive=True,
)

"""boilerplate_lines: web text without lines that are no prose, and without citation marks.

After the line-wise corrections of RefinedWeb (Penedo et al. 2023, arXiv:2306.01116, appendix G.2), of which
the paper says what they are but not every word of them, and of C4 (Raffel et al. 2020, arXiv:1910.10683), as
datatrove has it. Each rule is a parameter, and none is more than its list says:

citation_numbers, citation_marks   [3] and [edit] are taken out of lines (C4)
numeric, counters, min_words       lines like `12/05`, `3 likes` and `Home` go (RefinedWeb)
max_uppercase_ratio                lines in capitals go (RefinedWeb: "mainly")
line_starts, line_ends, phrases    short lines with one of these go (RefinedWeb: up to 10 words; C4's phrases
                                   of policies, there in lines of any length)

Blank lines stay. docs/reference/statistics.md has the exact rules. RefinedWeb also drops a document if more
than 5 % of its words go: `max_removed_ratio`, of bytes here. Not for code: `a[3]` would lose its index.
Nor for hard-wrapped text: the last word of a paragraph is often a line of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field, field_validator

from dataprep.batch import Batch
from dataprep.kernels.boilerplate import COUNTS, Limits, kept_lines, words_of
from dataprep.kernels.line_facts import ANYWHERE, AT_END, AT_START
from dataprep.kernels.texts import Texts
from dataprep.steps.base import Check, Edit, Params, Signals, above, ratio, unicode_version
from manifests.units import Ratio

Count = Annotated[int, Field(ge=0)]
Strings = Annotated[tuple[str, ...], Field(strict=False)]


class BoilerplateLinesParams(Params):
    """See the module's docstring; null, 0, false and an empty list switch a rule off."""

    citation_numbers: bool = True
    citation_marks: Strings = ("edit", "citation needed")
    numeric: bool = True
    counters: Strings = (
        "like", "likes", "share", "shares", "comment", "comments", "reply", "replies", "view", "views",
        "vote", "votes", "upvotes", "downvotes", "follower", "followers", "retweet", "retweets", "reposts",
        "quotes", "bookmarks", "downloads",
    )  # fmt: skip
    min_words: Count | None = 2
    max_uppercase_ratio: Ratio | None = 0.5
    line_starts: Strings = (
        "sign in", "sign-in", "sign up", "log in", "login", "share this", "follow us", "subscribe to",
        "skip to content",
    )  # fmt: skip
    line_ends: Strings = ("read more", "continue reading")
    phrases: Strings = (
        "items in cart", "all rights reserved", "accept cookies", "terms of use", "privacy policy",
        "cookie policy",
        "uses cookies", "use of cookies", "use cookies",
    )  # fmt: skip
    max_phrase_words: Count | None = 10
    max_removed_ratio: Ratio | None = None

    @field_validator("citation_marks", "counters", "line_starts", "line_ends", "phrases")
    @classmethod
    def _one_line(cls, strings: tuple[str, ...]) -> tuple[str, ...]:
        for string in strings:
            if string != " ".join(string.split()) or not string.isprintable() or not string:
                raise ValueError(f"{string!r} is no words with single spaces between them")
        return strings

    @field_validator("citation_marks")
    @classmethod
    def _inside_brackets(cls, marks: tuple[str, ...]) -> tuple[str, ...]:
        for mark in marks:
            if "[" in mark or "]" in mark:
                raise ValueError(f"{mark!r} is what stands between the brackets, without them")
        return marks


def edit(batch: Batch, params: BoilerplateLinesParams) -> tuple[Texts, Signals]:
    """int64[n] for each name of `kernels.boilerplate.COUNTS`, `text_bytes` before and `removed_bytes`."""
    texts = batch.texts
    lists = {AT_START: params.line_starts, AT_END: params.line_ends, ANYWHERE: params.phrases}
    places = [place for place, strings in lists.items() for _ in strings]
    data, offsets, counts = kept_lines(
        texts.data,
        texts.offsets,
        Limits(
            citation_numbers=params.citation_numbers,
            numeric=params.numeric,
            min_words=params.min_words or 0,
            max_uppercase_ratio=1.0 if params.max_uppercase_ratio is None else params.max_uppercase_ratio,
            max_phrase_words=params.max_phrase_words,
        ),
        words_of(params.citation_marks),
        words_of(params.counters),
        words_of([string for strings in lists.values() for string in strings], places),
    )
    signals = {name: np.ascontiguousarray(counts[:, column]) for column, name in enumerate(COUNTS)}
    signals["text_bytes"] = texts.lengths
    signals["removed_bytes"] = texts.lengths - np.diff(offsets)
    return texts if not counts.any() else Texts(data, offsets), signals


def checks(signals: Signals, params: BoilerplateLinesParams) -> Sequence[Check]:
    removed = ratio(signals["removed_bytes"], signals["text_bytes"])
    return [above("boilerplate_removed_ratio", removed, params.max_removed_ratio)]


BOILERPLATE_LINES = Edit(
    name="boilerplate_lines",
    version=1,
    params=BoilerplateLinesParams,
    edit=edit,
    checks=checks,
    measuring=frozenset(BoilerplateLinesParams.model_fields) - {"max_removed_ratio"},
    depends=unicode_version,
)

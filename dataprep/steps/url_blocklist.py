"""url_blocklist: drops documents by their URL: sites on a list, and words that stand in the URL.

    - url_blocklist: {site_lists: [blacklists/adult, hosts.txt], word_lists: [words.txt]}

After URLFilter of datatrove 0.10.1, with other judgements where that one misses what it was asked for:

- a listed domain covers all sub-domains at any depth (there: the registered domain and the whole host name,
  so that `b.example.com` on a list does not cover `a.b.example.com`);
- a listed page is compared without scheme, `www.`, port, fragment and last slash, and covers what is below it
  (there: the exact string, so that entries without `http://`, as the lists have, cover nothing);
- words are found whatever their case, and behind percent signs (there: `PORN` is missed in `/PORN/`);
- a document without a URL is counted, and stays unless `missing: drop` (there: an AssertionError).

The URLs are the signals, so a changed list reads no text again; verdicts depend on its digest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from dataprep.batch import Batch
from dataprep.columns import texts_from_arrow
from dataprep.kernels.url_words import count_parts, count_words
from dataprep.kernels.urls import site_hits
from dataprep.steps.base import Check, Params, Rule, Signals, unicode_version
from dataprep.steps.site_lists import Table, canonical, digest_of, files_of, site_tables, words_of

Entry = Annotated[str, Field(min_length=1)]
Entries = Annotated[tuple[Entry, ...], Field(strict=False)]
Count = Annotated[int, Field(ge=0)]
KINDS = ("site", "word", "soft_word", "subword")


class UrlBlocklistParams(Params):
    """Each list in place and from files. At least one is given."""

    field: Entry = "url"
    sites: Entries = ()
    site_lists: Entries = ()
    words: Entries = ()
    word_lists: Entries = ()
    soft_words: Entries = ()
    soft_word_lists: Entries = ()
    max_soft_words: Count = 1
    subwords: Entries = ()
    subword_lists: Entries = ()
    missing: Literal["keep", "drop"] = "keep"

    @model_validator(mode="after")
    def _lists_something(self) -> UrlBlocklistParams:
        if not any(self.here(kind) or self.lists(kind) for kind in KINDS):
            raise ValueError("lists nothing; give sites or words, or files of them")
        return self

    def here(self, kind: str) -> tuple[str, ...]:
        entries: tuple[str, ...] = getattr(self, f"{kind}s")
        return entries

    def lists(self, kind: str) -> tuple[str, ...]:
        paths: tuple[str, ...] = getattr(self, f"{kind}_lists")
        return paths


def needs(params: UrlBlocklistParams) -> tuple[str, ...]:
    return (params.field,)


def consults(params: UrlBlocklistParams) -> Mapping[str, str]:
    """Digests of the files. Raises UserError where one cannot be used."""
    _sites(params)
    for kind in KINDS[1:]:
        _words(params, kind)
    digests = {f"{kind}_lists": digest_of(params.lists(kind)) for kind in KINDS if params.lists(kind)}
    return {**unicode_version(params), **digests}


def measure(batch: Batch, params: UrlBlocklistParams) -> Signals:
    """The URLs."""
    return {"url": batch.fields[params.field]}


def checks(signals: Signals, params: UrlBlocklistParams) -> Sequence[Check]:
    """Reasons `no_url`, and for what is listed `url_domain`, `url_page`, `url_word`, `url_soft_words`,
    `url_subword`."""
    urls: pa.StringArray = signals["url"]
    missing = pc.equal(pc.fill_null(pc.binary_length(urls), 0), 0).to_numpy(zero_copy_only=False)
    is_dropped = params.missing == "drop"
    found = [Check("no_url", missing & is_dropped, urls, "missing" if is_dropped else "")]
    texts = texts_from_arrow(urls.fill_null(""))
    domains, pages = _sites(params)
    if len(domains[0]) or len(pages[0]):
        hosts = canonical(texts)
        on_domain, on_page = site_hits(hosts.data, hosts.offsets, domains, pages)
        found.append(Check("url_domain", on_domain, urls, f"one of {len(domains[0]):,} listed, or below"))
        found.append(Check("url_page", on_page, urls, f"one of {len(pages[0]):,} listed, or below"))
    for kind, reason, limit in (
        ("word", "url_word", 0),
        ("soft_word", "url_soft_words", params.max_soft_words),
        ("subword", "url_subword", 0),
    ):
        words = _words(params, kind)
        if words:
            count = count_parts if kind == "subword" else count_words
            counts = count(texts.data, texts.offsets, words)
            drops = f"one of {len(words):,} listed" if limit == 0 else f"> {limit} of {len(words):,} listed"
            found.append(Check(reason, counts > limit, urls, drops))
    return found


def _sites(params: UrlBlocklistParams) -> tuple[Table, Table]:
    return site_tables(params.sites, tuple(files_of(params.site_lists)))


def _words(params: UrlBlocklistParams, kind: str) -> tuple[str, ...]:
    return words_of(params.here(kind), tuple(files_of(params.lists(kind))))


URL_BLOCKLIST = Rule(
    name="url_blocklist",
    version=1,
    params=UrlBlocklistParams,
    measure=measure,
    checks=checks,
    measuring=frozenset({"field"}),
    needs=needs,
    consults=consults,
)

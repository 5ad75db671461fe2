"""pii: addresses and numbers that name a person, replaced by fixed text.

Always the same text, never one of several in turn as in datatrove's PIIFormatter: a document's text must not
depend on the documents before it. The defaults are names and addresses set aside for examples (RFC 2606,
5737, 3849), or say in brackets what they stand for, and are left alone by a second pass.

What exactly is found is in docs/reference/pii.md. `definition: datatrove` finds the e-mail and IPv4 addresses
that PIIFormatter of datatrove 0.10.1 finds, and no IPv6; it says nothing of the numbers. One kind after the
other is replaced, in the order of KINDS, each in the text that the one before it left.

Nothing is dropped, unless a `max_...` says so. Names and postal addresses are not looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from dataprep.batch import Batch
from dataprep.kernels.addresses import addresses
from dataprep.kernels.emails import UNICODE_VERSION, emails
from dataprep.kernels.numbers import cards, ibans, phones
from dataprep.kernels.spans import Spans, counts_of, spliced
from dataprep.kernels.texts import Texts
from dataprep.steps.base import Check, Edit, Params, Signals, above

Action = Literal["redact", "keep"]
Count = Annotated[int, Field(ge=0)]

KINDS = ("email", "ip", "iban", "card", "phone")


class PiiParams(Params):
    """What is replaced and by what. A `max_` drops documents with more; null never."""

    definition: Literal["headrace", "datatrove"] = "headrace"
    email: Action = "redact"
    ip: Action = "redact"
    phone: Action = "keep"
    card: Action = "keep"
    iban: Action = "keep"
    public_only: bool = True
    email_replacement: str = "email@example.com"
    ipv4_replacement: str = "192.0.2.1"
    ipv6_replacement: str = "2001:db8::1"
    phone_replacement: str = "[PHONE]"
    card_replacement: str = "[CARD]"
    iban_replacement: str = "[IBAN]"
    max_emails: Count | None = None
    max_ips: Count | None = None
    max_phones: Count | None = None
    max_cards: Count | None = None
    max_ibans: Count | None = None

    @field_validator(
        "email_replacement",
        "ipv4_replacement",
        "ipv6_replacement",
        "phone_replacement",
        "card_replacement",
        "iban_replacement",
    )
    @classmethod
    def _is_text(cls, replacement: str) -> str:
        if not replacement.isprintable():
            raise ValueError("holds a character that is not printable")
        return replacement

    @model_validator(mode="after")
    def _looks_for_what_it_limits(self) -> PiiParams:
        for kind in KINDS:
            if getattr(self, kind) == "keep" and getattr(self, f"max_{kind}s") is not None:
                raise ValueError(f"max_{kind}s has nothing to count, since {kind} is keep")
        return self


def _find(kind: str, texts: Texts, params: PiiParams) -> Spans:
    theirs = params.definition == "datatrove"
    finders: dict[str, Callable[[], Spans]] = {
        "email": lambda: emails(texts.data, texts.offsets, theirs),
        "ip": lambda: addresses(texts.data, texts.offsets, theirs, params.public_only),
        "iban": lambda: ibans(texts.data, texts.offsets),
        "card": lambda: cards(texts.data, texts.offsets),
        "phone": lambda: phones(texts.data, texts.offsets),
    }
    return finders[kind]()


def _replacements(kind: str, params: PiiParams) -> Texts:
    """By kind of span: an IP address is of version 4 or 6."""
    names = ("ipv4", "ipv6") if kind == "ip" else (kind,)
    return Texts.from_strings([getattr(params, f"{name}_replacement") for name in names])


def edit(batch: Batch, params: PiiParams) -> tuple[Texts, Signals]:
    """int64[n] for each kind, how many were replaced: emails, ips, ibans, cards, phones."""
    texts, signals = batch.texts, {}
    for kind in KINDS:
        found = np.zeros(len(texts), dtype=np.int64)
        if getattr(params, kind) == "redact":
            spans = _find(kind, texts, params)
            if spans.size:
                found = counts_of(spans, len(texts))
                texts = Texts(*spliced(texts.data, texts.offsets, spans, _replacements(kind, params)))
        signals[f"{kind}s"] = found
    return texts, signals


def checks(signals: Signals, params: PiiParams) -> Sequence[Check]:
    return [above(f"pii_{kind}s", signals[f"{kind}s"], getattr(params, f"max_{kind}s")) for kind in KINDS]


def depends(params: PiiParams) -> Mapping[str, str]:
    """datatrove's expression asks what a letter is; ours knows ASCII alone."""
    return {"unicode": UNICODE_VERSION} if params.definition == "datatrove" else {}


def rewrites(params: Any) -> bool:
    return any(getattr(params, kind) == "redact" for kind in KINDS)


PII = Edit(
    name="pii",
    version=1,
    params=PiiParams,
    edit=edit,
    checks=checks,
    measuring=frozenset(PiiParams.model_fields) - {f"max_{kind}s" for kind in KINDS},
    depends=depends,
    rewrites=rewrites,
)

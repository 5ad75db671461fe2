"""exclude: drops single documents by name, for takedowns: by own id, by URL, by hash of the text.

    - exclude: {urls_file: takedowns.txt, ids: [doc-17], hashes: [0123456789abcdef0123456789abcdef]}

ids     the record's own id, as it is
urls    the carried field `url_field`; both sides are brought into one form first (`normalized`)
hashes  32 hex digits, of the text as read (the raw hash) or as it is at this step. The document table of a
        corpus has that of the final text, so the step stands below whatever rewrites to match it

Each list may also be a file, one entry a line. The signals are hashes of what a document is called, so a
longer list reads nothing again, and no list is kept. Whole sites are another step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator, model_validator

from dataprep.batch import Batch
from dataprep.kernels.hashing import hash128
from dataprep.steps.base import Check, Params, Rule, Signals
from dataprep.steps.listed import (
    Hashes,
    ListFile,
    among,
    digest_list,
    hashed,
    list_file,
    read_list,
    sorted_hashes,
)
from manifests.errors import UserError

Kind = Literal["ids", "urls", "hashes"]
KINDS: tuple[Kind, ...] = ("ids", "urls", "hashes")
Entry = Annotated[str, Field(min_length=1)]
Entries = Annotated[tuple[Entry, ...], Field(strict=False)]
_HASH = re.compile(r"[0-9a-fA-F]{32}")


class ExcludeParams(Params):
    """See the module's docstring. At least one list is given."""

    ids: Entries = ()
    ids_file: Entry | None = None
    urls: Entries = ()
    urls_file: Entry | None = None
    hashes: Entries = ()
    hashes_file: Entry | None = None
    url_field: Entry = "url"

    @field_validator("hashes")
    @classmethod
    def _hex(cls, hashes: tuple[str, ...]) -> tuple[str, ...]:
        for each in hashes:
            if _HASH.fullmatch(each) is None:
                raise ValueError(f'expected 32 hex digits, found "{each}"')
        return hashes

    @model_validator(mode="after")
    def _lists_something(self) -> ExcludeParams:
        if not self.kinds:
            raise ValueError("lists nothing to exclude; give ids, urls or hashes, or a file of them")
        return self

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Which lists there are."""
        return tuple(kind for kind in KINDS if getattr(self, kind) or self.file_of(kind) is not None)

    def file_of(self, kind: Kind) -> str | None:
        path: str | None = getattr(self, f"{kind}_file")
        return path

    @property
    def fields(self) -> tuple[str, ...]:
        """The carried fields that are looked at."""
        return (self.url_field,) if "urls" in self.kinds else ()


def needs(params: ExcludeParams) -> tuple[str, ...]:
    return params.fields


def consults(params: ExcludeParams) -> Mapping[str, str]:
    """Digests of the files of entries. Raises UserError where one cannot be used."""
    _listed(params)
    files = {kind: params.file_of(kind) for kind in KINDS}
    return {f"{kind}_file": digest_list(path) for kind, path in files.items() if path is not None}


def measure(batch: Batch, params: ExcludeParams) -> Signals:
    """128-bit hashes of everything that a list may call a document by."""
    texts = batch.texts
    signals: Signals = {
        "id_hash": hashed(batch.ids),
        "raw_hash": batch.raw_hash,
        "content_hash": hash128(texts.data, texts.offsets),
    }
    for field in params.fields:
        signals["url_hash"] = hashed(normalized(batch.fields[field]))
    return signals


def checks(signals: Signals, params: ExcludeParams) -> Sequence[Check]:
    """A reason for each list: `excluded_id`, `excluded_url`, `excluded_hash`."""
    found = []
    for kind, listed in _listed(params).items():
        name = {"ids": "id", "urls": "url", "hashes": "hash"}[kind]
        names = ("raw_hash", "content_hash") if kind == "hashes" else (f"{name}_hash",)
        dropped = np.logical_or.reduce([among(signals[each], listed) for each in names])
        found.append(Check(f"excluded_{name}", dropped, signals[names[0]], f"one of {len(listed):,} listed"))
    return found


def normalized(urls: pa.StringArray) -> pa.StringArray:
    """URLs in one form: no white space around them, no http:// or https://, no fragment, the host in lower
    case and without the port 80 or 443, and no slash for an empty path. All else is as it is (ASCII alone has
    case and white space here)."""
    text = pc.ascii_trim_whitespace(urls)
    text = pc.replace_substring_regex(text, r"^[hH][tT][tT][pP][sS]?://", "")
    text = pc.replace_substring_regex(text, r"(?s)#.*$", "")
    parts = pc.extract_regex(text, r"(?s)^(?P<host>[^/?]*)(?P<rest>.*)$")
    host, rest = pc.struct_field(parts, "host"), pc.struct_field(parts, "rest")
    host = pc.replace_substring_regex(pc.ascii_lower(host), r":(?:80|443)$", "")
    return pc.binary_join_element_wise(host, pc.replace_substring_regex(rest, r"^/$", ""), "")


def _listed(params: ExcludeParams) -> dict[Kind, Hashes]:
    """Each list as sorted hashes."""
    listed = {}
    for kind in params.kinds:
        path = params.file_of(kind)
        listed[kind] = _hashes(kind, getattr(params, kind), None if path is None else list_file(path))
    return listed


@lru_cache(maxsize=8)  # every split asks for the same lists
def _hashes(kind: Kind, here: tuple[str, ...], file: ListFile | None) -> Hashes:
    entries = [*here, *([] if file is None else read_list(file))]
    if kind == "hashes":
        wrong = next((each for each in entries if _HASH.fullmatch(each) is None), None)
        if wrong is not None:
            where = None if file is None else file.path
            raise UserError(f'expected 32 hex digits a line, found "{wrong}"', where=where)
        data = bytes.fromhex("".join(entries))
        return sorted_hashes(np.frombuffer(data, dtype=">u8").astype(np.uint64).reshape(-1, 2))
    strings = pa.array(entries, pa.string())
    return sorted_hashes(hashed(normalized(strings) if kind == "urls" else strings))


EXCLUDE = Rule(
    name="exclude",
    version=1,
    params=ExcludeParams,
    measure=measure,
    checks=checks,
    needs=needs,
    consults=consults,
)

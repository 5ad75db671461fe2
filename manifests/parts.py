"""The parts of a manifest, each a frozen and strict model: tokenizer, sources, steps, lineage, packings.

`manifest.py` puts them together and says what digests cover; `FORMAT.md` lists their fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Self

from pydantic import Field, JsonValue, model_validator

from manifests.fields import Count, Digest, Name, Record, RelativePath, SubsetName
from manifests.lists import Shard, ShardPacking
from manifests.packing import MAX_SEQUENCE_LENGTH


class TokenizerInfo(Record):
    """The tokenizer, and what was done with special tokens."""

    file: RelativePath = "tokenizer.json"
    """Relative to the manifest's folder."""
    digest: Digest
    """Of the bytes of that file."""
    vocab_size: int = Field(ge=1, le=2**31)
    """Greatest id + 1, special tokens included."""
    eos_id: Count | None
    bos_id: Count | None
    append_eos: bool
    """Whether one end-of-text token ends each document. It is counted in the document's length."""
    prepend_bos: bool
    """Whether one begin-of-text token starts each document. It is counted in the document's length."""
    special_tokens: Literal["text", "parse"]
    """What "<|endoftext|>" and the like in a text become: ordinary text, or the special token."""
    engine: str
    """The library that made the ids."""
    engine_reason: str

    @model_validator(mode="after")
    def _check_ids(self) -> Self:
        for name, token_id in (("eos_id", self.eos_id), ("bos_id", self.bos_id)):
            if token_id is not None and token_id >= self.vocab_size:
                raise ValueError(f"{name} {token_id} is outside the vocabulary of {self.vocab_size}")
        if self.append_eos and self.eos_id is None:
            raise ValueError("append_eos is true, but there is no eos_id")
        if self.prepend_bos and self.bos_id is None:
            raise ValueError("prepend_bos is true, but there is no bos_id")
        return self


class Subset(Record):
    """Sums over the shards of one subset of a source."""

    documents: Count
    tokens: Count
    text_bytes: Count
    shards: Count


def subset_of(shards: Sequence[Shard]) -> Subset:
    """The sums over the shards of a subset."""
    return Subset(shards=len(shards), **_sums(shards, ("documents", "tokens", "text_bytes")))


class Source(Record):
    """One named set of documents with a mixture weight of its own."""

    license: str | None
    subsets: dict[SubsetName, Subset]
    order: Literal["shuffled", "stored"] = "shuffled"
    """Whether the documents lie in the order of a keyed hash, or, numbered, as their files had them."""
    content_hash: Literal["text", "tokens"] = "text"
    """What `content_hash` in the document tables is of. Of tokens (and `text_bytes` is 0) where the text is
    not known, since the tokens were made elsewhere and cannot be decoded exactly."""


class StepRecord(Record):
    """What one step did. Each dropped document counts once, under the first of its reasons."""

    name: str
    version: int
    parameters: dict[str, JsonValue]
    sources: list[Name] | None
    """The sources it was run on; None for all."""
    documents_in: dict[Name, Count]
    documents_out: dict[Name, Count]
    dropped: dict[Name, dict[str, Count]]

    @model_validator(mode="after")
    def _check_sums(self) -> Self:
        for source in {**self.documents_in, **self.documents_out, **self.dropped}:
            documents_in = self.documents_in.get(source, 0)
            documents_out = self.documents_out.get(source, 0)
            dropped = sum(self.dropped.get(source, {}).values())
            if documents_in != documents_out + dropped:
                raise ValueError(
                    f"step {self.name}, source {source}: {documents_in} documents in, {documents_out} "
                    f"out and {dropped} dropped; every document is kept or dropped for a reason"
                )
        return self


class CheckedSet(Record):
    """An evaluation set that a corpus was checked against; see `checked.py` for who asks."""

    name: str
    digest: Digest
    """Of the bytes of its file."""
    definition: str
    """By what rule an example counts as found."""
    action: Literal["report", "drop", "cut"]
    """What became of documents that hold one."""
    sources: list[Name] | None
    """The sources that were checked; None for all."""
    examples: Count
    contaminated: Count | None
    """Examples that were found before anything was dropped or cut; None where they were not counted."""
    documents: Count | None
    """Documents that hold one; None where they were not counted."""


class Lineage(Record):
    """How the corpus was made."""

    recipe: dict[str, JsonValue]
    """The resolved recipe."""
    recipe_digest: Digest
    inputs_file: RelativePath = "inputs.parquet"
    inputs_digest: Digest
    """Of the bytes of that file, a list of InputFile."""
    steps: list[StepRecord]
    funnel: list[dict[str, JsonValue]]
    """Rows of the report: documents, bytes and tokens of each source after each step."""
    tools: dict[str, str]
    """Versions of what the bytes depend on."""
    parents: list[str]
    """Corpora that this one was made with, as name@version and content digest."""
    evals: list[CheckedSet] = Field(default_factory=list)
    """Evaluation sets that it was checked against."""


class DedupColumns(Record):
    """What one deduplication compared, of the documents that are in the corpus."""

    file: RelativePath
    digest: Digest
    measured: dict[str, JsonValue]
    """Step, version, parameters, and versions of what it depends on: a later corpus must have the same."""


class DedupPart(Record):
    """What a later corpus needs in order to leave out what this one has; no part of the tokens."""

    documents_file: RelativePath
    documents_digest: Digest
    documents: Count
    steps: dict[str, DedupColumns]


class PackedSubset(Record):
    """Sums over the packings of one subset of a source; the fields are those of `lists.ShardPacking`."""

    rows: Count
    tokens: Count
    targets: Count
    documents_cut: Count
    documents_left_out: Count
    documents_cut_by_concat: Count


def packed_subset_of(packings: Sequence[ShardPacking]) -> PackedSubset:
    """The sums over the packings of a subset."""
    return PackedSubset(**_sums(packings, PackedSubset.model_fields))


def _sums(records: Sequence[Record], fields: Iterable[str]) -> dict[str, int]:
    return {name: sum(getattr(each, name) for each in records) for name in fields}


class Packings(Record):
    """Rows of one length, packed from whole documents (`pack: best_fit`); no part of the tokens."""

    sequence_length: int = Field(ge=1, le=MAX_SEQUENCE_LENGTH)
    version: int
    """Of the rule by which they were packed."""
    file: RelativePath
    """The list of the packings of all shards, in their order."""
    digest: Digest
    sources: dict[Name, dict[SubsetName, PackedSubset]]

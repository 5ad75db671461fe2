"""The recipe: what a corpus is made of and how. Frozen, strict, complete before work starts.

`load_recipe` reads a file and refuses it with every mistake at once, each with its line and the nearest valid
name. Validation looks at the text alone; whether inputs exist and disks have room is for
`dataprep/preflight/`. What the steps do with documents is in `steps/`, what one entry of `steps:` means in
`step_entry.py`.

Paths are used as written, so relative ones count from the current folder, as for any other command-line tool,
and not from the recipe's: a recipe is copied and shared, the data does not move along. `${env:NAME}` in an
input path makes a recipe independent of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainValidator, PrivateAttr, model_validator

from dataprep.readers.records import ReadOptions
from dataprep.recipe.checks import cross_checks
from dataprep.recipe.fields import Encoding, FieldList, Name, Paths, Text, TextField, Version
from dataprep.recipe.step_entry import StepEntry, step_entry
from dataprep.steps import step_of
from manifests.errors import UserError
from manifests.fields import Record
from manifests.fingerprint import digest_value
from manifests.packing import MAX_SEQUENCE_LENGTH
from manifests.problems import Problem
from manifests.strict import Places, parse_plain, read
from manifests.units import Count, Ratio, Share, Size

__all__ = ["Input", "Recipe", "Source", "StepEntry", "Tokenizer", "load_recipe", "recipe_of"]

Format = Literal[
    "auto", "jsonl", "parquet", "csv", "text", "html", "warc", "wet", "archive", "metadata", "docstrings"
]

PROBE_BYTES = 1_000_000
"""Text that is sampled when the tokenizer is read from a file: enough to compare engines on."""


class Input(Record):
    """Files of one format. `path` holds patterns; `text`, `id` and `carry` name fields of the records."""

    path: Paths
    format: Format = "auto"
    text: TextField = "text"
    id: Text | None = None
    carry: FieldList = ()
    encoding: Encoding = "utf-8"
    exclude: tuple[Text, ...] = ()


class Bin(Record):
    """Values of a numeric signal: `from` <= value < `below`; null is no limit."""

    from_: float | None = Field(default=None, alias="from")
    below: float | None = None


class Route(Record):
    """Makes several sources of the corpus of one: by the signal `by` ("step.signal") a document goes to the
    first of `to` whose labels or bin its value is in; the `rest` stays under the source's own name, or is
    dropped."""

    by: Text
    to: Annotated[dict[Name, Bin | tuple[Text, ...]], Field(min_length=1)]
    rest: Literal["keep", "drop"] = "keep"


class Source(Record):
    """A named set of inputs: one, written in place, or several under `inputs:`. Read them from `inputs`.

    sample      share of the documents that is looked at, chosen by a hash of the text as read
    max_bytes   of text as read; whole documents are left out
    max_tokens  of what is packed; whole documents are left out
    """

    path: Paths | None = None
    format: Format | None = None
    text: TextField | None = None
    id: Text | None = None
    carry: FieldList | None = None
    encoding: Encoding | None = None
    exclude: tuple[Text, ...] | None = None
    listed: Annotated[tuple[Input, ...], Field(min_length=1)] | None = Field(default=None, alias="inputs")
    license: Text | None = None
    sample: Share = 1.0
    max_bytes: Annotated[Size, Field(ge=1)] | None = None
    max_tokens: Annotated[Count, Field(ge=1)] | None = None
    route: Route | None = None

    @property
    def inputs(self) -> tuple[Input, ...]:
        if self.listed is not None:
            return self.listed
        given = {name: getattr(self, name) for name in Input.model_fields}
        return (Input(**{name: value for name, value in given.items() if value is not None}),)


class TrainTokenizer(Record):
    """A vocabulary, trained on a sample of what is kept: byte-level BPE (a tokenizer.json), or Unigram (a
    SentencePiece model, for which `sentencepiece` must be installed)."""

    vocab_size: Annotated[Count, Field(ge=257, le=2**31 - 1)]  # 256 bytes and the end-of-text token
    model: Literal["bpe", "unigram"] = "bpe"
    sample_bytes: Annotated[Size, Field(ge=1)] = 50_000_000


class Tokenizer(Record):
    """Trained here, or read from a file: a tokenizer.json, a SentencePiece model, or tiktoken's ranks.

    special_tokens   what "<|endoftext|>" in a document becomes: ordinary text, or ("parse") the special token
    append_eos       one end-of-text token ends each document and counts as one of its tokens
    prepend_bos      one begin-of-text token starts each document, likewise
    engine           "auto": gigatoken where it gives the ids of the reference (`tokenizers`; for its models
                     `sentencepiece`), decided once per run on a probe; or that reference by its name
    """

    train: TrainTokenizer | None = None
    file: Text | None = None
    special_tokens: Literal["text", "parse"] = "text"
    append_eos: bool = True
    prepend_bos: bool = False
    engine: Literal["auto", "tokenizers", "sentencepiece"] = "auto"

    @property
    def sample_bytes(self) -> int:
        return PROBE_BYTES if self.train is None else self.train.sample_bytes


class Holdout(Record):
    """The share of documents that is never trained on, at least one per source unless it is 0."""

    documents: Annotated[Ratio, Field(le=0.5)] = 0.0


class Shards(Record):
    """How tokens are laid into shards, and at how many a shard is closed. With `best_fit`, shards get a plan
    for rows of each of `sequence_lengths`, in which no document is cut without need."""

    tokens: Annotated[Count, Field(ge=1)] = 100_000_000
    pack: Literal["concat", "best_fit"] = "concat"
    sequence_lengths: tuple[Annotated[Count, Field(ge=1, le=MAX_SEQUENCE_LENGTH)], ...] = ()

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        if self.pack == "best_fit" and not self.sequence_lengths:
            raise ValueError("best_fit needs sequence_lengths, such as [2048]")
        if self.pack == "concat" and self.sequence_lengths:
            raise ValueError("sequence_lengths are for best_fit; concat needs no plan for any length")
        if list(self.sequence_lengths) != sorted(set(self.sequence_lengths)):
            raise ValueError("sequence_lengths must ascend")
        return self


class FailureBudget(Record):
    """What may be unreadable, of each source: max(share, floor) of records, and of files."""

    records: Ratio = 0.001
    record_floor: Annotated[int, Field(ge=0)] = 10
    files: Ratio = 0.001
    file_floor: Annotated[int, Field(ge=0)] = 1


class Recipe(Record):
    """A validated recipe. `exclude` names inputs whose loss is accepted, by name or pattern. `memory` is what
    the tasks that compare documents may hold at once, each; it changes no result. `publish_dedup` leaves with
    the corpus what later ones need to be held `against` it."""

    corpus: Name
    version: Version
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    sources: Annotated[dict[Name, Source], Field(min_length=1)]
    steps: tuple[Annotated[StepEntry, PlainValidator(step_entry)], ...] = ()
    tokenizer: Tokenizer
    holdout: Holdout = Holdout()
    shards: Shards = Shards()
    failure_budget: FailureBudget = FailureBudget()
    max_document_bytes: Annotated[Size, Field(ge=1, le=2**31 - 1)] = 100 << 20
    memory: Annotated[Size, Field(ge=1 << 20)] = 1 << 30
    exclude: tuple[Text, ...] = ()
    publish_dedup: bool = False
    output: Text
    work: Text | None = None

    _places: Places = PrivateAttr(default_factory=Places)

    @property
    def work_folder(self) -> str:
        """`work`, or the output's name with `.work` behind it: beside the output, on the same disk."""
        return self.work if self.work is not None else f"{self.output.rstrip('/')}.work"

    @property
    def outputs(self) -> dict[str, str]:
        """Source of the corpus -> source of the recipe that it is made of, in order."""
        made: dict[str, str] = {}
        for name, source in self.sources.items():
            if source.route is not None:
                made |= dict.fromkeys(source.route.to, name)
            if source.route is None or source.route.rest == "keep":
                made[name] = name
        return made

    @property
    def append_eos(self) -> bool:
        return self.tokenizer.append_eos

    @property
    def prepend_bos(self) -> bool:
        return self.tokenizer.prepend_bos

    def sampled(self, share: float) -> Recipe:
        """For a quick look: a share of every source, written to `<output>.sample`, so that a look never
        replaces a corpus. The work folder is the same."""
        sources = {
            name: source.model_copy(update={"sample": source.sample * share})
            for name, source in self.sources.items()
        }
        output = f"{self.output.rstrip('/')}.sample"
        return self.model_copy(update={"sources": sources, "output": output, "work": self.work_folder})

    def read_options(self, source: Source, each: Input) -> ReadOptions:
        """What the readers are told of one input of a source."""
        return ReadOptions(
            text=each.text,
            id=each.id,
            carry=each.carry,
            encoding=each.encoding,
            sample=source.sample,
            max_document_bytes=self.max_document_bytes,
            members="auto" if each.format == "archive" else each.format,
        )

    def place(self, *loc: str | int) -> str | None:
        """`recipe.yaml:12` of a field, for errors that show only later; None if no file holds it."""
        return self._places.of(*loc)

    def refusal(self, problems: Iterable[Problem]) -> UserError:
        """One error for what is wrong with a valid recipe: each problem with its file, line and field."""
        return self._places.refusal(problems)

    def resolved(self) -> dict[str, Any]:
        """The recipe with every default filled in, as JSON values.

        It has two keys that no recipe has: `step_versions`, and `source_order`, since the order is the
        priority of sources and JSON objects have none. Where results are written is no part of it. Without
        the one and with an `output` it is a recipe again, and one with the same digest.
        """
        sources = {
            name: {
                "inputs": [each.model_dump(mode="json") for each in source.inputs],
                "license": source.license,
                "sample": source.sample,
                "max_bytes": source.max_bytes,
                "max_tokens": source.max_tokens,
                "route": None
                if source.route is None
                else source.route.model_dump(mode="json", by_alias=True),
            }
            for name, source in self.sources.items()
        }
        rest = ("tokenizer", "holdout", "shards", "failure_budget", "max_document_bytes", "exclude")
        return {
            "corpus": self.corpus,
            "version": self.version,
            "seed": self.seed,
            "source_order": list(self.sources),
            "sources": sources,
            "steps": [{each.name: each.options()} for each in self.steps],
            "step_versions": {each.name: step_of(each.name).version for each in self.steps},
            **self.model_dump(mode="json", include=set(rest)),
        }

    def digest(self) -> str:
        """Digest of `resolved()`."""
        return digest_value(self.resolved())


def load_recipe(path: str | PathLike[str], sets: Sequence[str] = ()) -> Recipe:
    """Read a recipe and apply `sets` ("key.path=value"). Raises one UserError that lists every mistake."""
    parsed = read(Recipe, path, sets, checks=cross_checks)
    parsed.value._places = parsed.places
    return parsed.value


def recipe_of(data: Mapping[str, Any], label: str = "recipe") -> Recipe:
    """A recipe from plain values, by the same rules; `label` names it in errors."""
    return parse_plain(Recipe, data, label, checks=cross_checks)

"""The manifest: what a corpus is, where it came from, and the digests that pin it.

`manifest.json` describes one version of a corpus; its parts are in `parts.py`, its long lists (shards,
inputs) lie beside it, see `lists.py`. This module reads, upgrades and writes manifests and says what the
content digest covers. It does not open shards: `corpus.py` does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from manifests.errors import UserError
from manifests.fields import Digest, Name, Record, RelativePath, Version, describe_errors
from manifests.files import write_atomic
from manifests.fingerprint import canonical_json, digest_bytes
from manifests.lists import (
    InputFile,
    Shard,
    read_input_list,
    read_packing_list,
    read_shard_list,
    write_input_list,
    write_shard_list,
)
from manifests.parts import (
    CheckedSet,
    DedupColumns,
    DedupPart,
    Lineage,
    PackedSubset,
    Packings,
    Source,
    StepRecord,
    Subset,
    TokenizerInfo,
    packed_subset_of,
    subset_of,
)
from manifests.upgrades import UPGRADES, Json

__all__ = [
    "FORMAT_VERSION",
    "MANIFEST_NAME",
    "UPGRADES",
    "CheckedSet",
    "DedupColumns",
    "DedupPart",
    "InputFile",
    "Json",
    "Lineage",
    "Manifest",
    "ManifestError",
    "PackedSubset",
    "Packings",
    "Shard",
    "Source",
    "StepRecord",
    "Subset",
    "TokenizerInfo",
    "content_digest",
    "load_manifest",
    "manifest_digest",
    "manifest_path",
    "packed_subset_of",
    "parse_manifest",
    "read_input_list",
    "read_manifest_json",
    "read_packing_list",
    "read_shard_list",
    "subset_of",
    "write_input_list",
    "write_manifest",
    "write_shard_list",
]

FORMAT_VERSION = 4
MANIFEST_NAME = "manifest.json"

MAX_ID = {"uint16": 2**16 - 1, "int32": 2**31 - 1}

StrPath = str | PathLike[str]


class ManifestError(UserError):
    """A manifest that cannot be read, is of an unknown version, or was changed by hand."""


class Manifest(Record):
    """One version of a corpus."""

    format: Literal["headrace-manifest"] = "headrace-manifest"
    format_version: Literal[4] = 4
    corpus: Name
    version: Version
    content_digest: Digest | Literal[""] = ""
    """Of what defines the tokens, see `content_digest`; empty only until it is sealed."""
    manifest_digest: Digest | Literal[""] = ""
    """Of this file with this field empty, see `manifest_digest`; empty only until it is sealed."""
    dtype: Literal["uint16", "int32"]
    """Holds every id of the vocabulary. What is written here follows Megatron's rule (`dtype_for_vocab`);
    what was made elsewhere may be wider, or use the ids from 65,500 on."""
    tokenizer: TokenizerInfo
    sources: dict[Name, Source]
    """In the order of the recipe."""
    shards_file: RelativePath = "shards.parquet"
    shards_digest: Digest | Literal[""] = ""
    """Of the bytes of that file, a list of Shard; empty only until it is sealed."""
    dedup: DedupPart | None = None
    """Only where the recipe asks for it."""
    packings: list[Packings] = Field(default_factory=list)
    """By ascending length of row; none for `pack: concat`, which needs no plan."""
    created_by: str
    """Program and version."""
    lineage: Lineage

    @property
    def side_files(self) -> dict[str, str]:
        """Every file beside the shards, and the digest of its bytes."""
        found: dict[str, str] = {
            self.tokenizer.file: self.tokenizer.digest,
            self.lineage.inputs_file: self.lineage.inputs_digest,
            self.shards_file: self.shards_digest,
        }
        if self.dedup is not None:
            found[self.dedup.documents_file] = self.dedup.documents_digest
            found |= {each.file: each.digest for each in self.dedup.steps.values()}
        return found | {each.file: each.digest for each in self.packings}

    @model_validator(mode="after")
    def _check_packings(self) -> Self:
        lengths = [each.sequence_length for each in self.packings]
        if lengths != sorted(set(lengths)):
            raise ValueError(f"packings are of rows of {lengths} tokens, which must ascend")
        return self

    @model_validator(mode="after")
    def _check_dtype(self) -> Self:
        greatest = self.tokenizer.vocab_size - 1
        if greatest > MAX_ID[self.dtype]:
            raise ValueError(
                f"dtype is {self.dtype}, which holds ids up to {MAX_ID[self.dtype]:,}; the vocabulary goes "
                f"up to {greatest:,}"
            )
        return self


def content_digest(manifest: Manifest, shards: Sequence[Shard]) -> str:
    """Return the digest of what defines the tokens of a corpus, and of nothing else.

    Two corpora with the same content digest feed a trainer the same tokens under the same names: it covers
    corpus, version, dtype, tokenizer (file digest, end- and begin-of-text ids and policy) and, per shard,
    source, subset, index and the digests of `.bin` and `.idx`. No times, paths, file names, licences, lineage
    or document tables; no digest field of the manifest itself. `prepend_bos` is in it only where it is true,
    so that the digests of older corpora stay what they were.
    """
    tokenizer = manifest.tokenizer
    begins = {"prepend_bos": True} if tokenizer.prepend_bos else {}
    defining = {
        "corpus": manifest.corpus,
        "version": manifest.version,
        "dtype": manifest.dtype,
        "tokenizer": {
            "digest": tokenizer.digest,
            "eos_id": tokenizer.eos_id,
            "bos_id": tokenizer.bos_id,
            "append_eos": tokenizer.append_eos,
            "special_tokens": tokenizer.special_tokens,
            **begins,
        },
        "shards": sorted(
            [shard.source, shard.subset, shard.index, shard.bin_sha256, shard.idx_sha256] for shard in shards
        ),
    }
    return digest_bytes(canonical_json(defining))


def manifest_digest(data: Json) -> str:
    """Return the digest of a whole manifest given as JSON, its field `manifest_digest` taken as empty.

    It catches an edit of any field, the order of sources included. By hand:
    sed 's/"manifest_digest": "[^"]*"/"manifest_digest": ""/' manifest.json | sha256sum
    """
    return digest_bytes(_text({**data, "manifest_digest": ""}))


def write_manifest(path: StrPath, manifest: Manifest) -> Manifest:
    """Write a manifest with its own digest filled in, and return it so.

    The other digests must be there; `seal.seal_corpus` fills them in and calls this.
    """
    if not manifest.content_digest or not manifest.shards_digest:
        raise ValueError("content_digest and shards_digest are empty: seal the corpus first")
    digest = manifest_digest(manifest.model_dump(mode="json"))
    manifest = manifest.model_copy(update={"manifest_digest": digest})
    write_atomic(path, _text(manifest.model_dump(mode="json")))
    return manifest


def manifest_path(path: StrPath) -> Path:
    """Return the path of the manifest itself, given it or its folder. Raises ManifestError."""
    given = Path(path)
    file = given / MANIFEST_NAME if os.path.isdir(given) else given
    if not os.path.isfile(file):
        raise ManifestError(
            "there is no manifest here",
            where=str(file),
            hint="give the folder that a finished `dataprep run` wrote, or the manifest.json in it",
        )
    return file


def load_manifest(path: StrPath) -> Manifest:
    """Read a manifest of any known version, given it or its folder.

    Raises ManifestError when it is damaged, was edited, or is newer than this program.
    """
    file = manifest_path(path)
    data = read_manifest_json(file)
    sealed = data.get("manifest_digest")
    if sealed and sealed != manifest_digest(data):
        raise ManifestError(
            "the manifest was changed after it was written: its digest does not match its fields",
            where=str(file),
            hint="run the recipe again; to change a licence or a name, change the recipe",
        )
    return parse_manifest(data, str(file))


def read_manifest_json(path: StrPath) -> Json:
    """Return the JSON object in a file, strictly read: no duplicate keys, no NaN. Raises ManifestError."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
        data = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
        _text(data)  # 1e400 and "\ud800" can be read but not written, so they could have no digest
    except OSError as error:
        raise ManifestError(f"the manifest cannot be read: {error.strerror}", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"the manifest is not valid JSON: {error}", where=str(path)) from error
    if not isinstance(data, dict) or data.get("format") != "headrace-manifest":
        raise ManifestError(
            'this is not a manifest: it has no "format": "headrace-manifest"', where=str(path)
        )
    return data


def parse_manifest(
    data: Json,
    where: str,
    upgrades: Mapping[int, Callable[[Json], Json]] = UPGRADES,
    current_version: int = FORMAT_VERSION,
) -> Manifest:
    """Upgrade the JSON of a manifest to the current version, step by step, and check every field of it."""
    version = data.get("format_version")
    if type(version) is not int or version < min(upgrades, default=current_version):
        raise ManifestError(f"the manifest has the format version {version!r}, which never was", where=where)
    if version > current_version:
        raise ManifestError(
            f"the manifest has the format version {version}; this program knows up to {current_version}",
            where=where,
            hint="install a newer headrace",
        )
    for step in range(version, current_version):
        data = upgrades[step](data)
    try:
        return Manifest.model_validate(data)
    except ValidationError as error:
        raise ManifestError(
            f"the manifest has wrong fields:\n{describe_errors(error)}", where=where
        ) from error


def _text(data: Any) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def _unique_keys(pairs: list[tuple[str, Any]]) -> Json:
    data = dict(pairs)
    if len(data) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"duplicate key {next(name for name in names if names.count(name) > 1)!r}")
    return data


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")

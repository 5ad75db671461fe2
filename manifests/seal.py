"""The last step of writing: digests of what is on the disk, and the manifest that names them.

    write_shard, write_document_table     for each shard
    seal_shard                            its block digests, and the digests of its four files
    seal_corpus                           the list of shards, then manifest.json, last

A folder without a manifest is not a corpus, so nothing half-written is ever taken for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from manifests.files import write_atomic
from manifests.fingerprint import digest_file
from manifests.lists import Shard, write_shard_list
from manifests.manifest import MANIFEST_NAME, Manifest, ManifestError, content_digest, write_manifest
from manifests.shard import bin_path, blocks_path, idx_path, table_path

StrPath = str | PathLike[str]


@dataclass(frozen=True, slots=True)
class ShardDigests:
    """The fields of a manifest's Shard that say what is in its files."""

    bin_bytes: int
    idx_bytes: int
    bin_sha256: str
    idx_sha256: str
    table_sha256: str
    blocks_sha256: str


def seal_shard(prefix: StrPath) -> ShardDigests:
    """Hash the files of a shard and write its `.blocks`.

    `.bin`, `.idx` and `.documents.parquet` must be there. They are read back from the disk, so what is
    described is what was stored. Raises OSError.
    """
    tokens = digest_file(bin_path(prefix))
    index = digest_file(idx_path(prefix))
    write_atomic(blocks_path(prefix), b"".join(tokens.blocks))
    return ShardDigests(
        bin_bytes=tokens.size_bytes,
        idx_bytes=index.size_bytes,
        bin_sha256=tokens.sha256,
        idx_sha256=index.sha256,
        table_sha256=digest_file(table_path(prefix)).sha256,
        blocks_sha256=digest_file(blocks_path(prefix)).sha256,
    )


def seal_corpus(folder: StrPath, manifest: Manifest, shards: Sequence[Shard]) -> Manifest:
    """Write the list of shards and `manifest.json` into `folder`; return the manifest with its digests.

    The shards are listed in the order (source in the manifest, train before holdout, index), whatever the
    order they are given in. The tokenizer and the list of inputs must be there already. Raises ManifestError
    when manifest and shards do not agree.
    """
    # Imported late: consistency.py needs the models of manifest.py as much as this does.
    from manifests.consistency import inconsistencies, shard_order

    folder = Path(folder)
    shards = sorted(shards, key=shard_order(manifest))
    problems = inconsistencies(manifest, shards)
    if problems:
        raise ManifestError(
            "the manifest and its shards do not agree:\n" + "\n".join(problems), where=str(folder)
        )
    shards_path = folder / manifest.shards_file
    write_shard_list(shards_path, shards)
    sealed = manifest.model_copy(
        update={
            "shards_digest": digest_file(shards_path).digest,
            "content_digest": content_digest(manifest, shards),
        }
    )
    return write_manifest(folder / MANIFEST_NAME, sealed)

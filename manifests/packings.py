"""The packings of a corpus: for each length of row a list of all shards' packings, beside the manifest.

`packing.py` has one packing of one shard. Writing goes through `seal_packings`, reading through
`Corpus.packings`; `verify.py` calls `check_packings`. The manifest holds sums and the digest of the list; the
list holds the digests of the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np

from manifests.check import Problem
from manifests.fingerprint import digest_bytes, digest_file
from manifests.lists import Shard, ShardPacking, read_packing_list, write_packing_list
from manifests.manifest import Manifest, PackedSubset, Packings, packed_subset_of
from manifests.packing import Packing, PackingError, misfits, open_packing, packing_path, packing_size_bytes
from manifests.shard import ShardError, ShardReader
from manifests.tables import TableError

StrPath = str | PathLike[str]


def packing_list_name(sequence_length: int) -> str:
    """The list of packings for one length of row, relative to the manifest's folder."""
    return f"packing-{sequence_length}.parquet"


def is_packing_list(path: StrPath) -> bool:
    """Whether the name is that of a list of packings."""
    return re.fullmatch(r"packing-[0-9]+\.parquet", Path(path).name) is not None


def describe_packing(
    path: StrPath, shard: str, packing: Packing, lengths: np.ndarray, cut_by_concat: int
) -> ShardPacking:
    """The row of the list for a packing that lies at `path`, of a shard of documents of these `lengths`."""
    file = digest_file(path)
    return ShardPacking(
        shard=shard,
        rows=packing.num_rows,
        pieces=len(packing.start),
        tokens=packing.num_tokens,
        targets=packing.num_targets,
        documents_cut=int(np.count_nonzero(lengths > packing.sequence_length + 1)),
        documents_left_out=int(np.count_nonzero(lengths == 1)),
        documents_cut_by_concat=cut_by_concat,
        file_bytes=file.size_bytes,
        file_sha256=file.sha256,
    )


def packings_of(
    sequence_length: int, version: int, shards: Sequence[Shard], rows: Sequence[ShardPacking]
) -> Packings:
    """What a manifest says of the packings of all `shards`; the digest of their list is that of nothing."""
    return Packings(
        sequence_length=sequence_length,
        version=version,
        file=packing_list_name(sequence_length),
        digest=digest_bytes(b""),
        sources=_sums(shards, rows),
    )


def seal_packings(folder: StrPath, part: Packings, rows: Sequence[ShardPacking]) -> Packings:
    """Write the list of packings into `folder`; return the part with the digest of what was stored."""
    path = Path(folder) / part.file
    write_packing_list(path, rows)
    return part.model_copy(update={"digest": digest_file(path).digest})


def packing_files(folder: StrPath, manifest: Manifest, shards: Sequence[Shard]) -> list[Path]:
    """The packings of all shards, for all lengths of row; not the lists, which are side files."""
    return [
        packing_path(Path(folder) / shard.name, each.sequence_length)
        for each in manifest.packings
        for shard in shards
    ]


def packing_digests(folder: StrPath, manifest: Manifest) -> dict[str, str]:
    """Every packing of a corpus whose lists are in `folder`, with the digest of its bytes. Raises
    TableError."""
    return {
        packing_path(row.shard, part.sequence_length).as_posix(): f"sha256:{row.file_sha256}"
        for part in manifest.packings
        for row in read_packing_list(Path(folder) / part.file)
    }


def packing_inconsistencies(
    part: Packings, shards: Sequence[Shard], rows: Sequence[ShardPacking]
) -> Iterator[str]:
    """What the manifest, its shards and the list of their packings do not agree on."""
    if [row.shard for row in rows] != [shard.name for shard in shards]:
        yield "it does not list the packings of the shards of this corpus, in their order"
        return
    for row, shard in zip(rows, shards, strict=True):
        if row.targets != shard.tokens - shard.documents:  # every token but the first of each document
            yield (
                f"{row.shard}: {row.targets:,} targets in {shard.tokens:,} tokens of {shard.documents:,} "
                "documents"
            )
        if row.file_bytes != packing_size_bytes(row.rows, row.pieces):
            yield f"{row.shard}: {row.rows:,} rows of {row.pieces:,} pieces in {row.file_bytes:,} bytes"
        if row.tokens > row.rows * (part.sequence_length + 1):
            yield f"{row.shard}: {row.tokens:,} tokens do not fit into {row.rows:,} rows"
    if _sums(shards, rows) != part.sources:
        yield "the sums of the manifest are not those of the list"


@dataclass(slots=True)
class PackingChecks:
    """What was found wrong with the packings of a corpus, and what was looked at."""

    problems: list[Problem] = field(default_factory=list)
    files: int = 0
    bytes: int = 0


def check_packings(
    folder: Path, manifest: Manifest, shards: Sequence[Shard], quick: bool, workers: int
) -> PackingChecks:
    """Check the packings for all lengths of row. Lists of a wrong digest have been reported, as side files;
    here they count as far as they can be read."""
    checks = PackingChecks()
    named = {shard.name for shard in shards}
    for part in manifest.packings:
        path = folder / part.file
        try:
            rows = read_packing_list(path) if path.is_file() else []
        except TableError as error:
            checks.problems.append(Problem(part.file, None, None, error.what))
            continue
        if path.is_file():
            found = packing_inconsistencies(part, shards, rows)
            checks.problems += [Problem(part.file, None, None, what) for what in found]
        rows = [row for row in rows if row.shard in named]

        def check(row: ShardPacking, length: int = part.sequence_length) -> str | None:
            return _check_packing(folder / row.shard, length, row, quick)

        with ThreadPoolExecutor(workers) as pool:
            for row, what in zip(rows, pool.map(check, rows), strict=True):
                if what is not None:
                    name = packing_path(row.shard, part.sequence_length).as_posix()
                    checks.problems.append(Problem(name, None, None, what))
                checks.files += 1
                checks.bytes += row.file_bytes
    return checks


def _check_packing(prefix: Path, sequence_length: int, row: ShardPacking, quick: bool) -> str | None:
    """The first thing that is wrong with one packing."""
    path = packing_path(prefix, sequence_length)
    if not path.is_file():
        return "the file is missing"
    try:
        packing = open_packing(path)
        if (packing.sequence_length, packing.num_rows, len(packing.start)) != (
            sequence_length,
            row.rows,
            row.pieces,
        ):
            return "it is not the packing that the list describes"
        if quick:
            return None
        if digest_file(path).sha256 != row.file_sha256:
            return "the content is not what the list says"
        # A shard that cannot be read has been reported itself.
        return next(misfits(packing, ShardReader(prefix).offsets), None)
    except PackingError as error:
        return error.what
    except OSError as error:
        return f"the file cannot be read: {error.strerror}"
    except ShardError:
        return None


def _sums(shards: Sequence[Shard], rows: Sequence[ShardPacking]) -> dict[str, dict[str, PackedSubset]]:
    """Source -> subset -> sums, in the order of the shards."""
    groups: dict[str, dict[str, list[ShardPacking]]] = {}
    for shard, row in zip(shards, rows, strict=True):
        groups.setdefault(shard.source, {}).setdefault(shard.subset, []).append(row)
    return {
        source: {subset: packed_subset_of(found) for subset, found in subsets.items()}
        for source, subsets in groups.items()
    }

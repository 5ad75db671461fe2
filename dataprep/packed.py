"""The packings of a run (`shards: {pack: best_fit}`) on their way from the work folder into the corpus.

`publish.py` calls this; the packings themselves are made by the stage FIT.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dataprep.cache import Entry
from dataprep.fit import VERSION
from dataprep.plan import Plans
from dataprep.stages import fit
from manifests.files import link_or_copy
from manifests.fingerprint import digest_file
from manifests.lists import Shard, ShardPacking
from manifests.manifest import Packings
from manifests.packing import packing_path
from manifests.packings import packings_of


@dataclass(frozen=True, slots=True)
class Packed:
    """The packings of all shards for one length of row; `part` has no digest yet."""

    part: Packings
    rows: tuple[ShardPacking, ...]
    entries: tuple[Entry, ...]

    def files(self, folder: Path) -> Iterator[Path]:
        """Where the packings belong, shard after shard."""
        return (packing_path(folder / row.shard, self.part.sequence_length) for row in self.rows)

    def link(self, folder: Path) -> list[str]:
        """Link every packing into the folder; return the keys of entries that were damaged on the disk."""
        damaged = []
        for path, row, entry in zip(self.files(folder), self.rows, self.entries, strict=True):
            link_or_copy(entry.file(fit.file_of(self.part.sequence_length)), path)
            if digest_file(path).sha256 != row.file_sha256:
                damaged.append(entry.key)
        return damaged

    def damaged(self, folder: Path, time_ns: int) -> bool:
        """Whether a packing in the folder is not as it was linked. One that was not touched since `time_ns`
        (of its last change) is taken to be."""
        return any(
            path.stat().st_mtime_ns >= time_ns and digest_file(path).sha256 != row.file_sha256
            for path, row in zip(self.files(folder), self.rows, strict=True)
        )


def packed_of(plans: Plans, shards: Sequence[Shard]) -> list[Packed]:
    """By length of row, what FIT made."""
    entries = plans.entries.get(fit.STAGE, [])
    found = []
    for number, sequence_length in enumerate(plans.recipe.shards.sequence_lengths):
        mine = entries[number * len(shards) : (number + 1) * len(shards)]
        rows = [
            ShardPacking(shard=shard.name, **entry.facts) for shard, entry in zip(shards, mine, strict=True)
        ]
        part = packings_of(sequence_length, VERSION, shards, rows)
        found.append(Packed(part, tuple(rows), tuple(mine)))
    return found

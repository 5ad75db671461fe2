"""What is known of the bytes of each input extent, so that an unchanged file is not read to learn that it
is unchanged.

A fingerprint (path, size, modification time, range) points to the content digest that was computed while
measuring. Keys use the digest only; a fingerprint that is not found costs one read of the extent, never a
wrong result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from dataprep.readers import Extent
from manifests.files import write_atomic


@dataclass(slots=True)
class Fingerprints:
    """Fingerprint -> digest, kept in one JSON file of the work folder."""

    path: Path
    digests: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, work: Path) -> Fingerprints:
        path = work / "fingerprints.json"
        try:
            digests = json.loads(path.read_bytes())
        except (FileNotFoundError, ValueError):
            return cls(path)
        known = digests.items() if isinstance(digests, dict) else ()
        return cls(path, {name: digest for name, digest in known if isinstance(digest, str)})

    def find(self, extent: Extent) -> str | None:
        return self.digests.get(_fingerprint(extent))

    def add(self, extent: Extent, digest: str) -> None:
        self.digests[_fingerprint(extent)] = digest

    def forget(self, extents: Iterable[Extent]) -> None:
        """After these a file is read again, since its size and time told a lie."""
        for extent in extents:
            self.digests.pop(_fingerprint(extent), None)

    def save(self) -> None:
        write_atomic(self.path, json.dumps(self.digests).encode())


def _fingerprint(extent: Extent) -> str:
    file = extent.file
    return f"{file.size_bytes}:{file.mtime_ns}:{extent.start}:{extent.end}:{file.path}"

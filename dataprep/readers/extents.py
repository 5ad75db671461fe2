"""Extents and splits: which bytes or row groups of which files one task reads, as values that travel as JSON.

How files are cut into them is in `dataprep.readers.splits`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from dataprep.readers.listing import InputFile


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes [start, end) of an uncompressed file, row groups [start, end) of a Parquet file, or a whole file.

    A whole file, whatever its compression, is its stored bytes [0, size_bytes).
    """

    file: InputFile
    start: int
    end: int
    unit: Literal["bytes", "row_groups"] = "bytes"

    @property
    def is_whole(self) -> bool:
        return self.unit == "bytes" and (self.start, self.end) == (0, self.file.size_bytes)


@dataclass(frozen=True, slots=True)
class Split:
    """What one task reads: extents of one source, in order."""

    source: str
    format: str
    extents: tuple[Extent, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON values; `from_dict` is the inverse."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Split:
        extents = (
            Extent(InputFile(**each["file"]), each["start"], each["end"], each["unit"])
            for each in value["extents"]
        )
        return cls(value["source"], value["format"], tuple(extents))


@dataclass(frozen=True, slots=True)
class Cut:
    """An extent and about how many bytes there are to read in it."""

    extent: Extent
    weight_bytes: int


def whole_file(file: InputFile) -> Cut:
    """All of a file."""
    return Cut(Extent(file, 0, file.size_bytes), file.size_bytes)

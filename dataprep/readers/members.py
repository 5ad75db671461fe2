"""One entry of an archive, whatever its kind. Who makes them: `tar_members` and `zip_members`; who reads
them: `dataprep.readers.archive`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """Its content must be read before the next entry is asked for, or is passed over.

    name        inside the archive, with "/" between folders; what is not UTF-8 in it is replaced
    size_bytes  of its content
    position    of its content: in the decompressed tar; in a zip, after the contents of all members before
    pieces      its content, once; DamagedFile where it cannot be read to its end
    kind        "file", or "folder", "link", "device"
    problem     reason and detail where it is a file that cannot be read
    """

    name: str
    size_bytes: int
    position: int
    pieces: Iterator[bytes]
    kind: str = "file"
    problem: tuple[str, str] | None = None


def clean_name(name: str) -> str:
    """A name as archives' libraries decode it, without lone surrogates."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

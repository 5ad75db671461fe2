"""Lists that a recipe names, in place or as a file of one entry a line, and which hashes are on them.

Entries are compared by their 128-bit hashes, so that millions of them take 16 bytes each and no text is kept.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.columns import texts_from_arrow
from dataprep.kernels.hashing import hash128
from dataprep.steps.base import Mask
from manifests.errors import UserError
from manifests.fingerprint import digest_file

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class ListFile:
    """A file of entries as it is now, for caches."""

    path: str
    size_bytes: int
    mtime_ns: int


def list_file(path: str) -> ListFile:
    """Raises UserError where the file cannot be read."""
    try:
        with open(path, "rb") as file:
            stat = os.fstat(file.fileno())
    except OSError as error:
        raise UserError(
            f"cannot read a list: {(error.strerror or str(error)).lower()}", where=path
        ) from error
    return ListFile(path, stat.st_size, stat.st_mtime_ns)


def read_list(file: ListFile) -> list[str]:
    """The lines of a UTF-8 file, without white space around them; blank lines are none. There are no
    comments."""
    try:
        with open(file.path, encoding="utf-8-sig", newline="\n") as lines:
            return [line for each in lines if (line := each.strip())]
    except UnicodeDecodeError as error:
        raise UserError("a list is not UTF-8", where=file.path) from error


def digest_list(path: str) -> str:
    """Digest of the bytes of a file. Raises UserError where it cannot be read."""
    return _digest(list_file(path))


@lru_cache(maxsize=64)  # the key of every split asks for it, and a list may have gigabytes
def _digest(file: ListFile) -> str:
    return digest_file(file.path).digest


def hashed(strings: pa.StringArray) -> Hashes:
    """uint64 [n, 2]: a hash of each string, zeros where it is null."""
    texts = texts_from_arrow(strings.fill_null(""))
    hashes: Hashes = hash128(texts.data, texts.offsets)
    hashes[strings.is_null().to_numpy(zero_copy_only=False)] = 0
    return hashes


def sorted_hashes(hashes: Hashes) -> Hashes:
    """As `among` wants a list; each half lies in one piece, since it is searched alone."""
    return np.asfortranarray(hashes[np.lexsort((hashes[:, 1], hashes[:, 0]))])


def among(hashes: Hashes, listed: Hashes) -> Mask:
    """bool [n]: which hashes are on a sorted list."""
    at = np.searchsorted(listed[:, 0], hashes[:, 0])
    found = np.zeros(len(hashes), dtype=bool)
    rows = np.arange(len(hashes))
    while len(rows):  # more than twice only for entries that share half of a hash
        rows = rows[at[rows] < len(listed)]
        rows = rows[listed[at[rows], 0] == hashes[rows, 0]]
        found[rows] |= listed[at[rows], 1] == hashes[rows, 1]
        at[rows] += 1
    return found

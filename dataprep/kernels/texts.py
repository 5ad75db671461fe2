"""`Texts`: many UTF-8 texts as one byte array and offsets, the form in which every kernel sees documents.

No Arrow here (see `dataprep.columns`), no decoding and no check of UTF-8: readers let only valid UTF-8 in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _gather(data: Bytes, starts: Offsets, new_offsets: Offsets, out: Bytes) -> None:
    for index in range(starts.size):
        begin, end = new_offsets[index], new_offsets[index + 1]
        out[begin:end] = data[starts[index] : starts[index] + (end - begin)]


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """n texts: text i is `data[offsets[i]:offsets[i + 1]]`.

    data     uint8, one-dimensional; may be read-only (memory of an Arrow buffer), so kernels compile lazily
             and never write to it
    offsets  int64 [n + 1], not descending; offsets[0] may be above 0 and offsets[n] below data.size, so a
             slice costs nothing and a kernel must never assume that texts start at byte 0
    """

    data: Bytes
    offsets: Offsets

    def __post_init__(self) -> None:
        if self.data.dtype != np.uint8 or self.offsets.dtype != np.int64:
            raise TypeError(
                f"Texts needs uint8 data and int64 offsets, not {self.data.dtype} and {self.offsets.dtype}"
            )
        if self.data.ndim != 1 or self.offsets.ndim != 1 or self.offsets.size == 0:
            raise ValueError("Texts needs one-dimensional data, and n + 1 offsets for n texts")
        if self.offsets[0] < 0 or self.offsets[-1] > self.data.size:
            raise ValueError(
                f"offsets {self.offsets[0]} to {self.offsets[-1]} do not fit {self.data.size} bytes of data"
            )

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> Texts:
        """Texts of Python strings (tests, probes, small inputs). A lone surrogate raises
        UnicodeEncodeError."""
        return cls.from_bytes([string.encode("utf-8") for string in strings])

    @classmethod
    def from_bytes(cls, values: Sequence[bytes]) -> Texts:
        """Texts of byte strings that the caller knows to be UTF-8."""
        lengths = np.fromiter((len(value) for value in values), dtype=np.int64, count=len(values))
        return cls(np.frombuffer(b"".join(values), dtype=np.uint8), offsets_of(lengths))

    def __len__(self) -> int:
        return int(self.offsets.size) - 1

    def __getitem__(self, index: int) -> bytes:
        """The bytes of one text; negative indices count from the end."""
        index = range(len(self))[index]
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        return (self[index] for index in range(len(self)))

    @property
    def lengths(self) -> Offsets:
        """int64 [n]: bytes of each text."""
        return np.diff(self.offsets)

    @property
    def num_bytes(self) -> int:
        """Bytes of all texts together (not of `data`, which may hold more)."""
        return int(self.offsets[-1] - self.offsets[0])

    def to_strings(self) -> list[str]:
        """Python strings, decoded strictly."""
        return [value.decode("utf-8") for value in self]

    def slice(self, start: int, stop: int) -> Texts:
        """Texts start to stop without copying, clipped to the range as Python slices are."""
        start, stop, _ = slice(start, stop).indices(len(self))
        return Texts(self.data, self.offsets[start : max(start, stop) + 1])

    def take(self, selection: npt.NDArray[Any] | Sequence[int] | Sequence[bool]) -> Texts:
        """The texts where a boolean mask [n] is true, or those at the given indices, in that order;
        copies."""
        chosen = np.asarray(selection)
        if chosen.dtype == np.bool_:
            if chosen.size != len(self):
                raise ValueError(f"a mask of {chosen.size} values cannot choose from {len(self)} texts")
            chosen = np.flatnonzero(chosen)
        elif chosen.size == 0:
            chosen = chosen.astype(np.int64)
        starts = self.offsets[:-1][chosen]
        new_offsets = offsets_of(self.offsets[1:][chosen] - starts)
        out = np.empty(int(new_offsets[-1]), dtype=np.uint8)
        _gather(self.data, starts, new_offsets, out)
        return Texts(out, new_offsets)

    def compact(self) -> Texts:
        """The same texts with offsets from 0 and no bytes before or after; copies only where it must."""
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        if first == 0 and last == self.data.size:
            return self
        return Texts(self.data[first:last].copy(), self.offsets - first)


def offsets_of(lengths: npt.NDArray[Any]) -> Offsets:
    """int64 [n + 1]: running sum of n lengths, starting at 0."""
    offsets = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def concat(parts: Sequence[Texts]) -> Texts:
    """One Texts of all parts in order; copies."""
    datas = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts]
    lengths = [part.lengths for part in parts]
    if not parts:
        return Texts(np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))
    return Texts(np.concatenate(datas), offsets_of(np.concatenate(lengths)))

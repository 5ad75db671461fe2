"""Who stays among near-duplicates: the rank-first maximal independent set of the graph of verified pairs.

A document is removed if and only if a better one that stays is similar to it. So the result is unique,
whatever the order of the edges, and there are no chains: A does not remove Z because of what lies between.
Documents are named by rank, 0 the best, and an edge is a row (better, worse, similarity in millionths) of
int64[m, 3], a pair any number of times. Documents without edges stay, and are not mentioned.

The ranks are cut into ranges, taken in order. A range is decided when all better ones are: what those decided
about it came as messages (the edges from documents that stay), and the rest is one walk over its own edges,
ascending by the better end. Each edge is read once more than it is written, and passed on at most once. (The
obvious other way, rounds over the whole graph that decide whatever has no undecided better neighbour, reads
and sorts all undecided edges again in each, and needs a round for every second document of a chain.) Messages
come in the order of ranks, so the first that a document gets is from the best document that stays and is
similar to it: the match that is named.

`independent` holds all edges in memory; `independent_in_ranges` about `limit` of them, the others in files.
Slow twin: `tests/reference/independent.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Union

import numpy as np
import numpy.typing as npt

from dataprep.kernels.radix import order_of
from dataprep.kernels.sweep import spread, sweep

Int64s = npt.NDArray[np.int64]
Edges = npt.NDArray[np.int64]

Part = Union[Edges, Path, "RowFile"]
"""Rows in memory, in a file that goes when they are read, or in one that stays."""

NO_EDGES: Edges = np.zeros((0, 3), dtype=np.int64)
FANOUT, BINS = 256, 4096
ROW_BYTES = 24
DENSE = 4
"""Documents of a range, for each of its rows, up to which all have a place in memory, edges or not."""


@dataclass(frozen=True, slots=True)
class RowFile:
    """Rows of a file, for `independent_in_ranges`. (Pages of a memory map would count as memory.)"""

    path: Path

    def __len__(self) -> int:
        return self.path.stat().st_size // ROW_BYTES

    def __getitem__(self, rows: slice) -> Edges:
        start, stop, _ = rows.indices(len(self))
        return np.fromfile(self.path, np.int64, 3 * (stop - start), offset=start * ROW_BYTES).reshape(-1, 3)


@dataclass(frozen=True, slots=True, eq=False)
class Removed:
    """Documents that go, ascending; for each the best one that stays and is similar, and how similar."""

    documents: Int64s
    matches: Int64s
    similarity_ppm: Int64s


@dataclass(slots=True)
class _Range:
    """Documents first to end; edges that begin at them, and messages to them: arrays or files of rows."""

    first: int
    end: int
    edges: list[Part] = field(default_factory=list)
    messages: list[Part] = field(default_factory=list)


def independent(edges: Edges) -> Removed:
    """All removed documents of a graph that fits into memory."""
    return _decided(edges, NO_EDGES, 0, int(edges[:, 1].max(initial=-1)) + 1)[0]


def independent_in_ranges(
    edges: Sequence[Edges | RowFile], num_documents: int, limit: int, folder: Path
) -> Iterator[Removed]:
    """All removed documents, range by range, ascending.

    edges          the graph in any number of parts, in any order, a pair any number of times
    num_documents  one more than the highest rank
    limit          rows held in memory, at about 200 bytes a row
    folder         empty; files in it come and go, at most 48 bytes an edge at a time
    """
    pending = [_Range(0, num_documents, list(edges))]
    while pending:
        current = pending.pop(0)
        if _size(current.edges) + _size(current.messages) <= limit:
            held = np.concatenate([NO_EDGES, *_rows(current.edges, limit)])
            told = np.concatenate([NO_EDGES, *_rows(current.messages, limit)])
            removed, messages = _decided(held, told, current.first, current.end)
            if removed.documents.size:
                yield removed
            _distribute(messages, 1, pending, "messages", folder)
        elif current.end - current.first > 1:
            pending[:0] = _split(current, limit, folder)
        else:
            first = next(_rows(current.messages, 1), NO_EDGES)
            if len(first):
                yield Removed(first[:, 1], first[:, 0], first[:, 2])
            else:
                for rows in _rows(current.edges, limit):
                    _distribute(rows, 1, pending, "messages", folder)
        for part in current.edges + current.messages:
            if isinstance(part, Path):
                part.unlink()


def cluster_sizes(matches: Sequence[Int64s]) -> tuple[Int64s, Int64s]:
    """(documents that stay and have copies, ascending; how many documents each stands for, with itself)."""
    keepers, sizes = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for part in matches:
        more, counts = np.unique(part, return_counts=True)
        together = np.concatenate([keepers, more])
        keepers, places = np.unique(together, return_inverse=True)
        sizes = np.bincount(places, np.concatenate([sizes, counts]), keepers.size).astype(np.int64)
    return keepers, sizes + 1


def _decided(edges: Edges, messages: Edges, first: int, end: int) -> tuple[Removed, Edges]:
    """What goes of the documents from `first` to `end` that have these edges and messages, and the messages
    to those from `end` on, the best first."""
    inside = edges[:, 1] < end
    if end - first <= DENSE * (len(edges) + len(messages)):
        documents = np.arange(first, end)
        better, told = edges[:, 0] - first, messages[:, 1] - first
        worse = np.where(inside, edges[:, 1] - first, -1)
    else:
        documents = np.unique(np.concatenate([edges[:, 0], edges[inside, 1], messages[:, 1]]))
        better, told = np.searchsorted(documents, edges[:, 0]), np.searchsorted(documents, messages[:, 1])
        worse = np.where(inside, np.searchsorted(documents, edges[:, 1]), -1)
    match = np.full(documents.size, -1, dtype=np.int64)
    similarity = np.zeros(documents.size, dtype=np.int64)
    passed = np.zeros(len(edges), dtype=bool)
    order = order_of(better.view(np.uint64))
    sweep(edges, order, better, worse, messages, told, documents, match, similarity, passed)
    gone = match >= 0
    return Removed(documents[gone], match[gone], similarity[gone]), edges[order[passed[order]]]


def _split(whole: _Range, limit: int, folder: Path) -> list[_Range]:
    """The same in ranges of about equal rows, in files, about FANOUT of them; a document with too many rows
    is alone in the end."""
    width = -(-(whole.end - whole.first) // BINS)
    counts = np.zeros(BINS, dtype=np.int64)
    for rows in _rows(whole.edges, limit):
        counts += np.bincount((rows[:, 0] - whole.first) // width, minlength=BINS)
        near = rows[rows[:, 1] < whole.end, 1]
        counts += np.bincount((near - whole.first) // width, minlength=BINS)
    for rows in _rows(whole.messages, limit):
        counts += np.bincount((rows[:, 1] - whole.first) // width, minlength=BINS)
    share = max(limit // 2, int(counts.sum()) // FANOUT, 1)
    before = np.cumsum(counts) - counts
    heavy = np.flatnonzero(counts > share)
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(before // share)) + 1, heavy, heavy + 1])
    firsts = whole.first + np.unique(cuts) * width
    firsts = firsts[firsts < whole.end]
    ranges = [_Range(first, end) for first, end in pairwise([*firsts.tolist(), whole.end])]
    for rows in _rows(whole.edges, limit):
        _distribute(rows, 0, ranges, "edges", folder)
    for rows in _rows(whole.messages, limit):
        _distribute(rows, 1, ranges, "messages", folder)
    return ranges


def _distribute(rows: Edges, column: int, ranges: list[_Range], kind: str, folder: Path) -> None:
    """Append each row to the file of the range that its column is in; rows of a range keep their order."""
    if not len(rows):
        return
    rows, offsets = spread(rows, column, np.array([each.first for each in ranges], dtype=np.int64))
    for number in np.flatnonzero(np.diff(offsets)).tolist():
        each = ranges[number]
        path = folder / f"{kind}-{each.first}-{each.end}"
        with path.open("ab") as file:
            rows[offsets[number] : offsets[number + 1]].tofile(file)
        parts = each.edges if kind == "edges" else each.messages
        if not parts:
            parts.append(path)


def _size(parts: list[Part]) -> int:
    """Rows."""
    return sum(part.stat().st_size // ROW_BYTES if isinstance(part, Path) else len(part) for part in parts)


def _rows(parts: list[Part], limit: int) -> Iterator[Edges]:
    """All rows in order, at most a quarter of the limit at a time."""
    chunk = max(1, limit // 4)
    for part in parts:
        if isinstance(part, Path):
            part = RowFile(part)
        for start in range(0, len(part), chunk):
            yield np.asarray(part[start : start + chunk])

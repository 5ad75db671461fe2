"""Who stays among near-duplicates: the rank-first maximal independent set of the graph of verified pairs.

A document is removed if and only if a better one that stays is similar to it. So the result is unique,
whatever the order of the edges, and there are no chains: A does not remove Z because of what lies between.
Documents are named by rank, 0 the best, and an edge is a row (better, worse, similarity in millionths) of
int64[m, 3], each pair once. Documents without edges stay, and are not mentioned.

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

import numpy as np
import numpy.typing as npt

from dataprep.kernels.sweep import sweep

Int64s = npt.NDArray[np.int64]
Edges = npt.NDArray[np.int64]

NO_EDGES: Edges = np.zeros((0, 3), dtype=np.int64)
FANOUT, BINS = 256, 4096
ROW_BYTES = 24


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
    edges: list[Edges | Path] = field(default_factory=list)
    messages: list[Edges | Path] = field(default_factory=list)


def independent(edges: Edges) -> Removed:
    """All removed documents of a graph that fits into memory."""
    return _decided(edges, NO_EDGES, np.iinfo(np.int64).max)[0]


def independent_in_ranges(
    edges: Sequence[Edges], num_documents: int, limit: int, folder: Path
) -> Iterator[Removed]:
    """All removed documents, range by range, ascending.

    edges          the graph in any number of parts (memory maps will do), in any order
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
            removed, messages = _decided(held, told, current.end)
            if removed.documents.size:
                yield removed
            _distribute(messages, messages[:, 1], pending, "messages", folder)
        elif current.end - current.first > 1:
            pending[:0] = _split(current, limit, folder)
        else:
            first = next(_rows(current.messages, 1), NO_EDGES)
            if len(first):
                yield Removed(first[:, 1], first[:, 0], first[:, 2])
            else:
                for rows in _rows(current.edges, limit):
                    _distribute(rows, rows[:, 1], pending, "messages", folder)
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


def _decided(edges: Edges, messages: Edges, end: int) -> tuple[Removed, Edges]:
    """What goes of the documents below `end` that have these edges and messages, and the messages to those
    from `end` on."""
    edges = edges[np.argsort(edges[:, 0], kind="stable")]
    inside = edges[:, 1] < end
    documents = np.unique(np.concatenate([edges[:, 0], edges[inside, 1], messages[:, 1]]))
    match = np.full(documents.size, -1, dtype=np.int64)
    similarity = np.zeros(documents.size, dtype=np.int64)
    told, first = np.unique(messages[:, 1], return_index=True)
    places = np.searchsorted(documents, told)
    match[places], similarity[places] = messages[first, 0], messages[first, 2]
    passed = np.zeros(len(edges), dtype=bool)
    better = np.searchsorted(documents, edges[:, 0])
    worse = np.where(inside, np.searchsorted(documents, edges[:, 1]), -1)
    sweep(better, worse, edges[:, 2].copy(), documents, match, similarity, passed)
    gone = match >= 0
    return Removed(documents[gone], match[gone], similarity[gone]), edges[passed]


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
        _distribute(rows, rows[:, 0], ranges, "edges", folder)
    for rows in _rows(whole.messages, limit):
        _distribute(rows, rows[:, 1], ranges, "messages", folder)
    return ranges


def _distribute(rows: Edges, by: Int64s, ranges: list[_Range], kind: str, folder: Path) -> None:
    """Append each row to the file of the range that its document is in; rows of a range keep their order."""
    which = np.searchsorted([each.first for each in ranges], by, side="right") - 1
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(ranges) + 1))
    for number in np.flatnonzero(np.diff(ends)).tolist():
        each = ranges[number]
        path = folder / f"{kind}-{each.first}-{each.end}"
        with path.open("ab") as file:
            file.write(rows[order[ends[number] : ends[number + 1]]].tobytes())
        parts = each.edges if kind == "edges" else each.messages
        if not parts:
            parts.append(path)


def _size(parts: list[Edges | Path]) -> int:
    """Rows."""
    return sum(part.stat().st_size // ROW_BYTES if isinstance(part, Path) else len(part) for part in parts)


def _rows(parts: list[Edges | Path], limit: int) -> Iterator[Edges]:
    """All rows in order, at most a quarter of the limit at a time."""
    chunk = max(1, limit // 4)
    for part in parts:
        if isinstance(part, Path):
            with part.open("rb") as file:
                while data := file.read(chunk * ROW_BYTES):
                    yield np.frombuffer(data, dtype=np.int64).reshape(-1, 3)
        else:
            for start in range(0, len(part), chunk):
                yield np.asarray(part[start : start + chunk])

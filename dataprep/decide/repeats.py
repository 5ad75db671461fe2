"""Of windows that occur more than once, which is the best and which are the others; in bounded memory.

Takes the runs of one part (`kernels.windows.by_part`), from all splits. A part too large for memory is cut by
keys, through files. The windows of one key may be any number, since each is compared with the best of its
content, in the order of places. Only their different contents must fit; if they don't (a phrase that a
million pages have in common, each with other words around it), the windows are put under the hash of all
their tokens, and cut by that. Equality is settled in `kernels/repeats.py`, on the tokens. Slow twin:
`tests/reference/substrings.py`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dataprep.decide.layout import Corpus
from dataprep.kernels.repeats import Table, TableFull, expanded, left_open, resolve, table_of

Int64s = npt.NDArray[np.int64]
Part = Int64s | Path

KEY, PLACE, SIZE = 0, 1, 2
BUCKETS = 64
ROW_BYTES = 24
BYTES_OF_A_ROW = 200
"""Memory that one row of the limit stands for: a run that is sorted and looked up (about 100), or a window in
the table with what is told of it (about 90)."""


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Runs of windows, as rows (place of the first, how many): `marked` equal a better one, `kept` are the
    best of several. In no order."""

    marked: Int64s
    kept: Int64s


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    corpus: Corpus
    length: int
    limit: int
    folder: Path
    names: Iterator[int]

    @property
    def share(self) -> int:
        return max(self.limit // 2, 1)

    def new_file(self) -> Path:
        return self.folder / f"rows-{next(self.names)}"


def repeats(
    parts: Sequence[Int64s], corpus: Corpus, length: int, limit: int, folder: Path
) -> Iterator[Repeats]:
    """The repeated windows of one part, a little at a time. A window may be told twice.

    parts   its runs, in any number of arrays (maps of files will do), in any order
    limit   rows, and windows, held in memory, at `BYTES_OF_A_ROW` each, beside 2 MB
    folder  empty; files in it come and go: of what exceeds memory 24 bytes a run, and 48 a window taken apart
    """
    yield from _found(list(parts), _Search(corpus, length, max(limit, 1), folder, count()), apart=False)


def _found(parts: Sequence[Part], search: _Search, apart: bool) -> Iterator[Repeats]:
    """apart: each row is one window, under the hash of all its tokens."""
    if _size(parts) <= search.limit:
        yield from _in_memory(_loaded(parts, search), search, apart)
        return
    low, high = _range(parts, KEY, search)
    if low < high:
        for bucket in _bucketed(parts, KEY, low, high, search):
            yield from _found([bucket], search, apart)
            bucket.unlink()
    else:
        yield from _one_after_another(parts, search, apart)


def _in_memory(rows: Int64s, search: _Search, apart: bool) -> Iterator[Repeats]:
    """Whole groups. Runs whose key comes once are most, and go first."""
    rows = rows[np.argsort(rows[:, KEY])]
    again = rows[1:, KEY] == rows[:-1, KEY]
    wanted = rows[:, SIZE] & 1 == 1
    wanted[1:] |= again
    wanted[:-1] |= again
    rows = rows[wanted]
    rows = rows[np.lexsort((rows[:, PLACE], rows[:, KEY]))]
    if not len(rows):
        return
    first = np.flatnonzero(np.diff(rows[:, KEY], prepend=rows[0, KEY] ^ 1))
    windows = np.add.reduceat(rows[:, SIZE] >> 1, first)
    ends = np.append(first[1:], len(rows))
    is_large = windows > search.share
    for group in np.flatnonzero(is_large).tolist():
        yield from _one_after_another([rows[first[group] : ends[group]]], search, apart)
    rows = rows[np.repeat(~is_large, ends - first)]
    if not len(rows):
        return
    windows, counts = windows[~is_large], (ends - first)[~is_large]
    table = table_of(int(windows.max()))
    for start, stop in _shares(windows, search.share):
        before, size = int(counts[:start].sum()), int(counts[start:stop].sum())
        yield _resolved(rows[before : before + size], search, table)


def _one_after_another(parts: Sequence[Part], search: _Search, apart: bool) -> Iterator[Repeats]:
    """The windows of one key, by place, against a table of the different ones so far."""
    table = table_of(search.limit)
    continues = False
    with closing(_ascending(parts, search)) as arrays:
        try:
            for rows in arrays:
                for start, stop in _shares(rows[:, SIZE] >> 1, search.share):
                    yield _resolved(rows[start:stop], search, table, continues, closes=False)
                    continues = True
        except TableFull:
            if apart:  # a limit of different windows with one hash of 64 bits
                raise
            continues = False
    if continues:
        yield Repeats(np.zeros((0, 2), dtype=np.int64), left_open(table))
    else:
        yield from _taken_apart(parts, search)


def _taken_apart(parts: Sequence[Part], search: _Search) -> Iterator[Repeats]:
    path = search.new_file()
    with path.open("wb") as file:
        for rows in _read(parts, search):
            for start, stop in _shares(rows[:, SIZE] >> 1, search.share):
                some = rows[start:stop]
                addresses = search.corpus.addresses(some[:, PLACE])
                file.write(expanded(search.corpus.like, some, addresses, search.length).tobytes())
    yield from _found([path], search, apart=True)
    path.unlink()


def _resolved(
    rows: Int64s, search: _Search, table: Table, continues: bool = False, closes: bool = True
) -> Repeats:
    addresses = search.corpus.addresses(rows[:, PLACE])
    return Repeats(*resolve(search.corpus.like, rows, addresses, search.length, table, continues, closes))


def _ascending(parts: Sequence[Part], search: _Search) -> Generator[Int64s]:
    """All rows by place, in arrays within the limit."""
    if _size(parts) <= search.limit:
        rows = _loaded(parts, search)
        yield rows[np.argsort(rows[:, PLACE])]
        return
    buckets = _bucketed(parts, PLACE, *_range(parts, PLACE, search), search)
    try:
        for bucket in buckets:
            yield from _ascending([bucket], search)
    finally:
        for bucket in buckets:
            bucket.unlink()


def _bucketed(parts: Sequence[Part], column: int, low: int, high: int, search: _Search) -> list[Path]:
    """The rows in files, ascending by equal ranges of the column; those that would be empty are left out."""
    width = np.uint64((high - low) // BUCKETS + 1)
    files = [search.new_file() for _ in range(BUCKETS)]
    for rows in _read(parts, search):
        values = np.ascontiguousarray(rows[:, column]).view(np.uint64)
        which = (values - np.uint64(low)) // width
        order = np.argsort(which, kind="stable")
        ends = np.searchsorted(which[order], np.arange(BUCKETS + 1, dtype=np.uint64))
        for number in np.flatnonzero(np.diff(ends)).tolist():
            with files[number].open("ab") as file:
                file.write(rows[order[ends[number] : ends[number + 1]]].tobytes())
    return [path for path in files if path.exists()]


def _range(parts: Sequence[Part], column: int, search: _Search) -> tuple[int, int]:
    """Least and greatest, as 64 bits without a sign."""
    low, high = 1 << 64, 0
    for rows in _read(parts, search):
        values = np.ascontiguousarray(rows[:, column]).view(np.uint64)
        low, high = min(low, int(values.min())), max(high, int(values.max()))
    return low, high


def _shares(windows: Int64s, share: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of stretches of about `share` windows, at most that and one item more."""
    before = np.cumsum(windows) - windows
    cuts = np.append(np.flatnonzero(np.diff(before // share, prepend=-1)), windows.size).tolist()
    return pairwise(cuts)


def _size(parts: Sequence[Part]) -> int:
    """Rows."""
    return sum(part.stat().st_size // ROW_BYTES if isinstance(part, Path) else len(part) for part in parts)


def _loaded(parts: Sequence[Part], search: _Search) -> Int64s:
    return np.concatenate([np.zeros((0, 3), dtype=np.int64), *_read(parts, search)])


def _read(parts: Sequence[Part], search: _Search) -> Iterator[Int64s]:
    """All rows in order, at most a share at a time."""
    for part in parts:
        if isinstance(part, Path):
            with part.open("rb") as file:
                while data := file.read(search.share * ROW_BYTES):
                    yield np.frombuffer(data, dtype=np.int64).reshape(-1, 3)
        else:
            for start in range(0, len(part), search.share):
                yield np.asarray(part[start : start + search.share])

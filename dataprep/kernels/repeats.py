"""Which windows of tokens are equal, settled on the tokens themselves: the best of several, and the others.

Runs of windows (`windows.py`) come sorted by key and place, a group being those of one key. A walk over a
group puts each window into a table under the hash of its tokens, the first that comes, which is the best, as
its entry; a later one is compared with the entry token by token, so a hash decides nothing. Neighbouring
windows mostly meet neighbouring entries, and then one token says the rest.

Tokens lie in many arrays (maps of files), so they are given by address: whoever calls keeps the arrays alive,
and sees to it that a run lies inside its document. Slow twin: `tests/reference/substrings.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.extending import intrinsic

from dataprep.kernels.keytable import FACTOR, mixed
from dataprep.kernels.utf8 import load64, read_only
from dataprep.kernels.windows import BASE

Int64s = npt.NDArray[np.int64]

ENTRIES, BITS = 0, 1
"""Places in the state of a table that stays open: entries so far, and the bits of its size."""


class TableFull(Exception):
    """More different windows than a table has room for."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Entries of one group: the first window of each content, in the order in which they came."""

    slots: Int64s
    hashes: npt.NDArray[np.uint64]
    places: Int64s
    addresses: Int64s
    repeated: npt.NDArray[np.bool_]
    state: Int64s


def table_of(windows: int) -> Table:
    """For groups of up to so many windows; 57 bytes each at most, and touched only as far as needed."""
    slots = np.empty(1 << (2 * windows).bit_length(), dtype=np.int64)
    places, addresses = np.empty(windows, dtype=np.int64), np.empty(windows, dtype=np.int64)
    hashes, repeated = np.empty(windows, dtype=np.uint64), np.empty(windows, dtype=np.bool_)
    return Table(slots, hashes, places, addresses, repeated, np.zeros(2, dtype=np.int64))


def resolve(
    like: npt.NDArray[Any],
    rows: Int64s,
    addresses: Int64s,
    length: int,
    table: Table,
    continues: bool = False,
    closes: bool = True,
) -> tuple[Int64s, Int64s]:
    """(marked int64[m, 2], kept int64[k, 2]): runs of windows, as (place of the first, how many).

    like       an array of the type of the tokens, maybe empty
    rows       sorted by key, then place: whole groups
    addresses  int64[m] of the first token of each row
    continues  the first group is that with which the last call ended, and goes on in the same table
    closes     the last group ends here

    Marked are windows that equal a better one. Kept are the best of several, told when their group ends.
    Raises TableFull if the windows of a group that goes on over several calls are too many different ones.
    """
    windows = int((rows[:, 2] >> 1).sum())
    marked = np.empty((windows, 2), dtype=np.int64)
    kept = np.empty((windows + table.places.size, 2), dtype=np.int64)
    power = np.uint64(pow(int(BASE), length, 1 << 64))
    arrays = (table.slots, table.hashes, table.places, table.addresses, table.repeated, table.state)
    rows, addresses = read_only(np.ascontiguousarray(rows)), read_only(addresses)
    num_marked, num_kept = _resolve(
        read_only(like[:0]), rows, addresses, length, power, arrays, continues, closes, marked, kept
    )
    if num_marked < 0:
        raise TableFull(f"more than {table.places.size} different windows have one key")
    return marked[:num_marked].copy(), kept[:num_kept].copy()


def left_open(table: Table) -> Int64s:
    """int64[k, 2]: what `kept` would hold of the group that the last call left open."""
    entries = int(table.state[ENTRIES])
    places = table.places[:entries][table.repeated[:entries]]
    return np.stack([places, np.ones_like(places)], axis=1)


def expanded(like: npt.NDArray[Any], rows: Int64s, addresses: Int64s, length: int) -> Int64s:
    """int64[windows, 3]: a row for each window of these runs, with the hash of all its tokens as the key."""
    out = np.empty((int((rows[:, 2] >> 1).sum()), 3), dtype=np.int64)
    rows, addresses = read_only(np.ascontiguousarray(rows)), read_only(addresses)
    _expand(read_only(like[:0]), rows, addresses, length, np.uint64(pow(int(BASE), length, 1 << 64)), out)
    return out


def _pointer_at(typingctx, address, like):  # type: ignore[no-untyped-def]
    """An address as a pointer to items of the type of `like`; see `utf8.pointer`."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(like.dtype)(types.int64, like), codegen


pointer_at: Any = intrinsic(_pointer_at)

BYTES = read_only(np.empty(0, dtype=np.uint8))


@njit(inline="always")
def _equal(one, other, count):  # type: ignore[no-untyped-def]
    """Whether `count` bytes at two addresses are the same."""
    left, right = pointer_at(one, BYTES), pointer_at(other, BYTES)
    at = 0
    while at + 8 <= count:
        if load64(left, at) != load64(right, at):
            return False
        at += 8
    while at < count:
        if left[at] != right[at]:
            return False
        at += 1
    return True


@njit(cache=True, nogil=True)
def _resolve(like, rows, row_addresses, length, power, table, continues, closes, marked, kept):  # type: ignore[no-untyped-def]
    slots, hashes, places, addresses, repeated, state = table
    one, width = np.uint64(1), like.itemsize
    num_marked, num_kept, entries, bits = 0, 0, np.int64(0), np.int64(0)
    start, count = 0, rows.shape[0]
    while start < count:
        stop, windows = start, 0
        while stop < count and rows[stop, 0] == rows[start, 0]:
            windows += rows[stop, 2] >> 1
            stop += 1
        ends = stop < count or closes
        if start == 0 and continues:
            entries, bits = state[ENTRIES], state[BITS]
        else:
            if ends and stop - start == 1 and not rows[start, 2] & 1:
                start = stop
                continue
            entries, bits = 0, 1
            while (1 << bits) < slots.size and (1 << bits) < (2 * windows if ends else slots.size):
                bits += 1
            for slot in range(1 << bits):
                slots[slot] = 0
        shift, mask = np.uint64(64 - bits), (1 << bits) - 1
        for row in range(start, stop):
            place, address = rows[row, 1], row_addresses[row]
            text = pointer_at(address, like)
            hashed = np.uint64(0)
            for at in range(length - 1):
                hashed = hashed * BASE + (np.uint64(text[at]) + one)
            leaving = np.uint64(0)
            previous, is_run = np.int64(-1), False
            for at in range(rows[row, 2] >> 1):
                newest = text[at + length - 1]
                hashed = hashed * BASE + (np.uint64(newest) + one) - leaving * power
                leaving = np.uint64(text[at]) + one
                here = address + at * width
                slot = np.int64((mixed(hashed) * FACTOR) >> shift)
                found = np.int64(-1)
                while slots[slot]:
                    entry = slots[slot] - 1
                    if hashes[entry] == hashed:
                        if previous >= 0 and addresses[entry] == addresses[previous] + width:
                            if pointer_at(addresses[entry], like)[length - 1] == newest:
                                found = entry
                                break
                        elif _equal(addresses[entry], here, length * width):
                            found = entry
                            break
                    slot = (slot + 1) & mask
                previous = found
                if found < 0:
                    if entries == places.size:
                        return -1, 0
                    slots[slot] = entries + 1
                    hashes[entries], places[entries], addresses[entries] = hashed, place + at, here
                    repeated[entries] = False
                    entries += 1
                    is_run = False
                    continue
                repeated[found] = True
                if is_run:
                    marked[num_marked - 1, 1] += 1
                else:
                    marked[num_marked, 0], marked[num_marked, 1] = place + at, 1
                    num_marked += 1
                    is_run = True
        if ends:
            last = np.int64(-1)
            for entry in range(entries):
                if not repeated[entry]:
                    continue
                if last >= 0 and places[entry] == last + 1:
                    kept[num_kept - 1, 1] += 1
                else:
                    kept[num_kept, 0], kept[num_kept, 1] = places[entry], 1
                    num_kept += 1
                last = places[entry]
        start = stop
    state[ENTRIES], state[BITS] = entries, bits
    return num_marked, num_kept


@njit(cache=True, nogil=True)
def _expand(like, rows, addresses, length, power, out):  # type: ignore[no-untyped-def]
    one, size = np.uint64(1), 0
    for row in range(rows.shape[0]):
        text = pointer_at(addresses[row], like)
        hashed = np.uint64(0)
        for at in range(length - 1):
            hashed = hashed * BASE + (np.uint64(text[at]) + one)
        leaving = np.uint64(0)
        for at in range(rows[row, 2] >> 1):
            hashed = hashed * BASE + (np.uint64(text[at + length - 1]) + one) - leaving * power
            leaving = np.uint64(text[at]) + one
            out[size, 0], out[size, 1], out[size, 2] = np.int64(mixed(hashed)), rows[row, 1] + at, 2
            size += 1

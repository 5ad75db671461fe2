"""Where the lines of a block of JSON lines are and whether a one-line-one-object decoder may be trusted with
it.

Looks at bytes only: it neither checks UTF-8 nor parses JSON (see `dataprep.readers.jsonl`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]


def line_bounds(data: Bytes) -> tuple[Offsets, Offsets]:
    """Starts and ends (newline excluded), int64 [lines], of the lines of `data`.

    Only "\\n" ends a line. A last line without one counts; nothing after the last newline does not.
    """
    newlines = np.flatnonzero(data == 0x0A)
    ends = newlines
    if data.size and (newlines.size == 0 or newlines[-1] != data.size - 1):
        ends = np.append(newlines, data.size)
    starts = np.zeros(ends.size, dtype=np.int64)
    starts[1:] = newlines[: ends.size - 1] + 1
    return starts, ends


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def strip_lines(data: Bytes, starts: Offsets, ends: Offsets, deepest: int) -> tuple[Offsets, Offsets, bool]:
    """Bounds of each line without the JSON white space (space, tab, CR) around it, and whether all are plain.

    A blank line comes out empty. All are plain when every line that is not blank starts with "{", ends with
    "}" and nests no deeper than `deepest`. Between "}" at the end of a line and "{" at the start of the next
    no JSON value can be open (a comma or colon would stand there, and no string holds a raw newline), so a
    parse of the block that takes white space between objects finds whole objects on every line; if it finds
    as many objects as there are lines, it found one on each.
    """
    new_starts, new_ends = np.empty_like(starts), np.empty_like(ends)
    plain = True
    for line in range(starts.size):
        start, end = starts[line], ends[line]
        while start < end and (data[start] == 0x20 or data[start] == 0x09 or data[start] == 0x0D):
            start += 1
        while start < end and (data[end - 1] == 0x20 or data[end - 1] == 0x09 or data[end - 1] == 0x0D):
            end -= 1
        new_starts[line], new_ends[line] = start, end
        if start < end:
            plain &= data[start] == 0x7B and data[end - 1] == 0x7D
            line_data = data[start:end]  # a slice, so that the count below compiles to vector instructions
            if _count_openings(line_data) > deepest:
                plain &= nesting_depth(line_data) <= deepest
    return new_starts, new_ends, plain


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _count_openings(data: Bytes) -> int:
    """How many "[" and "{" there are, inside strings too: a bound of the depth that costs next to nothing."""
    count = 0
    for index in range(data.size):
        count += (data[index] | 0x20) == 0x7B
    return count


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def nesting_depth(data: Bytes) -> int:
    """The deepest nesting of arrays and objects in one JSON text; brackets inside strings do not count."""
    depth = deepest = 0
    one, size = np.uint64(1), np.uint64(data.size)  # unsigned: no test for negative indices in the loops
    index = np.uint64(0)
    while index < size:
        byte = data[index]
        index += one
        if byte == 0x22:  # a quote: skip the string
            while index < size:
                byte = data[index]
                index += one
                if byte == 0x22:
                    break
                if byte == 0x5C:  # a backslash takes the next byte with it
                    index += one
        elif (byte | 0x20) == 0x7B:
            depth += 1
            deepest = max(deepest, depth)
        elif (byte | 0x20) == 0x7D:
            depth -= 1
    return deepest

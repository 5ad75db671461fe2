"""The counts behind rules for source code, in a few walks over each text. Lines are as `str.splitlines` cuts.

Encoded data is what these expressions match in Python (StarCoder 2, arXiv:2402.19173, section 2.1):

base64   [a-zA-Z0-9+/\\n=]{64,}
hex      (?:\\b(?:0x|\\\\x)?[0-9a-fA-F]{2}(?:,|\\b\\s*)){8,}
unicode  (?:\\\\u[0-9a-fA-F]{4}){8,}

Counts only: thresholds and ratios are in `dataprep/steps/code_quality.py`. Encoded data is found by
`kernels/encoded.py`. Slow twin: `tests/reference/code.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.encoded import base64_runs, hex_runs, unicode_runs
from dataprep.kernels.linebreaks import break_size, line_end
from dataprep.kernels.marks import ALPHANUMERIC, LETTER, mark_table, properties_at
from dataprep.kernels.phrases import phrase_tables, phrases_in
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import pointer, read_only

COUNTS = (
    "characters",
    "letters",  # `str.isalpha`
    "alphanumerics",  # `str.isalnum`
    "lines",
    "line_characters",  # but line breaks
    "longest_line",
    "encoded_characters",  # of all matches of the three expressions; matches of two count twice
    "longest_encoded",  # characters of the longest match
    "generated_marks",  # 1 if a mark stands in the first lines
    "xml_header",  # 1 if "<?xml version=" stands in the first 100 characters
)
CHARACTERS, LETTERS, ALPHANUMERICS, LINES, IN_LINES, LONGEST, ENCODED, LONGEST_ENCODED, MARK, XML = range(10)


def code_counts(
    data: Bytes, offsets: Offsets, marks: Sequence[str], mark_lines: int
) -> npt.NDArray[np.int64]:
    """int64[n, 10], columns as in COUNTS. `marks`: in lower case, of two bytes or more; any ASCII case
    of one matches in the first `mark_lines` lines."""
    tables = phrase_tables(tuple(marks))
    return _counts(
        read_only(data),
        read_only(offsets),
        *tables,
        np.ones(len(marks), dtype=np.int64),
        mark_lines,
        *mark_table(),
    )


@njit(cache=True, nogil=True)
def _beyond_ascii(text, start, stop, pages, cells):  # type: ignore[no-untyped-def]
    """(letters, alphanumerics) beyond ASCII."""
    letters, alphanumerics, at = 0, 0, start
    while at < stop:
        if text[at] < 0x80:
            at += 1
            continue
        properties, size = properties_at(text, at, stop, pages, cells)
        letters += properties & LETTER != 0
        alphanumerics += properties & ALPHANUMERIC != 0
        at += size
    return letters, alphanumerics


@njit(cache=True, nogil=True)
def _has_xml_header(text, start, stop):  # type: ignore[no-untyped-def]
    header = b"<?xml version="
    characters, end = 0, start
    while end < stop and (text[end] & 0xC0 == 0x80 or characters < 100):
        characters += text[end] & 0xC0 != 0x80
        end += 1
    for at in range(start, end - len(header) + 1):
        same = True
        for place in range(len(header)):
            same = same and text[at + place] == header[place]
        if same:
            return True
    return False


@njit(cache=True, nogil=True)
def _counts(  # type: ignore[no-untyped-def]
    data,
    offsets,
    kind_array,
    after_array,
    place_array,
    phrase_data,
    phrase_offsets,
    bit_array,
    mark_lines,
    page_array,
    cell_array,
):
    text, pages, cells = pointer(data), pointer(page_array), pointer(cell_array)
    kinds, after, places = pointer(kind_array), pointer(after_array), pointer(place_array)
    phrases, ends, bits = pointer(phrase_data), pointer(phrase_offsets), pointer(bit_array)
    out = np.zeros((offsets.size - 1, 10), dtype=np.int64)
    for index in range(offsets.size - 1):
        start, stop = offsets[index], offsets[index + 1]
        letters, digits, continued, high = 0, 0, 0, 0
        for at in range(start, stop):
            byte = text[at]
            letters += np.uint8((byte | 0x20) - 0x61) < 26
            digits += np.uint8(byte - 0x30) < 10
            continued += byte & 0xC0 == 0x80
            high += byte >= 0x80
        alphanumerics = letters + digits
        if high:
            more_letters, more_alphanumerics = _beyond_ascii(text, start, stop, pages, cells)
            letters += more_letters
            alphanumerics += more_alphanumerics
        out[index, CHARACTERS] = stop - start - continued
        out[index, LETTERS] = letters
        out[index, ALPHANUMERICS] = alphanumerics
        at, lines, in_lines, longest, top = start, 0, 0, 0, start
        while at < stop:
            end = line_end(text, at, stop)
            length = end - at
            if high:
                for place in range(at, end):
                    length -= text[place] & 0xC0 == 0x80
            lines += 1
            in_lines += length
            longest = max(longest, length)
            if lines <= mark_lines:
                top = end
            at = end + break_size(text, end, stop) if end < stop else stop
        out[index, LINES] = lines
        out[index, IN_LINES] = in_lines
        out[index, LONGEST] = longest
        out[index, MARK] = phrases_in(text, start, top, kinds, after, places, phrases, ends, bits)
        out[index, XML] = _has_xml_header(text, start, stop)
        total, most = base64_runs(text, start, stop)
        more, longer = unicode_runs(text, start, stop)
        total, most = total + more, max(most, longer)
        more, longer = hex_runs(text, start, stop, pages, cells)
        out[index, ENCODED] = total + more
        out[index, LONGEST_ENCODED] = max(most, longer)
    return out

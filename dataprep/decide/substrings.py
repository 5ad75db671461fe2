"""Exact substring deduplication: what is cut from documents because a better document has it too.

After Lee et al. 2021 ("Deduplicating Training Data Makes Language Models Better", ExactSubstr), without a
suffix array. A *window* is `length` consecutive tokens of one document, the *best* of equal windows the one
in the document of the lowest rank, there the first. The rule:

    A token is cut if it lies in a window that equals a better one, and in no window that is the best of
    several.

So every window that occurs more than once stays whole at its best place; docs/concepts/substring-dedup.md
says what else holds, and what does not. Four phases, in tasks of their own if need be:

    per split   `runs_of_split`   runs of windows (`kernels/windows.py`), by part
    per part    `repeats`         which windows are marked or kept (`repeats.py`), on the tokens of all splits
                `Layout.by_split` to which split they belong
    per split   `cut_tokens`      marked and kept windows -> ranges of tokens
    per split   `byte_spans`      ranges of tokens -> spans of text, for `kernels.spans.spliced`

`cut_ranges` does the first three over splits in memory and files in a folder. Tokens come from
`dataprep/tokenizers/spelling.py`. Slow twin: `tests/reference/substrings.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dataprep.decide.layout import Corpus, Layout, Split, layout_of
from dataprep.decide.repeats import BYTES_OF_A_ROW, repeats
from dataprep.kernels.covered import covered_tokens, token_ranges
from dataprep.kernels.windows import CHUNK, by_part, gram_of, window_runs

Int64s = npt.NDArray[np.int64]

MOST_PARTS = 256


def runs_of_split(split: Split, layout: Layout, length: int, parts: int) -> Iterator[tuple[Int64s, Int64s]]:
    """(runs, bounds int64[parts + 1]), several times: runs[bounds[p] : bounds[p + 1]] go to part p."""
    places = layout.places_of(split.ranks)
    for runs in window_runs(split.tokens, split.token_offsets, places, length, CHUNK):
        yield by_part(runs, parts)


def parts_for(num_tokens: int, length: int, memory_bytes: int) -> int:
    """In how many parts so many tokens of text are resolved, each in memory. With too few, the result is the
    same and more goes through files."""
    runs = 2 * num_tokens // (length - gram_of(length) + 2)
    return min(MOST_PARTS, 1 + 2 * runs * BYTES_OF_A_ROW // memory_bytes)


def cut_tokens(token_offsets: Int64s, marked: Int64s, kept: Int64s, length: int) -> Int64s:
    """int64[k, 3]: (document of the split, first token, end), ascending: what is cut from one split.

    marked, kept  int64[m, 2] (first token, windows): all of this split, of all parts, in any order

    Memory: a byte for each token of the split.
    """
    flags = covered_tokens(int(token_offsets[-1]), marked, kept, length)
    return token_ranges(flags, token_offsets)


def cut_ranges(
    splits: Sequence[Split], length: int, folder: Path, memory_bytes: int, parts: int | None = None
) -> Iterator[Int64s]:
    """What `cut_tokens` gives for each split in turn. `folder` is empty, and empty again at the end.

    Memory: the documents' layout (28 bytes each), `memory_bytes` for a part, and what one split needs.
    """
    if not splits:
        return
    layout = layout_of(splits)
    corpus = Corpus(layout, [each.tokens for each in splits])
    number = parts or parts_for(int(layout.starts[-1]), length, memory_bytes)
    for split in splits:
        for runs, bounds in runs_of_split(split, layout, length, number):
            _append(folder, "runs", runs, bounds)
    for part in range(number):
        runs = _taken(folder / f"runs-{part}", 3)
        for found in repeats([runs], corpus, length, memory_bytes // BYTES_OF_A_ROW, folder):
            _append(folder, "marked", *layout.by_split(found.marked, len(splits)))
            _append(folder, "kept", *layout.by_split(found.kept, len(splits)))
    for index, split in enumerate(splits):
        marked, kept = _taken(folder / f"marked-{index}", 2), _taken(folder / f"kept-{index}", 2)
        yield cut_tokens(split.token_offsets, marked, kept, length)


def _append(folder: Path, name: str, rows: Int64s, bounds: Int64s) -> None:
    for number in np.flatnonzero(np.diff(bounds)).tolist():
        with (folder / f"{name}-{number}").open("ab") as file:
            file.write(rows[bounds[number] : bounds[number + 1]].tobytes())


def _taken(path: Path, columns: int) -> Int64s:
    """The rows of a file as a map, which outlives the file's name."""
    if not path.exists():
        return np.zeros((0, columns), dtype=np.int64)
    rows = np.memmap(path, dtype=np.int64, mode="r").reshape(-1, columns)
    path.unlink()
    return rows

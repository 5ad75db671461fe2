"""Token files of other tools: where the tokens lie and where each document ends.

Megatron's `.bin` and `.idx`, datatrove's `.ds` and `.ds.index`, and tokens without a header (OLMo's and
dolma's `.npy`, nanoGPT's `.bin`), whose documents end where the end-of-text token stands or where dolma's
`.csv.gz` says. Files are read, never changed; what is wrong with one is refused by name, and what could be
settled is a note. MDS is in mds.py; what is made of all this is in importing.py.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from manifests.errors import UserError
from manifests.shard import DTYPES_BY_CODE, FORMAT_VERSION, HEADER, MAGIC

Int64s = npt.NDArray[np.int64]

FLOATS_BY_CODE = {6: ("<f8", "<f4"), 7: ("<f4", "<f8")}
"""Dtype codes of an `.idx` that two tools read differently: by Megatron-Core, by GPT-NeoX."""

SCAN_TOKENS = 1 << 24
"""Tokens that are looked at at once for the end-of-text token: 32 to 64 MB."""

SIDE_SUFFIXES = (".idx", ".index", ".metadata", ".loss", ".csv.gz", ".json", ".txt", ".md")
"""Files that belong to a token file, or say something about it."""


@dataclass(frozen=True, slots=True)
class TokenFile:
    """One file of tokens and its documents.

    path     the file whose bytes are the tokens
    dtype    of the tokens as they lie there
    offset   bytes before the first token: 0, or there is a header and the file must be written anew
    lengths  int64 [D] tokens of each document, in order, each at least 1; they add up to all tokens
    notes    what was settled, in words
    sides    other files that were read
    origin   what the layout says of each document: `id`, `path` (str or None), `position` (int); or empty
    tokens   the tokens themselves where they do not lie in one piece (MDS)
    """

    path: Path
    dtype: np.dtype[Any]
    lengths: Int64s
    offset: int = 0
    notes: tuple[str, ...] = ()
    sides: tuple[Path, ...] = ()
    origin: dict[str, list[Any]] = field(default_factory=dict)
    tokens: npt.NDArray[Any] | None = None

    def read(self) -> npt.NDArray[Any]:
        """All tokens, mapped; nothing is loaded."""
        if self.tokens is not None:
            return self.tokens
        count = int(self.lengths.sum())
        if count == 0:  # an empty file cannot be mapped
            return np.zeros(0, self.dtype)
        return np.memmap(self.path, self.dtype, "r", self.offset, (count,))


def read_token_file(path: Path, layout: str, dtype: str | None, eos_id: int | None) -> TokenFile:
    """Open one file. layout: "auto" goes by the name. dtype: of the tokens, where the file does not say it
    (for Megatron's: overrules it). Raises UserError."""
    from dataprep.corpora.mds import read_mds

    layout = layout_of(path) if layout == "auto" else layout
    given = None if dtype is None else np.dtype(dtype).newbyteorder("<")
    if layout == "megatron":
        return read_megatron(path, given, eos_id)
    if layout == "datatrove":
        return read_datatrove(path, given)
    if layout == "mds":
        return read_mds(path, given, eos_id)
    return read_raw(path, given, eos_id)


def layout_of(path: Path) -> str:
    """The layout that a file has by its name and what lies beside it."""
    if path.suffix == ".ds":
        return "datatrove"
    if path.suffix == ".mds":
        return "mds"
    return "megatron" if path.suffix == ".bin" and path.with_suffix(".idx").is_file() else "raw"


# --- Megatron ----------------------------------------------------------------------------------------------


def read_megatron(path: Path, dtype: np.dtype[Any] | None, eos_id: int | None) -> TokenFile:
    """MMIDIDX version 1 of any writer: several sequences a document become one, wrong pointers and lengths
    that left out the end-of-text token are settled where the tokens prove it."""
    index = path.with_suffix(".idx")
    data = _bytes_of(index)
    code, num_sequences, num_indices = _megatron_header(data, index)
    places = (HEADER.size, HEADER.size + 4 * num_sequences, HEADER.size + 12 * num_sequences)
    wanted = places[2] + 8 * num_indices
    if len(data) != wanted:
        more = " (one more byte a sequence: a multimodal index is not read)"
        what = f"the index has {len(data):,} bytes; one of {num_sequences:,} sequences has {wanted:,}"
        raise UserError(
            what + (more if len(data) == wanted + num_sequences > wanted else ""), where=str(index)
        )
    lengths = np.frombuffer(data, "<i4", num_sequences, places[0]).astype(np.int64)
    pointers = np.frombuffer(data, "<i8", num_sequences, places[1])
    documents = np.frombuffer(data, "<i8", num_indices, places[2])
    if lengths.size and lengths.min() < 0:
        raise UserError(f"sequence {int(np.argmin(lengths)):,} has a negative length", where=str(index))
    size_bytes = path.stat().st_size
    notes: list[str] = []
    found = dtype if dtype is not None else _coded_dtype(code, int(lengths.sum()), size_bytes, index)
    lengths = _settled_lengths(lengths, size_bytes, found, path, eos_id, notes)
    _check_pointers(pointers, lengths, found.itemsize, index, notes)
    return TokenFile(
        path, found, _documents_of(lengths, documents, index, notes), notes=tuple(notes), sides=(index,)
    )


def _megatron_header(data: bytes, index: Path) -> tuple[int, int, int]:
    if len(data) < HEADER.size:
        raise UserError(f"the index is cut: {len(data)} bytes, its header alone has 34", where=str(index))
    magic, version, code, num_sequences, num_indices = HEADER.unpack_from(data)
    if magic != MAGIC or version != FORMAT_VERSION:
        raise UserError(
            f"not an index of MMIDIDX version 1: it starts with {magic!r}, version {version}",
            where=str(index),
            hint=(
                "indices that begin with TNTIDX are of fairseq's older format; Megatron's tools convert them"
            ),
        )
    return code, num_sequences, num_indices


def _coded_dtype(code: int, num_tokens: int, size_bytes: int, index: Path) -> np.dtype[Any]:
    """The dtype of a code. Both tables agree on integers; of floats the size of the file tells whose table
    it is."""
    if code in DTYPES_BY_CODE:
        return DTYPES_BY_CODE[code]
    for writer, name in zip(("Megatron-Core", "GPT-NeoX"), FLOATS_BY_CODE.get(code, ()), strict=False):
        dtype: np.dtype[Any] = np.dtype(name)
        if num_tokens and num_tokens * dtype.itemsize == size_bytes:
            raise UserError(
                f"the tokens are {dtype.name} (code {code} by the table of {writer}), which is no "
                "dtype of ids",
                where=str(index),
                hint="convert them to integers with the tool that wrote them",
            )
    raise UserError(f"dtype code {code} is not one of a token", where=str(index))


def _settled_lengths(
    lengths: Int64s, size_bytes: int, dtype: np.dtype[Any], path: Path, eos_id: int | None, notes: list[str]
) -> Int64s:
    total, itemsize = int(lengths.sum()), dtype.itemsize
    if total * itemsize == size_bytes:
        return lengths
    where = str(path)
    if (total + lengths.size) * itemsize == size_bytes and eos_id is not None:
        longer = lengths + 1
        last = np.memmap(path, dtype, "r")[np.cumsum(longer) - 1]
        if np.all(last == eos_id):
            notes.append(
                "the lengths left out the end-of-text token of each sequence, which is there: one "
                "was added to each"
            )
            return longer
    if total and size_bytes % total == 0 and size_bytes // total in (1, 2, 4, 8):
        raise UserError(
            f"the index says {dtype.name}, but the file has {size_bytes // total} bytes for each of its "
            f"{total:,} tokens",
            where=where,
            hint="name the dtype that was written: --dtype",
        )
    raise UserError(
        f"the index describes {total * itemsize:,} bytes of tokens, but the file has {size_bytes:,}",
        where=where,
        hint="the file was cut, or the two files belong to different data",
    )


def _check_pointers(pointers: Int64s, lengths: Int64s, itemsize: int, index: Path, notes: list[str]) -> None:
    expected = (np.cumsum(lengths) - lengths) * itemsize
    wrong = np.flatnonzero(pointers != expected)
    if not wrong.size or notes:  # where the lengths were wrong, the pointers made of them were too
        return
    first = int(wrong[0])
    if np.all((pointers[wrong] - expected[wrong]) % (1 << 32) == 0):
        notes.append(
            f"the pointers overflowed 32 bits from sequence {first:,} on; the lengths are right and "
            "count instead"
        )
        return
    raise UserError(
        f"sequence {first:,} begins at byte {int(pointers[first]):,} by its pointer, and at "
        f"{int(expected[first]):,} "
        "by the lengths before it",
        where=str(index),
        hint="sequences must lie end to end; write the data again with the tool that made it",
    )


def _documents_of(lengths: Int64s, documents: Int64s, index: Path, notes: list[str]) -> Int64s:
    """Tokens of each document, from those of its sequences."""
    steps = np.diff(documents)
    if not documents.size or documents[0] != 0 or documents[-1] != lengths.size or np.any(steps < 0):
        raise UserError("the document indices do not go from 0 to the number of sequences", where=str(index))
    if np.any(steps > 1):
        notes.append(
            f"{lengths.size:,} sequences were joined to the {steps.size:,} documents that they are of"
        )
    ends = np.concatenate(([0], np.cumsum(lengths)))
    return without_empty(np.diff(ends[documents]), notes)


# --- datatrove ---------------------------------------------------------------------------------------------


def read_datatrove(path: Path, dtype: np.dtype[Any] | None) -> TokenFile:
    """`.ds` with its `.ds.index`, uint64 ends of documents. How wide a token is follows from both sizes."""
    index = path.with_name(path.name + ".index")
    data = _bytes_of(index)
    if len(data) % 8:
        raise UserError(f"the index has {len(data):,} bytes, which is not a row of uint64", where=str(index))
    ends = np.frombuffer(data, "<u8").astype(np.int64)
    size_bytes = path.stat().st_size
    total = int(ends[-1]) if ends.size else 0
    itemsize = size_bytes // total if total else 2
    if itemsize * total != size_bytes or itemsize not in (2, 4) or np.any(np.diff(ends, prepend=0) < 0):
        raise UserError(
            f"the index describes {total:,} tokens, which are not the {size_bytes:,} bytes of the file",
            where=str(path),
            hint="the file was cut, or the two files belong to different data",
        )
    notes: list[str] = []
    metadata = path.with_name(path.name + ".metadata")
    sides = [index]
    if metadata.is_file():
        sides.append(metadata)
        name = metadata.read_text("utf-8", errors="replace").split("\n", 1)[0]
        notes.append(f"its metadata names the tokenizer {name.rpartition('|')[0] or name}")
    if path.with_name(path.name + ".loss").is_file():
        notes.append("its loss mask (.ds.loss) is not imported: every token is a target")
    found = np.dtype(f"<u{itemsize}") if dtype is None else dtype
    if found.itemsize != itemsize:
        raise UserError(f"the file has {itemsize} bytes a token, not {found.name}", where=str(path))
    return TokenFile(
        path, found, without_empty(np.diff(ends, prepend=0), notes), notes=tuple(notes), sides=tuple(sides)
    )


# --- tokens alone ------------------------------------------------------------------------------------------


def read_raw(path: Path, dtype: np.dtype[Any] | None, eos_id: int | None) -> TokenFile:
    """Tokens without an index. `.npy` is what OLMo calls it and what it mostly is not; a real one has a
    header."""
    offset, found = _npy_header(path)
    found = dtype if found is None else found
    if found is None:
        raise UserError(
            "the file does not say how wide its tokens are", where=str(path), hint="--dtype uint16, or uint32"
        )
    count, rest = divmod(path.stat().st_size - offset, found.itemsize)
    if rest:
        raise UserError(
            f"{path.stat().st_size:,} bytes are no whole number of {found.name} tokens",
            where=str(path),
            hint="the file was cut, or it has another dtype: --dtype",
        )
    side = path.with_name(path.name.removesuffix(path.suffix) + ".csv.gz")
    notes: list[str] = []
    if side.is_file():
        lengths, origin = _dolma_documents(side, count, path)
        return TokenFile(path, found, without_empty(lengths, notes), offset, tuple(notes), (side,), origin)
    if eos_id is None:
        raise UserError(
            "the tokenizer has no end-of-text token, so nothing tells where documents end", where=str(path)
        )
    tokens = np.memmap(path, found, "r", offset, (count,)) if count else np.zeros(0, found)
    if found.itemsize == 2 and count >= 16 and not tokens[1:SCAN_TOKENS:2].any():
        raise UserError(
            f"every second token is 0: as {found.name} this is no text, and most likely it is of 4 bytes",
            where=str(path),
            hint="--dtype uint32",
        )
    return TokenFile(path, found, scan_documents(tokens, eos_id, notes), offset, tuple(notes))


def scan_documents(tokens: npt.NDArray[Any], eos_id: int, notes: list[str]) -> Int64s:
    """Lengths of the documents that the end-of-text token closes; what follows the last one is a document
    too."""
    parts = [
        np.flatnonzero(tokens[start : start + SCAN_TOKENS] == eos_id) + start + 1
        for start in range(0, tokens.size, SCAN_TOKENS)
    ]
    ends = np.concatenate([np.zeros(1, np.int64), *parts])
    if ends[-1] != tokens.size:
        notes.append("the last document has no end-of-text token")
        ends = np.append(ends, tokens.size)
    lengths = np.diff(ends)
    alone = int(np.count_nonzero(lengths == 1))
    if alone:
        notes.append(f"{alone:,} documents are of one token")
    return lengths


def _npy_header(path: Path) -> tuple[int, np.dtype[Any] | None]:
    """Where the values begin, and their dtype; (0, None) for a file without the header of numpy."""
    with open(path, "rb") as stream:
        if stream.read(6) != b"\x93NUMPY":
            return 0, None
        stream.seek(0)
        version = np.lib.format.read_magic(stream)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(stream)
        if len(shape) != 1 or dtype.kind not in "iu" or dtype.byteorder == ">":
            raise UserError(f"an array of {dtype} {shape} is not one row of token ids", where=str(path))
        return stream.tell(), dtype


def _dolma_documents(side: Path, num_tokens: int, path: Path) -> tuple[Int64s, dict[str, list[Any]]]:
    """Lengths and origins by dolma's side file, rows of start, end, id, source file, place in it."""
    ends, origin = [0], _empty_origin()
    with gzip.open(side, "rt", encoding="utf-8", newline="") as stream:
        for number, row in enumerate(csv.reader(stream)):
            if number == 0 and row[:2] == ["start", "end"]:
                continue
            if len(row) < 2 or not (row[0].isdecimal() and row[1].isdecimal()) or int(row[0]) != ends[-1]:
                raise UserError(
                    f"row {number} does not begin where the document before it ends, at token {ends[-1]:,}",
                    where=str(side),
                )
            ends.append(int(row[1]))
            if int(row[1]) > int(row[0]):
                origin["id"].append(row[2] if len(row) > 2 and row[2] else None)
                origin["path"].append(row[3] if len(row) > 3 and row[3] else None)
                origin["position"].append(int(row[4]) if len(row) > 4 and row[4].isdecimal() else number)
    if ends[-1] != num_tokens:
        raise UserError(
            f"the documents end at token {ends[-1]:,}; the file has {num_tokens:,}",
            where=str(side),
            hint=f"does it belong to {path.name}, and is the dtype right?",
        )
    borders = np.array(ends, np.int64)
    return borders[1:] - borders[:-1], origin


def _empty_origin() -> dict[str, list[Any]]:
    return {"id": [], "path": [], "position": []}


# --- what layouts share ------------------------------------------------------------------------------------


def without_empty(lengths: Int64s, notes: list[str]) -> Int64s:
    """The lengths that are not 0: a shard holds no empty document, and none has a byte in the file."""
    kept = lengths[lengths > 0]
    if kept.size != lengths.size:
        notes.append(f"{lengths.size - kept.size:,} documents without tokens were left out")
    return kept


def token_files(pattern: str) -> list[Path]:
    """The token files that a path, a folder or a pattern names, in the order of their names. Raises
    UserError."""
    path = Path(pattern)
    if path.is_dir():
        found: Iterator[Path] = path.iterdir()
    elif path.is_file():
        return [path]
    else:
        parent = path.parent
        found = parent.glob(path.name) if parent.is_dir() else iter(())
    files = [each for each in sorted(found) if each.is_file() and not each.name.endswith(SIDE_SUFFIXES)]
    if not files:
        raise UserError(
            "no token file is here", where=pattern, hint="give a file, a folder, or a quoted pattern"
        )
    return files


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UserError(
            "the index of the token file is missing", where=os.fspath(path), hint="both files are needed"
        ) from None

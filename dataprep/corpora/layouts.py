"""Token files of other tools: where the tokens lie and where each document ends.

Here are datatrove's `.ds` with `.ds.index`, and tokens without a header (OLMo's and dolma's `.npy`,
nanoGPT's `.bin`), whose documents end where the end-of-text token stands or where dolma's `.csv.gz` says;
Megatron's pairs are in megatron.py and MDS in mds.py. Files are read, never changed; what is wrong with one
is refused by name, and what could be settled is a note. What is made of all this is in importing.py.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dataprep.corpora.mds import read_mds
from dataprep.corpora.megatron import read_megatron
from dataprep.corpora.tokenfile import SCAN_TOKENS, Int64s, TokenFile, bytes_of, scan_documents, without_empty
from manifests.errors import UserError

SIDE_SUFFIXES = (".idx", ".index", ".metadata", ".loss", ".csv.gz", ".json", ".txt", ".md")
"""Files that belong to a token file, or say something about it."""


def token_files(pattern: str) -> list[Path]:
    """The token files that a path, a folder or a pattern names, in the order of their names. Raises
    UserError."""
    path = Path(pattern)
    if path.is_dir():
        found: Iterator[Path] = path.iterdir()
    elif path.is_file():
        if path.name.endswith(SIDE_SUFFIXES):
            raise UserError(
                "this file belongs to a token file and holds no tokens", where=pattern, hint="name that one"
            )
        return [path]
    else:
        parent = path.parent
        found = parent.glob(path.name) if parent.is_dir() else iter(())
    there = [each for each in sorted(found) if each.is_file()]
    for each in there:
        if (tokens := _tokens_of(each)) is not None and not tokens.is_file():
            raise UserError(
                f"there is an index and no {tokens.name}",
                where=str(each),
                hint="what wrote it did not come to its end, or the file was lost; both are needed",
            )
    files = [each for each in there if not each.name.endswith(SIDE_SUFFIXES)]
    if not files:
        raise UserError(
            "no token file is here", where=pattern, hint="give a file, a folder, or a quoted pattern"
        )
    return files


def _tokens_of(path: Path) -> Path | None:
    """Of an index, the token file that it is of."""
    if path.name.endswith(".ds.index"):
        return path.with_suffix("")
    return path.with_suffix(".bin") if path.suffix == ".idx" else None


def read_token_file(path: Path, layout: str, dtype: str | None, eos_id: int | None) -> TokenFile:
    """Open one file. layout: "auto" goes by the name. dtype: of the tokens, where the file does not say it
    (for Megatron's: overrules it). Raises UserError."""
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


# --- datatrove ---------------------------------------------------------------------------------------------


def read_datatrove(path: Path, dtype: np.dtype[Any] | None) -> TokenFile:
    """`.ds` with its `.ds.index`, uint64 ends of documents. How wide a token is follows from both sizes."""
    index = path.with_name(path.name + ".index")
    data = bytes_of(index)
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

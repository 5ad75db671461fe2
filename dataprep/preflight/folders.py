"""The output and the work folder before a run: can they be written, are they ours, is there room.

Looks and never writes (but for a nameless file, to see whether one can be made). What the folders hold is the
business of `publish.py` and `cache.py`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dataprep.cache import LOCK_NAME
from dataprep.publish import MARKER
from dataprep.readers.formats import COMPRESSION_SUFFIXES, format_of
from dataprep.readers.listing import InputFile
from dataprep.recipe import Recipe
from manifests.manifest import MANIFEST_NAME
from manifests.nodes import Loc
from manifests.problems import Problem
from manifests.units import format_bytes

BYTES_PER_TOKEN = 4
"""Of text. English and code have 3 to 4.5 with usual vocabularies, scripts of several bytes a letter more."""

TEXT_PER_COMPRESSED_BYTE = 3
TEXT_PER_PARQUET_BYTE = 2


@dataclass(frozen=True, slots=True)
class Estimate:
    """Bytes a run is expected to write if it keeps every document.

        text     of each source: sum over its files of size x (1 plain, 3 compressed, 2 Parquet), times its
                 sample, or max_bytes
        tokens   text / 4 x bytes of a token id (2 up to a vocabulary of 65,499, else 4)
        work     2 x tokens (sorted runs, then shards) + text / 50 (columns, tables), less what is there now
        output   0 on the disk of the work folder (hard links), else tokens, less what is there now

    A floor for text that compresses better; too much for a recipe that drops most of its input, so the
    message says how to go on.
    """

    text_bytes: int
    work_bytes: int
    output_bytes: int


def check_folders(recipe: Recipe) -> Iterator[Problem]:
    """Whether both folders can be made and written, and hold nothing that is not ours.

    A run removes files of its own from both: a mistyped path must not lead it into somebody's documents.
    """
    for loc, folder, mark in (
        (("output",), recipe.output, MARKER),
        (_work_loc(recipe), recipe.work_folder, LOCK_NAME),
    ):
        path = Path(folder)
        try:
            reason = _not_writable(path) or _not_ours(path, mark)
        except OSError as error:
            reason = f"cannot be used: {(error.strerror or str(error)).lower()}"
        if reason is not None:
            yield Problem(loc, f"{folder!r} {reason}")


def check_inputs_apart(recipe: Recipe, files: Sequence[InputFile], loc: Loc) -> Iterator[Problem]:
    """Whether a pattern reaches into what an earlier run wrote, so that the next would feed on it."""
    for folder, mark in ((recipe.output, MARKER), (recipe.work_folder, LOCK_NAME)):
        if not os.path.exists(os.path.join(folder, mark)):
            continue
        inside = tuple(os.path.join(place(folder), "") for place in (os.path.abspath, os.path.realpath))
        file = next((each for each in files if each.path.startswith(inside)), None)
        if file is not None:
            message = f"matches {file.path}, which an earlier run wrote; name another folder than {folder!r}"
            yield Problem((*loc, "path"), message + ", or exclude it")


def _work_loc(recipe: Recipe) -> tuple[str]:
    """The field that says where the work folder is."""
    return ("output",) if recipe.work is None else ("work",)


def _not_ours(folder: Path, mark: str) -> str | None:
    """The first file of a folder that no run has marked as its own, as a reason against it."""
    if not folder.is_dir() or (folder / mark).exists():
        return None
    others = sorted(each.name for each in folder.iterdir())
    others = [name for name in others if not name.startswith(".") and name != MANIFEST_NAME]
    if not others:
        return None
    return f"holds {others[0]} and is of no earlier run; name another folder, or empty this one"


def _not_writable(folder: Path) -> str | None:
    """Why no file can be made in `folder` or, while it is not there, in the nearest folder above it."""
    existing = _existing(folder)
    if not existing.is_dir():
        return "is a file" if existing == folder.absolute() else f"cannot be made: {existing} is a file"
    try:
        # A real file, since permission bits say nothing of read-only disks, quotas or containers. Where the
        # system allows it, it never has a name.
        with tempfile.TemporaryFile(dir=existing):
            return None
    except OSError as error:
        return f"cannot be written: {existing}: {(error.strerror or str(error)).lower()}"


def _existing(path: Path) -> Path:
    """The path itself or the nearest thing above it that exists."""
    path = path.absolute()
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def estimate_bytes(recipe: Recipe, listed: Mapping[str, Sequence[InputFile]], width: int) -> Estimate:
    """See `Estimate`; `width` is the bytes of a token id."""
    text_bytes = 0
    for name, files in listed.items():
        source = recipe.sources[name]
        of_source = int(sum(_text_bytes(file) for file in files) * source.sample)
        limit = source.max_bytes
        text_bytes += of_source if limit is None else min(of_source, limit)
    tokens_bytes = text_bytes // BYTES_PER_TOKEN * width
    work, output = Path(recipe.work_folder), Path(recipe.output)
    work_bytes = max(0, 2 * tokens_bytes + text_bytes // 50 - _held_bytes(work))
    output_bytes = 0 if _disk(work) == _disk(output) else max(0, tokens_bytes - _held_bytes(output))
    return Estimate(text_bytes, work_bytes, output_bytes)


def _text_bytes(file: InputFile) -> int:
    is_packed = format_of(file.name) == "archive" and not file.name.endswith(".tar")
    if is_packed or file.name.endswith(COMPRESSION_SUFFIXES):
        return file.size_bytes * TEXT_PER_COMPRESSED_BYTE
    return file.size_bytes * (TEXT_PER_PARQUET_BYTE if file.name.endswith(".parquet") else 1)


def check_disk(recipe: Recipe, estimate: Estimate, free: Callable[[Path], int]) -> Iterator[Problem]:
    """Whether both folders have the room that a run may need."""
    for loc, folder, needed in (
        (_work_loc(recipe), recipe.work_folder, estimate.work_bytes),
        (("output",), recipe.output, estimate.output_bytes),
    ):
        if needed > (there := free(_existing(Path(folder)))):
            message = (
                f"not enough disk space for {folder!r}: about {format_bytes(needed)} needed if every "
                f"document is kept, {format_bytes(there)} free; free some, name a folder on another disk, "
                "or cap sources with max_bytes"
            )
            yield Problem(loc, message)


def free_bytes(folder: Path) -> int:
    """Free bytes of the disk that holds an existing folder."""
    return shutil.disk_usage(folder).free


def _disk(folder: Path) -> int:
    return _existing(folder).stat().st_dev


def _held_bytes(folder: Path) -> int:
    """What the files of a folder take: an earlier run left them, and a next one keeps or replaces them."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(base, name)).st_size
            except FileNotFoundError:  # another run is at work
                continue
    return total

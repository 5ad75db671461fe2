"""Cuts the files of a source into splits and gives each extent an identity.

The cuts depend on the files alone, never on the number of workers, and a new file moves few of them:
- a file larger than SPLIT_BYTES that its format can enter in the middle (plain JSON lines, Parquet) is cut at
  fixed places, one split each; other large files are a split each;
- smaller files are grouped in the order of their names. A group ends after SPLIT_BYTES, or after a file whose
  name hashes to a multiple of GROUP_FILES, so that the cuts find each other again behind a file that was
  added.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

import xxhash

from dataprep.readers import READERS
from dataprep.readers.decompress import read_range
from dataprep.readers.encodings import UTF8
from dataprep.readers.extents import Cut, Extent, Split
from dataprep.readers.formats import resolve
from dataprep.readers.listing import InputFile
from dataprep.readers.parquet import stored_ranges
from dataprep.readers.records import ReadOptions
from manifests.errors import UserError
from manifests.wording import did_you_mean

__all__ = ["SPLIT_BYTES", "Extent", "Split", "identify", "make_splits"]

SPLIT_BYTES = 64 << 20  # a constant of the format: changing it changes every key
GROUP_FILES = 64  # files of a group on average, where SPLIT_BYTES does not end it first
_HEAD_BYTES = 64


def make_splits(
    source: str, format: str, files: Sequence[InputFile], options: ReadOptions, split_bytes: int = SPLIT_BYTES
) -> list[Split]:
    """Splits of the files of one source, in the order of their first files' names.

    `format` is a key of READERS, or "auto": by suffix, a file at a time. UserError: an unknown format or
    suffix; a field that a file can be seen to lack, or that its format has not.
    """
    if format in READERS and not READERS[format].has_fields and options.id is not None:
        hint = "leave id: out; the id of a document is the name of its file"
        raise UserError(f"format {format} has no field {options.id!r}", where=f"source {source}", hint=hint)
    by_format: dict[str, list[Cut]] = {}
    splits = []
    for file in sorted(files, key=lambda each: each.name):
        chosen = _resolve(format, file)
        _check_options(chosen, file, options)
        try:
            cuts = READERS[chosen].cut(file, options, split_bytes)
        except OSError as error:
            raise UserError(f"cannot read an input: {error.strerror or error}", where=file.path) from error
        if len(cuts) == 1 and cuts[0].weight_bytes < split_bytes:
            by_format.setdefault(chosen, []).extend(cuts)
        else:
            splits += [Split(source, chosen, (cut.extent,)) for cut in cuts]
    for chosen, cuts in by_format.items():
        splits += [Split(source, chosen, extents) for extents in _group(cuts, split_bytes)]
    return sorted(splits, key=lambda split: (split.extents[0].file.name, split.extents[0].start))


def _resolve(format: str, file: InputFile) -> str:
    if format != "auto" and format not in READERS:
        raise UserError(f"no format {format!r}{did_you_mean(format, ['auto', *READERS])}")
    chosen = resolve(format, file.name)
    if chosen is None:
        hint = f"say format: {' or '.join(READERS)}"
        raise UserError("cannot tell the format from the suffix", where=file.path, hint=hint)
    return chosen


def _check_options(format: str, file: InputFile, options: ReadOptions) -> None:
    """Raise UserError for an option that means nothing in a format."""
    reader = READERS[format]
    hint = "leave {}: out, or give these files an input of their own"
    if options.carry and not reader.has_fields:
        message = f"format {format} has no field {options.carry[0]!r}"
        raise UserError(message, where=file.path, hint=hint.format("carry"))
    if options.encoding != UTF8 and not reader.is_text:
        message = f"format {format} settles its encoding itself; {options.encoding} was asked for"
        raise UserError(message, where=file.path, hint=hint.format("encoding"))


def _group(cuts: Iterable[Cut], split_bytes: int) -> Iterator[tuple[Extent, ...]]:
    group: list[Extent] = []
    weight_bytes = 0
    for cut in cuts:
        group.append(cut.extent)
        weight_bytes += cut.weight_bytes
        ends_here = xxhash.xxh3_64_intdigest(cut.extent.file.name.encode()) % GROUP_FILES == 0
        if ends_here or weight_bytes >= split_bytes:
            yield tuple(group)
            group, weight_bytes = [], 0
    if group:
        yield tuple(group)


def identify(extent: Extent) -> str:
    """Digest (xxh3-128) of the stored bytes that the records of an extent come from.

    A whole file: its bytes. A range of bytes: those, the byte before, the rest of its last line, and the head
    of the file that may refuse it. Row groups: which ones, the footer and their column chunks. Names and
    places are not in it, so whatever keeps positions by it adds those.
    """
    hasher = xxhash.xxh3_128()
    file = extent.file
    if extent.unit == "row_groups":
        hasher.update(json.dumps([extent.start, extent.end]).encode())
        for start, end in stored_ranges(extent):
            _update(hasher, read_range(file, start, end))
    elif extent.is_whole:
        _update(hasher, read_range(file, 0, file.size_bytes))
    else:
        hasher.update(json.dumps([extent.start > 0]).encode())
        _update(hasher, read_range(file, 0, _HEAD_BYTES))
        _update(hasher, read_range(file, max(extent.start - 1, 0), extent.end - 1))
        for piece in read_range(file, extent.end - 1, file.size_bytes, 1 << 16):
            newline = piece.find(b"\n") + 1
            hasher.update(piece[:newline] if newline else piece)
            if newline:
                break
    return f"xxh3-128:{hasher.hexdigest()}"


def _update(hasher: xxhash.xxh3_128, pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        hasher.update(piece)

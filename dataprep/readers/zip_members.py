"""The members of a zip, in the order of their places. Its directory stands at its end: a zip that was cut
has none, and nothing of it can be read."""

from __future__ import annotations

import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator

from dataprep.readers.decompress import PIECE_BYTES, DamagedFile
from dataprep.readers.listing import InputFile
from dataprep.readers.members import Member, clean_name

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError),  # RuntimeError: encrypted
    *(ValueError, NotImplementedError, struct.error),
)
_IS_ENCRYPTED = 0x1


def zip_members(file: InputFile) -> Iterator[Member]:
    """Every member in order. Raises DamagedFile, before the first, for a zip that cannot be read."""
    try:
        archive = zipfile.ZipFile(file.path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError, struct.error) as error:
        reason = "corrupt" if zipfile.is_zipfile(file.path) else "truncated"
        raise DamagedFile(reason, f"zip: {error}", file.size_bytes) from error
    with archive:
        entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
        if sum(entry.compress_size for entry in entries) > file.size_bytes:
            detail = "zip: members that overlap, of which bombs are made"
            raise DamagedFile("corrupt", detail, file.size_bytes)
        if entries and entries[0].header_offset < 0:
            raise DamagedFile("corrupt", "zip: bytes are missing at the start", file.size_bytes)
        position = 0
        for entry in entries:
            yield Member(
                clean_name(entry.filename),
                entry.file_size,
                position,
                _pieces(archive, entry),
                _kind(entry),
                _problem(entry),
            )
            position += entry.file_size


def _pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    try:
        with archive.open(entry) as content:
            while piece := content.read(PIECE_BYTES):
                yield piece
    except _ERRORS as error:
        raise DamagedFile("corrupt", f"zip: {error}", None) from error
    except OSError as error:
        if error.errno is not None:
            raise  # of the machine; bz2's own have no number
        raise DamagedFile("corrupt", f"zip: {error}", None) from error


def _kind(entry: zipfile.ZipInfo) -> str:
    if entry.is_dir():
        return "folder"
    mode = entry.external_attr >> 16  # what Unix programs write there, 0 from others
    return "link" if stat.S_ISLNK(mode) else "file"


def _problem(entry: zipfile.ZipInfo) -> tuple[str, str] | None:
    if entry.flag_bits & _IS_ENCRYPTED:
        return "encrypted", "the member is encrypted"
    if entry.compress_type not in _METHODS:
        return "unsupported_compression", f"method {entry.compress_type} of zip"
    return None

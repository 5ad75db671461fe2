"""Plain text: one document a file, with the file's name as its id.

UTF-8, unless the recipe names another encoding. A byte order mark is dropped; anything else that is not UTF-8
makes the file a bad record (`invalid_utf8`, or `invalid_encoding`; UTF-16 is named as such). Newlines and
control characters stay as they are (the step `normalize` handles both). A file of more than
`max_document_bytes`, decompressed and in UTF-8, is refused (`too_long`) without being held; an empty file is
an empty document; a damaged compressed file gives no document, since half a text is not the document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dataprep.readers.decompress import UTF8_MARK, UTF16_REFUSAL, DamagedFile, is_utf16, read_pieces
from dataprep.readers.encodings import transcoded
from dataprep.readers.extents import Split
from dataprep.readers.listing import InputFile
from dataprep.readers.records import (
    BadDocument,
    BadRecord,
    Chunk,
    ChunkBuilder,
    Damage,
    ReadOptions,
    in_encoding,
)

VERSION = 1


def read(split: Split, options: ReadOptions) -> Iterator[Chunk]:
    """One record a file."""
    return read_whole_files(split, options, decode)


def read_whole_files(split: Split, options: ReadOptions, extract: Callable[[bytes], str]) -> Iterator[Chunk]:
    """One record a file: `extract` makes the document's text of the file's bytes or raises BadDocument."""
    builder = ChunkBuilder(options)
    for index, extent in enumerate(split.extents):
        try:
            content = read_bounded(extent.file, options)
            text = extract(content)
        except BadDocument as error:
            bad = in_encoding(error, options.encoding)
            builder.refuse(BadRecord(index, 0, None, bad.reason, bad.detail))
        except DamagedFile as error:
            builder.damaged(Damage(index, 0, extent.file.size_bytes, error.reason, error.detail))
        else:
            builder.add_one(index, text, extent.file.name, 0)
        if builder.is_full:
            yield builder.take()
    if not builder.is_empty:
        yield builder.take()


def decode(content: bytes) -> str:
    """UTF-8 bytes, with or without a byte order mark, to text."""
    if is_utf16(content):
        raise BadDocument("invalid_utf8", UTF16_REFUSAL)
    try:
        return content.removeprefix(UTF8_MARK).decode()
    except UnicodeDecodeError as error:
        raise BadDocument("invalid_utf8", f"{error.reason} at byte {error.start}") from error


def read_bounded(file: InputFile, options: ReadOptions) -> bytes:
    """The content of a file in UTF-8. Raises BadDocument for a longer one, without holding it, and
    DamagedFile."""
    pieces, size, max_bytes = [], 0, options.max_document_bytes
    for piece in transcoded(read_pieces(file), options.encoding):
        size += len(piece)
        if size > max_bytes:
            raise BadDocument("too_long", f"more than {max_bytes} bytes")
        pieces.append(piece)
    return b"".join(pieces)

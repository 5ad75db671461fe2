"""Web pages as files: one document a file, its HTML as it stands, with the file's name as its id.

Decoded as `dataprep.readers.charsets` says; where bytes could not be decoded the text holds U+FFFD, and the
document and the characters are counted. Taking the text out of the markup is the step `extract_text`.
Sizes, empty and damaged files are as in `dataprep.readers.text`.
"""

from __future__ import annotations

from collections.abc import Iterator

from dataprep.readers import charsets
from dataprep.readers.decompress import DamagedFile
from dataprep.readers.extents import Split
from dataprep.readers.records import BadDocument, BadRecord, Chunk, ChunkBuilder, Damage, ReadOptions
from dataprep.readers.text import read_bounded

VERSION = 1
depends = charsets.depends


def read(split: Split, options: ReadOptions) -> Iterator[Chunk]:
    """One record a file."""
    builder = ChunkBuilder(options)
    for index, extent in enumerate(split.extents):
        try:
            page = charsets.decode(read_bounded(extent.file, options))
        except BadDocument as error:
            builder.refuse(BadRecord(index, 0, None, error.reason, error.detail))
        except DamagedFile as error:
            builder.damaged(Damage(index, 0, extent.file.size_bytes, error.reason, error.detail))
        else:
            builder.add_one(index, page.text, extent.file.name, 0)
            count_replaced(builder, page)
        if builder.is_full:
            yield builder.take()
    if not builder.is_empty:
        yield builder.take()


def count_replaced(builder: ChunkBuilder, page: charsets.Decoded) -> None:
    """Keep count of what could not be decoded."""
    if page.replaced:
        builder.count("replaced:documents")
        builder.count("replaced:characters", page.replaced)

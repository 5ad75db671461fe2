"""Readers: files to records, a format each. READERS lists them.

`listing` finds the files, `splits` cuts them into what one task reads, `records` says what goes in and comes
out; `decompress` and `lines` are what the formats share.
"""

from __future__ import annotations

from dataprep.readers import archive, csv, docstrings, html, jsonl, metadata, parquet, text, warc
from dataprep.readers.extents import Extent, Split
from dataprep.readers.listing import InputFile
from dataprep.readers.records import BadRecord, Chunk, Damage, Reader, ReadOptions

__all__ = ["READERS", "BadRecord", "Chunk", "Damage", "Extent", "InputFile", "ReadOptions", "Reader", "Split"]

READERS: dict[str, Reader] = {
    "jsonl": Reader("jsonl", jsonl.VERSION, jsonl.read, jsonl.cut, is_text=True),
    "parquet": Reader("parquet", parquet.VERSION, parquet.read, parquet.cut),
    "csv": Reader("csv", csv.VERSION, csv.read, csv.cut, is_text=True),
    "text": Reader("text", text.VERSION, text.read, has_fields=False, is_text=True),
    "html": Reader("html", html.VERSION, html.read, depends=html.depends, has_fields=False),
    "warc": Reader("warc", warc.VERSION, warc.read, depends=warc.depends),
    "wet": Reader("wet", warc.VERSION, warc.read_wet, depends=warc.depends),
    "archive": Reader("archive", archive.VERSION, archive.read, depends=archive.depends, is_text=True),
    "metadata": Reader("metadata", metadata.VERSION, metadata.read, has_fields=False),
    "docstrings": Reader(
        "docstrings", docstrings.VERSION, docstrings.read, depends=docstrings.depends, has_fields=False
    ),
}

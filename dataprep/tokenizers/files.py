"""Tokenizer files: which kinds there are, and reading one from where a recipe or a command names it.

A tokenizer is carried as the text of a tokenizer.json (`str`) or as the bytes of a SentencePiece model
(`bytes`), and a corpus keeps it in a file of that kind. tiktoken's rank files are turned into the former when
they are read (tiktoken_file.py). Compressed files are read as what is in them. What such a file means is in
special.py and sentencepiece_model.py.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path

import zstandard

from dataprep.tokenizers.tiktoken_file import tokenizer_json_of_ranks
from manifests.errors import UserError

Definition = str | bytes
"""The text of a tokenizer.json, or the bytes of a SentencePiece model."""

JSON_FILE, MODEL_FILE = "tokenizer.json", "tokenizer.model"

MAX_BYTES = 1 << 29
"""Of an uncompressed file. The largest known vocabularies need 40 MB."""

_RANK_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} \d+\r?\n")


def read_tokenizer(path: Path) -> Definition:
    """Read a tokenizer.json, a SentencePiece model or a rank file of tiktoken, plain or as .zst or .gz.

    Which of them it is, the content tells: Llama 3's `tokenizer.model` holds ranks. Raises UserError.
    """
    try:
        definition = load_tokenizer(path)
        if isinstance(definition, str):
            json.loads(definition)
    except UserError as error:
        raise UserError(error.what, where=error.where or str(path), hint=error.hint) from None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the tokenizer: {error}", where=str(path)) from None
    return definition


def load_tokenizer(path: Path) -> Definition:
    """As `read_tokenizer`, but raises OSError and ValueError as they come; UserError for damaged content. A
    text is not parsed."""
    data = _uncompressed(path)
    if _RANK_LINE.match(data):
        stem = path.name.split(".")[0]
        return tokenizer_json_of_ranks(data, stem, path.with_name("config.json"))
    if data.startswith(b"\n") and not data.lstrip().startswith(b"{"):  # the tag of a model's first piece
        return data
    return data.decode("utf-8")


def file_name(definition: Definition) -> str:
    """The name of its file in a corpus."""
    return JSON_FILE if isinstance(definition, str) else MODEL_FILE


def stored(definition: Definition) -> bytes:
    """The bytes of that file."""
    return definition.encode("utf-8") if isinstance(definition, str) else definition


def load_stored(path: Path) -> Definition:
    """What `stored` gave, from a file called as `file_name` said, or .json and .model in general."""
    data = path.read_bytes()
    return data if path.suffix == ".model" else data.decode("utf-8")


def _uncompressed(path: Path) -> bytes:
    data = path.read_bytes()
    try:
        if path.suffix == ".zst":
            data = zstandard.ZstdDecompressor().stream_reader(data).read(MAX_BYTES + 1)
        elif path.suffix == ".gz":
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MAX_BYTES + 1)
    except (zstandard.ZstdError, EOFError) as error:
        raise UserError(f"this {path.suffix} file is damaged: {error}", where=str(path)) from None
    if len(data) > MAX_BYTES:
        raise UserError(f"a tokenizer of more than {MAX_BYTES:,} bytes", where=str(path))
    return data

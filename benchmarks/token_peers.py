"""What other tools need from a file of JSON lines to a file of tokens, in this process, on one thread.

    megatron            tools/preprocess_data.py of Megatron-LM with one worker: json, `tokenizers` a document
                        at a time, IndexedDatasetBuilder of megatron-core. The script is in no package, so its
                        loop is written here; what it has around `tokenizers` (`transformers`) is left out
    datatrove           JsonlReader and DocumentTokenizer, which shuffles its file
    datatrove_megatron  JsonlReader and MegatronDocumentTokenizer
    tokenizers          `encode_batch` on strings made beforehand; nothing is read or written
    tiktoken            `encode_ordinary_batch`, the same

The first three end each document with the end-of-text token, as ours does. All start with what they need
loaded, and a second round finds their caches warm. A peer that is not installed is not among them.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import peers
from dataprep.kernels.texts import Texts
from dataprep.tokenizers import describe, strip_special
from dataprep.tokenizers.backends import batches

CHUNK_BYTES = 4 << 20
"""Text that a pipeline hands over at a time."""

NAMES = ("megatron", "datatrove", "datatrove_megatron", "tokenizers", "tiktoken")

Work = Callable[[], object]


class Record(msgspec.Struct, gc=False):
    text: str


def token_peers(documents: Path, tokenizer: Path, folder: Path) -> dict[str, Work]:
    """Those that are installed, by name; each writes below `folder`."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    definition = tokenizer.read_text(encoding="utf-8")
    found: dict[str, Work] = {}
    if find_spec("megatron") and find_spec("megatron.core"):
        found["megatron"] = megatron(documents, definition, folder / "megatron")
    if peers.has_datatrove():
        found["datatrove"] = datatrove(documents, tokenizer, folder / "datatrove")
        found["datatrove_megatron"] = datatrove_megatron(documents, tokenizer, folder / "datatrove_megatron")
    records = msgspec.json.Decoder(Record).decode_lines(documents.read_bytes())
    texts = Texts.from_strings([record.text for record in records])
    chunks = [chunk.to_strings() for chunk in batches(texts, CHUNK_BYTES)]
    found["tokenizers"] = plain(strip_special(definition, "text"), chunks)
    if find_spec("tiktoken"):
        found["tiktoken"] = tiktoken(definition, chunks)
    return found


def megatron(documents: Path, tokenizer_json: str, folder: Path) -> Work:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its optional parts, which are not needed here
        from megatron.core.datasets.indexed_dataset import DType, IndexedDatasetBuilder
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(tokenizer_json)
    facts = describe(tokenizer_json)
    eos_id = facts.eos_id
    assert eos_id is not None
    dtype = DType.optimal_dtype(facts.vocab_size)
    folder.mkdir(parents=True, exist_ok=True)
    prefix = folder / "documents_text_document"

    def work() -> None:
        builder = IndexedDatasetBuilder(f"{prefix}.bin", dtype=dtype)
        with documents.open(encoding="utf-8") as lines:
            for line in lines:
                ids = tokenizer.encode(json.loads(line)["text"], add_special_tokens=False).ids
                if ids:
                    ids.append(eos_id)
                    builder.add_document(ids, [len(ids)])
        builder.finalize(f"{prefix}.idx")

    return work


def datatrove(documents: Path, tokenizer: Path, folder: Path) -> Work:
    from datatrove.pipeline.tokens import DocumentTokenizer

    return _read_into(partial(DocumentTokenizer, seed=17), documents, tokenizer, folder)


def datatrove_megatron(documents: Path, tokenizer: Path, folder: Path) -> Work:
    from datatrove.pipeline.tokens.megatron_tokenizer import MegatronDocumentTokenizer

    return _read_into(MegatronDocumentTokenizer, documents, tokenizer, folder)


def _read_into(make: Callable[..., Any], documents: Path, tokenizer: Path, folder: Path) -> Work:
    """datatrove's reader of JSON lines, and one of its tokenizing blocks."""
    from datatrove.pipeline.readers import JsonlReader
    from loguru import logger

    logger.remove()
    eos = describe(tokenizer.read_text(encoding="utf-8")).eos_token

    def work() -> None:
        reader = JsonlReader(str(documents.parent), glob_pattern=documents.name)
        step = make(str(folder), tokenizer_name_or_path=str(tokenizer), eos_token=eos)
        step.run(reader.run(None, 0, 1), 0, 1)

    return work


def plain(encoding_json: str, chunks: list[list[str]]) -> Work:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(encoding_json)

    def work() -> None:
        for chunk in chunks:
            for encoding in tokenizer.encode_batch(chunk, add_special_tokens=False):
                _ = encoding.ids

    return work


def tiktoken(tokenizer_json: str, chunks: list[list[str]]) -> Work:
    from tiktoken import Encoding

    vocabulary = json.loads(tokenizer_json)["model"]["vocab"]
    pieces = byte_level_pieces(vocabulary)
    ranks = {piece: rank for piece, rank in pieces.items() if piece != b"<|endoftext|>"}
    pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
    encoding = Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def work() -> None:
        for chunk in chunks:
            encoding.encode_ordinary_batch(chunk, num_threads=1)

    return work


def byte_level_pieces(vocab: dict[str, int]) -> dict[bytes, int]:
    """Vocabulary entries as the bytes that they stand for (GPT-2's `bytes_to_unicode`, backwards)."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    byte_of = {chr(byte): byte for byte in shown}
    byte_of |= {chr(256 + index): byte for index, byte in enumerate(b for b in range(256) if b not in shown)}
    return {bytes(byte_of[character] for character in piece): rank for piece, rank in vocab.items()}

"""Decoder: token ids back to text, for checks of a corpus that is built.

A byte-level tokenizer (GPT-2's kind, which is most) is a table from ids to bytes, so its texts are gathered
at the speed of memory; the bytes may then be no UTF-8 where a document was cut inside a character. Of any
other tokenizer `tokenizers` decodes, a few MB/s. Special tokens leave no text. Nothing is encoded here.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from dataprep.kernels.gather import gather_documents
from dataprep.kernels.texts import Texts, offsets_of

Int64s = npt.NDArray[np.int64]


class Decoder:
    """Decodes documents of one tokenizer. Memory: the vocabulary, and the texts of a call."""

    def __init__(self, tokenizer_json: str) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer_json)
        config = json.loads(tokenizer_json)
        self._table = _byte_table(config, self._tokenizer) if _is_byte_level(config) else None

    def decode(self, ids: npt.NDArray[Any], lengths: Int64s) -> Texts:
        """The texts of documents that lie one after the other, of `lengths` tokens each."""
        bounds = offsets_of(lengths)
        if self._table is None:
            parts = [ids[first:end].tolist() for first, end in pairwise(bounds)]
            return Texts.from_strings(self._tokenizer.decode_batch(parts, skip_special_tokens=True))
        sizes = self._table.lengths[ids]
        ends = np.cumsum(sizes)
        out = np.empty(int(ends[-1]) if ends.size else 0, dtype=np.uint8)
        gather_documents(self._table.data, self._table.offsets[:-1][ids], sizes, out, ends - sizes)
        return Texts(out, np.concatenate([np.zeros(1, dtype=np.int64), ends])[bounds])


def _is_byte_level(config: dict[str, Any]) -> bool:
    decoder = config.get("decoder") or {}
    parts = decoder.get("decoders", [decoder]) if decoder.get("type") == "Sequence" else [decoder]
    return [part.get("type") for part in parts] == ["ByteLevel"]


def _byte_table(config: dict[str, Any], tokenizer: Tokenizer) -> Texts:
    """Text i is the bytes of id i."""
    letters = _letters()
    added = {entry["id"]: entry for entry in config.get("added_tokens") or []}
    vocabulary = {number: token for token, number in tokenizer.get_vocab(with_added_tokens=True).items()}
    values = []
    for number in range(max(vocabulary, default=-1) + 1):
        token, entry = vocabulary.get(number, ""), added.get(number)
        if entry is not None:
            values.append(b"" if entry.get("special") else entry["content"].encode())
        elif all(letter in letters for letter in token):
            values.append(bytes(letters[letter] for letter in token))
        else:
            values.append(token.encode())
    return Texts.from_bytes(values)


def _letters() -> dict[str, int]:
    """The byte that each character of a byte-level vocabulary stands for: printable Latin-1 for itself, the
    other 68 bytes, in order, for the characters from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + place): byte for place, byte in enumerate(others)
    }

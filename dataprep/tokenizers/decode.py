"""Decoder: token ids in, the bytes of the texts out.

For a byte-level vocabulary every id stands for some bytes, so a text is a gather from a table of 256 and
more short strings, at the speed of memory, and it is the text that was tokenized unless the tokenizer
rewrote it first (a normalizer, a space put before it). SentencePiece models are decoded the same way,
without their library; but they give back another text where they normalize, remove spaces, have no piece for
a character, or where the text held a U+2581, which is how they write a space. Other vocabularies are decoded
by `tokenizers`, which makes of them what it can. Which of all was exact is not decided here: who has the hash
of the text compares it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from dataprep.kernels.texts import Offsets, Texts, concat, offsets_of
from dataprep.kernels.token_bytes import bytes_of_tokens
from dataprep.tokenizers.alphabet import byte_alphabet
from dataprep.tokenizers.files import Definition
from dataprep.tokenizers.sentencepiece_json import opening_pieces, pieces_of
from dataprep.tokenizers.sentencepiece_model import parse_model
from manifests.errors import UserError

TOKENS_AT_ONCE = 1 << 20
"""What `tokenizers` is given at once; its lists and strings take about 60 bytes a token."""

SEQUENCES = ("decoders", "pretokenizers", "normalizers")
"""Where a component that is a sequence keeps its parts."""


class Decoder:
    """Decodes with one tokenizer.json or SentencePiece model.

    is_byte_level  whether ids are strings of bytes
    rewrites       what the tokenizer does to a text before it cuts it, in words; "" for nothing. Then even a
                   byte-level vocabulary gives back another text than the one that was encoded

    Special tokens come out as they are written in the vocabulary. Memory: the vocabulary.
    """

    def __init__(self, definition: Definition) -> None:
        self._opens: npt.NDArray[np.bool_] | None = None
        if isinstance(definition, bytes):
            model = parse_model(definition)
            self.is_byte_level, self.rewrites = False, model.rewrites
            self._pieces: Texts | None = pieces_of(model)
            self._opens = opening_pieces(model)
            return
        try:
            config = json.loads(definition)
            self._tokenizer = Tokenizer.from_str(definition)
        except Exception as error:  # `tokenizers` raises the bare class
            raise UserError(f"this is not a tokenizer.json that `tokenizers` can load: {error}") from None
        self.is_byte_level = "ByteLevel" in _types(config.get("decoder"))
        self.rewrites = _rewrites(config)
        self._pieces = _pieces(config, self._tokenizer) if self.is_byte_level else None

    def decode(self, tokens: npt.NDArray[Any], lengths: npt.NDArray[Any]) -> Texts:
        """The texts of documents laid end to end in `tokens` [T], of `lengths` [n] tokens each.

        Raises UserError for an id that the vocabulary does not have.
        """
        ends = offsets_of(np.asarray(lengths, dtype=np.int64))
        if ends[-1] != tokens.size:
            raise ValueError(f"{ends[-1]} tokens by the lengths, but there are {tokens.size}")
        if self._pieces is not None:
            return self._by_table(tokens, ends, self._pieces)
        parts = [
            self._by_library(tokens[ends[first] : ends[last]], ends[first : last + 1] - ends[first])
            for first, last in document_groups(ends, TOKENS_AT_ONCE)
        ]
        return concat(parts)

    def _by_table(self, tokens: npt.NDArray[Any], ends: Offsets, pieces: Texts) -> Texts:
        try:
            texts = Texts(*bytes_of_tokens(tokens, ends, pieces.data, pieces.offsets))
        except ValueError as error:
            raise UserError(
                f"an id is not of this tokenizer: {error}", hint="is it the tokenizer that made these tokens?"
            ) from None
        return texts if self._opens is None else _without_prefix(texts, tokens, ends, self._opens)

    def _by_library(self, tokens: npt.NDArray[Any], ends: Offsets) -> Texts:
        borders = ends.tolist()
        documents = [tokens[start:stop].tolist() for start, stop in pairwise(borders)]
        return Texts.from_strings(self._tokenizer.decode_batch(documents, skip_special_tokens=False))


def document_groups(ends: Offsets, limit: int) -> Iterator[tuple[int, int]]:
    """(first document, document after the last) of groups of at most `limit` tokens, or of one longer
    document.

    ends  int64 [n + 1], where documents begin and end
    """
    first = 0
    while first < ends.size - 1:
        fits = int(np.searchsorted(ends, ends[first] + limit, side="right")) - 1
        last = max(first + 1, fits)
        yield first, last
        first = last


def _without_prefix(
    texts: Texts, tokens: npt.NDArray[Any], ends: Offsets, opens: npt.NDArray[np.bool_]
) -> Texts:
    """Without the one space that was put before every text, where the first id is one that `opens` a word."""
    has_space = np.diff(ends) > 0
    has_space[has_space] = opens[tokens[ends[:-1][has_space]]]
    keep = np.ones(texts.data.size, dtype=bool)
    keep[texts.offsets[:-1][has_space]] = False
    return Texts(texts.data[keep], offsets_of(texts.lengths - has_space))


def _pieces(config: dict[str, Any], tokenizer: Tokenizer) -> Texts:
    """The bytes of every id; none for an id that is not used."""
    alphabet = byte_alphabet()
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    added = {entry["content"] for entry in config.get("added_tokens") or []}
    pieces = [b""] * (max(vocabulary.values(), default=-1) + 1)
    for entry, token_id in vocabulary.items():
        if entry in added or not all(char in alphabet for char in entry):
            pieces[token_id] = entry.encode()
        else:
            pieces[token_id] = bytes(alphabet[char] for char in entry)
    return Texts.from_bytes(pieces)


def _types(part: Any) -> list[str]:
    """The types of a component of a tokenizer.json, those inside a sequence included."""
    if not isinstance(part, dict):
        return []
    inner: list[Any] = next(
        (part[name] for name in ("decoders", "pretokenizers", "normalizers") if name in part), []
    )
    return [str(part.get("type")), *(name for each in inner for name in _types(each))]


def _rewrites(config: dict[str, Any]) -> str:
    found = [name for name in _types(config.get("normalizer")) if name != "Sequence"]
    if _has_prefix_space(config.get("pre_tokenizer")):
        found.append("a space before every text")
    return ", ".join(found)


def _has_prefix_space(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    inner = any(_has_prefix_space(each) for each in part.get("pretokenizers", ()))
    return inner or bool(part.get("add_prefix_space")) or part.get("prepend_scheme") in ("always", "first")

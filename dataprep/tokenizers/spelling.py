"""Which bytes of text each token stands for, in a byte-level vocabulary, and texts as such tokens.

For work that finds something in tokens and then changes the text: that needs to know where each token is in
it. Byte-level BPE (GPT-2's kind: Llama 3, Qwen, cl100k, ...) spells every text byte for byte, unless the
tokenizer changes the text first; whether it does is looked at in every text. Vocabularies of other kinds are
refused. Where no tokenizer is wanted, the bytes of the text are tokens (`bytes_as_tokens`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.kernels.covered import spelled_wrongly
from dataprep.kernels.texts import Offsets, Texts, offsets_of
from dataprep.tokenizers.alphabet import byte_alphabet
from dataprep.tokenizers.encoder import Encoder
from dataprep.tokenizers.files import Definition
from manifests.errors import UserError

BYTE_SIZES = np.ones(256, dtype=np.int64)
"""`Spelling.sizes` where bytes are tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class Spelling:
    """The bytes of each id; ids that the vocabulary lacks have none."""

    pieces: Texts

    @property
    def sizes(self) -> Offsets:
        """int64[greatest id + 1]: bytes of each id."""
        return self.pieces.lengths

    @property
    def dtype(self) -> type[np.uint16] | type[np.uint32]:
        """The narrowest type of tokens that holds every id."""
        return np.uint16 if len(self.pieces) <= 1 << 16 else np.uint32


def spelling_of(definition: Definition) -> Spelling:
    """Of a byte-level BPE; UserError for a tokenizer of another kind."""
    config = {} if isinstance(definition, bytes) else json.loads(definition)
    if not config or not _is_byte_level(config):
        raise UserError(
            "the tokens of this tokenizer are not bytes of the text",
            hint="name a byte-level BPE such as GPT-2's, or say `tokens: bytes`",
        )
    bytes_of = byte_alphabet()
    found: dict[int, bytes] = {}
    for token, number in config["model"]["vocab"].items():
        if all(character in bytes_of for character in token):
            found[number] = bytes(bytes_of[character] for character in token)
    for entry in config.get("added_tokens") or []:
        found[entry["id"]] = entry["content"].encode("utf-8")
    return Spelling(Texts.from_bytes([found.get(number, b"") for number in range(max(found) + 1)]))


def tokenized(texts: Texts, encoder: Encoder, spelling: Spelling) -> tuple[npt.NDArray[Any], Offsets]:
    """(tokens uint16 or uint32, offsets int64[n + 1]). Raises UserError for a text that its tokens don't
    spell.

    encoder  of the same tokenizer, without an end-of-text token
    """
    ids, lengths = encoder.encode(texts)
    offsets = offsets_of(lengths)
    tokens = ids.astype(spelling.dtype)
    pieces = spelling.pieces
    wrong = spelled_wrongly(tokens, offsets, pieces.data, pieces.offsets, texts.data, texts.offsets)
    if wrong >= 0:
        raise UserError(
            "the tokens of this tokenizer are not the bytes of every text: it changes text first "
            "(a Unicode form, a space at the beginning)",
            where=f"text that begins {texts[wrong][:60]!r}",
            hint="put `normalize` above the step, name another tokenizer, or say `tokens: bytes`",
        )
    return tokens, offsets


def bytes_as_tokens(texts: Texts) -> tuple[npt.NDArray[Any], Offsets]:
    """(uint8, offsets int64[n + 1]): the bytes themselves, without a copy."""
    return texts.data[texts.offsets[0] : texts.offsets[-1]], texts.offsets - texts.offsets[0]


def _is_byte_level(config: dict[str, Any]) -> bool:
    steps = config.get("pre_tokenizer") or {}
    types = {step.get("type") for step in [steps, *steps.get("pretokenizers", [])]}
    return isinstance(config["model"].get("vocab"), dict) and "ByteLevel" in types

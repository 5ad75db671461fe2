"""A SentencePiece model as the tokenizer.json that gigatoken can load, and the bytes its ids stand for.

The translation is what Llama's kind of tokenizer.json holds: a space before the text, spaces as U+2581, one
BPE over the whole of it, bytes for characters without a piece. It is never trusted: engines.py compares the
ids with those of `sentencepiece`. What it cannot express is refused here, what gigatoken cannot do, there.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.kernels.texts import Texts
from dataprep.tokenizers.sentencepiece_model import (
    BYTE,
    CONTROL,
    NORMAL,
    SPACE,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Model,
)


def tokenizer_json_of(model: Model) -> str:
    """The text of a tokenizer.json that should give the same ids. Raises ValueError for what none can say."""
    if model.model_type not in ("BPE", "Unigram"):
        raise ValueError(f"a SentencePiece model of type {model.model_type}")
    if model.space_is_suffix:
        raise ValueError("a SentencePiece model with spaces at the end of words")
    if model.model_type == "BPE" and any(piece.kind == UNUSED for piece in model.pieces):
        raise ValueError("a SentencePiece model with unused pieces")
    if model.model_type == "BPE" and model.removes_spaces:
        raise ValueError("a SentencePiece model that removes extra spaces")
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    config: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": token_id, "content": piece.text, **flags}
            for token_id, piece in enumerate(model.pieces)
            if piece.kind == USER_DEFINED
        ],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(model)},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": _bpe(model) if model.model_type == "BPE" else _unigram(model),
    }
    return json.dumps(config, ensure_ascii=False, separators=(",", ":"))


def pieces_of(model: Model) -> Texts:
    """The bytes of each id: of a byte piece that byte, of an unknown what SentencePiece writes for it;
    special tokens as they are written in the vocabulary."""
    return Texts.from_bytes([_bytes_of(piece.text, piece.kind, model) for piece in model.pieces])


def opening_pieces(model: Model) -> npt.NDArray[np.bool_]:
    """bool [ids]: whose space, at the beginning of a text, is one that SentencePiece put there."""
    adds = (model.adds_prefix or model.removes_spaces) and not model.space_is_suffix
    return np.array(
        [adds and piece.kind not in (UNKNOWN, CONTROL) and piece.text[:1] == SPACE for piece in model.pieces]
    )


def _bytes_of(text: str, kind: int, model: Model) -> bytes:
    if kind == BYTE:
        return bytes([int(text[3:5], 16)])
    if kind == UNKNOWN:
        return model.unknown_surface.encode()
    return text.encode() if kind == CONTROL else text.replace(SPACE, " ").encode()


def _normalizers(model: Model) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if model.charsmap:
        charsmap = base64.b64encode(model.charsmap).decode()
        found.append({"type": "Precompiled", "precompiled_charsmap": charsmap})
    if model.adds_prefix:
        found.append({"type": "Prepend", "prepend": SPACE})
    found.append({"type": "Replace", "pattern": {"String": " "}, "content": SPACE})
    return found


def _bpe(model: Model) -> dict[str, Any]:
    vocabulary = {piece.text: token_id for token_id, piece in enumerate(model.pieces)}
    unknown = next((piece.text for piece in model.pieces if piece.kind == UNKNOWN), None)
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": any(piece.kind == BYTE for piece in model.pieces),
        "vocab": vocabulary,
        "merges": _merges(model),
    }


def _merges(model: Model) -> list[list[str]]:
    """SentencePiece joins the pair whose joined piece has the best score; so every pair that makes a piece is
    a merge, in the order of the scores."""
    ids = {piece.text: token_id for token_id, piece in enumerate(model.pieces) if piece.kind == NORMAL}
    found = []
    for text, token_id in ids.items():
        cuts = [(text[:at], text[at:]) for at in range(1, len(text))]
        pairs = [(ids[left], ids[right], left, right) for left, right in cuts if left in ids and right in ids]
        found += [(-model.pieces[token_id].score, left, right) for _, _, left, right in sorted(pairs)]
    return [[left, right] for _, left, right in sorted(found, key=lambda merge: merge[0])]


def _unigram(model: Model) -> dict[str, Any]:
    unknown = next((token_id for token_id, piece in enumerate(model.pieces) if piece.kind == UNKNOWN), None)
    return {
        "type": "Unigram",
        "unk_id": unknown,
        "byte_fallback": any(piece.kind == BYTE for piece in model.pieces),
        "vocab": [[piece.text, piece.score] for piece in model.pieces],
    }

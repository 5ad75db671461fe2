"""What a SentencePiece model file holds, read without the library.

The file is a protocol buffer (sentencepiece_model.proto): pieces with a score and a kind each, and what was
said when it was trained. Reading it here needs no package, so a corpus can be decoded without
`sentencepiece`. Encoding is that library's alone (backends.py), or gigatoken's with what
sentencepiece_json.py makes of the model.

Special tokens: pieces of the kind "control" (`<s>`, `</s>`) are never read from text, "user defined" ones
always are. `as_text` makes the first of the second where such a piece ends or begins documents.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from manifests.errors import UserError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
MODEL_TYPES = {1: "Unigram", 2: "BPE", 3: "Word", 4: "Char"}
SPACE = "\u2581"
"""What a space is written as in pieces."""


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    score: float
    kind: int


@dataclass(frozen=True, slots=True)
class Model:
    """The parts of a model that say how text becomes ids and ids text."""

    pieces: list[Piece]
    """By id."""
    model_type: str
    """"Unigram", "BPE", "Word" or "Char"."""
    eos_piece: str
    bos_piece: str
    unknown_surface: str
    """What an unknown id is decoded to."""
    normalizer: str
    """The name of its normalization, such as "nfkc" or "identity"."""
    charsmap: bytes
    """That normalization, compiled; empty for none."""
    adds_prefix: bool
    """A space is put before every text."""
    removes_spaces: bool
    """Spaces at the ends, and all but one inside, are removed."""
    space_is_suffix: bool

    @property
    def rewrites(self) -> str:
        """What is done to a text before it is cut, in words; "" for nothing that decoding doesn't undo."""
        found = [self.normalizer] if self.charsmap else []
        if self.removes_spaces:
            found.append("extra spaces are removed")
        return ", ".join(found)


def parse_model(data: bytes) -> Model:
    """Raises UserError for bytes that are no SentencePiece model."""
    try:
        parts = list(_fields(data))
        pieces = [_piece(value) for number, _, value in parts if number == 1]
        trained, normalized = (
            {field: value for number, _, part in parts if number == of for field, _, value in _fields(part)}
            for of in (2, 3)
        )
        if not any(piece.kind == NORMAL for piece in pieces):
            raise ValueError("it has no pieces")
        return Model(
            pieces=pieces,
            model_type=MODEL_TYPES[_number(trained.get(3), 1)],
            eos_piece=_text(trained.get(47), "</s>"),
            bos_piece=_text(trained.get(46), "<s>"),
            unknown_surface=_text(trained.get(44), " \u2047 "),
            normalizer=_text(normalized.get(1), "a normalization"),
            charsmap=normalized.get(2, b""),
            adds_prefix=bool(_number(normalized.get(3), 1)),
            removes_spaces=bool(_number(normalized.get(4), 1)),
            space_is_suffix=bool(_number(trained.get(24), 0)),
        )
    except (ValueError, KeyError, IndexError, struct.error) as error:
        raise UserError(f"this is not a SentencePiece model: {error}") from None


def as_text(data: bytes, names: Collection[str]) -> bytes:
    """The model with the user-defined pieces of these names as control pieces: no text gives their ids, and
    all others keep theirs. The same bytes where there are none."""
    out = []
    for number, wire, value in _fields(data):
        if number == 1:
            piece = _piece(value)
            if piece.kind == USER_DEFINED and piece.text in names:
                value += bytes([3 << 3, CONTROL])  # of a field that is there twice, the last one counts
        out.append(_encoded(number, wire, value))
    changed = b"".join(out)
    return changed if len(changed) != len(data) else data


def _piece(value: bytes) -> Piece:
    fields = {number: part for number, _, part in _fields(value)}
    (score,) = struct.unpack("<f", fields.get(2, bytes(4)))
    return Piece(_text(fields.get(1), ""), score, _number(fields.get(3), NORMAL))


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(field, wire type, its bytes) in order; a number comes as the bytes of its varint."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            start, (_, at) = at, _varint(data, at)
        elif wire == 2:
            size, start = _varint(data, at)
            at = start + size
        elif wire in (1, 5):
            start, at = at, at + (8 if wire == 1 else 4)
        else:
            raise ValueError(f"there is no wire type {wire}")
        if at > len(data):
            raise ValueError("it ends in the middle")
        yield key >> 3, wire, data[start:at]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        value, at = value | (byte & 127) << shift, at + 1
        if byte < 128:
            return value, at
    raise ValueError("a number of more than ten bytes")


def _encoded(number: int, wire: int, value: bytes) -> bytes:
    size = _varint_of(len(value)) if wire == 2 else b""
    return _varint_of(number << 3 | wire) + size + value


def _varint_of(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def _number(value: bytes | None, default: int) -> int:
    return default if value is None else _varint(value, 0)[0]


def _text(value: bytes | None, default: str) -> str:
    return default if value is None else value.decode("utf-8")

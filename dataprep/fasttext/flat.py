"""A text as a classifier takes it: normalized, and, for training, as one line without labels in it."""

from __future__ import annotations

from typing import Literal, get_args

from dataprep.kernels.texts import Texts

Normalization = Literal["none", "lower"]
NORMALIZATIONS: tuple[str, ...] = get_args(Normalization)

LABEL_PREFIX = b"__label__"
_SPACES = bytes(0x20 if byte in b"\n\r\t\v\f\0" else byte for byte in range(256))


def normalized(texts: Texts, how: str) -> Texts:
    """The texts as they are, or in lower case (`str.lower`)."""
    if how == "none":
        return texts
    return Texts.from_bytes([text.decode("utf-8").lower().encode("utf-8") for text in texts])


def one_line(text: bytes) -> bytes:
    """The tokens that prediction sees, on one line: fastText would take a token that begins with "__label__"
    for the label of a document that it is trained on; prediction passes it over."""
    text = text.translate(_SPACES)
    if LABEL_PREFIX in text:
        text = b" ".join(token for token in text.split(b" ") if not token.startswith(LABEL_PREFIX))
    return text

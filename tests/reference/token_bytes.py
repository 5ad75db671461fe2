"""Token ids to bytes, a document and a token at a time."""

from __future__ import annotations

from collections.abc import Sequence


def bytes_of_tokens(documents: Sequence[Sequence[int]], table: Sequence[bytes]) -> list[bytes]:
    return [b"".join(table[token] for token in document) for document in documents]

"""Digests of values, bytes and files: the same everywhere, or an exception.

A fingerprint is only worth keeping if it never depends on the process, the machine or the order in which a
dict was filled. So `canonical_json` takes plain JSON values and nothing else: an object with an unstable
`repr`, a set, a NaN or a path raises `UnstableValue` instead of giving a digest that changes by itself.

Two kinds of text are used for digests, and the name of a field says which:
    *_digest, digest    algorithm and hex digits: "sha256:<64 hex>" or "blake2b-128:<32 hex>"
    *_sha256, sha256    64 hex digits, comparable with the output of `sha256sum`

This module does not decide what goes into a digest; `manifest.py` does that for a corpus.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import PurePath

BLOCK_BYTES = 1 << 20
"""Block digests cover this many bytes of a file; the last block of a file may be shorter."""

BLOCK_DIGEST_BYTES = 16
"""A block digest is the first 16 bytes of the block's sha256."""


class UnstableValue(TypeError):
    """A value whose digest would not be the same in another process, on another machine or next year."""


def canonical_json(value: object) -> bytes:
    """Return the one JSON text of `value`: UTF-8, sorted keys, no spaces, floats by `repr`.

    Takes None, bool, int, finite float, str, list, tuple (written as a list) and dict with str keys; exactly
    these types, no subclasses, since a subclass (an enum, a numpy scalar) may print as anything.
    1 and 1.0 are different values. Raises UnstableValue, naming the place, for anything else.
    """
    _check(value, "value")
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def _check(value: object, place: str) -> None:
    kind = type(value)
    if value is None or kind is bool or kind is int:
        return
    if isinstance(value, str) and kind is str:
        _check_text(value, place)
    elif isinstance(value, float) and kind is float:
        if not math.isfinite(value):
            raise UnstableValue(f"{place} is {value!r}; JSON has no such number")
    elif isinstance(value, list | tuple) and kind in (list, tuple):
        for index, item in enumerate(value):
            _check(item, f"{place}[{index}]")
    elif isinstance(value, dict) and kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise UnstableValue(f"{place} has the key {key!r}; keys must be str")
            _check_text(key, f"key {key!r} of {place}")
            _check(item, f"{place}.{key}")
    elif isinstance(value, PurePath):
        raise UnstableValue(f"{place} is a path ({value}), which says where, not what: pass a digest")
    elif isinstance(value, set | frozenset):
        raise UnstableValue(f"{place} is a set, which has no order; pass a sorted list")
    else:
        raise UnstableValue(f"{place} is a {kind.__module__}.{kind.__qualname__}; pass plain JSON values")


def _check_text(text: str, place: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UnstableValue(f"{place} is not valid Unicode: {error.reason} at {error.start}") from error


def digest_value(value: object) -> str:
    """Return "blake2b-128:<32 hex>" of the canonical JSON of `value`. Raises UnstableValue."""
    return "blake2b-128:" + hashlib.blake2b(canonical_json(value), digest_size=16).hexdigest()


def digest_bytes(data: bytes | bytearray | memoryview) -> str:
    """Return "sha256:<64 hex>" of `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class FileDigest:
    """What one read of a file says about its content."""

    size_bytes: int
    sha256: str
    """64 hex digits of the whole file, as `sha256sum` prints them."""
    blocks: tuple[bytes, ...]
    """One 16-byte truncated sha256 for each block; empty for an empty file."""

    @property
    def digest(self) -> str:
        """The whole-file digest with its algorithm: "sha256:<64 hex>"."""
        return f"sha256:{self.sha256}"


def digest_block(block: bytes | bytearray | memoryview) -> bytes:
    """Return the 16-byte digest of one block."""
    return hashlib.sha256(block).digest()[:BLOCK_DIGEST_BYTES]


def digest_file(
    path: str | PathLike[str],
    block_bytes: int = BLOCK_BYTES,
    on_block: Callable[[memoryview], None] | None = None,
) -> FileDigest:
    """Read a file once and return its size, its sha256 and its block digests.

    Memory is one block. `on_block` is called with each block in turn, for progress or for another look at the
    same bytes; the memory is reused, so it must not keep it. Both hashes release the interpreter lock, so
    files can be hashed in threads. Raises OSError.
    """
    if block_bytes < 1:
        raise ValueError(f"block_bytes must be at least 1, not {block_bytes}")
    whole = hashlib.sha256()
    blocks: list[bytes] = []
    size_bytes = 0
    buffer = bytearray(block_bytes)
    view = memoryview(buffer)
    # Buffered reading fills the whole block (a raw file may return less), so block borders never move.
    with open(path, "rb") as stream:
        while count := stream.readinto(buffer):
            block = view[:count]
            whole.update(block)
            blocks.append(digest_block(block))
            size_bytes += count
            if on_block is not None:
                on_block(block)
    return FileDigest(size_bytes, whole.hexdigest(), tuple(blocks))

"""One shard against its description: what does not match, in which file, block and byte.

`quick_check` looks at sizes, headers and first keys; `full_check` reads every byte and then asks whether the
four files agree with each other. `verify.py` runs these over a corpus; nothing is repaired here.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from manifests.fingerprint import BLOCK_BYTES, BLOCK_DIGEST_BYTES, FileDigest, digest_file
from manifests.lists import Shard
from manifests.manifest import Manifest
from manifests.shard import (
    ShardError,
    ShardReader,
    blocks_path,
    encode_index,
    idx_path,
    table_path,
)
from manifests.tables import TableError, first_key, read_document_table

MAX_BLOCKS_NAMED = 20
"""Damaged blocks of one file that are named one by one; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as the manifest says."""

    file: str
    """Relative to the manifest's folder."""
    block: int | None
    """Which 1 MiB block of the file, from 0, if that is known."""
    offset_bytes: int | None
    """Where the block, or the first wrong byte, is in the file, if that is known."""
    what: str

    def __str__(self) -> str:
        block = "" if self.block is None else f", block {self.block:,}"
        offset = "" if self.offset_bytes is None else f", byte {self.offset_bytes:,}"
        return f"{self.file}{block}{offset}: {self.what}"


@dataclass(slots=True)
class ShardCheck:
    """What a check of one shard found. `found` has, for each wrong file, what stands there instead."""

    shard: Shard
    folder: Path
    problems: list[Problem] = field(default_factory=list)
    found: dict[str, str] = field(default_factory=dict)
    """Suffix to what identifies the content: a sha256, or in a quick check a size or first key."""
    last_key: str = ""
    files: int = 0
    bytes: int = 0

    @property
    def prefix(self) -> Path:
        return self.folder / self.shard.name

    def add(self, suffix: str, what: str, block: int | None = None, offset_bytes: int | None = None) -> None:
        self.problems.append(Problem(self.shard.name + suffix, block, offset_bytes, what))


def identities(shard: Shard, quick: bool) -> dict[str, str]:
    """Return what identifies the content of each file of a shard: what a swapped file is recognised by."""
    if quick:
        return {
            ".bin": f"{shard.bin_bytes} bytes",
            ".idx": f"{shard.idx_bytes} bytes",
            ".blocks": f"{_blocks_size_bytes(shard)} bytes",
            ".documents.parquet": f"{shard.documents} documents from {shard.first_key}",
        }
    return {
        ".bin": shard.bin_sha256,
        ".idx": shard.idx_sha256,
        ".blocks": shard.blocks_sha256,
        ".documents.parquet": shard.table_sha256,
    }


def quick_check(folder: Path, shard: Shard, manifest: Manifest) -> ShardCheck:
    """Compare sizes, headers, counts and the first key. Reads a few kilobytes of each file at most."""
    check = ShardCheck(shard, folder)
    wanted_bytes = {
        ".bin": shard.bin_bytes,
        ".idx": shard.idx_bytes,
        ".blocks": _blocks_size_bytes(shard),
        ".documents.parquet": None,
    }
    for suffix, wanted in wanted_bytes.items():
        size_bytes = _size_bytes(check, suffix)
        if size_bytes is None or wanted is None or size_bytes == wanted:
            continue
        check.found[suffix] = f"{size_bytes} bytes"
        check.add(suffix, *_size_problem(size_bytes, wanted))
    if not check.problems:
        _check_reader(check, manifest)
    _check_first_key(check)
    return check


def full_check(
    folder: Path, shard: Shard, manifest: Manifest, on_bytes: Callable[[int], None] | None = None
) -> ShardCheck:
    """Read all files of a shard and compare everything that the manifest says about them, and each other.

    `on_bytes` is called with the number of bytes of each block that was read.
    """
    check = ShardCheck(shard, folder)
    max_token_id = 0

    def see_tokens(block: memoryview) -> None:
        nonlocal max_token_id
        whole = len(block) - len(block) % np.dtype(manifest.dtype).itemsize
        if whole:
            max_token_id = max(max_token_id, int(np.frombuffer(block[:whole], manifest.dtype).max()))
        see(block)

    def see(block: memoryview) -> None:
        if on_bytes is not None:
            on_bytes(len(block))

    # The block digests first: they say where the tokens are damaged; the table before the index, likewise.
    blocks = _digest(check, ".blocks", see)
    block_digests: bytes | None = None
    if blocks is not None and blocks.sha256 == shard.blocks_sha256:
        block_digests = blocks_path(check.prefix).read_bytes()
    elif blocks is not None:
        _add_damage(check, ".blocks", blocks, _blocks_size_bytes(shard))
    tokens = _digest(check, ".bin", see_tokens)
    if tokens is not None and tokens.sha256 != shard.bin_sha256:
        _add_bin_damage(check, tokens, block_digests)
    elif tokens is not None and block_digests not in (None, b"".join(tokens.blocks)):
        check.add(".blocks", "these are not the block digests of the tokens")
    table = _digest(check, ".documents.parquet", see)
    table_is_sound = table is not None and table.sha256 == shard.table_sha256
    if table is not None and not table_is_sound:
        _add_damage(check, ".documents.parquet", table, None)
    index = _digest(check, ".idx", see)
    if index is not None and index.sha256 != shard.idx_sha256:
        _add_idx_damage(check, index, _encode_from_table(check, manifest) if table_is_sound else None)
    if not check.problems:
        if max_token_id != shard.max_token_id:
            check.add(".bin", f"the greatest token id is {max_token_id}, not {shard.max_token_id}")
        _check_reader(check, manifest)
        if not check.problems:
            _check_table(check, manifest)
    return check


def _blocks_size_bytes(shard: Shard) -> int:
    return -(-shard.bin_bytes // BLOCK_BYTES) * BLOCK_DIGEST_BYTES


def _size_bytes(check: ShardCheck, suffix: str) -> int | None:
    try:
        status = Path(f"{check.prefix}{suffix}").stat()
    except FileNotFoundError:
        check.add(suffix, "the file is missing")
        return None
    except OSError as error:
        check.add(suffix, f"the file cannot be read: {error.strerror}")
        return None
    if not stat.S_ISREG(status.st_mode):
        check.add(suffix, "this is not a file")
        return None
    check.files += 1
    check.bytes += status.st_size
    return status.st_size


def _size_problem(size_bytes: int, wanted_bytes: int) -> tuple[str, int | None, int | None]:
    """What, block and byte offset of a file that is too short or too long."""
    if size_bytes < wanted_bytes:
        what = f"the file was cut: {size_bytes:,} of {wanted_bytes:,} bytes are left"
    else:
        what = f"the file is too long: {size_bytes:,} bytes, not {wanted_bytes:,}"
    end = min(size_bytes, wanted_bytes)
    return what, end // BLOCK_BYTES, end


def _digest(check: ShardCheck, suffix: str, on_block: Callable[[memoryview], None]) -> FileDigest | None:
    if _size_bytes(check, suffix) is None:
        return None
    try:
        return digest_file(f"{check.prefix}{suffix}", on_block=on_block)
    except OSError as error:
        check.add(suffix, f"the file cannot be read: {error.strerror}")
        return None


def _add_damage(check: ShardCheck, suffix: str, found: FileDigest, wanted_bytes: int | None) -> None:
    """A file of which only the whole digest is known."""
    check.found[suffix] = found.sha256
    if wanted_bytes is not None and found.size_bytes != wanted_bytes:
        check.add(suffix, *_size_problem(found.size_bytes, wanted_bytes))
    else:
        check.add(suffix, "the content is not what the manifest says")


def _add_bin_damage(check: ShardCheck, found: FileDigest, wanted: bytes | None) -> None:
    """`wanted`: the block digests, None if they are damaged themselves."""
    check.found[".bin"] = found.sha256
    if wanted is None or len(wanted) != _blocks_size_bytes(check.shard):
        _add_damage(check, ".bin", found, check.shard.bin_bytes)
        return
    width = BLOCK_DIGEST_BYTES
    expected = [wanted[start : start + width] for start in range(0, len(wanted), width)]
    cut = found.size_bytes != check.shard.bin_bytes
    if cut:
        check.add(".bin", *_size_problem(found.size_bytes, check.shard.bin_bytes))
    # The block in which a cut file ends differs for that reason alone.
    whole = min(found.size_bytes, check.shard.bin_bytes) // BLOCK_BYTES if cut else len(expected)
    damaged = [block for block in range(whole) if found.blocks[block] != expected[block]]
    for block in damaged[:MAX_BLOCKS_NAMED]:
        check.add(".bin", "the block is damaged", block, block * BLOCK_BYTES)
    if len(damaged) > MAX_BLOCKS_NAMED:
        check.add(".bin", f"and {len(damaged) - MAX_BLOCKS_NAMED:,} more damaged blocks of {len(expected):,}")
    if not cut and not damaged:
        check.add(".bin", "every block is sound, but the whole is not what the manifest says")


def _encode_from_table(check: ShardCheck, manifest: Manifest) -> bytes | None:
    """The index as it should be: the document table has every length. None if the two never agreed."""
    try:
        table = read_document_table(table_path(check.prefix), ["tokens"])
        index = encode_index(table.column("tokens").to_numpy(), manifest.dtype)
    except (TableError, ShardError):
        return None
    return index if hashlib.sha256(index).hexdigest() == check.shard.idx_sha256 else None


def _add_idx_damage(check: ShardCheck, found: FileDigest, wanted: bytes | None) -> None:
    """`wanted`: the sound index, if it could be made again."""
    stored = np.fromfile(idx_path(check.prefix), np.uint8)
    if wanted is None or stored.size != len(wanted):
        _add_damage(check, ".idx", found, check.shard.idx_bytes)
        return
    check.found[".idx"] = found.sha256
    offset_bytes = int(np.argmax(stored != np.frombuffer(wanted, np.uint8)))
    check.add(".idx", "the index is damaged from here on", offset_bytes // BLOCK_BYTES, offset_bytes)


def _check_reader(check: ShardCheck, manifest: Manifest) -> None:
    """Header and sizes as every reader sees them."""
    try:
        reader = ShardReader(check.prefix)
    except ShardError as error:
        # Sizes are right, so it is the header or the last entry of the index.
        check.add(".idx", error.what)
        return
    except OSError as error:
        check.add(".idx", f"the file cannot be read: {error.strerror}")
        return
    if reader.dtype.name != manifest.dtype:
        check.add(".idx", f"the tokens are {reader.dtype}; the manifest says {manifest.dtype}")
    if (reader.num_documents, reader.num_tokens) != (check.shard.documents, check.shard.tokens):
        check.add(
            ".idx",
            f"{reader.num_documents:,} documents with {reader.num_tokens:,} tokens; the manifest says "
            f"{check.shard.documents:,} with {check.shard.tokens:,}",
        )


def _check_first_key(check: ShardCheck) -> None:
    suffix = ".documents.parquet"
    if not os.path.isfile(table_path(check.prefix)):
        return  # reported with the sizes
    try:
        key, documents = first_key(table_path(check.prefix))
    except TableError as error:
        check.add(suffix, error.what)
        return
    if (key, documents) != (check.shard.first_key, check.shard.documents):
        check.found[suffix] = f"{documents} documents from {key}"
        check.add(
            suffix,
            f"{documents:,} documents from key {key or 'none'}; the manifest says {check.shard.documents:,} "
            f"from key {check.shard.first_key or 'none'}",
        )


def _check_table(check: ShardCheck, manifest: Manifest) -> None:
    """Whether the table, the index and the tokens of an undamaged shard say the same."""
    suffix = ".documents.parquet"
    reader = ShardReader(check.prefix)
    try:
        table = read_document_table(table_path(check.prefix))
        offsets, lengths = reader.offsets, reader.lengths
    except (TableError, ShardError) as error:
        check.add(suffix if isinstance(error, TableError) else ".idx", error.what)
        return
    if table.num_rows != check.shard.documents:
        check.add(suffix, f"{table.num_rows:,} documents; the manifest says {check.shard.documents:,}")
        return
    for column, wanted in (("token_start", offsets[:-1]), ("tokens", lengths)):
        _add_first_difference(check, column, table.column(column).to_numpy(), wanted)
    text_bytes = int(table.column("text_bytes").to_numpy().sum())
    if text_bytes != check.shard.text_bytes:
        check.add(suffix, f"{text_bytes:,} bytes of text; the manifest says {check.shard.text_bytes:,}")
    if (table.column("cluster_size").to_numpy() < 0).any():
        check.add(suffix, "a cluster_size below 0")
    sources = set(table.column("source").unique().to_pylist())
    if sources - {check.shard.source}:
        check.add(suffix, f"documents of {', '.join(sorted(sources))} in a shard of {check.shard.source}")
    keys: list[bytes] = table.column("key").to_pylist()
    if keys:
        check.last_key = keys[-1].hex()
        if keys[0].hex() != check.shard.first_key:
            check.add(suffix, f"the first key is {keys[0].hex()}, not {check.shard.first_key}")
        if keys != sorted(keys):
            check.add(suffix, "the keys of the documents do not ascend")
    tokenizer = manifest.tokenizer
    if tokenizer.prepend_bos and tokenizer.bos_id is not None:
        _add_wrong_tokens(check, reader, offsets[:-1], tokenizer.bos_id, "start with the begin-of-text token")
    if tokenizer.append_eos and tokenizer.eos_id is not None:
        _add_wrong_tokens(check, reader, offsets[1:] - 1, tokenizer.eos_id, "end with the end-of-text token")


def _add_wrong_tokens(
    check: ShardCheck, reader: ShardReader, places: npt.NDArray[np.int64], wanted: int, what: str
) -> None:
    """`places`: of each document, the token that `wanted` should be."""
    without = np.flatnonzero(reader.tokens[places] != wanted)
    if without.size:
        offset_bytes = int(places[without[0]]) * reader.dtype.itemsize
        check.add(
            ".bin",
            f"{without.size:,} documents do not {what} {wanted}, first document {without[0]:,}",
            offset_bytes // BLOCK_BYTES,
            offset_bytes,
        )


def _add_first_difference(
    check: ShardCheck, column: str, found: npt.NDArray[np.integer], wanted: npt.NDArray[np.integer]
) -> None:
    different = np.flatnonzero(found != wanted)
    if different.size:
        row = int(different[0])
        check.add(
            ".documents.parquet",
            f"document {row:,} has {column} {found[row]:,}; the index says {wanted[row]:,}",
        )

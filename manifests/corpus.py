"""An opened corpus: its manifest, its shards, and readers for them.

Opening reads the manifest and the list of shards and checks that they belong together; no shard is touched.
Shards open when they are first asked for, are compared with their description then, and the least recently
used are closed again, since every open one costs a map and a file descriptor.
"""

from __future__ import annotations

import resource
import threading
from collections import OrderedDict
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from manifests.consistency import inconsistencies
from manifests.fingerprint import digest_file
from manifests.lists import Shard, ShardPacking, read_packing_list, read_shard_list
from manifests.manifest import Manifest, ManifestError, load_manifest, manifest_path
from manifests.packing import Packing, PackingError, open_packing, packing_path
from manifests.packings import packing_inconsistencies
from manifests.shard import ShardError, ShardReader, bin_path, idx_path

MAX_OPEN_SHARDS = 1024

StrPath = str | PathLike[str]


class Corpus:
    """One version of a corpus on a local disk. Thread-safe; crosses process borders as its path.

    manifest  what it is
    shards    every shard, in the order (source, subset, index)
    folder    where the manifest and all its files are
    """

    def __init__(self, manifest: Manifest, shards: Iterable[Shard], folder: StrPath) -> None:
        self.manifest = manifest
        self.shards = tuple(shards)
        self.folder = Path(folder)
        self._groups: dict[tuple[str, str], list[Shard]] = {}
        for shard in self.shards:
            self._groups.setdefault((shard.source, shard.subset), []).append(shard)
        self._readers: OrderedDict[str, ShardReader] = OrderedDict()
        self._lists: dict[int, dict[str, ShardPacking]] = {}
        self._packings: OrderedDict[tuple[str, int], Packing] = OrderedDict()
        self._compared: set[tuple[str, int]] = set()  # packings, with the digests of their list
        self._max_open = max_open_shards()
        self._lock = threading.Lock()

    def shards_of(self, source: str, subset: str) -> tuple[Shard, ...]:
        """Return the shards of one subset of a source, by index. Raises ManifestError."""
        if source not in self.manifest.sources:
            raise ManifestError(
                f"the corpus {self.manifest.corpus} has no source {source}; "
                f"it has {', '.join(self.manifest.sources)}",
                where=str(self.folder),
            )
        return tuple(self._groups.get((source, subset), ()))

    def num_tokens(self, source: str, subset: str) -> int:
        """Return the tokens of one subset of a source, from the manifest's list of shards."""
        return sum(shard.tokens for shard in self.shards_of(source, subset))

    def prefix(self, shard: Shard) -> Path:
        """Return the path of a shard's files without their suffixes."""
        return self.folder / shard.name

    def reader(self, shard: Shard) -> ShardReader:
        """Return the reader of a shard, opening it if need be.

        At the first opening, sizes, counts, dtype and both ends of two documents are compared with the
        manifest. Raises ShardError.
        """
        with self._lock:
            reader = self._readers.get(shard.name)
            if reader is None:
                reader = self._open(shard)
                self._readers[shard.name] = reader
                if len(self._readers) > self._max_open:
                    # Who still holds the reader, or a view of its tokens, keeps the map alive.
                    self._readers.popitem(last=False)
            self._readers.move_to_end(shard.name)
            return reader

    def packings(self, sequence_length: int) -> dict[str, ShardPacking]:
        """Return what is listed of the packings for rows of this length, by name of the shard.

        Raises ManifestError when the corpus has none, saying for which lengths it has, or when the list is
        damaged or does not fit the manifest.
        """
        with self._lock:
            if sequence_length not in self._lists:
                self._lists[sequence_length] = self._read_packings(sequence_length)
            return self._lists[sequence_length]

    def packing(self, shard: Shard, sequence_length: int) -> Packing:
        """Return the packing of a shard, mapped if need be: the most recently used stay so.

        At the first opening it is compared with the digest in the list: it is short, all of it is used, and a
        row of another shard would look like a true one. Raises ManifestError, PackingError.
        """
        listed = self.packings(sequence_length)[shard.name]
        place = shard.name, sequence_length
        with self._lock:
            packing = self._packings.get(place)
            if packing is None:
                packing = self._open_packing(shard, sequence_length, listed)
                self._compared.add(place)
                self._packings[place] = packing
                if len(self._packings) > self._max_open:
                    self._packings.popitem(last=False)
            self._packings.move_to_end(place)
            return packing

    def check_sizes(self, shards: Iterable[Shard] | None = None) -> None:
        """Compare the sizes of the files of some shards, or all, with the manifest. Raises ShardError.

        Two system calls a shard: what a start can afford. `verify` reads the content.
        """
        for shard in self.shards if shards is None else shards:
            self._check_size(bin_path(self.prefix(shard)), shard.bin_bytes)
            self._check_size(idx_path(self.prefix(shard)), shard.idx_bytes)

    def check_packing_sizes(self, sequence_length: int, shards: Iterable[Shard]) -> None:
        """Compare the sizes of the packings of some shards with their list. Raises ManifestError,
        ShardError."""
        listed = self.packings(sequence_length)
        for shard in shards:
            path = packing_path(self.prefix(shard), sequence_length)
            self._check_size(path, listed[shard.name].file_bytes)

    def _check_size(self, path: Path, wanted_bytes: int) -> None:
        try:
            size_bytes = path.stat().st_size if path.is_file() else None
        except OSError as error:
            raise self._mismatch(f"the file cannot be read: {error.strerror}", path) from error
        if size_bytes != wanted_bytes:
            found = "is missing" if size_bytes is None else f"has {size_bytes:,} bytes"
            raise self._mismatch(f"the file {found}; the manifest says {wanted_bytes:,} bytes", path)

    def _open_packing(self, shard: Shard, sequence_length: int, listed: ShardPacking) -> Packing:
        path = packing_path(self.prefix(shard), sequence_length)
        hint = f"dataprep verify {self.folder}"
        try:
            packing = open_packing(path)
            found = packing.sequence_length, packing.num_rows, len(packing.start)
            same = found == (sequence_length, listed.rows, listed.pieces)
            if same and (shard.name, sequence_length) not in self._compared:
                same = digest_file(path).sha256 == listed.file_sha256
        except PackingError as error:
            raise PackingError(error.what, where=error.where, hint=hint) from error
        except OSError as error:
            what = f"the packing cannot be read: {error.strerror}"
            raise PackingError(what, where=str(path), hint=hint) from error
        if not same:
            raise PackingError("it is not the packing that is listed", where=str(path), hint=hint)
        return packing

    def _read_packings(self, sequence_length: int) -> dict[str, ShardPacking]:
        parts = {part.sequence_length: part for part in self.manifest.packings}
        part = parts.get(sequence_length)
        if part is None:
            has = f"it has some for {', '.join(map(str, parts))}" if parts else "it has none"
            raise ManifestError(
                f"the corpus {self.manifest.corpus} has no packing for rows of {sequence_length} tokens; "
                f"{has}",
                where=str(self.folder),
                hint="shards: {pack: best_fit, sequence_lengths: [...]} in its recipe, or dataprep pack",
            )
        path = self.folder / part.file
        hint = f"dataprep verify {self.folder}"
        try:
            is_another = digest_file(path).digest != part.digest
        except FileNotFoundError:
            raise ManifestError("the list of packings is missing", where=str(path), hint=hint) from None
        except OSError as error:
            what = f"the list of packings cannot be read: {error.strerror}"
            raise ManifestError(what, where=str(path), hint=hint) from error
        if is_another:
            what = "the list of packings is not the one that the manifest was written with"
            raise ManifestError(what, where=str(path), hint=hint)
        rows = read_packing_list(path)
        problems = list(packing_inconsistencies(part, self.shards, rows))
        if problems:
            what = "the list of packings and the manifest do not agree:\n" + "\n".join(problems)
            raise ManifestError(what, where=str(path), hint=hint)
        return {row.shard: row for row in rows}

    def _open(self, shard: Shard) -> ShardReader:
        self.check_sizes([shard])
        reader = ShardReader(self.prefix(shard))
        for name, found, wanted in (
            ("dtype", reader.dtype.name, self.manifest.dtype),
            ("tokens", reader.num_tokens, shard.tokens),
            ("documents", reader.num_documents, shard.documents),
        ):
            if found != wanted:
                raise self._mismatch(
                    f"the shard has {name} {found}; the manifest says {wanted}", idx_path(self.prefix(shard))
                )
        self._probe_ends(shard, reader)
        return reader

    def _probe_ends(self, shard: Shard, reader: ShardReader) -> None:
        """Whether the first and the last document are framed as the manifest says; `verify` looks at all."""
        tokenizer = self.manifest.tokenizer
        if not (tokenizer.prepend_bos or tokenizer.append_eos) or not reader.num_documents:
            return
        for index in (0, reader.num_documents - 1):
            tokens = reader.document(index)
            for is_asked, at, wanted, what, policy in (
                (tokenizer.prepend_bos, 0, tokenizer.bos_id, "start with the begin-of-text", "prepend_bos"),
                (tokenizer.append_eos, -1, tokenizer.eos_id, "end with the end-of-text", "append_eos"),
            ):
                if is_asked and (not tokens.size or int(tokens[at]) != wanted):
                    raise self._mismatch(
                        f"document {index:,} does not {what} token {wanted}, as the manifest says ({policy})",
                        bin_path(self.prefix(shard)),
                    )

    def _mismatch(self, what: str, path: Path) -> ShardError:
        return ShardError(what, where=str(path), hint=f"dataprep verify {self.folder}")

    def __reduce__(self) -> tuple[object, ...]:
        return (Corpus, (self.manifest, self.shards, self.folder))


def open_corpus(path: StrPath) -> Corpus:
    """Open a corpus, given its folder or its `manifest.json`. Raises ManifestError, TableError.

    Checks the digests of the manifest and of its list of shards, and that both add up.
    """
    file = manifest_path(path)
    manifest = load_manifest(file)
    shards_path = file.parent / manifest.shards_file
    try:
        found = digest_file(shards_path).digest
    except FileNotFoundError:
        raise ManifestError("the list of shards is missing", where=str(shards_path)) from None
    except OSError as error:
        what = f"the list of shards cannot be read: {error.strerror}"
        raise ManifestError(what, where=str(shards_path)) from error
    if found != manifest.shards_digest:
        raise ManifestError(
            "the list of shards is not the one that the manifest was written with",
            where=str(shards_path),
            hint=f"dataprep verify {file.parent}",
        )
    shards = read_shard_list(shards_path)
    problems = inconsistencies(manifest, shards)
    if problems:
        raise ManifestError(
            "the manifest and its shards do not agree:\n" + "\n".join(problems), where=str(file)
        )
    return Corpus(manifest, shards, file.parent)


def max_open_shards() -> int:
    """Return how many shards may be open at once: 1,024, or half of the files this process may open."""
    soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft_limit == resource.RLIM_INFINITY:
        return MAX_OPEN_SHARDS
    return max(1, min(MAX_OPEN_SHARDS, soft_limit // 2))

"""One index for all workers of a machine: made by whoever needs it first, kept as a file under a key of all
that it depends on, and mapped by everyone.

The folder is HEADRACE_EVALS, or headrace/evals in the user's cache folder. What lies there may be deleted at
any time. Two workers that make the same index at once write the same bytes.
"""

from __future__ import annotations

import os
import tempfile
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from dataprep.evals.definitions import PPM, Definition
from dataprep.evals.index import (
    INDEX_VERSION,
    EvalIndex,
    build_index,
    definition_values,
    open_index,
    save_index,
)
from dataprep.evals.sets import EvalFile, read_set
from manifests.errors import UserError
from manifests.fingerprint import canonical_json, digest_bytes, digest_file


def index_key(files: Sequence[EvalFile], definition: Definition) -> str:
    """A digest of all that the index of the files depends on."""
    sets = [
        [
            file.name,
            file_digest(file.path),
            None if file.fields is None else file.fields.model_dump(mode="json"),
            ppm_of(file.share),
        ]
        for file in files
    ]
    values = [INDEX_VERSION, unicodedata.unidata_version, definition_values(definition), sets]
    return digest_bytes(canonical_json(values))


def ppm_of(share: float | None) -> int | None:
    """A share in whole millionths."""
    return None if share is None else round(share * PPM)


def file_digest(path: str) -> str:
    """Digest of the bytes of a file, read again only when its size or time changes."""
    try:
        stat = os.stat(path)
        return _digest(path, stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        hint = "paths count from the current folder, as on any command line"
        raise UserError(f"cannot read an evaluation set: {error.strerror}", where=path, hint=hint) from error


@lru_cache(maxsize=1024)
def _digest(path: str, size_bytes: int, mtime_ns: int) -> str:
    return digest_file(path).digest


def shared_index(files: Sequence[EvalFile], definition: Definition) -> EvalIndex:
    """The index of the files, mapped from its file, which is made if it is not there. Raises UserError where
    a file cannot be used."""
    key = index_key(files, definition)
    path = index_folder() / f"{key.rpartition(':')[2]}.index"
    return _index(path, tuple(files), definition)


@lru_cache(maxsize=4)  # each batch asks for it
def _index(path: Path, files: tuple[EvalFile, ...], definition: Definition) -> EvalIndex:
    if not path.is_file():
        index = build_index(
            [read_set(file) for file in files], definition, [ppm_of(file.share) for file in files]
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".making-")
        os.close(handle)
        save_index(index, Path(name))
        os.replace(name, path)
    return open_index(path)


def index_folder() -> Path:
    """Where indexes are kept."""
    own = os.environ.get("HEADRACE_EVALS")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace" / "evals"

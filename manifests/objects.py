"""The few things that publishing asks of an object store, over fsspec: list, size, read, upload, create.

Whatever a driver raises becomes a UserError that says what was tried and where; a missing object is None or
an empty list. Nothing is kept: every look asks the store again, since others may have written in between.

`create` is what a name depends on: of two that create one object, one succeeds. fsspec calls this
`pipe_file(mode="create")`. What it does differs by driver and by server:

    s3, gs, az      one conditional request (If-None-Match: *, ifGenerationMatch=0), judged by the server
    memory          open(mode="xb")
    the default     looks first and then overwrites, which is no protection; refused by `check_exclusive`
    older drivers, and servers that ignore the condition, overwrite; `check_exclusive` tries it out
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from manifests.errors import UserError
from manifests.files import TEMPORARY_PREFIX

CHUNK_BYTES = 16 << 20
"""Objects are read in ranges of this size, each one request."""

PROBE_NAME = f"{TEMPORARY_PREFIX}exclusive"
"""An empty object that shows whether a second one of its name is refused."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(::[A-Za-z][A-Za-z0-9+.-]*)*://")
_EXTRAS = {"s3": "s3", "s3a": "s3"}
"""Protocols whose driver an extra of this package brings."""


def is_url(root: str | PathLike[str]) -> bool:
    """Whether this is a URL and not a path."""
    return _URL.match(fspath(root)) is not None


def folder_of(root: str | PathLike[str]) -> Path | None:
    """Return the folder that a path names, or a URL such as file:///data; None for all other URLs.

    Raises UserError for no path at all, which would be the current folder, and for file:// and two slashes
    only: what follows them is the name of a machine.
    """
    text = fspath(root)
    if not text:
        raise UserError("the path of a folder is empty", hint="give a folder, or . for the current one")
    found = _URL.match(text)
    if found is None:
        return Path(text)
    path = text[found.end() :]
    if found[0] == "file://":
        if path.startswith("localhost/"):
            path = path.removeprefix("localhost")
        if not path.startswith("/"):
            what = "this URL names no folder of this machine"
            raise UserError(what, where=text, hint=f"file:///{path}, with three slashes, or a path")
        return Path(path)
    return Path(path) if found[0] == "local://" else None


class Objects:
    """The objects below a URL, by their paths relative to it. Thread-safe as far as the driver is."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/") if not url.endswith("://") else url
        protocol = url.partition("://")[0].partition("::")[0]
        self._files, self._root = _driver(protocol, self.url)

    def place(self, path: str) -> str:
        """Return the whole URL of an object."""
        return f"{self.url}/{path}" if path else self.url

    def entries(self, path: str) -> tuple[list[str], list[str]]:
        """Return the names of the folders and of the objects directly below `path`, sorted."""
        folder = self._whole(path)
        with self._explained("cannot list", path):
            self._files.invalidate_cache()
            try:
                entries = self._files.ls(folder, detail=True)
            except (FileNotFoundError, NotADirectoryError):
                entries = []
        begin = folder.strip("/") + "/"
        found: dict[bool, set[str]] = {True: set(), False: set()}
        for entry in entries:
            name = entry["name"].strip("/").removeprefix(begin)
            if name and "/" not in name:  # some list the folder itself too
                found[entry["type"] == "directory"].add(name)
        return sorted(found[True]), sorted(found[False])

    def size(self, path: str) -> int | None:
        """Return the size of an object in bytes; None when there is none."""
        with self._explained("cannot look at", path):
            self._files.invalidate_cache()
            try:
                found = self._files.info(self._whole(path))
            except FileNotFoundError:
                return None
            return None if found["type"] == "directory" else int(found["size"])

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the content of an object in pieces; nothing when there is none."""
        size = self.size(path) or 0
        for start in range(0, size, CHUNK_BYTES):
            with self._explained("cannot read", path):
                piece = self._files.cat_file(
                    self._whole(path), start=start, end=min(size, start + CHUNK_BYTES)
                )
            yield piece

    def upload(self, path: str, source: Path) -> None:
        """Make an object the content of a local file, replacing what was there."""
        with self._explained("cannot write", path):
            self._files.put_file(str(source), self._whole(path))

    def create(self, path: str, data: bytes) -> None:
        """Make an object that is not there yet. Raises FileExistsError when it is."""
        with self._explained("cannot write", path):
            try:
                self._files.pipe_file(self._whole(path), data, mode="create")
                return
            except FileExistsError:
                pass
        raise FileExistsError(self.place(path))

    def check_exclusive(self) -> None:
        """Raise UserError unless this store refuses a second object of one name."""
        from fsspec import AbstractFileSystem

        # Of the instance: drivers that work asynchronously put their methods there.
        if getattr(self._files.pipe_file, "__func__", None) is not AbstractFileSystem.pipe_file:
            for _ in range(2):
                try:
                    self.create(PROBE_NAME, b"")
                except FileExistsError:
                    return
        raise UserError(
            "this store cannot create an object only where there is none, so a version could be overwritten",
            where=self.url,
            hint="publish to a folder, or to a store that can, such as S3, with a driver of 2024.12 or newer",
        )

    def _whole(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    @contextmanager
    def _explained(self, what: str, path: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # drivers raise what their libraries do, with no base in common
            text = str(error) or type(error).__name__
            lasting = isinstance(error, FileNotFoundError | PermissionError)
            hint = None if lasting else "if this passes, run the same command again: what is done stays done"
            raise UserError(f"{what}: {text}", where=self.place(path), hint=hint) from error


def _driver(protocol: str, url: str) -> tuple[Any, str]:
    """The fsspec file system of a URL, and the path in it. Raises UserError."""
    import fsspec
    from fsspec.core import url_to_fs

    try:
        fsspec.get_filesystem_class(protocol)
    except ValueError as error:
        what = f"no storage has URLs that begin with {protocol}://"
        raise UserError(what, where=url, hint="a folder, or s3://, gs://, az://") from error
    except ImportError as error:
        extra = _EXTRAS.get(protocol)
        hint = f"pip install 'headrace[{extra}]'" if extra else str(error)
        what = f"{protocol}:// needs a package that is not installed"
        raise UserError(what, where=url, hint=hint) from error
    try:
        files, path = url_to_fs(url)
    except Exception as error:  # as above
        raise UserError(f"cannot open this store: {error or type(error).__name__}", where=url) from error
    return files, files._strip_protocol(path).rstrip("/")

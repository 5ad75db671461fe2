"""Lists of sites and of words, from a recipe and from files, for `url_blocklist`.

A list is a file in one of the usual forms, or a folder with files `domains` and `urls`, as the blacklists of
the University of Toulouse come; each may be compressed. What is kept is 8 bytes an entry and never the list.
Which line means what is in docs/reference/statistics.md, how URLs meet entries in `dataprep/kernels/urls.py`.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from urllib.parse import unquote

import numpy as np

from dataprep.kernels.texts import Texts
from dataprep.kernels.url_entries import entry_keys
from dataprep.kernels.urls import Index, Keys, indexed, is_odd
from dataprep.readers.decompress import UTF8_MARK, DamagedFile, read_pieces
from dataprep.readers.listing import InputFile
from dataprep.steps.listed import ListFile, digest_list, list_file
from manifests.errors import UserError

Table = tuple[Keys, Index]
BLOCK_BYTES = 1 << 24
FOLDER_FILES = ("domains", "urls")
SUFFIXES = ("", ".gz", ".zst", ".bz2", ".xz")


def files_of(lists: Sequence[str]) -> list[ListFile]:
    """The files behind the paths of a recipe. Raises UserError where there is none to read."""
    found = []
    for path in lists:
        inside = [path]
        if os.path.isdir(path):
            names = [name + suffix for name in FOLDER_FILES for suffix in SUFFIXES]
            inside = [each for name in names if os.path.isfile(each := os.path.join(path, name))]
            if not inside:
                raise UserError("a folder of lists holds a file domains or urls, or both", where=path)
        found += [list_file(each) for each in inside]
    return found


def digest_of(lists: Sequence[str]) -> str:
    """Digests of the files, in order."""
    return " ".join(digest_list(file.path) for file in files_of(lists))


@lru_cache(maxsize=4)  # every split asks for the same lists
def site_tables(sites: tuple[str, ...], files: tuple[ListFile, ...]) -> tuple[Table, Table]:
    """Tables of domains and of pages."""
    domains, pages = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)]
    for where, line, block in _blocks_of_all(sites, files):
        new_domains, new_pages = _keys(block, where, line)
        domains.append(new_domains)
        pages.append(new_pages)
    return indexed(np.concatenate(domains)), indexed(np.concatenate(pages))


@lru_cache(maxsize=16)
def words_of(words: tuple[str, ...], files: tuple[ListFile, ...]) -> tuple[str, ...]:
    """Words in lower case without all but ASCII letters and digits, in order, each once."""
    found = set()
    for word, where in [*((word, None) for word in words), *_lines(files)]:
        letters = re.sub("[^a-z0-9]", "", word.lower())
        if not letters:
            raise UserError(f'"{word}" has no ASCII letter or digit, as words in URLs have', where=where)
        found.add(letters)
    return tuple(sorted(found))


def canonical(urls: Texts) -> Texts:
    """URLs with the hosts that are not ASCII in the form in which they are looked up: NFKC, lower case,
    labels as `xn--` and Punycode; percent signs decoded. The same object if there is none."""
    odd, hosts = is_odd(urls.data, urls.offsets)
    if not odd.any():
        return urls
    values = list(urls)
    for row in np.flatnonzero(odd).tolist():
        start, end = hosts[row] - urls.offsets[row]
        url = values[row]
        values[row] = url[:start] + canonical_host(url[start:end].decode()).encode() + url[end:]
    return Texts.from_bytes(values)


def canonical_host(host: str) -> str:
    """See `canonical`. Labels become Punycode as they are, without the tables of IDNA, so that a list may
    hold either form; what is no text or would be another URL stays as it is."""
    try:
        decoded = unquote(host, errors="strict")
    except UnicodeDecodeError:
        return host
    decoded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", decoded).lower()).replace(
        "\u3002", "."
    )
    if re.search(r"[\x00-\x20/?#@\\%]", decoded):
        return host
    labels = decoded.split(".")
    return ".".join(
        label if label.isascii() else "xn--" + label.encode("punycode").decode() for label in labels
    )


def _keys(block: bytes, where: str | None, line: int) -> tuple[Keys, Keys]:
    domains, pages, odd, bad = entry_keys(np.frombuffer(block, dtype=np.uint8))
    if bad >= 0:
        entry = block[bad:].split(b"\n", 1)[0].decode(errors="replace").strip()
        number = line + block.count(b"\n", 0, bad)
        raise UserError(
            f'expected a domain, a URL, or an address and names, found "{entry[:80]}"',
            where=where and f"{where}:{number}",
            hint="filter rules of ad blockers are not read; use a list of domains or a hosts file",
        )
    if len(odd):
        try:
            entries = [block[start:end].decode() for start, end in odd.tolist()]
        except UnicodeDecodeError as error:
            raise UserError("a list is not UTF-8", where=where) from error
        plain = [entry.removeprefix("*").removeprefix(".") for entry in entries]
        ascii_now = "\n".join(canonical(Texts.from_strings(plain)).to_strings())
        more_domains, more_pages, still_odd, _ = entry_keys(np.frombuffer(ascii_now.encode(), dtype=np.uint8))
        if len(still_odd):
            raise UserError(f'no host can be made of "{entries[0][:80]}"', where=where)
        domains, pages = np.concatenate([domains, more_domains]), np.concatenate([pages, more_pages])
    return domains, pages


def _blocks_of_all(
    sites: tuple[str, ...], files: tuple[ListFile, ...]
) -> Iterator[tuple[str | None, int, bytes]]:
    """(path, number of the first line, whole lines) of everything."""
    if sites:
        yield None, 1, "\n".join(sites).encode()
    for file in files:
        line = 1
        for block in _blocks(file):
            yield file.path, line, block
            line += block.count(b"\n")


def _blocks(file: ListFile) -> Iterator[bytes]:
    """A list file in whole lines, decompressed."""
    stored = InputFile(file.path, os.path.basename(file.path), file.size_bytes, file.mtime_ns)
    pieces: list[bytes] = []
    size, first = 0, True
    try:
        for piece in read_pieces(stored):
            if first:
                piece, first = piece.removeprefix(UTF8_MARK), False
            pieces.append(piece)
            size += len(piece)
            if size >= BLOCK_BYTES:
                whole, separator, rest = b"".join(pieces).rpartition(b"\n")
                if separator:
                    yield whole + separator
                pieces = [rest]
                size = len(rest)
    except DamagedFile as damage:
        raise UserError(f"a list cannot be read: {damage}", where=file.path) from damage
    if size:
        yield b"".join(pieces)


def _lines(files: tuple[ListFile, ...]) -> Iterator[tuple[str, str]]:
    """(word, file and line) of files of words: one a line, `#` begins a comment line."""
    for file in files:
        try:
            text = b"".join(_blocks(file)).decode()
        except UnicodeDecodeError as error:
            raise UserError("a list is not UTF-8", where=file.path) from error
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip() and not line.startswith("#"):
                yield line.strip(), f"{file.path}:{number}"

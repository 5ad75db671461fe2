"""Text in another character set than UTF-8, decoded on the way in: what comes out of here is UTF-8.

Any of Python's codecs that is a character set will do. What is not of the named set is not repaired: in its
place stand bytes that are no UTF-8, so that the record around them is refused and the next one is read.
Nothing is guessed: neither the set nor, in UTF-16 and UTF-32, the order of bytes.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

from dataprep.readers.decompress import DamagedFile

UTF8 = "utf-8"
_OTHER_TEXT_CODECS = frozenset(
    [
        "charmap",
        "idna",
        "mbcs",
        "oem",
        "punycode",
        "raw-unicode-escape",
        "undefined",
        "unicode-escape",
        "utf-7",
    ]
)
_NO_CHARACTER = "\udcff"  # half of a pair: no decoder of a character set gives it, and no UTF-8 holds it
_BYTE_ORDER_MARKS = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}


def character_set(name: str) -> str:
    """The one name of a character set that has many ("latin-1", "L1"). Raises ValueError for what is none."""
    try:
        codec = codecs.lookup(name)
        " ".encode(name)  # refuses codecs from bytes to bytes, such as "hex"
    except (LookupError, ValueError):
        codec = None
    if codec is None or codec.name.replace("_", "-") in _OTHER_TEXT_CODECS:
        known = "utf-8, utf-16, latin-1, cp1252, shift_jis, gb18030, euc-kr, koi8-r and the like"
        raise ValueError(f'"{name}" is no character set that Python knows ({known})')
    return UTF8 if codec.name == "utf-8-sig" else codec.name


def transcoded(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Pieces of text in a character set as pieces of UTF-8, as they are where that is UTF-8 already.

    Raises DamagedFile for UTF-16 and UTF-32 without a byte order mark.
    """
    if encoding == UTF8:
        yield from pieces
        return
    codecs.register_error("headrace.mark", _mark)
    decoder = codecs.getincrementaldecoder(encoding)("headrace.mark")
    head: bytes | None = b""  # until there is enough of it
    for piece in pieces:
        if head is not None:
            piece = head = head + piece
            if len(head) < 4:
                continue
            _check_order(head, encoding)
            head = None
        if text := decoder.decode(piece):
            yield text.encode("utf-8", "surrogatepass")
    if head:
        _check_order(head, encoding)
    if text := decoder.decode(head or b"", final=True):
        yield text.encode("utf-8", "surrogatepass")


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return _NO_CHARACTER, error.end


def _check_order(head: bytes, encoding: str) -> None:
    if encoding in _BYTE_ORDER_MARKS and not head.startswith(_BYTE_ORDER_MARKS[encoding]):
        detail = f"no byte order mark; say encoding: {encoding}-le or {encoding}-be"
        raise DamagedFile("invalid_encoding", detail, None)

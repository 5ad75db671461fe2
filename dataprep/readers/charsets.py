"""Bytes of a web page to text: which character set, and what could not be decoded, counted.

In this order, the first that decodes every byte wins:

1. a byte order mark (UTF-8, UTF-16), which is final;
2. the character set of the HTTP header, then that of the page's own <meta> or XML declaration. Where such a
   label names a single-byte set, in which any bytes mean something, but the bytes are UTF-8 and not ASCII,
   they are UTF-8: mislabelled pages are common, and text of another set that happens to be UTF-8 is not;
3. UTF-8, but ISO-2022-JP where there are its escapes and all bytes are ASCII;
4. UTF-8 with errors, if at most one in ten of its characters beyond ASCII is one: a page that was cut inside
   a character, or that holds a broken part, would else be taken for another set as a whole;
5. what `resiliparse` detects.

If none does, the first of them is used (Windows-1252 where there is no label and nothing was detected), and
each byte that it cannot decode becomes U+FFFD; `Decoded.replaced` says how many. Labels are read as browsers
read them (WHATWG Encoding Standard): ISO-8859-1 and ASCII mean Windows-1252, GB2312 means GB18030, Shift_JIS
means Windows-31J, and so on. UTF-7 and names that are no character sets count as no label.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from manifests.errors import UserError

HEAD_BYTES = 1 << 13  # of a page, in which its own declaration is looked for
_DETECT_BYTES = 1 << 17

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_XML = re.compile(rb"""<\?xml[^>]{0,1000}?encoding\s*=\s*["']([^"'>]{1,40})["']""")
_TAG = re.compile(
    rb"""<!--.*?-->|<([a-z]+)(?=[\s/>])((?:[^>"']++|"[^"]*"|'[^']*')*+)>""", re.IGNORECASE | re.DOTALL
)
_ATTRIBUTE = re.compile(rb"""([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?""")
_IN_CONTENT = re.compile(rb"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))""", re.IGNORECASE)

# resiliparse's names of the standard's encodings -> Python's codec that is nearest to the standard's table.
_CODECS = {
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-11": "cp874",
}
_MORE_LABELS = {
    "cp949": "cp949",
    "x-mac-cyrillic": "mac_cyrillic",
    "x-user-defined": "cp1252",
    "hz-gb-2312": "hz",
    "hz": "hz",
    "iso-2022-kr": "iso2022_kr",
}
_MULTI_BYTE = ("utf-", "gb", "cp932", "cp949", "big5", "euc", "iso2022", "hz")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text, the codec that made it, and how many characters of it stand for bytes that could not be
    decoded."""

    text: str
    charset: str
    replaced: int = 0


def depends() -> dict[str, str]:
    """The version of the detector. UserError where it is not installed."""
    try:
        return {"resiliparse": version("resiliparse")}
    except PackageNotFoundError as error:
        hint = "pip install 'headrace[warc]'"
        raise UserError("reading web pages needs the package resiliparse", hint=hint) from error


def decode(data: bytes, label: str | None = None, is_html: bool = True) -> Decoded:
    """The text of `data`; `label` is what its transport says."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], codec) or _replaced(data[len(mark) :], codec)
    codecs = []
    for codec in _codecs(data, label, is_html):
        if not codec.startswith(_MULTI_BYTE) and (found := _utf8_beyond_ascii(data)):
            return found
        if found := _decoded(data, codec):
            return found
        codecs.append(codec)
    if data.isascii() and (b"\x1b$B" in data or b"\x1b$@" in data):
        return _decoded(data, "iso2022_jp") or _replaced(data, "iso2022_jp")
    if found := _decoded(data, "utf-8") or _mostly_utf8(data):
        return found
    codecs.append(_detected(data))
    return _decoded(data, codecs[-1]) or _replaced(data, codecs[0])


def _codecs(data: bytes, label: str | None, is_html: bool) -> Iterator[str]:
    """Of the transport's label, and then of the page's own, which is looked for only if that is asked
    for."""
    if label and (codec := codec_of(label)):
        yield codec
    if is_html and (codec := declared(data[:HEAD_BYTES])):
        yield codec


def charset_label(content_type: str) -> str | None:
    """The charset parameter of a media type."""
    found = _IN_CONTENT.search(content_type.encode("utf-8", "replace"))
    return None if found is None else (found[1] or found[2] or found[3] or b"").decode("utf-8", "replace")


@functools.lru_cache(maxsize=1024)
def codec_of(label: str) -> str | None:
    """Python's codec for a label, None for one that names no character set of the web."""
    from resiliparse.parse.encoding import map_encoding_to_html5

    label = label.strip(" \t\r\n\f").lower()
    if label in _MORE_LABELS:
        return _MORE_LABELS[label]
    name = map_encoding_to_html5(label, False)
    return None if name is None else _CODECS.get(name, name)


def declared(head: bytes) -> str | None:
    """The codec of the first label that a page gives itself at its beginning and that names a character set.
    UTF-16 there is wrong by its very reading, and means UTF-8."""
    for label in _labels(head):
        if codec := codec_of(label.decode("latin-1")):
            return "utf-8" if codec.startswith("utf-16") else codec
    return None


def _labels(head: bytes) -> Iterator[bytes]:
    if found := _XML.match(head.lstrip()):
        yield found[1]
    for tag in _TAG.finditer(head):
        if (tag[1] or b"").lower() != b"meta":
            continue
        values: dict[bytes, bytes] = {}
        for found in _ATTRIBUTE.finditer(tag[2]):
            values.setdefault(found[1].lower(), found[2] or found[3] or found[4] or b"")
        if b"charset" in values:
            yield values[b"charset"]
        elif values.get(b"http-equiv", b"").lower() == b"content-type":
            content = _IN_CONTENT.search(values.get(b"content", b""))
            yield b"" if content is None else content[1] or content[2] or content[3] or b""


def _decoded(data: bytes, codec: str) -> Decoded | None:
    """Every byte, or None."""
    try:
        return Decoded(data.decode(codec), codec)
    except UnicodeDecodeError:
        pass
    if codec == "cp1252":  # the standard's table has no holes: these five are control characters
        return Decoded(data.decode("latin-1").translate(_WINDOWS_1252), codec)
    return None


_HOLES = (0x81, 0x8D, 0x8F, 0x90, 0x9D)
_WINDOWS_1252: Mapping[int, str] = {
    byte: bytes([byte]).decode("cp1252") for byte in range(0x80, 0xA0) if byte not in _HOLES
}


def _replaced(data: bytes, codec: str) -> Decoded:
    text = data.decode(codec, "replace")
    genuine = "\ufffd".encode(codec, "ignore") if codec.startswith(("utf-", "gb")) else b""
    return Decoded(text, codec, text.count("\ufffd") - (data.count(genuine) if genuine else 0))


def _utf8_beyond_ascii(data: bytes) -> Decoded | None:
    return None if data.isascii() else _decoded(data, "utf-8")


def _mostly_utf8(data: bytes) -> Decoded | None:
    found = _replaced(data, "utf-8")
    ascii_bytes = len(data) - len(data.translate(None, bytes(range(0x80))))
    good = len(found.text) - ascii_bytes - found.replaced
    return found if good >= 10 * found.replaced else None


def _detected(data: bytes) -> str:
    from resiliparse.parse.encoding import detect_encoding

    return codec_of(detect_encoding(data, _DETECT_BYTES) or "") or "cp1252"

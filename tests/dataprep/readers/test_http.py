from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dataprep.readers.http import parse_head, payload
from dataprep.readers.records import BadDocument

PAGE = b"<html>" + bytes(range(32, 127)) * 40
LIMIT = 1 << 20


def chunked(body: bytes, size: int = 100, ending: bytes = b"0\r\n\r\n") -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + ending


def raw_deflate(body: bytes) -> bytes:
    coder = zlib.compressobj(wbits=-15)
    return coder.compress(body) + coder.flush()


CODED = {
    "gzip": gzip.compress(PAGE),
    "x-gzip": gzip.compress(PAGE[:50]) + gzip.compress(PAGE[50:]),
    "deflate": zlib.compress(PAGE),
    "Deflate ": raw_deflate(PAGE),
    "br": brotli.compress(PAGE),
    "zstd": zstandard.compress(PAGE),
}


@pytest.mark.parametrize(
    ("block", "status", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", 200, b"body"),
        (b"HTTP/1.0 404 Not Found\nA: b\n\nbody", 404, b"body"),
        (b"HTTP/2 200\r\na: b\r\n\r\n", 200, b""),
        (b"HTTP/1.1 200 OK\r\nA: b", 200, b""),
    ],
)
def test_heads(block: bytes, status: int, body: bytes) -> None:
    head = parse_head(block)
    assert head is not None
    assert head.status == status and block[head.body :] == body and head.headers == {"a": "b"}


@pytest.mark.parametrize("block", [b"", b"<html>", b"ICY 200 OK\r\n\r\n", b"HTTP/1.1 2000 OK\r\n\r\n"])
def test_what_is_no_response(block: bytes) -> None:
    assert parse_head(block) is None


@pytest.mark.parametrize("coding", CODED)
def test_content_codings(coding: str) -> None:
    assert payload(CODED[coding], {"content-encoding": coding}, False, LIMIT) == PAGE
    headers = {"content-encoding": coding, "transfer-encoding": "chunked"}
    assert payload(chunked(CODED[coding]), headers, False, LIMIT) == PAGE


def test_codings_one_over_the_other() -> None:
    assert payload(brotli.compress(CODED["gzip"]), {"content-encoding": "gzip, br"}, False, LIMIT) == PAGE


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "identity", "none", "utf-8", ""])
def test_a_header_whose_coding_was_undone_already(coding: str) -> None:
    headers = {"content-encoding": coding, "transfer-encoding": "chunked"}
    assert payload(PAGE, headers, False, LIMIT) == PAGE


def test_a_body_that_is_cut_counts_only_where_the_crawler_says_so() -> None:
    for coding in ("gzip", "deflate", "br", "zstd"):
        with pytest.raises(BadDocument) as error:
            payload(CODED[coding][:-12], {"content-encoding": coding}, False, LIMIT)
        assert error.value.reason == "bad_payload"
        assert PAGE.startswith(payload(CODED[coding][:-12], {"content-encoding": coding}, True, LIMIT))
    with pytest.raises(BadDocument, match="bad_payload"):
        payload(chunked(PAGE)[:-300], {"transfer-encoding": "chunked"}, False, LIMIT)
    assert PAGE.startswith(payload(chunked(PAGE)[:-300], {"transfer-encoding": "chunked"}, True, LIMIT))
    # Without the last chunk, of length 0, nothing is missing.
    assert payload(chunked(PAGE, ending=b""), {"transfer-encoding": "chunked"}, False, LIMIT) == PAGE


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"x", {"content-encoding": "sdch"}),
        (b"\x1f\x8b\x08garbage", {"content-encoding": "gzip"}),
        (CODED["gzip"][:20] + b"\xff" + CODED["gzip"][21:], {"content-encoding": "gzip"}),
        (b"\x8fgarbage", {"content-encoding": "br"}),
        (b"3\r\nabc\r\nnonsense\r\n", {"transfer-encoding": "chunked"}),
    ],
)
def test_what_cannot_be_decoded(body: bytes, headers: dict[str, str]) -> None:
    with pytest.raises(BadDocument) as error:
        payload(body, headers, False, LIMIT)
    assert error.value.reason == "bad_payload"


def test_garbage_behind_a_gzip_member_is_left_out() -> None:
    assert payload(CODED["gzip"] + b"garbage", {"content-encoding": "gzip"}, False, LIMIT) == PAGE


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", ""])
def test_the_limit_of_bytes_holds_for_what_comes_out(coding: str) -> None:
    bomb = b"\0" * 30_000_000
    code = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "br": brotli.compress,
        "zstd": zstandard.compress,
    }
    with pytest.raises(BadDocument) as error:
        payload(code.get(coding, bytes)(bomb), {"content-encoding": coding}, False, LIMIT)
    assert error.value.reason == "too_long"


@given(st.binary(max_size=80), st.sampled_from(["gzip", "deflate", "br", "zstd", "x"]), st.booleans())
def test_any_bytes_give_a_payload_or_a_reason(body: bytes, coding: str, is_cut: bool) -> None:
    try:
        payload(body, {"content-encoding": coding, "transfer-encoding": "chunked"}, is_cut, 1000)
    except BadDocument as error:
        assert error.reason in ("bad_payload", "too_long")

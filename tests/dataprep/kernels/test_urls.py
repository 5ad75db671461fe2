from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.kernels.texts import Texts
from dataprep.kernels.url_entries import entry_keys
from dataprep.kernels.url_words import count_parts, count_words
from dataprep.kernels.urls import indexed, is_odd, site_hits
from tests.dataprep.kernels.strategies import sliced
from tests.dataprep.kernels.timing import assert_linear
from tests.reference import urls as slow

PIECES = [
    *"aB.:/?#@%-_~\\ \t[]&=*$", "http://", "HTTPS://", "//", "://", "www.", "WWW.", "a.com", "b.A.com",
    "example.org", ":80",
    "user:pw@", "/x", "/x/", "/X", "/x/y", "?q=1", "#top", "..", "xn--a", "\u00e9", "%41", "%2f", "[::1]",
    "1.2.3.4",
    "0.0.0.0 ", "::1 ", "fe80::1%lo0 ", "# ", " #", "*.", "localhost", "com", "bad", "BAD", "%62ad", "words",
    "-bad-",
]  # fmt: skip
urls = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
entries = st.one_of(
    st.sampled_from(["a.com", "com", "b.a.com", "www.example.org", "example.org/x", "http://www.a.com/x/y/",
    "a.com?q=1"]),
    urls,
)  # fmt: skip
url_lists = st.lists(urls, max_size=6)


def bytes_of(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)


@given(url_lists, st.lists(entries, max_size=4))
@example(
    ["a.com", "WWW.a.com.", "x@b.a.com:80/x", "a.com/x/y?z", "a.com/x", "a.com/x/yz"], ["www.a.com/x/y/"]
)
@example(["a.com", "www.a.com", "x.www.a.com", "x.a.com", "b.com"], ["www.a.com"])
@example(["a.com/x", "a.com", "a.com/x/"], ["a.com/x//"])
def test_hits_are_those_of_the_slow_twin(strings: list[str], lines: list[str]) -> None:
    good = []
    for line in lines:
        domains, pages, odd, bad = entry_keys(bytes_of(line))
        try:
            wanted = slow.read(line)
        except ValueError:
            assert bad >= 0
            continue
        assert bad < 0 and len(domains) + len(pages) + len(odd) >= len(wanted.domains | wanted.pages)
        if not len(odd):
            good.append(line)
    text = "\n".join(good)
    domains, pages, _, _ = entry_keys(bytes_of(text))
    texts, sites = sliced(strings), slow.read(text)
    on_domain, on_page = site_hits(texts.data, texts.offsets, indexed(domains), indexed(pages))
    assert list(zip(on_domain.tolist(), on_page.tolist(), strict=True)) == [
        slow.hits(string, sites) for string in strings
    ]


@given(url_lists)
def test_odd_hosts(strings: list[str]) -> None:
    texts = sliced(strings)
    odd, hosts = is_odd(texts.data, texts.offsets)
    for index, string in enumerate(strings):
        host, _, _ = slow.parts(string)
        start, end = hosts[index]
        assert slow.lower(texts.data[start:end].tobytes().decode()) == host
        assert odd[index] == (not host.isascii() or "%" in host)


WORDS = ["bad", "a", "com", "words", "x", "badwords", "q1"]


@given(url_lists, st.lists(st.sampled_from(WORDS), max_size=5))
@example(["http://a.com/BAD-%62%41d%20bad", "%", "%4", "%zz", "bad%"], WORDS)
def test_words_are_those_of_the_slow_twin(strings: list[str], words: list[str]) -> None:
    texts = sliced(strings)
    assert count_words(texts.data, texts.offsets, words).tolist() == [
        slow.count_words(string, words) for string in strings
    ]
    assert count_parts(texts.data, texts.offsets, words).tolist() == [
        slow.count_parts(string, words) for string in strings
    ]


@given(st.lists(st.integers(0, (1 << 64) - 1), max_size=200))
@example([])
@example([0, (1 << 64) - 1, 1 << 63] * 20)
def test_indexed(values: list[int]) -> None:
    table, index = indexed(np.array(values, dtype=np.uint64))
    assert table.tolist() == sorted(set(values))
    bits = (len(index) - 1).bit_length() - 1
    for bucket in range(len(index) - 1):
        inside = table[index[bucket] : index[bucket + 1]]
        assert all(int(value) >> (64 - bits) == bucket for value in inside)
    assert index[0] == 0 and index[-1] == len(table)


def test_no_urls() -> None:
    nothing, none = Texts.from_strings([]), indexed(np.zeros(0, dtype=np.uint64))
    assert site_hits(nothing.data, nothing.offsets, none, none)[0].tolist() == []
    assert count_words(nothing.data, nothing.offsets, ["a"]).tolist() == []
    assert count_parts(nothing.data, nothing.offsets, []).tolist() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["a", "a.", "/", "/a", "@", ":", "%61", "a.com/", "bad", "b", "?a", "[", "#", " "]
)
def test_time_is_linear(unit: str) -> None:
    tables = indexed(np.arange(1000, dtype=np.uint64)), indexed(np.arange(1000, dtype=np.uint64))
    works: dict[str, Callable[[Texts], object]] = {
        "sites": lambda texts: site_hits(texts.data, texts.offsets, *tables),
        "words": lambda texts: count_words(texts.data, texts.offsets, WORDS),
        "parts": lambda texts: count_parts(texts.data, texts.offsets, WORDS),
        "entries": lambda texts: entry_keys(texts.data),
    }
    for work in works.values():
        assert_linear(work, unit, start="http://")

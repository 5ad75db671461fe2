"""On one document of 50 MB (`tests/dataprep/large.py`), kernels agree with their slow twins: those that steps
share, or call on part of a text. The others are in `tests/dataprep/steps/test_large_document.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from datasketch import MinHash
from xxhash import xxh3_64_intdigest

from dataprep.kernels.codepoints import CodePointSet, texts_with_code_points
from dataprep.kernels.framing import line_bounds, nesting_depth, strip_lines
from dataprep.kernels.hashing import hash128, hash_normalized
from dataprep.kernels.markup import markup_counts
from dataprep.kernels.minhash import hash32, signatures
from dataprep.kernels.sentences import sentence_counts
from dataprep.kernels.shingles import Shingling, jaccard_ppm, shingle_hashes
from dataprep.kernels.split_words import find_chunks
from dataprep.kernels.texts import Texts
from dataprep.kernels.unescape import STRING, unescape
from dataprep.kernels.url_entries import entry_keys
from dataprep.kernels.url_words import count_parts, count_words
from dataprep.kernels.urls import indexed, site_hits
from dataprep.kernels.utf8 import valid_utf8
from dataprep.kernels.words import Words, find_words
from tests.dataprep.large import LARGE_BYTES, document, everywhere, part, sentences_of_document, times_of
from tests.reference import json_lines, markup, shingles, urls
from tests.reference.normalize import collapse_white_space
from tests.reference.words import words
from tests.reference.zstd_lines import texts_of

pytestmark = pytest.mark.slow


def texts_of_document(data_pack: Path) -> Texts:
    return document(data_pack)[1].texts


def assert_words(found: Words, once: str, wanted: Iterator[tuple[int, int]]) -> None:
    places = everywhere(once, list(wanted))
    assert found.offsets.tolist() == [0, len(places)]
    assert np.array_equal(found.starts, places[:, 0]) and np.array_equal(found.sizes, places[:, 1])


def words_by_place(once: str) -> Iterator[tuple[int, int]]:
    """(first byte, bytes) of each word."""
    for start, chunk in chunks_by_place(once):
        for word in words(chunk):
            yield start, len(word.encode())
            start += len(word.encode())


def chunks_by_place(once: str) -> Iterator[tuple[int, str]]:
    """(first byte, chunk) of each run without white space."""
    done = start = 0
    for match in re.finditer(r"\S+", once):
        start += len(once[done : match.start()].encode())
        yield start, match[0]
        start, done = start + len(match[0].encode()), match.end()


def test_words(data_pack: Path) -> None:
    texts, once = texts_of_document(data_pack), part(data_pack)
    assert_words(find_words(texts.data, texts.offsets), once, words_by_place(once))


def test_chunks(data_pack: Path) -> None:
    texts, once = texts_of_document(data_pack), part(data_pack)
    wanted = ((start, len(chunk.encode())) for start, chunk in chunks_by_place(once))
    assert_words(find_chunks(texts.data, texts.offsets), once, wanted)


def test_sentences(data_pack: Path) -> None:
    texts = texts_of_document(data_pack)
    found = sentence_counts(texts.data, texts.offsets).tolist()
    assert found == [len(sentences_of_document(data_pack))]


def test_hashes(data_pack: Path) -> None:
    mmh3 = pytest.importorskip("mmh3")
    texts, text = texts_of_document(data_pack), document(data_pack)[0]
    assert tuple(hash128(texts.data, texts.offsets, 7)[0]) == mmh3.hash64(text, 7, signed=False)
    wanted = mmh3.hash64(collapse_white_space(text), 7, signed=False)
    assert tuple(hash_normalized(texts.data, texts.offsets, 7)[0]) == wanted


SHINGLINGS = [Shingling(), Shingling(24, "characters"), Shingling(5, "words", "datatrove")]


@pytest.mark.parametrize("shingling", SHINGLINGS)
def test_shingles_and_signatures(shingling: Shingling, data_pack: Path) -> None:
    """Of the part, and those over its first seam, each as often as it comes."""
    once = part(data_pack, 400)
    texts, times = Texts.from_strings([once * times_of(once)]), times_of(once)
    how = (shingling.ngram, shingling.unit, shingling.normalization)
    twice = shingles.shingles(once * 2, *how)
    period = len(shingles.units(once * 2, *how[1:])) - len(shingles.units(once, *how[1:]))
    wanted = np.fromiter(map(xxh3_64_intdigest, twice[:period]), dtype=np.uint64)
    hashes, offsets = shingle_hashes(texts.data, texts.offsets, shingling, distinct=False)
    last = len(twice) - period
    assert offsets.tolist() == [0, period * (times - 1) + last]
    assert np.array_equal(hashes, np.tile(wanted, times)[: len(hashes)])
    distinct, _ = shingle_hashes(texts.data, texts.offsets, shingling)
    assert np.array_equal(distinct, np.unique(wanted))
    sketch = MinHash(num_perm=112, seed=1, scheme="affine32", hashfunc=hash32)
    sketch.update_batch(set(twice[:period]))
    assert (signatures(texts.data, texts.offsets, shingling, 112)[0][0] == sketch.hashvalues).all()


def test_jaccard() -> None:
    """Sets of 2^23 hashes: what two have in common, in millionths, is beyond 2^31."""
    first = np.arange(1 << 23, dtype=np.uint64)
    hashes = np.concatenate([first, first + np.uint64(1000)])
    offsets = np.array([0, first.size, hashes.size], dtype=np.int64)
    wanted = (first.size - 1000) * 1_000_000 // (first.size + 1000)
    assert jaccard_ppm(hashes, offsets, np.array([[0, 1]], dtype=np.int64)).tolist() == [wanted]


def test_markup(data_pack: Path) -> None:
    pages = texts_of(data_pack / "html" / "html_pages.jsonl.zst", 400)
    once = "".join(pages).encode()
    data = once * (LARGE_BYTES // len(once) + 1)
    texts = Texts.from_bytes([data])
    assert tuple(markup_counts(texts.data, texts.offsets)[0].tolist()) == markup.counts(data)


def test_a_long_url(data_pack: Path) -> None:
    """A path of 50 MB with words in it, and a host of as much."""
    path = re.sub(r"[^A-Za-z0-9\n]", "-", part(data_pack, 1000)).replace("\n", "%2d")
    long = [f"http://a.example.org/{path * times_of(path)}", "x" * LARGE_BYTES + ".example.org"]
    texts, lines = Texts.from_strings(long), ["example.org/" + path[:100], "example.org"]
    domains, pages, _, bad = entry_keys(np.frombuffer("\n".join(lines).encode(), dtype=np.uint8))
    assert bad < 0
    on_domain, on_page = site_hits(texts.data, texts.offsets, indexed(domains), indexed(pages))
    sites = urls.read("\n".join(lines))
    assert list(zip(on_domain.tolist(), on_page.tolist(), strict=True)) == [
        urls.hits(url, sites) for url in long
    ]
    listed = ["the", "xyzzy", "wikipedia", "because"]
    assert count_words(texts.data, texts.offsets, listed).tolist() == [
        urls.count_words(url, listed) for url in long
    ]
    assert count_parts(texts.data, texts.offsets, listed).tolist() == [
        urls.count_parts(url, listed) for url in long
    ]


def test_a_long_list_of_sites() -> None:
    lines = "".join(f"host{number:05x}.example.org{'/page' * (number % 2)}\n" for number in range(40_000))
    data = np.frombuffer((lines * times_of(lines)).encode(), dtype=np.uint8)
    domains, pages, odd, bad = entry_keys(data)
    sites = urls.read(lines)
    assert (len(odd), bad) == (0, -1)
    assert (np.unique(domains).size, np.unique(pages).size) == (len(sites.domains), len(sites.pages))
    asked = [f"host{number:05x}.example.org/page/x" for number in range(39_000, 41_000)]
    texts = Texts.from_strings(asked)
    found = site_hits(texts.data, texts.offsets, indexed(domains), indexed(pages))
    assert list(zip(*(hits.tolist() for hits in found), strict=True)) == [
        urls.hits(url, sites) for url in asked
    ]


def test_a_long_line_of_json(data_pack: Path) -> None:
    text = document(data_pack)[0]
    value = json.dumps(text)
    line = f' {{"text": {value}, "more": [[{{}}]]}}\r'.encode()
    starts, ends = line_bounds(np.frombuffer(line, dtype=np.uint8))
    assert (starts.tolist(), ends.tolist()) == ([0], [len(line)])
    assert nesting_depth(np.frombuffer(line, dtype=np.uint8)) == json_lines.depth(line.decode()) == 4
    inner = strip_lines(np.frombuffer(line, dtype=np.uint8), starts, ends, 4)
    assert [each.tolist() for each in inner[:2]] == [[1], [len(line) - 1]] and inner[2]
    texts, kinds = unescape(Texts.from_strings([value]))
    assert kinds.tolist() == [STRING] and texts.to_strings() == [text]


def test_utf8_and_code_points(data_pack: Path) -> None:
    texts = texts_of_document(data_pack)
    assert valid_utf8(texts.data, texts.offsets).tolist() == [True]
    broken = texts.data.copy()
    broken[-1] = 0xC3
    assert valid_utf8(broken, texts.offsets).tolist() == [False]
    last = Texts.from_strings([document(data_pack)[0] + "\U0010ffff"])
    wanted = CodePointSet([(0x10FFFF, 0x10FFFF)])
    assert texts_with_code_points(texts.data, texts.offsets, wanted).tolist() == [False]
    assert texts_with_code_points(last.data, last.offsets, wanted).tolist() == [True]

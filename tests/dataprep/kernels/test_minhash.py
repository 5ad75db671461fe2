from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import example, given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from dataprep.kernels.minhash import (
    BLOCK,
    CHUNK_BYTES,
    estimate_ppm,
    hash32,
    low_bytes,
    permutations_of,
    signatures,
)
from dataprep.kernels.shingles import SHORT, WORDLESS, Shingling
from dataprep.kernels.texts import Texts
from tests.dataprep.kernels.strategies import sliced, text_lists
from tests.dataprep.kernels.timing import assert_linear
from tests.reference import shingles as slow
from tests.reference.zstd_lines import texts_of

PLAIN = Shingling()


def by_datasketch(text: str, shingling: Shingling, permutations: int) -> list[int]:
    sketch = MinHash(num_perm=permutations, seed=1, scheme="affine32", hashfunc=hash32)
    sketch.update_batch(set(slow.shingles(text, shingling.ngram, shingling.unit, shingling.normalization)))
    return sketch.hashvalues.tolist()


@given(
    text_lists,
    st.builds(Shingling, st.integers(1, 6), st.sampled_from(["words", "characters"])),
    st.sampled_from([1, 16, 112, 113]),
)
@example(["", "a", "a b c d e", "a b c d e f", "\u4e2d\u6587\u4e2d\u6587\u4e2d\u6587"], PLAIN, 112)
def test_signatures_are_those_of_datasketch(strings: list[str], shingling: Shingling, count: int) -> None:
    texts = sliced(strings)
    found, _, _ = signatures(texts.data, texts.offsets, shingling, count)
    assert found.dtype == np.uint32 and found.shape == (len(strings), count)
    assert found.tolist() == [by_datasketch(string, shingling, count) for string in strings]


@given(text_lists)
def test_signatures_of_the_other_normalisation(strings: list[str]) -> None:
    texts, shingling = sliced(strings), Shingling(2, "words", "datatrove")
    found, _, _ = signatures(texts.data, texts.offsets, shingling, 20)
    assert found.tolist() == [by_datasketch(string, shingling, 20) for string in strings]


@given(text_lists, st.integers(1, 3))
@example(["a a a a", "a a", "a", "a b", "b a b", "", "!"], 2)
def test_texts_of_one_shingle_have_its_hash(strings: list[str], ngram: int) -> None:
    texts, shingling = sliced(strings), Shingling(ngram)
    _, _, sole = signatures(texts.data, texts.offsets, shingling, 1)
    sets = [
        {xxh3_64_intdigest(each) for each in slow.shingles(string, ngram, "words", "plain")}
        for string in strings
    ]
    assert sole.tolist() == [each.pop() if len(each) == 1 else 0 for each in sets]


def test_texts_around_a_block_and_a_chunk() -> None:
    """Blocks of hashes and chunks of texts are seams."""
    vocabulary = [f"w{number}" for number in range(2 * BLOCK + 9)]
    strings = [" ".join(vocabulary[:count]) for count in (BLOCK + 3, BLOCK + 4, BLOCK + 5, 2 * BLOCK + 5)]
    large = " ".join(vocabulary * (1 + CHUNK_BYTES // 12000))
    strings = [large, *strings, large + " end", "", *strings, large]
    texts = Texts.from_strings(strings)
    found, flags, _ = signatures(texts.data, texts.offsets, PLAIN, 16)
    wanted = {string: by_datasketch(string, PLAIN, 16) for string in set(strings)}
    assert found.tolist() == [wanted[string] for string in strings]
    assert flags.tolist() == [0] * 6 + [WORDLESS] + [0] * 5


def test_known_signature() -> None:
    """So that a change of hash, permutations or normalisation cannot go unseen together with its twin."""
    texts = Texts.from_strings(["The quick brown fox jumps over the lazy dog, and so on.", "Total 17", "?"])
    found, flags, _ = signatures(texts.data, texts.offsets, PLAIN, 4)
    assert flags.tolist() == [0, SHORT, WORDLESS]
    assert found.tolist() == [
        [555277304, 1204144677, 273341886, 387702665],
        [2324353455, 174368505, 3262330459, 3010261397],
        [0xFFFFFFFF] * 4,
    ]
    assert hash32(b"the quick brown fox jumps") == 4001325576


def test_anyone_can_make_these_signatures(data_pack: Path) -> None:
    """As docs/concepts/near-duplicates.md says, with nothing of ours."""
    strings = [text for text in texts_of(data_pack / "wiki" / "wiki_en.jsonl.zst", 300) if text.isascii()]
    texts = Texts.from_strings(strings)
    found, flags, _ = signatures(texts.data, texts.offsets, PLAIN, 112)
    checked = 0
    for row in np.flatnonzero(flags == 0)[:60].tolist():
        words = re.findall(r"\w+", strings[row].lower())
        shingles = [" ".join(words[at : at + 5]).encode() for at in range(len(words) - 4)]
        sketch = MinHash(num_perm=112, hashfunc=lambda shingle: xxh3_64_intdigest(shingle) & 0xFFFFFFFF)
        sketch.update_batch(shingles)
        assert (found[row] == sketch.hashvalues).all()
        checked += 1
    assert checked == 60


def test_permutations_are_those_of_datasketch() -> None:
    for count in (1, 112, 256):
        assert (permutations_of(count) == MinHash(num_perm=count, scheme="affine32").permutations).all()


def test_hash_is_the_low_half_of_a_public_one() -> None:
    for shingle in (b"", b"the quick brown fox jumps", "\u4e2d \u6587".encode(), bytes(range(100))):
        assert hash32(shingle) == xxh3_64_intdigest(shingle) & 0xFFFFFFFF


@given(
    st.integers(1, 30).flatmap(
        lambda size: st.lists(st.binary(min_size=size, max_size=size), min_size=2, max_size=5)
    )
)
def test_estimate_is_that_of_the_formula(rows: list[bytes]) -> None:
    low = np.array([list(row) for row in rows], dtype=np.uint8)
    pairs = np.array([(a, b) for a in range(len(rows)) for b in range(len(rows))], dtype=np.int64)
    found = estimate_ppm(low, pairs).tolist()
    for (a, b), estimate in zip(pairs.tolist(), found, strict=True):
        equal, size = sum(x == y for x, y in zip(rows[a], rows[b], strict=True)), len(rows[0])
        assert estimate == max(0, (256 * equal - size) * 10**6 // (255 * size))
    assert all(found[row * len(rows) + row] == 10**6 for row in range(len(rows)))


def test_estimate_is_right_on_average() -> None:
    """Pairs of sets of 200 words with known similarity."""
    random = np.random.default_rng(3)
    strings, wanted = [], []
    for _ in range(300):
        common = int(random.integers(0, 201))
        names = [f"x{number}" for number in random.choice(10**6, 400 - common, replace=False)]
        strings += [" ".join(names[:200]), " ".join(names[200 - common :])]
        wanted.append(common / (400 - common))
    texts = Texts.from_strings(strings)
    found, _, _ = signatures(texts.data, texts.offsets, Shingling(1), 112)
    low = low_bytes(found)
    assert (low == found & 0xFF).all()
    pairs = np.arange(600).reshape(-1, 2)
    error = estimate_ppm(low, pairs) / 10**6 - np.array(wanted)
    assert abs(error.mean()) < 0.006 and error.std() < 0.045


def test_no_texts() -> None:
    nothing = Texts.from_strings([])
    found, flags, _ = signatures(nothing.data, nothing.offsets, PLAIN, 112)
    assert found.shape == (0, 112) and flags.shape == (0,)
    assert estimate_ppm(low_bytes(found), np.zeros((0, 2), dtype=np.int64)).shape == (0,)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["a", "a ", "\n", "\u4e2d", "a\u0301", "word the ", "The same line again.\n"]
)
def test_time_is_linear(unit: str) -> None:
    assert_linear(lambda texts: signatures(texts.data, texts.offsets, PLAIN, 112), unit)

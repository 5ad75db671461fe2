from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.similar_pairs import MANY, Truth, similar_pairs, strings_of, truth_of
from dataprep.decide.near import near_duplicates
from dataprep.kernels.shingles import Shingling, jaccard_ppm, shingle_hashes
from dataprep.kernels.texts import Texts
from tests.dataprep.decide.from_files import counted, removed_from_files
from tests.reference import near_duplicates as slow
from tests.reference.shingles import is_spaceless

THRESHOLD = 750_000
EVERY_PAIR = {"bands": (112, 1), "margin_ppm": 10**6}
"""Documents meet if one value of a hundred agrees, and no estimate is believed: nothing is left to chance."""


def told(strings: list[str], ranks: list[int], **options: object) -> dict[int, tuple[int, int]]:
    found = near_duplicates(Texts.from_strings(strings), np.array(ranks, dtype=np.int64), **options)  # type: ignore[arg-type]
    assert (found.kept == (found.match < 0)).all()
    return {
        row: (int(found.match[row]), int(found.similarity_ppm[row]))
        for row in np.flatnonzero(~found.kept).tolist()
    }


@st.composite
def corpora(draw: st.DrawFn) -> list[str]:
    """Families of texts that differ in a few words, short texts, and texts without words."""
    texts: list[str] = []
    for family in range(draw(st.integers(0, 3))):
        words = [f"{'abc'[family]}{number}" for number in range(draw(st.integers(1, 30)))]
        for _ in range(draw(st.integers(1, 5))):
            changed = list(words)
            for place in draw(st.lists(st.integers(0, len(words) - 1), max_size=3)):
                changed[place] = draw(st.sampled_from(["x", "y"]))
            texts.append(" ".join(changed))
    texts += draw(
        st.lists(st.sampled_from(["", "!", "Total 17", "Total  17", "Total 18", "中文中文中文"]), max_size=4)
    )
    return draw(st.permutations(texts))


@given(corpora(), st.randoms(use_true_random=False), st.integers(1, 3))
def test_who_stays_is_the_rank_first_maximal_independent_set(
    strings: list[str], draw: random.Random, ngram: int
) -> None:
    ranks = draw.sample(range(len(strings)), len(strings))
    wanted = slow.near_duplicates(strings, ranks, THRESHOLD, ngram)
    options = {"threshold_ppm": THRESHOLD, "shingling": Shingling(ngram), **EVERY_PAIR}
    found = told(strings, ranks, **options)
    assert found == wanted
    order = draw.sample(range(len(strings)), len(strings))
    moved = told([strings[row] for row in order], [ranks[row] for row in order], **options)
    assert {order[row]: (order[match], ppm) for row, (match, ppm) in moved.items()} == wanted


@given(corpora(), st.randoms(use_true_random=False), st.sampled_from(["exact", "estimate"]))
def test_what_goes_is_similar_to_what_stays(strings: list[str], draw: random.Random, verify: str) -> None:
    ranks = draw.sample(range(len(strings)), len(strings))
    found = told(strings, ranks, threshold_ppm=THRESHOLD, shingling=Shingling(2), verify=verify)
    for row, (match, ppm) in found.items():
        assert match not in found and ranks[match] < ranks[row] and ppm >= THRESHOLD


def test_a_chain_from_a_to_z() -> None:
    """Each text lacks the first four of 200 words of the one before and has four more: A is like the next
    few, and not like Z."""
    strings = [" ".join(f"w{place}" for place in range(4 * step, 4 * step + 200)) for step in range(26)]
    texts = Texts.from_strings(strings)
    first = np.column_stack([np.zeros(26, dtype=np.int64), np.arange(26)])
    similarity = jaccard_ppm(*shingle_hashes(texts.data, texts.offsets, Shingling()), first)
    alike = int((similarity >= THRESHOLD).sum())
    assert similarity[25] < 400_000 and 5 < alike < 10
    for verify in ("exact", "estimate"):
        found = {
            row: match
            for row, (match, _) in told(
                strings, list(range(26)), threshold_ppm=THRESHOLD, verify=verify
            ).items()
        }
        if verify == "exact":
            wanted = slow.near_duplicates(strings, range(26), THRESHOLD, 5)
            assert found == {row: match for row, (match, _) in wanted.items()}
            assert found == {row: row // alike * alike for row in range(26) if row % alike}
        assert 2 < 26 - len(found) < 6


@pytest.mark.parametrize("count", [1, 2, 64, 65, 1000])
def test_identical_documents_keep_the_best(count: int) -> None:
    ranks = random.Random(count).sample(range(count), count)
    best = ranks.index(0)
    found = told(["the same words in the same order"] * count, ranks, threshold_ppm=THRESHOLD)
    assert found == {row: (best, 10**6) for row in range(count) if row != best}


@pytest.mark.parametrize(
    "strings", [[], [""], ["", "", "!?", " \n"], ["one document alone is kept as it is"]]
)
def test_documents_that_all_stay(strings: list[str]) -> None:
    assert told(strings, list(range(len(strings))), threshold_ppm=THRESHOLD) == {}


def test_short_documents_are_compared_whole() -> None:
    strings = ["Total 17", "Total 18", "Total\t17", "total 17", " Total 17 "]
    assert told(strings, [0, 1, 2, 3, 4], threshold_ppm=THRESHOLD) == {2: (0, 10**6), 4: (0, 10**6)}


def short_texts(numbers: np.ndarray) -> Texts:
    """Each a number of eight digits."""
    digits = (numbers[:, None] // 10 ** np.arange(7, -1, -1) % 10 + ord("0")).astype(np.uint8)
    return Texts(digits.ravel(), np.arange(0, 8 * len(numbers) + 1, 8, dtype=np.int64))


def test_different_short_documents_stay_though_their_signatures_agree() -> None:
    """Of 300,000 texts about ten pairs agree in 32 bits, and so in all of their signatures."""
    texts = short_texts(np.arange(300_000))
    hashes, _ = shingle_hashes(texts.data, texts.offsets, Shingling())
    assert len(np.unique(hashes)) == len(texts) > len(np.unique(hashes.astype(np.uint32))) + 3
    for verify in ("exact", "estimate"):
        assert near_duplicates(texts, np.arange(len(texts)), THRESHOLD, verify=verify).kept.all()


MILLIONS = 10_000_000


def ten_million() -> Iterator[Texts]:
    """Numbers from 0, but every thousandth document has the number of the one before."""
    for start in range(0, MILLIONS, 250_000):
        numbers = np.arange(start, start + 250_000)
        yield short_texts(numbers - (numbers % 1000 == 999))


@pytest.mark.slow
def test_ten_million_short_documents(tmp_path: Path) -> None:
    """Exactly those go that repeat another, though 10,000 other pairs agree in their 32 bits."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        gone, matches, memory_mb = pool.submit(counted, ten_million, MILLIONS, 40, tmp_path).result()
    assert gone == MILLIONS // 1000
    assert matches == sum(range(998, MILLIONS, 1000))
    assert memory_mb < 2000


def test_files_and_memory_give_the_same(data_pack: Path, tmp_path: Path) -> None:
    """Whatever the partitions and the ranges."""
    texts = Texts.from_strings(strings_of(data_pack / "debian" / "copyright_files.jsonl.gz"))
    wanted = near_duplicates(texts, np.arange(len(texts)), THRESHOLD, verify="estimate")
    assert 200 < (~wanted.kept).sum() < 400
    for number, (partitions, limit) in enumerate([(1, 10**6), (7, 200), (100, 50)]):
        groups = (texts.slice(start, start + 100) for start in range(0, len(texts), 100))
        (folder := tmp_path / str(number)).mkdir()
        match = np.full(len(texts), -1, dtype=np.int64)
        for part in removed_from_files(groups, len(texts), partitions, THRESHOLD, limit, folder):
            match[part.documents] = part.matches
            assert (wanted.similarity_ppm[part.documents] == part.similarity_ppm).all()
        assert (match == wanted.match).all()


def test_text_without_spaces(data_pack: Path) -> None:
    """Declarations of human rights and articles in Chinese, Japanese, Khmer, Lao, Burmese and Thai: a copy
    with a sentence more goes, and nothing that is not like another."""
    strings = [text for text in strings_of(data_pack / "udhr" / "udhr.jsonl.zst") if spaceless(text) > 0.3]
    assert len(strings) >= 7
    strings += [
        text for text in strings_of(data_pack / "wiki" / "wiki_zh.jsonl.zst") if spaceless(text) > 0.7
    ][:300]
    copies = [text + " " + text[: len(text) // 20] for text in strings]
    texts = Texts.from_strings(strings + copies)
    found = near_duplicates(texts, np.arange(len(texts)), THRESHOLD)
    assert (found.match[len(strings) :] >= 0).mean() > 0.99
    gone = np.flatnonzero(~found.kept)
    named = np.column_stack([gone, found.match[gone]])
    assert (jaccard_ppm(*shingle_hashes(texts.data, texts.offsets, Shingling()), named) >= THRESHOLD).all()
    assert found.kept[: len(strings)].mean() > 0.95


def spaceless(text: str) -> float:
    """Share of letters of scripts without spaces."""
    return sum(map(is_spaceless, text[:2000])) / max(1, len(text[:2000]))


@pytest.mark.slow
def test_one_document_of_50_mb(data_pack: Path) -> None:
    """Its copy with a word more in each thousand goes, and it is no copy of its half."""
    words = " ".join(strings_of(data_pack / "wiki" / "wiki_en.jsonl.zst")).split()
    words = (words * (1 + 50_000_000 // sum(map(len, words))))[:8_000_000]
    words = [f"{word}{place // 100_000}" for place, word in enumerate(words)]
    edited = [f"{word} more" if place % 1000 == 0 else word for place, word in enumerate(words)]
    strings = [" ".join(words), " ".join(edited), " ".join(words[: len(words) // 2])]
    assert len(strings[0]) > 50_000_000
    found = told(strings, [0, 1, 2], threshold_ppm=THRESHOLD)
    assert {row: match for row, (match, _) in found.items()} == {1: 0}


@pytest.mark.slow
@pytest.mark.parametrize("verify", ["exact", "estimate"])
def test_precision_and_recall_on_forty_thousand_documents(data_pack: Path, verify: str) -> None:
    """Against all pairs of real documents, whatever the ranks."""
    truth = whole_truth(data_pack)
    assert len(truth.texts) > 40_000 and len(truth.pairs) > 6_000
    for ranks in (np.arange(len(truth.texts)), np.random.default_rng(2).permutation(len(truth.texts))):
        found = near_duplicates(truth.texts, ranks, THRESHOLD, verify=verify)
        gone = np.flatnonzero(~found.kept)
        named = np.column_stack([gone, found.match[gone]])
        assert found.kept[found.match[gone]].all() and (ranks[found.match[gone]] < ranks[gone]).all()
        right = jaccard_ppm(truth.hashes, truth.hash_offsets, named) >= THRESHOLD
        assert right.mean() >= (0.999 if verify == "exact" else 0.97)
        removed = (~found.kept[truth.pairs]).any(axis=1)
        for high in (10**6 + 1, THRESHOLD + 150_000):
            sure = (truth.similarity_ppm >= THRESHOLD + 100_000) & (truth.similarity_ppm < high)
            assert sure.sum() > 400 and removed[sure].mean() >= 0.95


@lru_cache(maxsize=1)
def whole_truth(data_pack: Path) -> Truth:
    return truth_of(Texts.from_strings([text for path in MANY for text in strings_of(data_pack / path)]))


@given(corpora())
def test_the_truth_of_the_benchmark_is_that_of_all_pairs(strings: list[str]) -> None:
    texts = Texts.from_strings(strings)
    hashes, offsets = shingle_hashes(texts.data, texts.offsets, Shingling(2))
    a, b = np.triu_indices(len(texts), 1)
    every = np.column_stack([a, b])
    similarity = jaccard_ppm(hashes, offsets, every)
    for threshold in (THRESHOLD, 900_000):
        pairs, ppm = similar_pairs(hashes, offsets, threshold)
        found = sorted(zip(map(tuple, pairs.tolist()), ppm.tolist(), strict=True))
        reached = similarity >= threshold
        assert found == list(
            zip(map(tuple, every[reached].tolist()), similarity[reached].tolist(), strict=True)
        )

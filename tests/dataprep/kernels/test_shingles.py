from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from dataprep.kernels.plain import plain_words
from dataprep.kernels.shingles import (
    SHORT,
    WORDLESS,
    Shingling,
    flags_of,
    jaccard_ppm,
    shingle_hashes,
    units_of,
)
from dataprep.kernels.simplify import simplified_words
from dataprep.kernels.texts import Texts
from dataprep.kernels.unicode import populated
from tests.dataprep.kernels.strategies import sliced, text_lists
from tests.dataprep.kernels.timing import assert_linear
from tests.reference import shingles as slow
from tests.reference.words import words as our_words
from tests.reference.zstd_lines import texts_of

shinglings = st.builds(
    Shingling,
    ngram=st.integers(1, 6),
    unit=st.sampled_from(["words", "characters"]),
    normalization=st.sampled_from(["plain", "datatrove"]),
)
CASES = [
    "\u0130stanbul \u03a3\u03a3 a\u0e01b\u4e2d\u6587c_9",
    "\u023a\u4e2d\u023a\u4e2d\u023a",
    "STRASSE \u1e9e \u212a",
]
NUMBERS = [
    "1.2.3 1,234.5 \u0661\u066b\u0662 a1b2 3.x 4. 5",
    "\uac00\uac01 \u1e69 \u0390\u0385",
    "a \u0308 b\u0301\u0308",
]


def cut(units: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[list[str]]:
    """The words of each text."""
    data, starts, offsets = units
    return [
        [
            data[starts[place] : starts[place + 1] - 1].tobytes().decode()
            for place in range(offsets[index], offsets[index + 1] - 1)
        ]
        for index in range(offsets.size - 1)
    ]


@pytest.fixture(scope="module")
def sample_texts(data_pack: Path) -> list[str]:
    return texts_of(data_pack / "sample" / "mixed_1k.jsonl.zst", 2000)


@pytest.fixture(scope="module")
def english_texts(data_pack: Path) -> list[str]:
    return texts_of(data_pack / "wiki" / "wiki_en.jsonl.zst", 400)[::2]


def hashes_of(texts: Texts, shingling: Shingling, distinct: bool) -> list[list[int]]:
    hashes, offsets = shingle_hashes(texts.data, texts.offsets, shingling, distinct)
    assert offsets[-1] == hashes.size
    return [hashes[a:b].tolist() for a, b in pairwise(offsets.tolist())]


@given(text_lists, st.booleans())
@example(CASES, True)
@example(CASES, False)
def test_plain_words_are_those_of_the_slow_twin(strings: list[str], split: bool) -> None:
    texts = sliced([unicodedata.normalize("NFC", string) for string in strings])
    wanted = [slow.plain_words(string, split) for string in strings]
    assert cut(plain_words(texts.data, texts.offsets, split)) == wanted


@given(text_lists)
@example(NUMBERS)
def test_simplified_words_are_those_of_the_slow_twin(strings: list[str]) -> None:
    texts = sliced(strings)
    simple = [slow.simplified(string) for string in strings]
    assert cut(simplified_words(texts.data, texts.offsets, split=False)) == [each.split() for each in simple]
    assert cut(simplified_words(texts.data, texts.offsets, split=True)) == list(map(our_words, simple))


@pytest.mark.slow
def test_every_character_of_unicode_in_both_normalisations() -> None:
    characters = [character for character in populated() if not 0xD800 <= ord(character) < 0xE000]
    strings = [f"a{character}b {character}" for character in characters]
    texts = Texts.from_strings([unicodedata.normalize("NFC", string) for string in strings])
    assert cut(plain_words(texts.data, texts.offsets, True)) == list(map(slow.plain_words, strings))
    texts = Texts.from_strings(strings)
    wanted = [slow.simplified(string).split() for string in strings]
    assert cut(simplified_words(texts.data, texts.offsets, split=False)) == wanted


@given(text_lists, shinglings, st.booleans())
def test_hashes_are_those_of_the_slow_twin(strings: list[str], shingling: Shingling, distinct: bool) -> None:
    found = hashes_of(sliced(strings), shingling, distinct)
    for string, hashes in zip(strings, found, strict=True):
        shingles = slow.shingles(string, shingling.ngram, shingling.unit, shingling.normalization)
        wanted = list(map(xxh3_64_intdigest, shingles))
        assert hashes == (sorted(set(wanted)) if distinct else wanted)


def test_words_of_spaceless_scripts_and_others() -> None:
    text = "Ｈｅｌｌｏ, x_1 日本語テスト ภาษา ភាសា မြန်မာ ພາສາ 한국어 हिन्दी don't I'M ΟΔΟΣ"
    letters = ["ภ", "า", "ษ", "า", *"ភស", *"မနမ", "ພ", "າ", "ສ", "າ"]  # marks are no words
    other = ["한국어", "ह", "न", "द", "don", "t", "i", "m", "οδοσ"]
    texts = Texts.from_strings([text])
    found = cut(plain_words(texts.data, texts.offsets, True))
    assert found == [["ｈｅｌｌｏ", "x_1", *"日本語テスト", *letters, *other]]
    assert cut(plain_words(texts.data, texts.offsets, False))[0][2] == "日本語テスト"


def test_flags_and_short_texts() -> None:
    strings = [
        "",
        " ..\n",
        "Total 17",
        " Total\t 17\u3000",
        "Total 18",
        "total 17",
        "one two three four five",
    ]
    texts = Texts.from_strings(strings)
    units = units_of(texts.data, texts.offsets, Shingling())
    assert units.counts.tolist() == [0, 0, 2, 2, 2, 2, 5]
    assert flags_of(units.counts, 5).tolist() == [WORDLESS, WORDLESS, SHORT, SHORT, SHORT, SHORT, 0]
    found = hashes_of(texts, Shingling(), distinct=True)
    assert found == [[], []] + [
        [xxh3_64_intdigest(each)]
        for each in (b"Total 17", b"Total 17", b"Total 18", b"total 17", b"one two three four five")
    ]
    composed, decomposed = hashes_of(Texts.from_strings(["caf\u00e9", "cafe\u0301"]), Shingling(), True)
    assert composed == decomposed


@given(st.lists(st.sets(st.integers(0, 9), max_size=6), min_size=2, max_size=6))
def test_jaccard_is_that_of_the_slow_twin(sets: list[set[int]]) -> None:
    hashes = np.array([value for each in sets for value in sorted(each)], dtype=np.uint64)
    offsets = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    pairs = np.array([(a, b) for a in range(len(sets)) for b in range(len(sets))], dtype=np.int64)
    found = jaccard_ppm(hashes, offsets, pairs).tolist()
    assert found == [slow.jaccard_ppm(sets[a], sets[b]) for a, b in pairs.tolist()]


def test_no_texts() -> None:
    nothing = Texts.from_strings([])
    for unit in ("words", "characters"):
        for normalization in ("plain", "datatrove"):
            hashes, offsets = shingle_hashes(
                nothing.data,
                nothing.offsets,
                Shingling(5, unit, normalization),  # type: ignore[arg-type]
            )
            assert (hashes.size, offsets.tolist()) == (0, [0])


def agreement(ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]]) -> float:
    """Share of all 5-grams of the other that are also ours."""
    common = total = 0
    for a, b in zip(ours, theirs, strict=True):
        mine = {tuple(a[at : at + 5]) for at in range(len(a) - 4)}
        other = [tuple(b[at : at + 5]) for at in range(len(b) - 4)]
        common += sum(each in mine for each in other)
        total += len(other)
    return common / total


@pytest.mark.slow
def test_simplified_text_is_that_of_datatrove(sample_texts: list[str]) -> None:
    text = pytest.importorskip("datatrove.utils.text")
    wanted = [text.simplify_text(string.replace("\u03a3", "\u03c3")).split() for string in sample_texts]
    texts = Texts.from_strings(sample_texts)
    assert cut(simplified_words(texts.data, texts.offsets, split=False)) == wanted


@pytest.mark.slow
def test_words_come_near_those_of_datatrove(english_texts: list[str]) -> None:
    text = pytest.importorskip("datatrove.utils.text")
    pytest.importorskip("spacy")
    from datatrove.utils.word_tokenizers import load_word_tokenizer

    tokenizer = load_word_tokenizer("en")
    texts = Texts.from_strings(english_texts)
    theirs = [tokenizer.word_tokenize(text.simplify_text(string)) for string in english_texts]
    assert agreement(cut(simplified_words(texts.data, texts.offsets, split=True)), theirs) > 0.99


@pytest.mark.slow
@pytest.mark.parametrize(
    "shingling", [Shingling(), Shingling(24, "characters"), Shingling(5, "words", "datatrove")]
)
@pytest.mark.parametrize(
    "unit", ["a", "a ", "\n", "A\u03a3", "\u4e2d", "a\u0301", "1.2", "word the ", "\u0e01x"]
)
def test_time_is_linear(unit: str, shingling: Shingling) -> None:
    assert_linear(lambda texts: shingle_hashes(texts.data, texts.offsets, shingling), unit)


def test_plain_words_are_what_the_regular_expression_finds() -> None:
    """The ground truth of the data pack is made of these."""
    text = "Caf\u00e9 na\u00efve \u00d8ystein, x-ray 3.14 snake_case \u0416\u0443\u043a."
    texts = Texts.from_strings([text])
    assert cut(plain_words(texts.data, texts.offsets, True)) == [re.findall(r"\w+", text.lower())]

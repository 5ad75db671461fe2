from __future__ import annotations

import pytest
from hypothesis import example, given

from dataprep.kernels.quality_dolma import COUNTS, LONGEST, dolma_quality_counts
from dataprep.kernels.texts import Texts
from tests.dataprep.kernels.strategies import sliced, text_lists
from tests.dataprep.kernels.timing import assert_linear
from tests.reference import quality_dolma as slow

STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with", "word", "\u4e2d", ".")


def counts_of(texts: Texts) -> list[dict[str, int]]:
    counts = dolma_quality_counts(texts.data, texts.offsets, STOP_WORDS)
    return [dict(zip(COUNTS, row, strict=True)) for row in counts.tolist()]


@given(text_lists)
@example(["*\n-\n *\n\u2022", "a\u2026\nb\u2026 \n\u2026", "the the The", "# a#b \u2026c d", "\n", "\r\n-"])
@example(["a" * (LONGEST + 5), f"a {'b' * 9000} {'c' * 9000}", "a bb", "a bb ccc dddd"])
def test_counts_are_those_of_the_slow_twin(strings: list[str]) -> None:
    assert counts_of(sliced(strings)) == [slow.counts(string, STOP_WORDS) for string in strings]


def test_counts_of_one_text() -> None:
    assert counts_of(Texts.from_strings(["* the #1 word\u2026\n- to the be-all \u2026\n"])) == [
        {
            "words": 9,
            "twice_median_length": 4,  # of 1 1 1 2 2 3 3 5 6
            "symbol_words": 3,
            "alphabetic_words": 5,
            "stop_words": 3,
            "lines": 3,
            "bullet_lines": 2,
            "ellipsis_lines": 2,
        }
    ]


def test_no_texts() -> None:
    assert counts_of(Texts.from_strings([])) == []


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", "a ", "\n", "- ", "\u2026", "\u4e2d", "#", "the "])
def test_time_is_linear(unit: str) -> None:
    assert_linear(lambda texts: dolma_quality_counts(texts.data, texts.offsets, STOP_WORDS), unit)

from __future__ import annotations

from pathlib import Path

import pytest

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps.base import measuring_parameters
from dataprep.steps.c4_paragraphs import C4_PARAGRAPHS, C4ParagraphsParams, checks, measure
from tests.dataprep.steps.parity import SOURCES, assert_agrees

DEFAULT = C4ParagraphsParams()


def dropped(strings: list[str], params: C4ParagraphsParams = DEFAULT) -> list[bool]:
    (check,) = checks(measure(Batch.of(Texts.from_strings(strings)), params), params)
    assert check.reason == "too_few_paragraphs"
    return check.dropped.tolist()


def test_three_lines_of_200_characters() -> None:
    line, short = "\u00e9" * 200, "\u00e9" * 199
    strings = ["\n".join([line] * 3), f"{short}\n" + "\n".join([line] * 2), f"{line}\r\nx\n" * 3, ""]
    assert dropped(strings) == [False, True, False, True]


def test_limits() -> None:
    assert dropped(["ab\nab", "ab\na"], C4ParagraphsParams(min_paragraphs=2, min_paragraph_length=2)) == [
        False,
        True,
    ]
    assert dropped([""], C4ParagraphsParams(min_paragraphs=None)) == [False]


def test_what_is_measured() -> None:
    assert set(measuring_parameters(C4_PARAGRAPHS, DEFAULT)) == {"definition", "min_paragraph_length"}


def test_verdicts_are_always_those_of_datatrove(data_pack: Path) -> None:
    original = pytest.importorskip("datatrove.pipeline.filters.c4_filters").C4ParagraphFilter()
    assert_agrees(
        SOURCES,
        data_pack,
        lambda s: (dropped(s), [not original.paragraph_filter(text) for text in s]),
        share=1.0,
    )

"""The index: saved and mapped as it was made, examples that are equal share a text, short ones take their
answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dataprep.evals.definitions import DEFINITIONS, words_needed
from dataprep.evals.index import UNTESTED, build_index, open_index, save_index
from dataprep.evals.measure import hits_in
from dataprep.kernels.texts import Texts
from tests.dataprep.evals.few import a_set, an_index

QUESTION = "how many of the twelve words of this question can be changed"


def test_a_saved_index_is_the_same(tmp_path: Path) -> None:
    index = build_index(
        [
            a_set([QUESTION, "short one"], ["", "and long enough by its own answer"]),
            a_set(["\u4e2d\u6587" * 9], name="other"),
        ],
        DEFINITIONS["longest"],
        [None, 900_000],
    )  # fmt: skip
    save_index(index, tmp_path / "a.index")
    again = open_index(tmp_path / "a.index")
    assert (again.definition, again.sets) == (index.definition, index.sets)
    for one, other in zip(index.references, again.references, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    assert list(again.ids) == list(index.ids)
    assert again.shares.tolist() == [500_000, 500_000, 900_000]
    texts = Texts.from_strings([QUESTION, "\u4e2d\u6587" * 9])
    assert np.array_equal(hits_in(texts, again).runs, hits_in(texts, index).runs)
    save_index(again, tmp_path / "b.index")
    assert (tmp_path / "a.index").read_bytes() == (tmp_path / "b.index").read_bytes()
    (tmp_path / "c.index").write_bytes(b"something else")
    with pytest.raises(ValueError, match="no index"):
        open_index(tmp_path / "c.index")


def test_equal_examples_share_a_text_and_short_ones_take_their_answer() -> None:
    index = an_index(
        [QUESTION, QUESTION.upper(), "one two three", "one two three", ""],
        ["", "", "four five six seven eight", "four", ""],
    )
    assert index.example_texts.tolist() == [0, 0, 1, UNTESTED, UNTESTED]
    assert index.text_words.tolist() == [12, 8]


def test_words_needed() -> None:
    longest = DEFINITIONS["longest"]
    needed = {words: words_needed(words, 0, 500_000, longest) for words in (8, 9, 10, 11, 20, 21, 100)}
    assert needed == {8: 8, 9: 8, 10: 9, 11: 10, 20: 10, 21: 11, 100: 50}
    assert words_needed(30, 30, 500_000, longest) == 20  # letters of Thai


def test_a_hundred_thousand_examples() -> None:
    words = [f"word{number}" for number in range(997)]
    questions = [
        " ".join(words[(number * step) % 997] for step in range(1, 13)) + f" {number}"
        for number in range(100_000)
    ]
    index = an_index(questions)
    assert index.num_texts == 100_000
    texts = Texts.from_strings([questions[77_777], questions[5].replace("word5 ", "other ")])
    found = {tuple(row) for row in hits_in(texts, index).runs[:, :2].tolist()}
    assert (0, 77_777) in found
    assert (1, 5) in found

"""The expectations of datatrove's own tests of its filters (tests/pipeline/filters/test_filters.py), on texts
of ours that exercise the same things, held against our steps and, where it is installed, against datatrove.

A step that is not in STEPS is passed over.
"""

from __future__ import annotations

from typing import Any

import pytest

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps import STEPS
from dataprep.steps.base import Edit, Rule

PROSE = (
    "The old harbour lay quiet in the morning, and nobody on the quay had much to say to the men who came "
    "from the boats. They have to mend their nets, said the keeper, and that is all there is to be done now."
)
NORTH = "I go north, they went south. I go north. I go north they went south"
MIXED = "of %&/(=) pears ;;;;; and --)))) plums :::: with !!!! figs ==//==, " * 20
PARAGRAPH = (
    "A long enough line of plain words, told once and then once more, without an end to speak of, " * 3
)

LINES = [
    "The first of these lines says something and comes to its end.",
    "A second line goes on from there and adds another thought to it.",
    "Somewhere in the middle there is a third, no worse than the others.",
    "By the fourth line the reader knows what to expect of the fifth one.",
    "Here it is, the fifth, as good as all of the four before it were.",
    "A sixth is added so that nothing depends on counting to five.",
]
TEXT = "\n".join(LINES)
OPEN_LINES = "\n".join(line.rstrip(".") for line in LINES)

CASES: list[tuple[str, dict[str, Any], str, str | None]] = [
    ("gopher_quality", {"min_words": 10, "max_words": 1000}, "Far too short...", "gopher_short_doc"),
    ("gopher_quality", {"min_words": 10, "max_words": 1000}, "so it " * 20, "gopher_below_avg_threshold"),
    ("gopher_quality", {"min_words": 10}, "counterrevolutionary " * 20, "gopher_above_avg_threshold"),
    ("gopher_quality", {"min_words": 10}, "# heading " * 20, "gopher_too_many_hashes"),
    ("gopher_quality", {"min_words": 10}, "... waiting " * 20, "gopher_too_many_ellipsis"),
    ("gopher_quality", {"min_words": 10}, MIXED, "gopher_below_alpha_threshold"),
    ("gopher_quality", {"min_words": 10, "max_words": 1000}, PROSE, None),
    ("gopher_repetition", {}, "The tide comes in.\n" * 4, "dup_line_frac"),
    ("gopher_repetition", {}, "The tide comes in.\n\n" * 4, "dup_para_frac"),
    (
        "gopher_repetition",
        {},
        "The tide is in.\n\nThe boats are out at sea.\n\nNobody waits.\n\n" + f"{'y' * 35}.\n\n" * 2,
        "dup_para_char_frac",
    ),
    (
        "gopher_repetition",
        {},
        "The tide is in.\nThe boats are out at sea.\nNobody waits.\n" + f"{'y' * 45}.\n" * 2,
        "dup_line_char_frac",
    ),
    ("gopher_repetition", {}, "We sail north, we sail north, we sail north", "top_2_gram"),
    ("gopher_repetition", {}, NORTH, "top_3_gram"),
    ("gopher_repetition", {}, "I am a lone wanderer " * 4 + PROSE, "duplicated_5_n_grams"),
    ("gopher_repetition", {}, PROSE, None),
    ("c4", {}, TEXT, None),
    ("c4", {}, TEXT.replace("something", "lorem ipsum"), "lorem_ipsum"),
    ("c4", {}, TEXT.replace("something", "{ something"), "curly_bracket"),
    ("c4", {}, "There is a single sentence here.", "too_few_sentences"),
    ("c4", {"min_sentences": None, "min_words_per_line": None}, "We use cookies.\nAnd this stays.", None),
    ("c4_paragraphs", {}, "\n".join([PARAGRAPH] * 3), None),
    ("c4_paragraphs", {}, "one\ntwo\nthree", "too_few_paragraphs"),
    ("fineweb_quality", {}, "", "empty"),
    ("fineweb_quality", {"min_line_punct_ratio": 0.5}, OPEN_LINES, "line_punct_ratio"),
    (
        "fineweb_quality",
        {"max_short_line_ratio": 0.5, "min_line_punct_ratio": 0.0},
        "yes.\nno.\nwhy.\nhere.\nthere.",
        "short_line_ratio",
    ),
    ("fineweb_quality", {}, TEXT, None),
    ("fineweb_quality", {"max_newline_ratio": 0.1}, "\n".join(["b"] * 50), "line_punct_ratio"),
]  # fmt: skip

REASONS = {"too_few_paragraphs": "< 3 paragraphs"}
"""What datatrove calls differently."""
ARGUMENTS = {
    "min_words": "min_doc_words",
    "max_words": "max_doc_words",
    "min_sentences": "min_num_sentences",
    "min_line_punct_ratio": "line_punct_thr",
    "max_short_line_ratio": "short_line_thr",
    "max_newline_ratio": "new_line_ratio",
}
FILTERS = {
    "gopher_quality": ("gopher_quality_filter", "GopherQualityFilter"),
    "gopher_repetition": ("gopher_repetition_filter", "GopherRepetitionFilter"),
    "c4": ("c4_filters", "C4QualityFilter"),
    "c4_paragraphs": ("c4_filters", "C4ParagraphFilter"),
    "fineweb_quality": ("fineweb_quality_filter", "FineWebQualityFilter"),
}


def first_reason(name: str, params: dict[str, Any], text: str) -> tuple[str | None, str]:
    """(the first reason of our step, or None; the text that it leaves)."""
    step = STEPS[name]
    values = step.params(**params)
    batch = Batch.of(Texts.from_strings([text]))
    if isinstance(step, Edit):
        texts, signals = step.edit(batch, values)
    else:
        assert isinstance(step, Rule)
        texts, signals = batch.texts, step.measure(batch, values)
    reasons = [check.reason for check in step.checks(signals, values) if check.dropped[0]]
    return (reasons[0] if reasons else None), texts.to_strings()[0]


@pytest.mark.parametrize(("name", "params", "text", "wanted"), CASES)
def test_our_step(name: str, params: dict[str, Any], text: str, wanted: str | None) -> None:
    if name not in STEPS:
        pytest.skip(f"no step {name}")
    reason, left = first_reason(name, params, text)
    assert (reason or "").removeprefix("gopher_") == (wanted or "").removeprefix("gopher_")
    assert name != "c4" or wanted or "cookies" not in left


@pytest.mark.parametrize(("name", "params", "text", "wanted"), CASES)
def test_the_original(name: str, params: dict[str, Any], text: str, wanted: str | None) -> None:
    pytest.importorskip("spacy")
    file, kind = FILTERS[name]
    original = pytest.importorskip(f"datatrove.pipeline.filters.{file}")
    from datatrove.data import Document

    arguments = {ARGUMENTS.get(key, key): -1 if value is None else value for key, value in params.items()}
    verdict = getattr(original, kind)(**arguments).filter(Document(text=text, id=""))
    assert (None if verdict is True else verdict[1]) == (REASONS.get(wanted, wanted) if wanted else None)

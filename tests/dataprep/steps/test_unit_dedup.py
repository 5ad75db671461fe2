from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.decide.lines import resolve_units
from dataprep.kernels.texts import Texts
from dataprep.kernels.units import Units
from dataprep.steps.base import CorpusEdit, measuring_parameters, needed_fields
from dataprep.steps.unit_dedup import LINE_DEDUP, PARAGRAPH_DEDUP, SENTENCE_DEDUP, UnitDedupParams

STEPS = [LINE_DEDUP, PARAGRAPH_DEDUP, SENTENCE_DEDUP]
words = st.sampled_from(
    ["Read more", "read MORE", "Page 1", "page 2", "aa.", "bb cc!", "\u4e2d\u6587\u3002", "--"]
)
documents = st.lists(
    st.lists(st.tuples(words, st.sampled_from(["\n", "\n\n", " "])), max_size=12).map(
        lambda pairs: "".join(word + space for word, space in pairs)
    ),
    max_size=6,
)


def run(
    step: CorpusEdit, strings: list[str], ranks: list[int], chunk: int, **given_params: Any
) -> tuple[list[str], list[dict[str, int]]]:
    """What a stage does, in chunks and in two partitions of the hashes. -> (texts, signals by document)."""
    params = UnitDedupParams(**given_params)
    batches = [Batch.of(Texts.from_strings(strings[at : at + chunk])) for at in range(0, len(strings), chunk)]
    measured: list[Units] = [step.measure(batch, params)[0] for batch in batches]
    records = [
        (units.hashes, np.array(ranks[chunk * number :], dtype=np.int64)[units.rows], units.numbers)
        for number, units in enumerate(measured)
    ]
    if not records:
        return [], []
    hashes, rank, unit = (np.concatenate(columns) for columns in zip(*records, strict=True))
    removed = np.zeros(len(hashes), dtype=bool)
    for part in (hashes[:, 0] >> np.uint64(63) == 0, hashes[:, 0] >> np.uint64(63) == 1):
        removed[part] = resolve_units(hashes[part], rank[part], unit[part], params.min_documents)
    texts, signals, at = [], [], 0
    for batch, units in zip(batches, measured, strict=True):
        gone = removed[at : at + len(units)]
        at += len(units)
        left, columns = step.cut(batch, params, units.rows[gone], units.starts[gone], units.ends[gone])
        texts += left.to_strings()
        signals += [{name: int(column[row]) for name, column in columns.items()} for row in range(len(batch))]
    return texts, signals


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
@settings(max_examples=60)
@given(documents, st.integers(1, 3), st.randoms(use_true_random=False))
def test_neither_the_order_of_documents_nor_chunks_matter(
    step: CorpusEdit, strings: list[str], min_documents: int, shuffler: random.Random
) -> None:
    ranks = list(range(len(strings)))
    shuffler.shuffle(ranks)
    texts, signals = run(step, strings, ranks, 10, min_documents=min_documents)
    rows = list(range(len(strings)))
    shuffler.shuffle(rows)
    again, signals_again = run(
        step, [strings[row] for row in rows], [ranks[row] for row in rows], 2, min_documents=min_documents
    )
    assert again == [texts[row] for row in rows]
    assert signals_again == [signals[row] for row in rows]


def c4(pages: list[str]) -> list[list[str]]:
    """Lines as `remove_duplicate_text` of C4 keeps them (tensorflow/datasets at 0560e68), pages from best to
    worst. Blank lines, and lines without a letter, are compared there too and not here."""
    seen: set[str] = set()
    kept: list[list[str]] = []
    for page in pages:
        kept.append([])
        for line in page.split("\n"):
            form = line.strip().lower()
            if any(map(str.isalpha, form)) and form in seen:
                continue
            seen.add(form)
            kept[-1].append(line)
    return kept


@given(documents)
def test_lines_are_those_of_c4(strings: list[str]) -> None:
    texts, _ = run(LINE_DEDUP, strings, list(range(len(strings))), 3, min_documents=1, normalize="c4")
    wanted = [[line.strip() for line in page if line.strip()] for page in c4(strings)]
    assert [[line.strip() for line in text.split("\n") if line.strip()] for text in texts] == wanted


def test_by_example() -> None:
    pages = ["Home | News\nA story.\nRead more 1", "Home | News\nAnother one.\nread more 2", "Home | News"]
    texts, signals = run(LINE_DEDUP, pages, [1, 0, 2], 5)
    assert texts == ["A story.", pages[1], ""]
    assert signals[0] == {"removed_units": 2, "text_bytes": 32, "removed_bytes": 24, "words_left": 2}
    assert signals[1]["words_left"] == -1 and signals[2]["words_left"] == 0
    assert run(LINE_DEDUP, pages, [1, 0, 2], 5, min_documents=3)[0][0] == "A story.\nRead more 1"
    assert run(LINE_DEDUP, pages, [1, 0, 2], 5, normalize="exact")[0][0] == "A story.\nRead more 1"
    assert run(LINE_DEDUP, pages, [1, 0, 2], 5, min_chars=12)[0] == pages


def test_spans_of_three_sentences() -> None:
    pages = ["One is. Two is. Three is. Four is.\n\nFive is.", "Zero is. One is. Two is. Three is. Last is."]
    texts, _ = run(SENTENCE_DEDUP, pages, [0, 1], 2)
    assert texts == [pages[0], "Zero is. Last is."]
    texts, _ = run(SENTENCE_DEDUP, pages, [1, 0], 2)
    assert texts == ["Four is.\n\nFive is.", pages[1]]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_what_drops_a_document(step: CorpusEdit) -> None:
    signals = {
        "removed_units": np.array([0, 1, 1, 1]),
        "text_bytes": np.array([0, 100, 100, 100]),
        "removed_bytes": np.array([0, 50, 51, 10]),
        "words_left": np.array([-1, 9, 9, 4]),
    }
    off = step.checks(signals, UnitDedupParams())
    assert not any(check.dropped.any() for check in off)
    on = step.checks(signals, UnitDedupParams(max_removed_ratio=0.5, min_words_left=5))
    assert [check.reason.partition("_")[2] for check in on] == ["removed_ratio", "words_left"]
    assert [check.dropped.tolist() for check in on] == [
        [False, False, True, False],
        [False, False, False, True],
    ]


def test_what_measures() -> None:
    params = UnitDedupParams(keep=["longest", {"last": "date"}], within={"field": "host"}, min_words_left=3)
    assert measuring_parameters(LINE_DEDUP, params) == {
        "min_chars": 1,
        "normalize": "ccnet",
        "group": "host",
        "order": ["date"],
    }
    assert needed_fields(LINE_DEDUP, params, ()) == ("host", "date")
    fields = {"host": ["a", "b"], "date": ["1", None]}
    units, columns = LINE_DEDUP.measure(Batch.of(Texts.from_strings(["a\nb", ""]), fields=fields), params)
    assert len(units) == 2 and list(columns) == ["group", "order_date"]


@pytest.mark.parametrize(
    "wrong",
    [{"min_documents": 0}, {"normalize": "none"}, {"max_removed_ratio": 1.5}, {"min_chars": -1}, {"x": 1}],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        UnitDedupParams(**wrong)

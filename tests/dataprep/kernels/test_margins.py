"""What is taken out of texts against the slow twins; gpt3's against Janitor's rule."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dataprep.evals.cuts import without, without_windows
from dataprep.evals.measure import hits_in
from dataprep.kernels.texts import Texts
from tests.dataprep.evals.few import an_index
from tests.dataprep.kernels.strategies import texts as any_text
from tests.reference import contamination as twin

CONTAMINANT = (
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many -- clips in May. "
    "How many clips did Natalia sell altogether?"
)
WORDS = ["alpha", "Beta,", "gamma's", "-", "d\u00e9j\u00e0", "\u4e2d\u6587", "x", "EPSILON."]


@given(any_text, st.data())
def test_widened_like_the_twin(text: str, data: st.DataObject) -> None:
    places = st.integers(0, len(text))
    spans = (
        data.draw(
            st.lists(st.tuples(places, places).map(sorted).filter(lambda each: each[0] < each[1]), max_size=4)
        )
        if text
        else []
    )
    margin = data.draw(st.integers(0, 5))
    texts = Texts.from_strings(["caf\u00e9", text, "after"]).slice(1, 2)
    starts = [len(text[:at].encode()) for at in range(len(text) + 1)]
    found = np.array([(0, starts[first], starts[end]) for first, end in spans], dtype=np.int64).reshape(-1, 3)
    left, taken = without(texts, found, margin)
    wanted = twin.widened(text, [(first, end) for first, end in spans], margin)
    assert left.to_strings() == [wanted]
    breaks = wanted.count("\n") - text.count("\n")
    assert int(taken[0]) >= len(text.encode()) - len(wanted.encode()) + max(0, breaks)


def pieces_left(text: str, contaminants: list[str]) -> str:
    index = an_index(contaminants, definition="gpt3")
    texts = Texts.from_strings([text])
    hits = hits_in(texts, index).grams[:, [0, 2, 3]]
    return without_windows(texts, hits)[0].to_strings()[0]


filler = st.lists(st.sampled_from(WORDS), max_size=120).map(" ".join)


@given(st.lists(st.tuples(filler, st.integers(10, 25), st.booleans()), min_size=1, max_size=4), filler)
def test_gpt3_leaves_what_janitor_leaves(parts: list[tuple[str, int, bool]], end: str) -> None:
    text = ""
    for before, words, is_loud in parts:
        planted = " ".join(CONTAMINANT.split()[:words])
        text += f"{before} {planted.upper() if is_loud else planted}\n"
    text += end
    pieces = twin.janitor(text, [CONTAMINANT])
    found = len(hits_in(Texts.from_strings([text]), an_index([CONTAMINANT], definition="gpt3")).grams)
    if not found:
        assert pieces_left(text, [CONTAMINANT]) == text  # the named difference: Janitor drops short ones
        assert pieces == ([text] if len(text) > 199 else [])
    else:
        assert pieces_left(text, [CONTAMINANT]) == "\n".join(pieces)

"""Hits and runs against the slow twin, over few different words so that they often meet."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from dataprep.evals.index import MOST_SEED_PLACES, SHORT_NGRAMS, EvalIndex
from dataprep.kernels.grams import HOLES
from dataprep.kernels.overlaps import overlaps
from dataprep.kernels.texts import Texts
from dataprep.kernels.word_keys import word_places
from tests.dataprep.evals.few import an_index
from tests.reference import contamination as twin

WORDS = [f"w{number}" for number in range(40)]
sentences = st.lists(st.sampled_from(WORDS), min_size=8, max_size=60)


@st.composite
def documents(draw: st.DrawFn, texts: Sequence[Sequence[str]]) -> list[str]:
    """Parts of the texts with a word changed, added or left out here and there, and words of their own."""
    words: list[str] = []
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            text = draw(st.sampled_from(texts))
            start = draw(st.integers(0, len(text)))
            part = list(text[start : start + draw(st.integers(0, len(text)))])
            for _ in range(draw(st.integers(0, 3))):
                if part:
                    place = draw(st.integers(0, len(part) - 1))
                    part[place : place + draw(st.integers(0, 3))] = draw(
                        st.lists(st.sampled_from(["x", "y", *WORDS[:3]]), max_size=3)
                    )
            words += part
        else:
            words += draw(st.lists(st.sampled_from(["x", "y", "z", *WORDS]), max_size=12))
    return words


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    texts = draw(st.lists(sentences, min_size=1, max_size=5))
    if draw(st.booleans()):
        texts = [[*texts[0][:10], *text] for text in texts]  # a template
    found = draw(st.lists(documents(texts), max_size=4))
    return [" ".join(text) for text in texts], [" ".join(words) for words in found]


def by_twin(index: EvalIndex, keys: list[int]) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    references = index.references
    offsets = references.word_offsets.tolist()
    texts = [
        [int(word) for word in references.words[first:end]] for first, end in itertools.pairwise(offsets)
    ]
    size = index.definition.ngram
    hits = [(at, at + size) for at, _ in twin.hits(keys, texts, size)]
    needs = references.needs.tolist()
    return hits, twin.runs(keys, texts, needs, size, HOLES, MOST_SEED_PLACES, SHORT_NGRAMS)


@given(cases())
def test_like_the_twin(case: tuple[list[str], list[str]]) -> None:
    questions, strings = case
    index = an_index(questions, floor=9, share_ppm=300_000)
    texts = Texts.from_strings(["before", *strings, "after"]).slice(1, 1 + len(strings))
    hits, runs = overlaps(texts.data, texts.offsets, index.references, 8, 0, 64)
    keys, starts, ends, offsets = word_places(texts.data, texts.offsets)
    for document in range(len(strings)):
        first, begin = int(offsets[document]), int(texts.offsets[document])
        mine = [int(key) for key in keys[first : offsets[document + 1]]]
        wanted_hits, wanted_runs = by_twin(index, mine)
        places = [(starts[first + at] - begin, ends[first + end - 1] - begin) for at, end in wanted_hits]
        assert [tuple(row) for row in hits[hits[:, 0] == document][:, 2:].tolist()] == places
        placed = [
            (*run[:5], starts[first + run[5]] - begin, ends[first + run[6] - 1] - begin)
            for run in wanted_runs
        ]
        assert [tuple(row) for row in runs[runs[:, 0] == document][:, 1:8].tolist()] == placed


def test_an_answer_is_near_or_not() -> None:
    question, answer = "one two three four five six seven eight nine ten", "forty two"
    index = an_index([question], [answer])
    strings = [
        f"{question} Forty-two!",
        question,
        f"{answer} {'a ' * 60}{question}",
        f"{answer} {'a ' * 63}{question}",
    ]
    texts = Texts.from_strings(strings)
    runs = overlaps(texts.data, texts.offsets, index.references, 8, 0, 64)[1]
    assert runs[:, 8].tolist() == [1, 0, 1, 0]


def test_a_hit_over_many_texts_grows_no_run_but_its_neighbours_do() -> None:
    template = "answer the following question with one word and nothing else"
    questions = [f"{template} what is the name of number {number}" for number in range(MOST_SEED_PLACES + 5)]
    index = an_index(questions)
    assert not index.references.seeds.all()
    texts = Texts.from_strings([template, questions[3]])
    hits, runs = overlaps(texts.data, texts.offsets, index.references, 8, 0, 64)
    assert set(hits[:, 0].tolist()) == {0, 1}
    assert [3, 17] in runs[:, 1:3].tolist()
    assert set(runs[:, 0].tolist()) == {1}


def test_texts_that_are_nothing_but_a_template_have_a_seed() -> None:
    question = "a question that is asked of everyone in the same words"
    index = an_index([question] * 100 + [f"{question} {word}" for word in WORDS * 2])
    assert index.num_texts == 1 + len(WORDS)
    texts = Texts.from_strings([question])
    runs = overlaps(texts.data, texts.offsets, index.references, 8, 0, 64)[1]
    assert len(set(runs[:, 1].tolist())) == index.num_texts

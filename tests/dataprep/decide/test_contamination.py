"""Judging hits against the slow twin, however the documents are split; and the rules in words."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.decide.contamination import (
    Evidence,
    Rule,
    contaminated_texts,
    evidence,
    example_marks,
    gram_documents,
    seen_share,
    tally,
)
from dataprep.evals.definitions import Name
from dataprep.evals.index import MOST_SEED_PLACES, SHORT_NGRAMS, EvalIndex
from dataprep.evals.measure import Hits, hits_in, joined_hits
from dataprep.kernels.grams import HOLES
from dataprep.kernels.texts import Texts
from dataprep.kernels.word_keys import word_keys
from tests.dataprep.evals.few import an_index
from tests.dataprep.kernels.test_overlaps import cases
from tests.reference import contamination as twin

KINDS: list[Name] = ["longest", "tulu3", "palm", "datatrove"]


def keys_of(strings: list[str]) -> list[list[int]]:
    texts = Texts.from_strings(strings)
    keys, offsets = word_keys(texts.data, texts.offsets)
    return [[int(key) for key in keys[first:end]] for first, end in itertools.pairwise(offsets)]


def pairs_by_twin(index: EvalIndex, documents: list[list[int]], frequent: int) -> set[tuple[int, int, int]]:
    """(document, text, words that count)."""
    size, kind = index.definition.ngram, index.definition.kind
    offsets = index.references.word_offsets.tolist()
    words = index.references.words.tolist()
    texts = [words[first:end] for first, end in itertools.pairwise(offsets)]
    often = {gram for gram, count in twin.gram_documents(documents, size).items() if count > frequent}
    found = set()
    for row, document in enumerate(documents):
        if kind == "run":
            needs = index.references.needs.tolist()
            for run in twin.runs(document, texts, needs, size, HOLES, MOST_SEED_PLACES, SHORT_NGRAMS):
                words_counted = twin.counted(texts[run[0]], run, often, size)
                if words_counted >= needs[run[0]]:
                    found.add((row, run[0], words_counted))
            continue
        held = set(twin.grams(document, size))
        for number, text in enumerate(texts):
            covered = twin.covered(text, held, often, size)
            all_grams = len(text) - size + 1
            hit = sum(
                1
                for at in range(all_grams)
                if set(range(at, at + size)) <= covered
                and tuple(text[at : at + size]) in held
                and (tuple(text[at : at + size]) not in often or _long(text, at, held, size))
            )
            share = index.definition.share_ppm
            enough = {
                "any": bool(covered),
                "covered": len(covered) * 10**6 > len(text) * share,
                "seen": bool(covered) and hit * 10**6 >= all_grams * share,
            }
            if enough[kind]:
                found.add((row, number, len(covered)))
    return found


def _long(text: list[int], at: int, held: set[tuple[int, ...]], size: int) -> bool:
    """Whether the n-gram at `at` belongs to a stretch of 2n words or more."""
    first = last = at
    while first > 0 and tuple(text[first - 1 : first - 1 + size]) in held:
        first -= 1
    while tuple(text[last + 1 : last + 1 + size]) in held and last + 1 + size <= len(text):
        last += 1
    return last - first + size >= 2 * size


def in_splits(strings: list[str], index: EvalIndex, cuts: list[int]) -> list[Hits]:
    places = sorted({0, len(strings), *(cut % (len(strings) + 1) for cut in cuts)})
    texts = Texts.from_strings(strings)
    pairs = itertools.pairwise(places)
    return [hits_in(texts.slice(first, end), index) for first, end in pairs]


@pytest.mark.parametrize("name", KINDS)
@given(case=cases(), frequent=st.integers(0, 3), cuts=st.lists(st.integers(0, 9), max_size=2))
def test_like_the_twin_in_any_splits(
    name: Name, case: tuple[list[str], list[str]], frequent: int, cuts: list[int]
) -> None:
    questions, strings = case
    strings = [*strings, *strings[:2], "w1 w2 w3"]
    smaller = {"datatrove": {"ngram": 8}, "longest": {"floor": 9}}.get(name, {})
    index = an_index(questions, definition=name, share_ppm=300_000, **smaller)
    hits = in_splits(strings, index, cuts)
    documents = sum(
        (gram_documents(each, index) for each in hits), np.zeros(index.references.keys.size, np.int64)
    )
    parts = [evidence(each, index, documents, Rule(frequent)) for each in hits]
    found, first = set(), 0
    for part, each in zip(parts, hits, strict=True):
        found |= {(first + row[0], row[1], row[2]) for row in part.pairs.tolist()}
        first += each.documents
    assert found == pairs_by_twin(index, keys_of(strings), frequent)
    whole = joined_hits(hits)
    assert np.array_equal(gram_documents(whole, index), documents)
    together = evidence(whole, index, documents, Rule(frequent))
    assert len(together.pairs) == sum(len(part.pairs) for part in parts)
    assert len(together.excused) == sum(len(part.excused) for part in parts)


def judged(
    questions: list[str],
    strings: list[str],
    rule: Rule,
    answers: list[str] | None = None,
    name: Name = "longest",
) -> tuple[EvalIndex, Evidence, list[bool]]:
    index = an_index(questions, answers or [], name)
    hits = hits_in(Texts.from_strings(strings), index)
    documents = gram_documents(hits, index)
    found = evidence(hits, index, documents, rule)
    return index, found, contaminated_texts([found], index, documents).tolist()


SHORT = "what is the name of the place where we are now going"
LONG = f"{SHORT} and what will we all be doing there when we come"


def test_a_frequent_phrase_is_no_evidence_but_a_long_one_is() -> None:
    many = [f"document {number}: {SHORT}" for number in range(12)]
    _index, found, texts = judged([SHORT], many, Rule(frequent=10))
    assert (len(found.pairs), len(found.excused), texts) == (0, 12, [False])
    assert len(judged([SHORT], many[:10], Rule(frequent=10))[1].pairs) == 10
    assert len(judged([SHORT], many, Rule())[1].pairs) == 12
    copied = [f"document {number}: {LONG}" for number in range(1000)]
    assert len(judged([LONG], copied, Rule(frequent=10))[1].pairs) == 1000


def test_only_documents_left_by_exact_dedup_count() -> None:
    index = an_index([SHORT])
    hits = hits_in(Texts.from_strings([SHORT] * 12), index)
    alone = np.zeros(12, dtype=bool)
    alone[3] = True
    documents = gram_documents(hits, index, alone)
    assert documents.max() == 1
    assert len(evidence(hits, index, documents, Rule(frequent=10)).pairs) == 12


def test_an_answer_may_be_required() -> None:
    strings = [f"{LONG} Nothing", LONG]
    assert len(judged([LONG], strings, Rule(answer=True), ["nothing"])[1].pairs) == 1
    assert len(judged([LONG], strings, Rule(answer=True), [""])[1].pairs) == 2


def test_palm_and_llama3_put_documents_together() -> None:
    words = LONG.split()
    halves = [" ".join(words[:15]), " ".join(words[8:])]
    names: tuple[Name, ...] = ("palm", "llama3")
    for name in names:
        _, _found, texts = judged([LONG], halves, Rule(), name=name)
        assert texts == [True]
    assert judged([LONG], halves[:1], Rule(), name="palm")[2] == [False]
    assert len(judged([LONG], [LONG], Rule(), name="palm")[1].pairs) == 1


def test_the_shares_are_those_of_the_words_and_ngrams_seen() -> None:
    words = LONG.split()
    for name, wanted in (("palm", (5, len(words) - 7)), ("llama3", (12, len(words)))):
        index = an_index([LONG], definition=name)  # type: ignore[arg-type]
        hits = hits_in(Texts.from_strings([" ".join(words[3:15])]), index)
        part, whole = seen_share(index, gram_documents(hits, index) > 0)
        assert (part.tolist(), whole.tolist()) == ([wanted[0]], [wanted[1]])


def test_the_table_counts_examples_that_are_equal_or_too_short() -> None:
    index, found, texts = judged([LONG, "too short", LONG, SHORT, ""], [LONG, f"so: {LONG}"], Rule())
    assert example_marks(np.array(texts), index).tolist() == [1, -1, 1, 1, -1]
    (row,) = tally([found], np.array(texts), index)
    assert (row.examples, row.tested, row.contaminated, row.documents) == (5, 3, 3, 2)
    assert row.share_ppm == 10**6


def test_nothing_to_test_and_nothing_to_look_at() -> None:
    for questions, strings in (
        ([], ["a b c d e f g h i"]),
        (["", "a b"], ["a b"]),
        ([LONG], []),
        ([LONG], [""]),
    ):
        for name in ("longest", "gpt3", "palm", "llama3", "tulu3", "datatrove"):
            index, found, texts = judged(list(questions), list(strings), Rule(2), name=name)  # type: ignore[arg-type]
            assert len(found.pairs) == 0
            assert not any(texts)
            assert len(tally([found], np.array(texts, dtype=bool), index)) == 1


def test_an_example_longer_than_any_document_and_a_document_of_nothing_but_it() -> None:
    book = " ".join(f"word{number}" for number in range(5000))
    part = " ".join(f"word{number}" for number in range(1000, 2000))
    assert judged([book], [part], Rule())[2] == [False]
    assert judged([book], [book], Rule())[2] == [True]

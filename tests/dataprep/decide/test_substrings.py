from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.decide.layout import Corpus, Layout, Split, layout_of
from dataprep.decide.repeats import BYTES_OF_A_ROW, repeats
from dataprep.decide.substrings import cut_ranges, parts_for, runs_of_split
from dataprep.kernels.covered import byte_spans
from dataprep.kernels.spans import spliced
from dataprep.kernels.texts import Texts
from dataprep.tokenizers.spelling import BYTE_SIZES, bytes_as_tokens
from tests.dataprep.kernels.strategies import sliced
from tests.reference import substrings as slow

Documents = Sequence[Sequence[int]]

TINY, SMALL, AMPLE = 4 * BYTES_OF_A_ROW, 40 * BYTES_OF_A_ROW, 10**7
"""Memory in which groups are taken apart and cut by place, in which they are cut by key, in which all fit."""


@st.composite
def corpora(draw: st.DrawFn) -> list[list[int]]:
    """Documents of few tokens, that have passages in common, repeat themselves, are equal, or are empty."""
    alphabet = draw(st.sampled_from([1, 2, 3, 1000]))
    tokens = st.integers(0, alphabet - 1)
    passages = draw(st.lists(st.lists(tokens, min_size=1, max_size=12), min_size=1, max_size=4))
    piece = st.one_of(st.sampled_from(passages), st.lists(tokens, max_size=4))
    documents = st.lists(piece, max_size=8).map(lambda pieces: [one for part in pieces for one in part])
    return draw(st.lists(documents, max_size=7))


def splits_of(documents: Documents, order: Sequence[int], cuts: Sequence[int]) -> list[Split]:
    """Documents whose ranks are their indices, times 3, in another order, in as many splits as cuts and one
    more."""
    edges = [0, *sorted(cuts), len(documents)]
    splits = []
    for start, stop in pairwise(edges):
        own = order[start:stop]
        offsets = np.cumsum([1, *(len(documents[index]) for index in own)]).astype(np.int64)
        tokens = [9, *(token for index in own for token in documents[index]), 9]
        splits.append(Split(np.array(tokens, dtype=np.uint16), offsets, np.array(own, dtype=np.int64) * 3))
    return splits


def cut(splits: Sequence[Split], length: int, memory_bytes: int, parts: int | None) -> dict[int, set[int]]:
    """Positions that are cut, by rank."""
    found: dict[int, set[int]] = {}
    with TemporaryDirectory() as folder:
        results = list(cut_ranges(splits, length, Path(folder), memory_bytes, parts))
        assert list(Path(folder).iterdir()) == []
    assert len(results) == len(splits)
    for split, ranges in zip(splits, results, strict=True):
        found |= {rank: set() for rank in split.ranks.tolist()}
        for document, start, end in ranges.tolist():
            assert split.token_offsets[document] <= start < end <= split.token_offsets[document + 1]
            first = int(split.token_offsets[document])
            found[int(split.ranks[document])] |= set(range(start - first, end - first))
    return found


def cut_of(documents: Documents, length: int, memory_bytes: int = AMPLE) -> list[set[int]]:
    found = cut(splits_of(documents, range(len(documents)), [len(documents) // 2]), length, memory_bytes, 2)
    return [found[3 * index] for index in range(len(documents))]


@given(corpora(), st.integers(2, 8), st.data())
@example([[0] * 30, [0] * 3, [], [0] * 31], 4, None)
def test_what_is_cut_is_what_the_slow_twin_cuts(
    documents: list[list[int]], length: int, data: st.DataObject | None
) -> None:
    """Whatever the splits, their order, the parts and the memory."""
    wanted = {3 * index: positions for index, positions in enumerate(slow.cut(documents, length))}
    for memory_bytes, parts in ((TINY, 1), (TINY, 7), (SMALL, 2), (AMPLE, None)):
        order: Sequence[int] = range(len(documents))
        cuts: Sequence[int] = []
        if data is not None:
            order = data.draw(st.permutations(order))
            cuts = data.draw(st.lists(st.integers(0, len(documents)), max_size=3))
        assert cut(splits_of(documents, order, cuts), length, memory_bytes, parts) == wanted


@given(corpora(), st.integers(2, 8))
def test_what_the_page_promises(documents: list[list[int]], length: int) -> None:
    gone = cut_of(documents, length)

    def stays(document: int, at: int, size: int) -> bool:
        return gone[document].isdisjoint(range(at, at + size))

    places = slow.places_of_windows(documents, length)
    marked: list[set[int]] = [set() for _ in documents]
    for (document, at), *others in places.values():
        # 1. Every window that occurs more than once stays whole at its best place.
        assert not others or stays(document, at, length)
        for other, position in others:
            marked[other].add(position)
    # 2. Every token that is cut lies in a window that stays whole at a better place.
    for document, positions in enumerate(gone):
        for position in positions:
            assert any(at in marked[document] for at in range(position - length + 1, position + 1))
    # 3. Of equal stretches of 2 * length - 1 tokens, none but the best stays whole.
    for _, *others in slow.places_of_windows(documents, 2 * length - 1).values():
        assert not any(stays(document, at, 2 * length - 1) for document, at in others)
    # 4. Of a stretch whose windows all equal better ones at most length - 1 tokens stay at either end.
    for document, positions in enumerate(marked):
        for at in positions:
            if positions >= set(range(at, at + length)):
                assert at + length - 1 in gone[document]


def test_a_passage_shared_by_two_documents_stays_in_the_better_one() -> None:
    passage = list(range(100, 160))
    documents = [[1, 2, 3, *passage, 4], [5, *passage, 6, 7]]
    assert cut_of(documents, 50) == [set(), set(range(1, 61))]
    assert cut_of(documents[::-1], 50) == [set(), set(range(3, 63))]
    assert cut_of(documents, 60) == [set(), set(range(1, 61))]
    assert cut_of(documents, 61) == [set(), set()]


def test_identical_documents_lose_everything_but_one_copy() -> None:
    documents = [list(range(80))] * 500
    assert cut_of(documents, 50) == [set()] + [set(range(80))] * 499
    assert cut_of(documents[:40], 50, TINY) == [set()] + [set(range(80))] * 39
    assert cut_of(documents, 81) == [set()] * 500


def test_a_document_that_repeats_itself_keeps_one_copy_of_each_window() -> None:
    line = list(range(30))
    assert cut_of([[7] * 100], 10) == [set(range(10, 100))]
    # A window may begin at any of the 30 places of the line; the first 30 windows are the best.
    assert cut_of([line * 20], 40) == [set(range(69, 600))]


def test_a_whole_that_is_two_halves_of_better_documents() -> None:
    """Parts from several places go, although the whole is nowhere else."""
    one, other = list(range(100, 120)), list(range(200, 220))
    assert cut_of([one, other, one + other], 10)[2] == set(range(40))


def test_what_is_left_where_repeats_overlap() -> None:
    """The windows over the seam of header and page are best in the second document, so it keeps the header's
    end, whose windows are all gone."""
    header, page = list(range(100, 130)), list(range(200, 230))
    gone = cut_of([[*header, 1], [*header, *page], [*header, *page]], 10)
    assert gone == [set(), set(range(21)), set(range(60))]


def test_documents_end_windows() -> None:
    """Two documents beside one another are no passage, in whatever order they lie."""
    assert cut_of([[1, 2, 3], [4, 5, 6], [1, 2, 3, 4, 5, 6]], 4) == [set()] * 3


def test_nothing() -> None:
    assert cut([], 5, AMPLE, None) == {}
    assert cut_of([[], []], 5) == [set(), set()]
    assert cut_of([[1, 2], [1, 2]], 3) == [set(), set()]


def test_one_huge_document_and_a_phrase_among_different_words(tmp_path: Path) -> None:
    """The same in 4 MB as in all memory, and in about that: a document of one token, one of a long line, and
    a phrase shorter than a window, so that its many windows have one key and are all different."""
    draw = np.random.default_rng(3)
    phrase = draw.integers(0, 50_000, 30)
    pages = draw.integers(0, 50_000, (6_000, 100))
    pages[:, 40:70] = phrase
    line = np.tile(draw.integers(0, 50_000, 1_000), 300)
    tokens = np.concatenate([np.zeros(300_000, dtype=np.int64), line, pages.ravel(), pages[0]])
    offsets = np.cumsum([0, 300_000, line.size, *[100] * 6_001])
    path = tmp_path / "tokens"
    path.write_bytes(tokens.astype(np.uint16).tobytes())
    mapped = np.memmap(path, dtype=np.uint16, mode="r")
    split = Split(mapped, offsets.astype(np.int64), np.arange(offsets.size - 1))
    folder = tmp_path / "files"
    folder.mkdir()
    (wanted,) = cut_ranges([split], 50, folder, 10**9, 1)
    assert wanted.tolist() == [[0, 50, 300_000], [1, 301_049, 600_000], [6_002, offsets[-2], offsets[-1]]]
    tracemalloc.start()
    (found,) = cut_ranges([split], 50, folder, 4 * 10**6, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.tolist() == wanted.tolist() and list(folder.iterdir()) == []
    assert peak < 4 * 10**6 + 16 * 10**6  # what a chunk of windows and the flags of the split take


def test_manuals_of_several_versions(data_pack: Path) -> None:
    """Real text, which has much in common: the beginnings of 60 pages, three pages of each title."""
    path = data_pack / "docs_versions" / "django_docs_4_versions.jsonl.zst"
    with zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True) as stream:
        strings = [json.loads(line)["text"] for line in io.TextIOWrapper(stream, encoding="utf-8")]
    by_title = sorted(enumerate(strings), key=lambda pair: (pair[1][:30], pair[0]))
    documents = [[*text[:1500].encode()] for _, text in by_title[400:460]]
    wanted = slow.cut(documents, 60)
    assert sum(map(len, wanted)) > sum(map(len, documents)) / 4
    assert cut_of(documents, 60) == cut_of(documents, 60, SMALL) == wanted


def test_windows_are_told_with_the_place_of_the_best() -> None:
    documents = [[*range(20)], [5, 6, 7, 8, 9, 10]]
    splits = splits_of(documents, [1, 0], [1])
    layout = layout_of(splits)
    corpus = Corpus(layout, [split.tokens for split in splits])
    runs = [runs for split in splits for runs, _ in runs_of_split(split, layout, 4, 1)]
    with TemporaryDirectory() as folder:
        (found,) = repeats(runs, corpus, 4, 1000, Path(folder))

    def windows(rows: np.ndarray) -> list[int]:
        return sorted(at for place, count in rows.tolist() for at in range(place, place + count))

    assert windows(found.kept) == [5, 6, 7] and windows(found.marked) == [20, 21, 22]
    marked, bounds = layout.by_split(found.marked, 2)
    assert bounds.tolist() == [0, len(found.marked), len(found.marked)] and windows(marked) == [1, 2, 3]


def test_layouts_refuse_what_would_go_wrong() -> None:
    tokens, offsets = np.zeros(3, dtype=np.uint16), np.array([0, 3], dtype=np.int64)
    split = Split(tokens, offsets, np.array([4]))
    with pytest.raises(ValueError, match="same rank"):
        layout_of([split, split])
    with pytest.raises(ValueError, match="one type"):
        Corpus(layout_of([split]), [tokens, tokens.astype(np.uint8)])
    empty = Split(tokens[:0], np.zeros(3, dtype=np.int64), np.array([1, 2]))
    layout = layout_of([empty, split])
    assert isinstance(layout, Layout) and layout.documents_at(np.array([0, 2])).tolist() == [2, 2]
    assert layout.places_of(np.array([4, 2, 1])).tolist() == [0, 0, 0]


def test_more_memory_means_fewer_parts() -> None:
    assert parts_for(10**6, 50, 10**9) == 1
    assert parts_for(10**9, 50, 10**9) == 1 + 2 * (2 * 10**9 // 27) * BYTES_OF_A_ROW // 10**9
    assert parts_for(10**12, 50, 10**8) == 256


passages = st.text(alphabet="ab \u00e9\u4e2d\U0001f600", min_size=1, max_size=8)


@given(st.lists(passages, min_size=1, max_size=3), st.data(), st.integers(2, 9))
def test_bytes_are_cut_in_whole_characters(pool: list[str], data: st.DataObject, length: int) -> None:
    strings = data.draw(
        st.lists(st.lists(st.sampled_from(pool) | passages, max_size=6).map("".join), max_size=5)
    )
    texts = sliced(strings)
    tokens, offsets = bytes_as_tokens(texts)
    split = Split(tokens, offsets, np.arange(len(strings), dtype=np.int64))
    with TemporaryDirectory() as folder:
        (ranges,) = cut_ranges([split], length, Path(folder), AMPLE, 1)
    spans = byte_spans(ranges, tokens, offsets, BYTE_SIZES, texts.data, texts.offsets)
    wanted = []
    for document, start, end in ranges.tolist():
        first = int(offsets[document])
        start, end = slow.whole_characters(texts[document], start - first, end - first)
        at = int(texts.offsets[document])
        wanted += [[document, at + start, at + end, 0]] if end > start else []
    assert spans.tolist() == wanted
    left = Texts(*spliced(texts.data, texts.offsets, spans, Texts.from_bytes([b""])))
    removed = sum(end - start for _, start, end, _ in wanted)
    assert sum(len(text.encode()) for text in left.to_strings()) == texts.num_bytes - removed

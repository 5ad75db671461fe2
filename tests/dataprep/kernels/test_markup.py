from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.markup import markup_counts
from dataprep.kernels.texts import Texts
from tests.dataprep.kernels.strategies import sliced
from tests.dataprep.kernels.timing import ratio
from tests.reference.markup import counts

PIECES = [
    *"<>/!-='\" \n\tab", "<!--", "-->", "<p>", "</p>", "<div>", "</div>", "<DIV ", "<script>", "</script>",
    "</scrip", "</title >", "\ufeff", "\u4e2d", "<x-y>", "<td>", "<style", "text",
    "<br/>", "<a href=\"x>y\">", "<b", "<svg/>", "<!doctype html>", "<html", "<?xml ", "<blockquote>",
    "<title>",
]  # fmt: skip
markups = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def of(text: str) -> tuple[int, int, int]:
    texts = Texts.from_strings([text])
    tags, depth, is_html = markup_counts(texts.data, texts.offsets)[0].tolist()
    return tags, depth, is_html


@given(st.lists(markups | st.text(max_size=40), max_size=5))
def test_the_same_as_the_slow_twin(strings: list[str]) -> None:
    texts = sliced(strings)
    found = markup_counts(texts.data, texts.offsets)
    assert [tuple(row) for row in found.tolist()] == [counts(string.encode()) for string in strings]


@pytest.mark.parametrize(
    ("text", "tags", "depth"),
    [
        ("", 0, 0),
        ("no markup, 1 < 2 and 3 > 2", 0, 0),
        ("<p>one<p>two<br><img src=x>", 4, 0),
        ("<div><div><b>x</b></div></div>", 6, 3),
        ("<div " * 3, 1, 1),
        ("<svg><path d=1/><path d=2/></svg>", 4, 1),
        ("<script>if (a<b) '<div><div>'</script><i>x", 3, 1),
        ("<!-- <div> --><div>", 1, 1),
        ('<a title="1 > 0" href=x>', 1, 0),
        ("<p don't stop>x</p>", 2, 0),
        ("</b></b><b>", 3, 1),
        ("<ul>" + "<li>" * 500, 501, 1),
    ],
)
def test_tags_and_depth(text: str, tags: int, depth: int) -> None:
    assert of(text)[:2] == (tags, depth)


@pytest.mark.parametrize(
    ("text", "is_html"),
    [
        ("<html>", True),
        ("\ufeff \n<!DOCTYPE html>", True),
        ("<!-- a comment -->", True),
        ("<?xml version='1.0'?><html>", True),
        ("<P>part of a page", True),
        ("<h1>x", True),
        ("Warning: a line of PHP\n<html><body>", True),
        ("", False),
        ("plain text with a <p> in it", False),
        ("<3 this", False),
        ("<unk> of a tokenizer", False),
        ("# Markdown\n\n<p align=center>", False),
        ("x" * 5000 + "<html>", False),
    ],
)
def test_what_begins_like_a_page(text: str, is_html: bool) -> None:
    assert bool(of(text)[2]) == is_html


def test_pages_and_articles_of_the_data_pack(data_pack: Path) -> None:
    for name, share in (("html/html_pages.jsonl.zst", 1.0), ("wiki/wiki_en.jsonl.zst", 0.0)):
        with (data_pack / name).open("rb") as file:
            data = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read(20_000_000)
        texts = Texts.from_strings(json.loads(line)["text"] for line in data.split(b"\n")[:-1][:500])
        assert markup_counts(texts.data, texts.offsets)[:, 2].mean() == share


UNITS = [
    *("<", "<a", "</", "</a", "<!--", "<!-- -->", "<p ", '<a x="', "<a x='y' ", "<div>", "<br/>", "</p>"),
    *("<script>", "<script></scrip", "<title", "word ", "\u4e2d", "<a>" + "b" * 50),
]


@pytest.mark.slow
def test_the_cost_of_a_byte_does_not_grow() -> None:
    """20 MB in one text against as much in texts of 10 kB."""
    small, large = 10_000, 20_000_000
    slow = {}
    for unit in UNITS:
        text = unit.encode() * (large // len(unit.encode()))
        many, one = (Texts.from_bytes([text[:size]] * (large // size)) for size in (small, large))
        markup_counts(many.data[:small], np.array([0, small], dtype=np.int64))  # compiled
        found = ratio(
            lambda texts=many: markup_counts(texts.data, texts.offsets),
            lambda texts=one: markup_counts(texts.data, texts.offsets),
            at_most=10,
            floor=0.05,
        )
        if found > 10:
            slow[unit] = found
    assert not slow

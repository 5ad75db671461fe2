"""The page of a report: well formed, complete, without effect of what stands in the data, loading nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.report.html import FAULTS_SHOWN, SHARDS_SHOWN, encode_html
from tests.dataprep.report.test_terminal import PACKING, REPORT, funnel_rows

VOID = {"meta", "br"}
DIGEST = "xxh3:0123"
HOSTILE = '</td></style><script>alert(1)</script><img src=x onerror="a()">\'&amp;\x1b[31m\u202e'
CONTAMINATION = [
    {
        "step": "decontaminate",
        "definition": "longest",
        "sources": ["web"],
        "sets": [
            {
                "name": "gsm8k", "action": "drop", "examples": 1319, "tested": 1301, "contaminated": 77,
                "share_ppm": 59185, "documents": 81,
            },
            {
                "name": "tiny", "action": "cut", "examples": 3, "tested": 0, "contaminated": 0,
                "share_ppm": None, "documents": 0,
            },
        ],
    }
]  # fmt: skip
FULL: dict[str, Any] = {
    **REPORT,
    "warnings": ["exact_dedup had one document to look at"],
    "duplicates": [
        {
            "step": "minhash_dedup", "looked_at": 987654, "of": "documents", "removed": 4321,
            "clusters": 2109, "largest": [45, 9], "borderline": 765, "settled": 543, "limited": 0,
        },
        {"step": "line_dedup", "documents": 12, "looked_at": 34567, "of": "units", "removed": 891},
    ],
    "contamination": CONTAMINATION,
    "packing": PACKING,
    "tokenizer": {
        "vocab_size": 32000, "engine": "tokenizers", "engine_reason": "the recipe says so",
        "special_tokens": "text",
    },
    "samples": [
        {"source": "web", "stage": "c4", "reason": "curly", "where": "a.jsonl:3", "text": "one\ntwo {"}
    ],
}  # fmt: skip


class Page(HTMLParser):
    """Tags that are open, the text of everything but the style sheet, and all attributes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(data.decode())
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def page(report: dict[str, Any]) -> Page:
    return Page(encode_html(report, DIGEST))


def everywhere(value: Any, hostile: str) -> Any:
    """A report with every string that comes from data or recipe replaced."""
    if isinstance(value, dict):
        kept = {"stage"} if value.get("stage") in ("read", "holdout", "train") else set()
        return {name: each if name in kept else everywhere(each, hostile) for name, each in value.items()}
    if isinstance(value, list):
        return [everywhere(each, hostile) for each in value]
    return hostile if isinstance(value, str) else value


def test_the_page_is_well_formed_and_loads_nothing() -> None:
    made = page(FULL)
    assert not made.tags & {"script", "link", "img", "iframe", "object", "base", "form"}
    names = {name for name, _ in made.attributes}
    assert not names & {"src", "srcset", "action", "onclick", "onload"}
    links = [value for name, value in made.attributes if name == "href"]
    ids = [value for name, value in made.attributes if name == "id"]
    assert links == [f"#{each}" for each in ids]
    assert len(ids) == 10
    source = encode_html(FULL, DIGEST).decode()
    assert not re.search(r"https?:|url\(|@import", source)
    assert "prefers-color-scheme: dark" in source


def test_all_numbers_of_the_funnel_are_in_it() -> None:
    made = page(FULL)
    shown = set(made.texts)
    titles = {value for name, value in made.attributes if name == "title"}
    for row in FULL["funnel"]:
        assert f"{row['documents']:,}" in shown
        assert f"{row['text_bytes']:,} bytes" in titles
        assert row["tokens"] is None or f"{row['tokens']:,}" in shown
        assert {f"{-count:,}" for count in row["dropped"].values()} <= shown
        assert {f"{count:,}" for count in row["joint"].values()} <= shown
        assert {*row["dropped"], *row["joint"]} <= shown


def test_the_other_parts_are_in_it() -> None:
    text = page(FULL).text
    for words in (
        "demo@1.0.0", DIGEST, "987,654 documents", "45, 9", "765", "34,567 units",
        "gsm8k", "1,319", "1,301", "77", "5.91 %", "81", "tiny", "exact_dedup had one document",
        "b.gz", "not_json", "1,199", "taken as text",
        "and 1,194 more", "web-train-00002", "300,000,369", "32,000",
        "a.jsonl:3", "one\ntwo {", "all sources",
    ):  # fmt: skip
        assert words in text, words


def test_documents_that_moved_are_told() -> None:
    rows = [
        {"source": "a", "stage": "read", "documents": 1500, "text_bytes": 5},
        {"source": "a", "stage": "route", "documents": 177, "text_bytes": 2, "moved": {"b<i>": 1323}},
    ]
    made = page({**REPORT, "funnel": rows})
    assert "to b<i>" in made.texts
    assert "-1,323" in made.texts


def test_bars_stay_within_their_track() -> None:
    made = page(FULL)
    widths = [float(value[6:-1]) for name, value in made.attributes if name == "style" and value]
    assert widths
    assert all(0 <= width <= 100 for width in widths)
    assert 100 in widths


def test_bars_below_a_sample_are_of_the_sample() -> None:
    gone = {"not_sampled": 900}
    rows = [
        {"source": "a", "stage": "read", "documents": 1000, "text_bytes": 5},
        {"source": "a", "stage": "sample", "documents": 100, "text_bytes": 5, "dropped": gone, "joint": gone},
        {"source": "a", "stage": "c4", "documents": 50, "text_bytes": 5, "dropped": {"short": 50}},
    ]
    made = page({**REPORT, "funnel": rows})
    widths = [value[6:] for name, value in made.attributes if name == "style" and value]
    assert widths == ["100.00%", "10.00%", "90.00%", "90.00%", "50.00%", "50.00%", "50.00%"]
    assert "below sample" in made.text


def test_strings_of_data_have_no_effect() -> None:
    report = everywhere(FULL, HOSTILE)
    report["quarantine"] = {
        HOSTILE: {**report["quarantine"]["web"], "reasons": {HOSTILE: 3}, "counts": {HOSTILE: 4}}
    }
    row = report["funnel"][2]
    row["dropped"], row["joint"], row["moved"] = {HOSTILE: 5}, {HOSTILE: 6}, {HOSTILE: 7}
    data = encode_html(report, HOSTILE)
    made = Page(data)
    assert made.tags == page(FULL).tags
    assert {name for name, _ in made.attributes} == {name for name, _ in page(FULL).attributes}
    for sign in (b"<script", b"<img", b"\x1b", "\u202e".encode()):
        assert sign not in data
    assert "<script>alert(1)</script>" in made.text


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_any_string_shows_as_it_is(text: str) -> None:
    made = page(everywhere(FULL, text))
    assert made.tags == page(FULL).tags
    if text.isprintable():
        assert text in made.text


def test_long_lists_end() -> None:
    shards = [{**REPORT["shards"][0], "name": f"web-train-{i:05d}"} for i in range(SHARDS_SHOWN + 7)]
    web = {**REPORT["quarantine"]["web"], "first": REPORT["quarantine"]["web"]["first"] * 40}
    text = page({**REPORT, "shards": shards, "quarantine": {"web": web}}).text
    assert f"web-train-{SHARDS_SHOWN - 1:05d}" in text
    assert f"web-train-{SHARDS_SHOWN:05d}" not in text
    assert "and 7 more" in text
    assert text.count("a[bold].jsonl") == FAULTS_SHOWN - 1


def test_an_empty_report_and_an_older_one() -> None:
    assert (
        "everything could be read"
        in page({"corpus": "a@1", "funnel": [], "shards": [], "quarantine": {}}).text
    )
    made = page({**REPORT, "funnel": funnel_rows("web", 1)})
    assert "contamination" not in made.text
    assert "all sources" not in made.text

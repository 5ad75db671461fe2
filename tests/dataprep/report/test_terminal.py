"""Tables as text: golden files at 80 and 120 columns; nothing in the data takes effect on the terminal.

A golden file that is missing is written by `python -m tests.dataprep.report.test_terminal`; read it first.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from dataprep.report import encode_report, write_report
from dataprep.report.funnel import Sample, ShardRow, funnel_of
from dataprep.report.terminal import MAX_SHARD_ROWS, print_funnel, print_report, print_samples, print_shards

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "report"


def funnel_rows(source: str, scale: int) -> list[dict[str, Any]]:
    def row(
        stage: str, documents: int, tokens: int | None = None, **reasons: dict[str, int]
    ) -> dict[str, Any]:
        return {
            "source": source,
            "stage": stage,
            "documents": documents * scale,
            "text_bytes": documents * scale * 1500,
            "tokens": tokens,
            "dropped": {name: count * scale for name, count in reasons.get("dropped", {}).items()},
            "joint": {name: count * scale for name, count in reasons.get("joint", {}).items()},
        }

    return [
        row("read", 1234),
        row("normalize", 1234),
        row(
            "gopher_quality",
            1000,
            dropped={"too_few_words": 200, "too_few_alphabetic_words": 34},
            joint={"too_few_words": 200, "too_few_alphabetic_words": 57, "too_many_bullets": 3},
        ),
        row("exact_dedup", 900, dropped={"exact_duplicate": 100}, joint={"exact_duplicate": 100}),
        row("holdout", 9, 9 * scale * 400),
        row("train", 891, 891 * scale * 400),
    ]


REPORT: dict[str, Any] = {
    "corpus": "demo@1.0.0",
    "funnel": [*funnel_rows("web", 1_000_000), *funnel_rows("licences", 1)],
    "shards": [
        {
            "name": f"web-train-{index:05d}",
            "source": "web",
            "subset": "train",
            "documents": 1234,
            "tokens": 100_000_123,
            "bin_bytes": 200_000_246,
        }
        for index in range(3)
    ],
    "quarantine": {
        "web": {
            "records": 1200,
            "reasons": {"invalid_utf8": 1, "not_json": 1199},
            "damaged": [
                {"file": "b.gz", "position": 12345, "reason": "truncated", "detail": "the gzip stream stops"}
            ],
            "first": [
                {
                    "file": "a[bold].jsonl",
                    "position": 9,
                    "line": 3,
                    "reason": "not_json",
                    "detail": "\x1b[31mbad\r",
                }
            ]
            * 6,
        },
        "licences": {"records": 0, "reasons": {}, "damaged": [], "first": []},
    },
}


def drawn(width: int, report: dict[str, Any] = REPORT, **options: Any) -> str:
    console = Console(file=io.StringIO(), width=width, **options)
    print_report(report, console)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


@pytest.mark.parametrize("width", [80, 120])
def test_the_whole_report(width: int) -> None:
    assert drawn(width) == (GOLDEN / f"report_{width}.txt").read_text(encoding="utf-8")


def test_the_order_of_the_report_is_the_recipes(tmp_path: Path) -> None:
    write_report(tmp_path / "report.json", REPORT)
    data = (tmp_path / "report.json").read_bytes()
    assert data == encode_report(REPORT)
    assert json.loads(data) == REPORT
    assert drawn(80, json.loads(data)) == drawn(80)


def test_no_colour_but_on_a_terminal() -> None:
    assert "\x1b" not in drawn(80)
    assert "\x1b[1mweb" in drawn(80, force_terminal=True)


def test_numbers_are_never_cut() -> None:
    rows = funnel_rows("a_source_with_a_name_of_its_own_length", 3_000_000)
    text = drawn(80, {**REPORT, "funnel": rows})
    assert all(len(line) <= 80 for line in text.splitlines())
    for row in rows:
        assert f"{row['documents']:,}" in text
    assert f"{891 * 3_000_000 * 400:,}" in text


def test_many_shards_are_summed() -> None:
    rows = [ShardRow(f"web-train-{i}", "web", "train", 1, 10, 20) for i in range(MAX_SHARD_ROWS)]
    for extra in (0, 1):
        console = Console(file=io.StringIO(), width=80)
        print_shards([*rows, *[ShardRow("web-holdout-0", "web", "holdout", 2, 5, 10)] * extra], console)
        lines = [line.split() for line in console.file.getvalue().splitlines() if line.strip()]  # type: ignore[attr-defined]
        if extra:
            assert lines[2:] == [
                ["web", "train", "24", "24", "240", "480", "B"],
                ["web", "holdout", "1", "2", "5", "10", "B"],
                ["25", "shards", "25", "26", "245", "490", "B"],
            ]
        else:
            assert len(lines) == MAX_SHARD_ROWS + 3


def test_joint_is_shown_only_where_it_says_something() -> None:
    plain = [{**row, "joint": row["dropped"]} for row in REPORT["funnel"]]
    assert "joint" in drawn(80)
    assert "joint" not in drawn(80, {**REPORT, "funnel": plain})


def test_contamination() -> None:
    one = {"examples": 1319, "tested": 1301, "contaminated": 77, "share_ppm": 59185, "documents": 81}
    none = {"examples": 3, "tested": 0, "contaminated": 0, "share_ppm": None, "documents": 0}
    sets = [{"name": "gsm8k", "action": "drop", **one}, {"name": "a[b]", "action": "cut", **none}]
    step = {"step": "decontaminate", "definition": "longest", "sources": None, "sets": sets}
    lines = [line.split() for line in drawn(80, {**REPORT, "contamination": [step]}).splitlines()]
    assert ["gsm8k", "1,319", "1,301", "77", "5.91", "%", "81"] in lines
    assert ["a[b]", "3", "0", "0", "0"] in lines  # of a set that was not tested no share is given


PACKING = [
    {
        "sequence_length": length, "source": "a[b]", "subset": "train", "rows": 8757, "tokens": 4_490_000,
        "padding": 2341 * (length - 511), "documents": 12600, "documents_cut": 2383,
        "documents_left_out": 1, "documents_cut_by_concat": 5533,
    }
    for length in (512, 2048)
]  # fmt: skip


def test_packed_rows() -> None:
    lines = [line.split() for line in drawn(80, {**REPORT, "packing": PACKING}).splitlines()]
    assert ["of", "2,048"] in lines and "packed" not in drawn(80)
    assert ["a[b]", "train", "8,757", "0.05%", "2,383", "18.91%", "5,533", "43.91%"] in lines
    empty = {**PACKING[0], **dict.fromkeys(("rows", "tokens", "padding", "documents"), 0)}
    assert "a[b] train" in drawn(80, {**REPORT, "packing": [empty]})


def test_an_empty_report() -> None:
    text = drawn(80, {"funnel": [], "shards": [], "quarantine": {}})
    assert "quarantine: empty" in text
    assert "0 shards" in text


@given(st.text(max_size=600), st.text(min_size=1, max_size=20))
def test_texts_print_as_they_are(text: str, name: str) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    print_samples([Sample("web", "rule", "reason", name, text)], console)
    print_funnel(funnel_of([{"source": name, "stage": text[:9], "documents": 1, "text_bytes": 2}]), console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert not set(shown) & {chr(code) for code in [*range(0x0A), *range(0x0B, 0x20), 0x7F, 0x9B, 0x202E]}
    shown.encode()


def test_markup_in_a_text_is_text() -> None:
    console = Console(file=io.StringIO(), width=80)
    print_samples([Sample("web", "rule", "[red]x[/red]", "a[b].txt", "[bold]hi[/] :smile: " * 40)], console)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[0] == "web, rule: [red]x[/red] (a[b].txt)"
    assert lines[1].startswith("  [bold]hi[/] :smile: [bold]hi[/]")
    assert lines[-1].endswith("...")


if __name__ == "__main__":
    for columns in (80, 120):
        target = GOLDEN / f"report_{columns}.txt"
        if not target.exists():
            target.write_text(drawn(columns), encoding="utf-8")

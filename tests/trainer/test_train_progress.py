"""Narration: what a plain line says, how rarely, and that a terminal gets the same words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from trainer.metrics import MetricsFile, Spans, StepMetrics
from trainer.progress import Live, Plain, Silent, open_narrator


def step(number: int, loss: float = 2.5) -> StepMetrics:
    return StepMetrics(
        step=number,
        loss=loss,
        source_loss={"code": 2.0, "prose": 3.0},
        gradient_norm=1.0,
        learning_rate=0.01,
        trained={"code": 600, "prose": 400},
        seconds={"total": 0.5},
    )


def test_plain_lines_come_first_last_and_seldom(capsys: pytest.CaptureFixture[str]) -> None:
    plain = Plain(100)
    for number in range(1, 101):
        plain.step(step(number))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "step 1/100  loss 2.5000  2,000 tokens/s  code 60% prose 40%",
        "step 100/100  loss 2.5000  2,000 tokens/s  code 60% prose 40%",
    ]


def test_a_terminal_gets_a_bar_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    live = Live(2, Console(stderr=True, force_terminal=True, width=100))
    live.step(step(1))
    live.say("[not markup] saving")
    live.step(step(2, loss=1.25))
    live.close()
    out, err = capsys.readouterr()
    assert out == "" and "[not markup] saving" in err and "step 2/2" in err and "loss 1.2500" in err


def test_only_the_first_rank_speaks() -> None:
    assert isinstance(open_narrator(10, is_first=False), Silent)
    assert isinstance(open_narrator(10, is_first=True), Plain), "a test has no terminal"


def test_spans_and_what_is_left_over() -> None:
    spans = Spans()
    for _ in range(2):
        with spans.time("data"):
            pass
    closed = spans.close()
    assert list(closed) == ["data", "total"] and 0 <= closed["data"] <= closed["total"]


def test_metrics_are_appended_with_their_attempt(tmp_path: Path) -> None:
    for attempt in (1, 2):
        file = MetricsFile(tmp_path / "metrics.jsonl", attempt)
        file.append(step(4))
        file.close()
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["attempt"] for line in lines] == [1, 2]
    assert lines[0]["source_loss"] == {"code": 2.0, "prose": 3.0} and lines[0]["step"] == 4

from __future__ import annotations

from dataprep.report.funnel import FunnelRow, by_source, check_funnel, funnel_of, totals

ROWS = funnel_of(
    [
        {
            "source": "web",
            "stage": "read",
            "documents": 10,
            "text_bytes": 1000,
            "dropped": {},
            "tokens": None,
        },
        {"source": "web", "stage": "rule", "documents": 6, "text_bytes": 700, "dropped": {"a": 3, "b": 1}},
        {"source": "web", "stage": "holdout", "documents": 1, "text_bytes": 100, "tokens": 30},
        {"source": "web", "stage": "train", "documents": 5, "text_bytes": 600, "tokens": 170},
        {"source": "code", "stage": "read", "documents": 2, "text_bytes": 50},
        {"source": "code", "stage": "holdout", "documents": 0, "text_bytes": 0, "tokens": 0},
        {"source": "code", "stage": "train", "documents": 2, "text_bytes": 50, "tokens": 20},
    ]
)


def changed(index: int, documents: int) -> list[FunnelRow]:
    rows = list(ROWS)
    old = rows[index]
    rows[index] = FunnelRow(
        old.source, old.stage, documents, old.text_bytes, old.tokens, old.dropped, old.joint
    )
    return rows


def test_rows_that_add_up() -> None:
    assert check_funnel(ROWS) == []
    assert check_funnel([]) == []


def test_a_document_that_vanishes_is_seen() -> None:
    assert check_funnel(changed(1, 5)) == [
        "web, rule: 10 in, 4 gone, 5 out",
        "web: 5 left, 6 in holdout and train",
    ]
    assert check_funnel(changed(3, 4)) == ["web: 6 left, 5 in holdout and train"]
    assert check_funnel(changed(4, 3)) == ["code: 3 left, 2 in holdout and train"]


def test_totals() -> None:
    assert totals(ROWS) == [
        FunnelRow("all", "read", 12, 1050, None),
        FunnelRow("all", "holdout", 1, 100, 30),
        FunnelRow("all", "train", 7, 650, 190),
    ]


def test_sources_keep_their_order() -> None:
    assert {name: len(rows) for name, rows in by_source(ROWS).items()} == {"web": 4, "code": 3}
    assert list(by_source(reversed(ROWS))) == ["code", "web"]

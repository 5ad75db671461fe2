"""The order of a rule's reasons: they number the verdicts, so they depend on the documents alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dataprep.chain import Link
from dataprep.stages import judge
from dataprep.stages.groups import Columns, Group
from dataprep.steps.base import Check, Params, Rule, Signals


def found(signals: Signals, params: Any) -> Sequence[Check]:
    """One check for each word that is there, as a step with open reasons has them."""
    words = signals["words"]
    return [
        Check(word, words == word, words, f"is {word}") for word in sorted(set(words.tolist())) if word != "-"
    ]


def declared(signals: Signals, params: Any) -> Sequence[Check]:
    words = signals["words"]
    return [Check(word, words == word, words, f"is {word}") for word in ("c", "b", "a")]


def rows_by_reason(
    monkeypatch: pytest.MonkeyPatch, checks: Any, splits: Sequence[Sequence[str]]
) -> dict[str, list[bool]]:
    columns = {str(index): {"words": np.array(words, dtype="U1")} for index, words in enumerate(splits)}
    monkeypatch.setattr(Columns, "of_split", lambda self, index, label: columns[str(index)])
    counts = tuple(len(words) for words in splits)
    members = tuple({"source": "web", "keys": {"step": key}} for key in columns)
    group = Columns(Group(0, 0, 0, counts, members), None)  # type: ignore[arg-type]
    rule = Rule("step", 1, Params, lambda batch, params: {}, checks)
    rows = judge.reasons_of(group, Link("step", rule, Params()))
    return {reason: dropped.tolist() for reason, dropped in rows.items()}


def test_declared_reasons_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_by_reason(monkeypatch, declared, [["b", "a"], [], ["c"]])
    assert list(rows.items()) == [
        ("c", [False, False, True]),
        ("b", [True, False, False]),
        ("a", [False, True, False]),
    ]


@pytest.mark.parametrize("splits", [[["b", "-", "a", "c"]], [["b"], ["-", "a"], [], ["c"]]])
def test_found_reasons_go_by_name_however_the_documents_are_split(
    monkeypatch: pytest.MonkeyPatch, splits: Sequence[Sequence[str]]
) -> None:
    rows = rows_by_reason(monkeypatch, found, splits)
    assert list(rows.items()) == [
        ("a", [False, False, True, False]),
        ("b", [True, False, False, False]),
        ("c", [False, False, False, True]),
    ]

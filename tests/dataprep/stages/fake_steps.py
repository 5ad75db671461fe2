"""Small steps for tests of what the stages do with any step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps.base import Check, Edit, Params, Rule, Signals, StepType, Transform, below

SEEN: list[tuple[str, list[str]]] = []
"""(step, the texts it was given) of every call with texts."""


def _saw(name: str, batch: Batch) -> list[str]:
    strings = batch.texts.to_strings()
    if strings:
        SEEN.append((name, strings))
    return strings


class MinLength(Params):
    min_length: int = 0


def _length(batch: Batch, params: MinLength) -> Signals:
    return {"characters": np.array([len(text) for text in _saw("length", batch)], dtype=np.int64)}


def _too_short(signals: Signals, params: MinLength) -> Sequence[Check]:
    return [below("too_short", signals["characters"], params.min_length)]


class Word(Params):
    word: str = "drop"
    max_lines: int = 100


def _without_comments(batch: Batch, params: Word) -> tuple[Texts, Signals]:
    strings = _saw("uncomment", batch)
    kept = ["\n".join(line for line in text.split("\n") if not line.startswith("#")) for text in strings]
    signals: Signals = {
        "has_word": np.array([params.word in text for text in strings], dtype=bool),
        "lines": np.array([text.count("\n") for text in kept], dtype=np.int64),
    }
    return Texts.from_strings(kept), signals


def _bad_words(signals: Signals, params: Word) -> Sequence[Check]:
    too_many = signals["lines"] > params.max_lines
    return [
        Check("bad_word", signals["has_word"], signals["has_word"], f"holds {params.word!r}"),
        Check("too_many_lines", too_many, signals["lines"], f"> {params.max_lines}"),
    ]


def _shout(batch: Batch, params: Params) -> Texts:
    return Texts.from_strings([text.upper() for text in _saw("shout", batch)])


def _last_line(batch: Batch, params: Params) -> Texts:
    return Texts.from_strings([text.rpartition("\n")[2] for text in _saw("last_line", batch)])


def _label(batch: Batch, params: Params) -> Signals:
    return {"initial": pa.array([text[:1] for text in _saw("label", batch)], pa.string())}


def _nothing(signals: Signals, params: Params) -> Sequence[Check]:
    return []


FAKE: dict[str, StepType] = {
    "length": Rule("length", 1, MinLength, _length, _too_short),
    "slow_length": Rule("slow_length", 1, MinLength, _length, _too_short, expensive=True),
    "uncomment": Edit("uncomment", 1, Word, _without_comments, _bad_words, frozenset({"word"})),
    "slow_uncomment": Edit(
        "slow_uncomment", 1, Word, _without_comments, _bad_words, frozenset({"word"}), expensive=True
    ),
    "shout": Transform("shout", 1, Params, _shout),
    "slow_shout": Transform("slow_shout", 1, Params, _shout, expensive=True),
    "last_line": Transform("last_line", 1, Params, _last_line),
    "slow_last_line": Transform("slow_last_line", 1, Params, _last_line, expensive=True),
    "label": Rule("label", 1, Params, _label, _nothing, expensive=True),
}

"""One set of parameters for every step of STEPS, for tests that hold for any step."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dataprep.batch import Batch
from dataprep.columns import Texts
from dataprep.decide.contamination import evidence
from dataprep.evals.measure import Hits
from dataprep.evals.shared import shared_index
from dataprep.kernels.units import Units
from dataprep.steps import STEPS
from dataprep.steps.base import CorpusEdit, Int64s, Params, Signals, StepType, Transform
from dataprep.steps.decontaminate import definition_of, files_of, judged

EXAMPLES: dict[str, dict[str, Any]] = {
    "where": {"fields": {"license": {"in": ["MIT"]}, "date": {"from": "2020-01-01"}}},
    "classifier": {
        "model": str(Path(__file__).parents[2] / "golden" / "models" / "softmax.bin"),
        "label": "more",
        "min_score": 0.5,
    },
    "datatrove": {"filter": "RegexFilter", "with": {"regex_exp": "[0-9]"}},
    "c4_bad_words": {"words": ["well-known", "the", "\u00c5ngstr\u00f6m"]},
    "pii": {"phone": "redact", "card": "redact", "iban": "redact"},
    "url_blocklist": {"sites": ["example.org"], "words": ["a"], "soft_words": ["b"], "subwords": ["orga"]},
    "decontaminate": {
        "evals": [
            {
                "path": str(Path(__file__).parents[2] / "golden" / "evals" / "few.jsonl"),
                "fields": {"question": "question", "answer": "answer"},
            }
        ],
        "action": "cut",
        "margin": 5,
    },
    "exclude": {"ids": ["1"], "urls": ["HTTP://example.org/b"], "hashes": ["0" * 32]},
}
"""Step -> parameters where the defaults are not enough."""

NEEDS_A_FILE: dict[str, str] = {"perplexity": "a language model"}
"""Step -> what it needs that a test must make first; other tests look at these."""

DIGESTED = {
    "c4_bad_words": {"words", "words_file"},
    "classifier": {"model"},
    "decontaminate": {"evals"},
    "language": {"model"},
}
"""Step -> parameters whose content `depends` puts into the key: a file that moves measures nothing again."""

MORE = {
    "extract_text": [
        "<!DOCTYPE html><title>t</title><nav><a href=/>Home</a></nav><article><h1>Heading</h1><p>A paragraph "
        "of the article, with caf&eacute; and <b>bold</b> words.</p><ol><li>one<li>two</ol></article>"
    ],
    "ftfy": ["caf\u00c3\u00a9 &amp; \u201cquotes\u201d\x1b[0m\n<b> &amp;"],
    "boilerplate_lines": [
        "One two.[1]\nHome\n3 likes\n12/05\nREAD ALL\nSign in now\nIt goes on. Read more\nOur privacy policy"
    ],
    "decontaminate": [
        "Before it. WHICH of the seven wonders of the old world is still standing to-day? And behind it, "
        "nothing.",
        "Which of the seven wonders of the old world is still standing today?",
    ],
    "pii": ["a@b.com, 8.8.8.8; 2a00:1450::1. 1.2.3.4-1 +44 20 7946 0958 4111 1111 1111 1111 NO9386011117947"],
}
"""Step -> texts that are pinned too, since those of the other steps hold nothing that it looks for."""

FIELDS = {"url": "https://example.org/a", "license": "CC0-1.0", "date": "2020-01-01"}


def params_of(name: str) -> Params:
    return STEPS[name].params.model_validate_json(json.dumps(EXAMPLES.get(name, {})))


def steps() -> list[str]:
    return [name for name in STEPS if name not in NEEDS_A_FILE]


def outcome_of(step: StepType, batch: Batch, params: Any) -> tuple[Texts | None, Signals]:
    """The texts that a step makes of a batch, if it rewrites, and every column but units. What a CorpusEdit
    cuts is decided by the stages; here it is `some_cuts`."""
    if isinstance(step, Transform):
        return step.apply(batch, params), {}
    if isinstance(step, CorpusEdit):
        ragged, measured = step.measure(batch, params)
        if isinstance(ragged, Hits):
            left, cuts = judged_alone(ragged, params)
            measured = {**measured, **left}
        else:
            cuts = some_cuts(ragged, batch)
        texts, columns = step.cut(batch, params, *cuts)
        return texts, {**measured, **columns}
    if hasattr(step, "edit"):
        edited: tuple[Texts, Signals] = step.edit(batch, params)
        return edited
    return None, step.measure(batch, params)


def judged_alone(hits: Hits, params: Any) -> tuple[Signals, tuple[Int64s, Int64s, Int64s]]:
    """What the stages of `decontaminate` make of a batch without other documents."""
    index = shared_index(files_of(params), definition_of(params))
    found = evidence(hits, index, np.zeros(index.references.keys.size, dtype=np.int64), params.rule)
    signals, cuts = judged(hits, index, found, params)
    rows, starts, ends = cuts[np.lexsort((cuts[:, 2], cuts[:, 1], cuts[:, 0]))].T
    return signals, (rows, starts, ends)


def some_cuts(units: Units | None, batch: Batch) -> tuple[Int64s, Int64s, Int64s]:
    """(rows, starts, ends): every second unit of each text; without units its first byte, if that is a
    character."""
    if units is not None:
        numbers = np.arange(len(units)) - units.unit_offsets[units.rows]
        places = np.flatnonzero(numbers % 2)
        return units.rows[places], units.starts[places], units.ends[places]
    texts = batch.texts
    rows = np.array(
        [row for row in np.flatnonzero(texts.lengths) if texts.data[texts.offsets[row]] < 0x80],
        dtype=np.int64,
    )
    return rows, np.zeros_like(rows), np.ones_like(rows)


def units_of(step: StepType, batch: Batch, params: Any) -> Units | None:
    ragged = step.measure(batch, params)[0] if isinstance(step, CorpusEdit) else None
    return ragged if isinstance(ragged, Units) else None


def result_of(name: str, batch: Batch, params: Any) -> dict[str, list[Any]]:
    """Every column that a step makes of a batch, and its texts and units, as Python values by document."""
    step = STEPS[name]
    texts, signals = outcome_of(step, batch, params)
    columns: dict[str, Any] = {} if texts is None else {"text": list(texts)}
    columns |= signals
    if (units := units_of(step, batch, params)) is not None:
        together = zip(*(each.tolist() for each in (units.hashes, units.starts, units.ends)), strict=True)
        listed = list(together)
        columns["units"] = [listed[first:last] for first, last in pairwise(units.unit_offsets.tolist())]
    return {key: column if isinstance(column, list) else column.tolist() for key, column in columns.items()}

"""One set of parameters for every step of STEPS, for tests that hold for any step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dataprep.batch import Batch
from dataprep.steps import STEPS
from dataprep.steps.base import Params, Transform

EXAMPLES: dict[str, dict[str, Any]] = {
    "where": {"fields": {"license": {"in": ["MIT"]}, "date": {"from": "2020-01-01"}}},
    "classifier": {
        "model": str(Path(__file__).parents[2] / "golden" / "models" / "softmax.bin"),
        "label": "more",
        "min_score": 0.5,
    },
    "datatrove": {"filter": "RegexFilter", "with": {"regex_exp": "[0-9]"}},
    "c4_bad_words": {"words": ["well-known", "the", "\u00c5ngstr\u00f6m"]},
    "exclude": {"ids": ["1"], "urls": ["HTTP://example.org/b"], "hashes": ["0" * 32]},
}
"""Step -> parameters where the defaults are not enough."""

NEEDS_A_FILE: dict[str, str] = {"perplexity": "a language model"}
"""Step -> what it needs that a test must make first; other tests look at these."""

DIGESTED = {
    "c4_bad_words": {"words", "words_file"},
    "classifier": {"model"},
    "language": {"model"},
    "url_blocklist": {"lists"},
}
"""Step -> parameters whose content `depends` puts into the key: a file that moves measures nothing again."""

FIELDS = {"url": "https://example.org/a", "license": "CC0-1.0", "date": "2020-01-01"}


def params_of(name: str) -> Params:
    return STEPS[name].params.model_validate_json(json.dumps(EXAMPLES.get(name, {})))


def steps() -> list[str]:
    return [name for name in STEPS if name not in NEEDS_A_FILE]


def result_of(name: str, batch: Batch, params: Any) -> dict[str, list[Any]]:
    """Every column that a step makes of a batch, and its texts if it rewrites, as Python values."""
    step = STEPS[name]
    if isinstance(step, Transform):
        return {"text": list(step.apply(batch, params))}
    if hasattr(step, "edit"):
        texts, signals = step.edit(batch, params)
        columns: dict[str, Any] = {"text": list(texts), **signals}
    else:
        columns = dict(step.measure(batch, params))
    return {key: column if isinstance(column, list) else column.tolist() for key, column in columns.items()}

"""What tests after the suites of other tools share: a step with nothing switched on but what a case is about,
and their names for what drops a document beside ours.

The texts are our own; each exercises what a named test of theirs does. What their suites hold that has no
counterpart here stands in the module of each tool, with the reason.
"""

from __future__ import annotations

from typing import Any

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps import STEPS
from dataprep.steps.base import Check, Transform

OFF: dict[str, dict[str, Any]] = {
    "c4": dict.fromkeys(
        (
            "remove_citations",
            "filter_no_terminal_punct",
            "filter_lorem_ipsum",
            "filter_javascript",
            "filter_curly_bracket",
            "filter_policy",
        ),
        False,
    ),
    "code_quality": {"generated_marks": [], "drop_xml": False},
    "boilerplate_lines": {
        **dict.fromkeys(("citation_numbers", "numeric"), False),
        **dict.fromkeys(("citation_marks", "counters", "line_starts", "line_ends", "phrases"), ()),
    },
}
"""Step -> what switches off its rules that have no limit."""


def params_of(name: str, **given: Any) -> Any:
    """Parameters with every rule off that is not given."""
    model = STEPS[name].params
    limits = [field for field in model.model_fields if field.startswith(("min_", "max_"))]
    can_be_off = [field for field in limits if type(None) in _types(model.model_fields[field].annotation)]
    return model(**{**dict.fromkeys(can_be_off), **OFF.get(name, {}), **given})


def _types(annotation: Any) -> tuple[Any, ...]:
    return getattr(annotation, "__args__", (annotation,))


def result(name: str, text: str, params: Any, **fields: str) -> tuple[str, dict[str, Check]]:
    """The text that a step leaves, and its checks by reason."""
    step: Any = STEPS[name]
    batch = Batch.of(Texts.from_strings([text]), fields={key: [value] for key, value in fields.items()})
    if isinstance(step, Transform):
        return step.apply(batch, params).to_strings()[0], {}
    texts, signals = step.edit(batch, params) if hasattr(step, "edit") else (batch.texts, None)
    found = step.checks(signals if signals is not None else step.measure(batch, params), params)
    return texts.to_strings()[0], {check.reason: check for check in found}


def dropped(name: str, text: str, params: Any, **fields: str) -> list[str]:
    """The reasons for which a step drops a document."""
    return [reason for reason, check in result(name, text, params, **fields)[1].items() if check.dropped[0]]


def lines_left(name: str, text: str, params: Any) -> list[str]:
    """The lines that a step leaves, without white space at their ends, and without empty ones."""
    left, _ = result(name, text, params)
    return [line.strip() for line in left.split("\n") if line.strip()]

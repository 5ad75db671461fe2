"""What the steps `decontaminate` found of evaluation sets, from the receipts of their stage EXAMPLES.

Everything is counted before anything was dropped or cut. Which examples and which documents these are, the
command `dataprep contamination` shows (`dataprep/views/contamination.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dataprep.chain import applies, labels
from dataprep.decide.contamination import SetTally
from dataprep.evals.sets import Action
from dataprep.plan import Plans
from dataprep.stages import contaminated
from dataprep.stages.base import Stage
from dataprep.steps.decontaminate import DecontaminateParams, files_of


@dataclass(frozen=True, slots=True)
class Checked:
    """What a step `decontaminate` looked for, in which sources (None for all), and of each set what came of
    it, and the action that documents with its examples got."""

    step: str
    definition: str
    sources: list[str] | None
    sets: list[tuple[SetTally, Action]]


def checked_by_steps(plans: Plans) -> Iterator[Checked]:
    """One a step `decontaminate`, in the order of the recipe."""
    for label, entry in zip(labels(plans.recipe.steps), plans.recipe.steps, strict=True):
        params = entry.parameters
        if not isinstance(params, DecontaminateParams):
            continue
        (examples,) = plans.entries[Stage(contaminated.EXAMPLES, label).name]
        sources = [made for made, origin in plans.recipe.outputs.items() if applies(entry, origin)]
        tallies = [SetTally(**facts) for facts in examples.facts["sets"]]
        actions = [file.action or params.action for file in files_of(params)]
        everywhere = len(sources) == len(plans.recipe.outputs)
        sets = list(zip(tallies, actions, strict=True))
        yield Checked(label, params.definition, None if everywhere else sources, sets)


def contamination_of(plans: Plans) -> list[dict[str, Any]]:
    """One mapping a step `decontaminate`, in the order of the recipe: `step`, `definition`, `sources` (those
    it looked at; None for all), and `sets`, of each of which

    name, action   the set, and what became of documents that hold examples of it
    examples       all of them; `tested`: those long enough to be looked for
    contaminated   examples that were found; `share_ppm`: in millionths of those tested, None where none was
    documents      that hold an example
    """
    return [
        {
            "step": each.step,
            "definition": each.definition,
            "sources": each.sources,
            "sets": [_row(tally, action) for tally, action in each.sets],
        }
        for each in checked_by_steps(plans)
    ]


def _row(tally: SetTally, action: str) -> dict[str, Any]:
    return {
        "name": tally.name,
        "action": action,
        "examples": tally.examples,
        "tested": tally.tested,
        "contaminated": tally.contaminated,
        "share_ppm": tally.share_ppm if tally.tested else None,
        "documents": tally.documents,
    }


def format_ppm(share_ppm: int | None) -> str:
    """Millionths as a percentage of two digits, rounded down; nothing where nothing was tested."""
    if share_ppm is None:
        return ""
    hundredths = share_ppm // 100
    return f"{hundredths // 100}.{hundredths % 100:02d} %"

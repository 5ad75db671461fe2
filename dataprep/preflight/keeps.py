"""Whether every signal that a `keep` of a deduplication names is a number that all its documents have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dataprep.chain import Link, applies, chain_of, labels
from dataprep.preflight.routes import signals_of
from dataprep.recipe import Recipe
from dataprep.steps.base import CorpusEdit, Edit, Rule
from dataprep.steps.ranking import RankingParams
from manifests.nodes import Loc
from manifests.problems import Problem
from manifests.wording import did_you_mean


def check_keeps(recipe: Recipe) -> Iterator[Problem]:
    """One problem for each signal that documents cannot be ranked by."""
    names = labels(recipe.steps)
    chains = {name: {link.label: link for link in chain_of(recipe, name)} for name in recipe.sources}
    for index, entry in enumerate(recipe.steps):
        if not isinstance(entry.parameters, RankingParams):
            continue
        sources = [name for name in recipe.sources if applies(entry, name)]
        mine = {name: chains[name] for name in sources}
        for signal in entry.parameters.order_signals:
            problem = _problem(recipe, names, index, signal, mine)
            if problem:
                at: Loc = ("steps", index, entry.name, "keep")
                yield Problem(at, problem)


def _problem(
    recipe: Recipe, names: list[str], index: int, name: str, chains: Mapping[str, Mapping[str, Link]]
) -> str:
    label, _, signal = name.rpartition(".")
    if label not in names:
        return f'no step "{label}"{did_you_mean(label, names)}'
    for source, links in chains.items():
        if label not in links:
            return f"{label} does not run on {source}, so its documents have no {name}"
        if not isinstance(links[label].step, Rule | Edit | CorpusEdit):
            return f"{label} measures nothing of a document by itself"
        if isinstance(links[names[index]].step, CorpusEdit) and names.index(label) > index:
            return f"{label} stands below {names[index]}, which must know before what its documents are worth"
        inputs = recipe.sources[source].inputs
        carried = tuple(dict.fromkeys(field for each in inputs for field in each.carry))
        signals = signals_of(links[label], carried)
        if signal not in signals:
            return f'no signal "{signal}" of {label}{did_you_mean(signal, list(signals))}'
        values = signals[signal]
        if not isinstance(values, np.ndarray) or values.ndim > 1:
            return f"{name} is no number"
    return ""

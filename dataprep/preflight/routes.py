"""Whether every `route:` names a signal that there is, with bins or labels as its values are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dataprep.batch import Batch
from dataprep.chain import Link, chain_of
from dataprep.columns import concat
from dataprep.recipe import Recipe
from dataprep.recipe.model import Bin
from dataprep.steps.base import CorpusEdit, Edit, Signals, Transform
from manifests.problems import Problem
from manifests.wording import did_you_mean


def check_routes(recipe: Recipe) -> Iterator[Problem]:
    """One problem for each route that could not be followed. What a step measures shows on no documents."""
    for name, source in recipe.sources.items():
        if source.route is None:
            continue
        at = ("sources", name, "route")
        label, _, signal = source.route.by.rpartition(".")
        link = next(link for link in chain_of(recipe, name) if link.label == label)
        carried = tuple(dict.fromkeys(field for each in source.inputs for field in each.carry))
        signals = signals_of(link, carried)
        if signal not in signals:
            guess = did_you_mean(signal, list(signals))
            yield Problem((*at, "by"), f'no signal "{signal}" of {label}{guess}')
            continue
        is_number = isinstance(signals[signal], np.ndarray)
        if is_number and signals[signal].ndim > 1:
            yield Problem((*at, "by"), f"{source.route.by} is a hash, which says nothing of a document")
            continue
        for made, each in source.route.to.items():
            if isinstance(each, Bin) != is_number:
                wanted = "from: and below: of a number" if is_number else "a list of labels"
                yield Problem((*at, "to", made), f"{source.route.by} needs {wanted}")


def signals_of(link: Link, carried: Sequence[str]) -> Signals:
    """What a step measures, of no documents."""
    nothing = Batch.of(concat([]), fields={name: [] for name in carried})
    if isinstance(link.step, Transform):
        return {}
    if isinstance(link.step, Edit):
        return link.step.edit(nothing, link.params)[1]
    if isinstance(link.step, CorpusEdit):
        none = np.zeros(0, dtype=np.int64)
        return link.step.cut(nothing, link.params, none, none, none)[1]
    return link.step.measure(nothing, link.params)

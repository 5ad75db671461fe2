"""Whether the evaluation sets of `decontaminate` can be read and have the fields that are tested.

A set is read whole when the first text is measured, which may come hours after the first stage. Here the
first example of each is looked at; a JSON file is read whole for it, and all others up to that example.
"""

from __future__ import annotations

from collections.abc import Iterator

from dataprep.evals.sets import check_set
from dataprep.recipe import Recipe
from dataprep.steps.decontaminate import DecontaminateParams, files_of
from manifests.errors import UserError
from manifests.problems import Problem


def check_evals(recipe: Recipe) -> Iterator[Problem]:
    """One problem for each set that cannot be used."""
    for index, entry in enumerate(recipe.steps):
        if not isinstance(entry.parameters, DecontaminateParams):
            continue
        try:
            files = files_of(entry.parameters)
        except UserError:
            continue  # a file that is not there; the check of steps says so
        for file in files:
            try:
                check_set(file)
            except UserError as error:
                yield _problem(index, entry.name, error)


def _problem(index: int, name: str, error: UserError) -> Problem:
    place = f"{error.where}: " if error.where else ""
    hint = "" if error.hint is None else f"; {error.hint}"
    return Problem(("steps", index, name, "evals"), f"{place}{error.what}{hint}")

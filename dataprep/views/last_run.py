"""What the last run of a recipe left, for verbs that look at it and measure nothing: explain, duplicates,
similar."""

from __future__ import annotations

from pathlib import Path

from dataprep.cache import Cache
from dataprep.fingerprints import Fingerprints
from dataprep.plan import Plans, list_splits, read_record
from dataprep.preflight import preflight
from dataprep.recipe import Recipe
from dataprep.stages import decide
from manifests.errors import UserError


def plans_of_last_run(recipe: Recipe) -> Plans:
    """The stages of the last run, up to DECIDE. Raises UserError where they are not done."""
    files = preflight(recipe, needs_room=False).files
    work = Path(recipe.work_folder)
    splits = list_splits(recipe, files, Fingerprints.load(work))
    plans = Plans(recipe, Cache(work), splits, read_record(work))
    while decide.STAGE not in plans.entries:
        planned = plans.next()
        assert planned is not None
        if planned.to_run:
            reasons = "; ".join(list(planned.reasons())[:3])
            raise UserError(
                f"the stage {planned.stage} of this recipe is not up to date: {reasons}",
                where=str(work),
                hint="`dataprep run` it first; this only looks at what a run has made",
            )
        plans.done(planned.of, [each.entries[0] for each in planned.tasks])
    return plans

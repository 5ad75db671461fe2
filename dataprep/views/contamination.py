"""`dataprep contamination RECIPE`: what the steps `decontaminate` of a run found, before anything was dropped
or cut.

Reads what the last run left; the matched text comes from the inputs. A corpus that is built is checked in
`dataprep/corpora/contamination.py`, which also prints and writes what is found here. Memory: what was found,
and the matched documents of one split.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.arrayfile import mapped
from dataprep.chain import Link
from dataprep.corpora.contamination import SHOWN_BYTES, Contamination, Found, marks_of
from dataprep.decide.contamination import SetTally
from dataprep.evals.index import EvalIndex
from dataprep.evals.shared import shared_index
from dataprep.plan import Plans
from dataprep.recipe import Recipe
from dataprep.stages import contaminated, measure
from dataprep.stages.base import Stage
from dataprep.stages.decisions import edits_of
from dataprep.stages.population import members_of
from dataprep.steps.decontaminate import definition_of, files_of
from dataprep.verdict_table import rows_of_split
from dataprep.views.last_run import plans_of_last_run
from dataprep.views.texts import each_text
from manifests.errors import UserError


def contamination_of_run(recipe: Recipe) -> dict[str, Contamination]:
    """Label of each step `decontaminate` -> what it found. Raises UserError where the recipe has none, or has
    not run."""
    links = [link for link in edits_of(recipe) if link.step.name == "decontaminate"]
    if not links:
        raise UserError(
            "the recipe has no step decontaminate",
            hint="name a manifest and --evals to check a corpus that is built",
        )
    plans = plans_of_last_run(recipe)
    return {link.label: _of_step(plans, link) for link in links}


def _of_step(plans: Plans, link: Link) -> Contamination:
    params: Any = link.params
    index = shared_index(files_of(params), definition_of(params))
    (examples,) = plans.entries[Stage(contaminated.EXAMPLES, link.label).name]
    texts: npt.NDArray[np.bool_] = mapped(examples.file(contaminated.TEXTS))
    members = members_of(link, plans.groups)
    base = [plans.entries[measure.STAGE][member.number].facts for member in members]
    return Contamination(
        f"{plans.recipe.corpus}@{plans.recipe.version}, step {link.label}",
        index.definition.name,
        sum(facts["documents"] for facts in base),
        sum(facts["text_bytes"] for facts in base),
        [SetTally(**each) for each in examples.facts["sets"]],
        marks_of(texts, index),
        list(_found(plans, link, index, texts)),
    )


def _found(plans: Plans, link: Link, index: EvalIndex, texts: npt.NDArray[np.bool_]) -> Iterator[Found]:
    """Every pair of a document and an example, with what matched."""
    by_text: dict[int, list[int]] = {}
    for example, text in enumerate(index.example_texts.tolist()):
        if text >= 0 and texts[text]:
            by_text.setdefault(text, []).append(example)
    names = [each.name for each in index.sets]
    of_set, words = index.example_sets.tolist(), index.text_words.tolist()
    entries = plans.entries[Stage(contaminated.EVIDENCE, link.label).name]
    for member, entry in zip(members_of(link, plans.groups), entries, strict=True):
        pairs = np.asarray(mapped(entry.file(contaminated.PAIRS)))
        pairs = pairs[texts[pairs[:, 1]]]
        rows = np.unique(pairs[:, 0])
        if not len(rows):
            continue
        shown = dict(each_text(plans, (member.start + rows).tolist(), link.label))
        table = rows_of_split(plans, member.number).take(pa.array(rows)).to_pylist()
        places = dict(zip(rows.tolist(), table, strict=True))
        for row, text, matched, _, _, first, end in pairs.tolist():
            place, whole = places[row], shown[member.start + row]
            matching = whole[first : min(end, first + SHOWN_BYTES)].decode("utf-8", "replace")
            for example in by_text[text]:
                yield Found(
                    names[of_set[example]], index.ids[example].decode(), matched, words[text],
                    place["source"], place["verdict"], place["path"], place["position"], place["id"],
                    "", matching,
                )  # fmt: skip

"""Warnings of steps that compare and cannot find anything: a field that no document has, texts that are all
shorter than what is compared, bands in which nothing meets, an evaluation set without examples.

They stop nothing, since a recipe may be right and its input small; a run says them and the report keeps them.
What stops a run is in `budget.py`.
"""

from __future__ import annotations

from typing import Any

from dataprep.chain import Link
from dataprep.plan import Plans
from dataprep.recipe import Recipe
from dataprep.report.duplicates import entries_of, total
from dataprep.stages import contaminated, copies, judge, near, passages, repeats
from dataprep.stages.base import Stage
from dataprep.stages.decisions import decisions_of, edits_of
from dataprep.steps.ranking import RankingParams

LEAST_CHANCE = 0.1
"""Of documents at the threshold to be compared; by default it is above 0.2."""


def dedup_warnings(plans: Plans) -> list[str]:
    """Of a run whose DECIDE is done."""
    found = []
    for link in edits_of(plans.recipe):
        # decontaminate compares with evaluation sets, not documents with each other
        is_dedup = isinstance(link.params, RankingParams)
        found += [_of_edit(plans, link)] if is_dedup else _of_sets(plans, link)
    for link in decisions_of(plans.recipe):
        found.append(_of_exact(plans, link) if link.step.name == "exact_dedup" else _of_near(plans, link))
    return [each for each in found if each] + band_warnings(plans.recipe)


def band_warnings(recipe: Recipe) -> list[str]:
    """What the parameters alone say."""
    warnings = []
    for link in decisions_of(recipe):
        params: Any = link.params
        if link.step.name != "minhash_dedup":
            continue
        bands, rows = params.banding
        chance = 1 - (1 - params.threshold**rows) ** bands
        if chance < LEAST_CHANCE:
            warnings.append(
                f"{link.label}: with {bands} bands of {rows} rows, {100 * chance:.2f} % of the pairs at the "
                f"threshold {params.threshold:g} are compared; leave bands and rows out to have the best"
            )
    return warnings


def _too_few(label: str, documents: int, others: int = 0) -> str:
    """`others`: documents of older corpora, which it was held against."""
    if documents == 0:
        return f"{label} had no document to look at: the steps before it dropped them all"
    is_alone = documents == 1 and others == 0
    return f"{label} had one document to look at, which is a copy of nothing" if is_alone else ""


def _of_exact(plans: Plans, link: Link) -> str:
    params: Any = link.params
    hashed = entries_of(plans, copies.HASHES, link)
    population, documents = total(hashed, "population"), total(hashed, "documents")
    others = total([entry for entry in hashed if "population" not in entry.facts], "documents")
    what = "a text" if params.compared_field is None else f"a value in the field {params.compared_field}"
    if params.by == "url":
        what = f"a URL with a host in the field {params.compared_field}"
    if population + others > 1 and (documents < 2 or documents == others) and population:
        which = "only one document has" if documents > others else "no document has"
        return f"{link.label} can match nothing: {which} {what}"
    return _too_few(link.label, population, others)


def _of_near(plans: Plans, link: Link) -> str:
    params: Any = link.params
    banded = entries_of(plans, near.BANDS, link)
    population, worded, short = (total(banded, name) for name in ("population", "worded", "short"))
    others = total([entry for entry in banded if "population" not in entry.facts], "worded")
    if population + others > 1 and (worded < 2 or worded == others) and population:
        which = "only one document has" if worded > others else "no document has"
        return f"{link.label} can match nothing: {which} words"
    if population + others > 1 and population and short == worded - others:
        return (
            f"{link.label} finds only texts that are equal: every text has fewer than {params.ngram} "
            f"{params.unit} (ngram)"
        )
    return _too_few(link.label, population, others)


def _of_edit(plans: Plans, link: Link) -> str:
    params: Any = link.params
    population = total(entries_of(plans, judge.STAGE, link), "passed")
    if population == 0:
        return _too_few(link.label, population)
    if link.step.name == "substring_dedup":
        if total(entries_of(plans, passages.WINDOWS, link), "runs") == 0:
            unit = "bytes" if params.tokens == "bytes" else "tokens"
            length = f"{params.num_tokens} {unit} (length)"
            return f"{link.label} can match nothing: every text has fewer than {length}"
        return ""
    if total(entries_of(plans, repeats.REPEATS, link), "units") == 0:
        return (
            f"{link.label} can match nothing: no text has a unit of {params.min_chars} characters (min_chars)"
        )
    if population < params.min_documents:
        return (
            f"{link.label} can match nothing: it takes out what {params.min_documents:,} documents have "
            f"(min_documents), and looked at {population:,}"
        )
    return ""


def _of_sets(plans: Plans, link: Link) -> list[str]:
    """Of `decontaminate`: sets of which nothing was tested. What is not tested is not clean."""
    (examples,) = plans.entries[Stage(contaminated.EXAMPLES, link.label).name]
    warnings = []
    for each in examples.facts["sets"]:
        if each["examples"] == 0:
            warnings.append(f"{link.label}: the evaluation set {each['name']} holds no example")
        elif each["tested"] == 0:
            warnings.append(
                f"{link.label} can find nothing of {each['name']}: all of its {each['examples']:,} examples "
                "are shorter than an n-gram"
            )
    return warnings

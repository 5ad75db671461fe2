"""`dataprep explain`: one document, every signal that was measured on it, and what each rule made of that.

Reads the columns of the last run of the recipe and judges them again; of the text it reads the beginning.
Nothing is measured here: a document of a recipe that has not run is not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.text import Text

from dataprep.chain import BASE, FINAL, Link
from dataprep.columnfile import Column, hashes_to_arrow
from dataprep.narrate import printable
from dataprep.plan import Plans
from dataprep.recipe import Recipe
from dataprep.stages.groups import columns_of, split_keys
from dataprep.stages.measure import SplitPlan
from dataprep.stages.reading import read_chunks
from dataprep.stages.walk import MEASURED
from dataprep.steps.base import CorpusEdit, Edit, Rule
from dataprep.verdict_table import SCHEMA, verdict_row
from dataprep.views.last_run import plans_of_last_run
from manifests.errors import UserError

MAX_MATCHES = 10
SHOWN_CHARACTERS = 300
SHOWN_VALUES = 4
"""Of a signature."""


def explain_document(recipe: Recipe, document: str, source: str | None = None) -> dict[str, Any]:
    """Return {"documents": [...], "more": n}: one mapping a document that is named so (ids need not be
    unique), at most ten.

    document   an own id, a raw hash (32 hex digits), or "file:position" as reports write places
    source     look in this source only

    Each has the columns of the verdict table, `text` (its beginning, as read), `signals` (step -> signal ->
    value; null for a step that did not see it) and `checks` (step, reason, value, drops, dropped). Raises
    UserError where there is none.
    """
    plans = plans_of_last_run(recipe)
    found: list[dict[str, Any]] = []
    more = 0
    for index, plan in enumerate(plans.splits):
        if source is not None and plan.split.source != source:
            continue
        for row in _rows(plans, index, document):
            if len(found) == MAX_MATCHES:
                more += 1
            else:
                found.append(_explained(plans, index, row))
    if not found:
        among = f"source {source}" if source is not None else ", ".join(recipe.sources)
        raise UserError(
            f"no document is called {document!r}",
            where=among,
            hint="give its id, its raw hash, or file:position; what is in quarantine is no document",
        )
    return {"documents": found, "more": more}


def _rows(plans: Plans, index: int, document: str) -> Iterator[int]:
    """Rows of a split that `document` names."""
    base = _columns(plans, index, BASE)
    name = pa.scalar(document.encode(errors="surrogatepass"), pa.binary())  # what is no UTF-8 is no id
    named = pc.fill_null(pc.equal(base["id"].cast(pa.binary()), name), False).to_numpy(zero_copy_only=False)
    if len(document) == 32 and all(char in "0123456789abcdef" for char in document):
        hashes = hashes_to_arrow(base["raw_hash"])
        named = named | pc.equal(hashes, pa.scalar(bytes.fromhex(document), pa.binary(16))).to_numpy(False)
    path, _, position = document.rpartition(":")
    extents = [
        number for number, extent in enumerate(plans.splits[index].split.extents) if extent.file.name == path
    ]
    if extents and position.isdecimal() and len(position) < 20:
        named = named | (np.isin(base["extent"], extents) & (base["position"] == int(position)))
    yield from np.flatnonzero(named).tolist()


def _explained(plans: Plans, index: int, row: int) -> dict[str, Any]:
    plan = plans.splits[index]
    verdict = verdict_row(plans, index, row)
    verdict["raw_hash"] = verdict["raw_hash"].hex()
    final = _columns(plans, index, FINAL)
    signals: dict[str, Any] = {}
    checks: list[dict[str, Any]] = []
    for link in plan.chain:
        if not link.has_columns:
            continue
        columns = {name: column[row : row + 1] for name, column in _columns(plans, index, link.label).items()}
        signals[link.label] = None
        if not link.is_expensive or columns.pop(MEASURED)[0]:
            signals[link.label] = {name: _value(column) for name, column in columns.items()}
            checks += _checks(link, columns)
    return {
        **{name: verdict[name] for name in SCHEMA.names},
        "final_bytes": int(final["text_bytes"][row]),
        "text": _beginning(plan, row),
        "signals": signals,
        "checks": checks,
    }


def _checks(link: Link, columns: Mapping[str, Column]) -> list[dict[str, Any]]:
    if not isinstance(link.step, Rule | Edit | CorpusEdit):
        return []
    return [
        {
            "step": link.label,
            "reason": check.reason,
            "value": _value(check.values),
            "drops": check.drops,
            "dropped": bool(check.dropped[0]),
        }
        for check in link.step.checks(dict(columns), link.params)
    ]


def _value(column: Column) -> Any:
    """The one value of a column, as a JSON value; a hash as hex."""
    if not isinstance(column, np.ndarray):
        return column[0].as_py()
    if column.ndim == 2 and column.shape[1] == 2:
        return hashes_to_arrow(column)[0].as_py().hex()
    if column.ndim == 2:
        return " ".join(f"{value:x}" for value in column[0, :SHOWN_VALUES].tolist())
    value = column[0].item()
    return None if value != value else value  # NaN: nothing to judge


def _beginning(plan: SplitPlan, row: int) -> str:
    """The first characters of a document, as read."""
    for reading in read_chunks(plan.split, plan.options):
        batch = reading.batch
        if row < len(batch):
            head = batch.texts[row][: 4 * SHOWN_CHARACTERS].decode(errors="ignore")
            return head[:SHOWN_CHARACTERS]
        row -= len(batch)
    return ""


def _columns(plans: Plans, index: int, name: str) -> Any:
    return columns_of(split_keys(plans.splits[index], plans.keys[index])[name], plans.cache)


def print_explanation(found: Mapping[str, Any], console: Console) -> None:
    """Print what `explain_document` found, a block a document."""
    for each in found["documents"]:
        name = "" if each["id"] is None else f" {each['id']}"
        place = f"{each['source']}{name} ({each['path']}, position {each['position']:,})"
        console.print(Text(printable(place), style="bold"))
        console.print(Text(printable(f"  {' '.join(each['text'].split())!r}"), style="dim"))
        console.print(Text(f"  {outcome(each)}"))
        for step in each["signals"]:
            console.print(Text(f"  {step}", style="bold"))
            _print_step(each, step, console)
    if found["more"]:
        console.print(f"and {found['more']:,} more; give the raw hash or file:position of one")


def outcome(each: Mapping[str, Any]) -> str:
    """What became of a document, from its row of the verdict table."""
    if each["verdict"] != "dropped":
        where = f" of {each['output']}" if each["output"] != each["source"] else ""
        more = f", stands for {each['cluster_size']:,} documents" if each["cluster_size"] > 1 else ""
        return f"kept, {each['verdict']}{where}{more}"
    also = f" (also {', '.join(each['reasons'][1:])})" if each["reasons"][1:] else ""
    match = ""
    if each["match_path"] is not None:
        match = f", a copy of {each['match_id'] or ''} in {_where(each)}"
    return f"dropped by {each['reasons'][0]}{also}{match}"


def _where(each: Mapping[str, Any]) -> str:
    older = f" of {each['match_corpus']}" if each["match_corpus"] else ""
    return f"{each['match_path']}, {each['match_position']:,}{older} (similarity {each['similarity']:.2f})"


def _print_step(each: Mapping[str, Any], step: str, console: Console) -> None:
    signals: Mapping[str, Any] | None = each["signals"][step]
    if signals is None:
        console.print(Text("    not measured: a step above dropped it", style="dim"))
        return
    shown = ", ".join(f"{name} {_shown(value)}" for name, value in signals.items())
    if shown:  # a transform has none
        console.print(Text(printable(f"    {shown}"), style="dim"))
    checks: Sequence[Mapping[str, Any]] = [check for check in each["checks"] if check["step"] == step]
    for check in checks:
        if not check["drops"]:
            continue
        mark, style = ("drops", "red") if check["dropped"] else ("ok", "green")
        line = f"    {mark:<6} {check['reason']:<32} {_shown(check['value']):>14}   drops {check['drops']}"
        console.print(Text(printable(line), style=style))


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else str(value)

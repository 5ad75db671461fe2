"""`dataprep duplicates`: the largest clusters of duplicates of the last run, with samples to judge them by.

Of each: the document that stays, and of the least similar ones that went, where their texts differ, as the
step that removed them saw them. What a cluster is, is said in `clusters.py`; what near-duplicates are in
docs/concepts/near-duplicates.md. Nothing is decided here. Memory: that of `clusters.py`, and `LIMIT_BYTES`
for each text that is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from dataprep.narrate import printable
from dataprep.plan import Plans
from dataprep.recipe import Recipe
from dataprep.stages.decisions import decisions_of, edits_of
from dataprep.verdict_table import PLACE, Places
from dataprep.views.clusters import Cluster, Copy, largest_clusters
from dataprep.views.last_run import plans_of_last_run
from dataprep.views.text_diff import Segment, differences
from dataprep.views.texts import TextAgain, texts_of
from manifests.errors import UserError
from manifests.wording import did_you_mean

MAX_TOP = 1000
LIMIT_BYTES = 1 << 15
SHOWN_COPIES = 3
SHOWN_HUNKS = 2
"""Of a copy, on a terminal."""
SHOWN_CHARACTERS = 300
LEAST_WIDTH = 60


def find_duplicates(
    recipe: Recipe, step: str | None = None, source: str | None = None, top: int = 10
) -> dict[str, Any]:
    """Return {"clusters": n, "copies": n, "largest": [...]}.

    step     count only what this step removed (its label: `minhash_dedup`)
    source   count only copies in this source; what stays may be in another

    A cluster has `size` (what was counted, and the document that stays), `steps` and `sources` (label or name
    -> copies), `stays` and `copies` (the least similar): the place of the document and the beginning of its
    text; and of a copy `step`, `similarity`, `is_same` (byte for byte), `hunks` (lists of {"both"} or
    {"stays", "goes"}) and `more`, whether the texts go on after what was compared. What stays may be of an
    older corpus, whose text is not at hand: then its `text` and `is_same` are None. Raises UserError.
    """
    _check(recipe, step, source, top)
    plans = plans_of_last_run(recipe)
    found = largest_clusters(plans, step, source, top, SHOWN_COPIES)
    wanted: dict[str, list[int]] = {}
    for cluster in found.largest:
        for copy in cluster.shown:
            wanted.setdefault(copy.step, []).append(copy.row)
            if cluster.keeper >= 0:
                wanted[copy.step].append(cluster.keeper)
    texts = {label: texts_of(plans, rows, label, LIMIT_BYTES) for label, rows in wanted.items()}
    rows = sorted({row for each in wanted.values() for row in each} | {each.keeper for each in found.largest})
    places = _places(plans, rows)
    return {
        "clusters": found.count,
        "copies": found.copies,
        "largest": [_described(cluster, texts, places) for cluster in found.largest],
    }


def _check(recipe: Recipe, step: str | None, source: str | None, top: int) -> None:
    labels = [link.label for link in decisions_of(recipe)]
    if not labels:
        raise UserError(
            "no step of this recipe removes duplicates",
            hint="add exact_dedup or minhash_dedup to `steps:`; what line_dedup and the like take out of "
            "texts is in the report",
        )
    edits = [link.label for link in edits_of(recipe)]
    if step in edits:
        hint = "what it takes out of texts is in the report, and of a document in `dataprep explain`"
        raise UserError(f"{step} removes no duplicates of documents", where="--step", hint=hint)
    if step is not None and step not in labels:
        raise UserError(
            f"no step {step!r} that removes duplicates{did_you_mean(step, labels)}", where="--step"
        )
    if source is not None and source not in recipe.sources:
        raise UserError(f"no source {source!r}{did_you_mean(source, list(recipe.sources))}", where="--source")
    if not 1 <= top <= MAX_TOP:
        raise UserError(f"{top} clusters; 1 to {MAX_TOP:,} can be shown", where="--top")


def _places(plans: Plans, rows: list[int]) -> dict[int, dict[str, Any]]:
    numbers = np.array(rows, dtype=np.int64)
    columns = Places(plans, numbers).of(numbers)
    listed = {name: column.to_pylist() for name, column in columns.items()}
    return {row: {name: listed[name][at] for name in PLACE} for at, row in enumerate(rows)}


def _described(
    cluster: Cluster, texts: Mapping[str, Mapping[int, TextAgain]], places: Mapping[int, dict[str, Any]]
) -> dict[str, Any]:
    keeper = texts[cluster.shown[0].step].get(cluster.keeper)
    return {
        "size": cluster.copies + 1,
        "steps": cluster.steps,
        "sources": cluster.sources,
        "stays": {**places[cluster.keeper], "text": None if keeper is None else _beginning(keeper)},
        "copies": [
            {
                **places[copy.row],
                **_compared(copy, texts[copy.step].get(cluster.keeper), texts[copy.step][copy.row]),
            }
            for copy in cluster.shown
        ],
    }


def _compared(copy: Copy, stays: TextAgain | None, goes: TextAgain) -> dict[str, Any]:
    known = {"step": copy.step, "similarity": copy.similarity_ppm / 1e6, "text": _beginning(goes)}
    if stays is None:
        return {**known, "is_same": None, "hunks": [], "more": False}
    is_cut = any(each.text_bytes > len(each.beginning) for each in (stays, goes))
    is_same = stays == goes and not is_cut
    hunks, more = ([], False) if is_same else differences(_text(stays), _text(goes))
    return {
        **known,
        "is_same": is_same,
        "hunks": [[_segment(each) for each in hunk] for hunk in hunks],
        "more": more or is_cut,
    }


def _segment(segment: Segment) -> dict[str, str]:
    stays, goes = (
        each if len(each) <= SHOWN_CHARACTERS else f"{each[:SHOWN_CHARACTERS]}\u2026"
        for each in (segment.stays, segment.goes)
    )
    return {"both": stays} if segment.is_same else {"stays": stays, "goes": goes}


def _text(text: TextAgain) -> str:
    return text.beginning.decode(errors="ignore")  # only its last character may be cut


def _beginning(text: TextAgain) -> str:
    return _text(text)[:SHOWN_CHARACTERS]


def print_duplicates(found: Mapping[str, Any], console: Console) -> None:
    """Print what `find_duplicates` found, no more than twenty lines a cluster."""
    width = max(LEAST_WIDTH, console.width)
    for number, each in enumerate(found["largest"], start=1):
        steps = ", ".join(f"{count:,} by {label}" for label, count in each["steps"].items())
        sources = ", ".join(f"{count:,} in {name}" for name, count in each["sources"].items())
        _line(
            console, Text(f"{number}. {each['size']:,} documents; removed {steps}; {sources}", "bold"), width
        )
        _line(console, Text(f"   stays  {_place(each['stays'])}"), width)
        if each["stays"]["text"] is not None:
            beginning = printable(" ".join(each["stays"]["text"].split()))
            _line(console, Text(f"          {beginning}", "dim"), width)
        for copy in each["copies"]:
            similarity = "equal" if copy["is_same"] else f"{copy['similarity']:.3f}"
            _line(console, Text(f"   {similarity}  {_place(copy)}  by {copy['step']}"), width)
            for line in _drawn(copy, width):
                _line(console, line, width)
        console.print()
    shown = len(found["largest"])
    rest = f", {found['clusters'] - shown:,} more" if found["clusters"] > shown else ""
    console.print(f"{found['copies']:,} documents were removed for {found['clusters']:,} that stay{rest}")


def _place(each: Mapping[str, Any]) -> str:
    name = "" if each["id"] is None else f" {each['id']}"
    older = "" if each["corpus"] is None else f", of {each['corpus']}"
    return printable(f"{each['source']}{name} ({each['path']}, position {each['position']:,}){older}")


def _drawn(copy: Mapping[str, Any], width: int) -> list[Text]:
    """Where a copy differs, two lines a place: the words of both texts one above the other."""
    end = " in what was compared" if copy["more"] else ""
    if copy["is_same"]:
        return [Text("          the same text", "dim")]
    if copy["is_same"] is None:
        return [Text(f"          {printable(' '.join(copy['text'].split()))}", "dim")]
    if not copy["hunks"]:
        return [Text(f"          the same words{end}", "dim")]
    lines = []
    for hunk in copy["hunks"][:SHOWN_HUNKS]:
        pair = [Text("    stays "), Text("     goes ")]
        for at, segment in enumerate(hunk):
            if "both" in segment:
                both = _shortened(printable(segment["both"]), at == 0, at == len(hunk) - 1)
                for line in pair:
                    line.append(both)
            else:
                stays, goes = (_fitting(printable(segment[name]), width // 2) for name in ("stays", "goes"))
                cells = max(cell_len(stays), cell_len(goes))
                pair[0].append(f"[{set_cell_size(stays, cells)}]", "green")
                pair[1].append(f"[{set_cell_size(goes, cells)}]", "red")
            for line in pair:
                line.append(" ")
        lines += pair
    return lines


def _shortened(text: str, is_first: bool, is_last: bool) -> str:
    """What both texts have, so that the difference beside it is in view."""
    if len(text) <= 30:
        return text
    if is_first:
        return f"\u2026{text[-29:]}"
    return f"{text[:29]}\u2026" if is_last else f"{text[:14]} \u2026 {text[-14:]}"


def _fitting(text: str, cells: int) -> str:
    return text if cell_len(text) <= cells else f"{set_cell_size(text, cells - 1)}\u2026"


def _line(console: Console, line: Text, width: int) -> None:
    line.truncate(width, overflow="ellipsis")
    console.print(line, soft_wrap=True)

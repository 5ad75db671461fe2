"""Tables of a report, for eyes: the funnel, the shards, the quarantine, samples of dropped texts.

They read at 80 columns, use colour on a terminal only, and print file names and texts as what they are: a
text may hold markup, emoji codes or terminal escapes, and none of these take effect. The same data for
programs is report.json; what it holds is gathered in `build.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dataprep.report.contamination import format_ppm
from dataprep.report.funnel import ENDS, FunnelRow, Sample, ShardRow, by_source, funnel_of, totals
from dataprep.report.packing import packing_cells
from manifests.units import format_bytes

MAX_SHARD_ROWS = 24  # above this, one row a source and subset
MAX_QUARANTINE_LINES = 5  # a source
SAMPLE_CHARACTERS = 300
WORDS = {
    "borderline": "pairs settled by their texts",
    "settled": "of which near-duplicates",
    "limited": "buckets over the limit",
}


def print_report(report: Mapping[str, Any], console: Console) -> None:
    """Print the tables of a report as `build_report` makes it and report.json holds it."""
    print_funnel(funnel_of(report["funnel"]), console)
    console.print()
    if report.get("duplicates"):  # older reports say nothing of them
        print_steps_of_dedup(report["duplicates"], console)
        console.print()
    if report.get("contamination"):
        print_contamination(report["contamination"], console)
        console.print()
    print_shards([ShardRow(**row) for row in report["shards"]], console)
    console.print()
    if report.get("packing"):
        print_packing(report["packing"], console)
        console.print()
    print_quarantine(report["quarantine"], console)
    for warning in report.get("warnings", ()):
        console.print(_styled(f"warning: {warning}", "yellow"), soft_wrap=True)


def print_funnel(rows: Sequence[FunnelRow], console: Console) -> None:
    """Documents, bytes and tokens of every source after every stage, and why documents were dropped.

    Read a source from top to bottom: the documents of a stage are those above it less its reasons. A document
    counts under the first reason that applied; `joint` is how many a reason applied to in all.
    """
    has_joint = any(row.joint and dict(row.joint) != dict(row.dropped) for row in rows)
    table = _table("documents", *(["joint"] if has_joint else []), "text", "tokens", first="funnel")
    sources = by_source(rows)
    if len(sources) > 1:
        sources["all sources"] = totals(rows)
    for source, mine in sources.items():
        table.add_row(_styled(source, "bold"))
        for row in mine:
            counts = [f"{row.documents:,}", *([""] if has_joint else []), format_bytes(row.text_bytes)]
            name = _styled(f"  {row.stage}", "green" if row.stage in ENDS else "")
            table.add_row(name, *counts, "" if row.tokens is None else f"{row.tokens:,}")
            for reason in dict.fromkeys([*row.joint, *row.dropped]):
                count = row.dropped.get(reason, 0)
                joint = f"{row.joint.get(reason, count):,}"
                cells = [f"{-count:,}", *([joint] if has_joint else [])]
                table.add_row(*(_styled(cell, "dim") for cell in (f"    {reason}", *cells)))
            for other, count in row.moved.items():
                table.add_row(_styled(f"    to {other}", "dim"), _styled(f"{-count:,}", "dim"))
        table.add_section()
    console.print(table)


def print_steps_of_dedup(steps: Sequence[Mapping[str, Any]], console: Console) -> None:
    """What each step that looks for duplicates looked at and took away; how sure it is of that."""
    table = _table("looked at", "removed", "clusters", "largest", first="duplicates")
    for each in steps:
        largest = max(each.get("largest", ()), default=0)
        clusters = [f"{each['clusters']:,}", f"{largest:,}" if largest else ""] if "clusters" in each else []
        row = [f"{each['looked_at']:,} {each['of']}", f"{each['removed']:,}", *clusters]
        table.add_row(_styled(each["step"], "bold"), *row)
        for name in ("borderline", "settled", "limited"):
            if name in each:
                table.add_row(_styled(f"    {WORDS[name]}", "dim"), "", _styled(f"{each[name]:,}", "dim"))
    console.print(table)


def print_contamination(steps: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Of each set of each step `decontaminate`: examples that documents held before anything was removed."""
    table = _table("examples", "tested", "found", "share", "documents", first="contamination")
    for step in steps:
        table.add_row(_styled(step["step"], "bold"))
        for each in step["sets"]:
            counts = [f"{each[name]:,}" for name in ("examples", "tested", "contaminated")]
            rest = [format_ppm(each["share_ppm"]), f"{each['documents']:,}"]
            table.add_row(_styled(f"    {each['name']}"), *counts, *rest)
    console.print(table)


def print_shards(rows: Sequence[ShardRow], console: Console) -> None:
    """One row a shard, or one a source and subset where there are many; and the sum."""
    grouped = len(rows) > MAX_SHARD_ROWS
    table = _table(*(["shards"] if grouped else []), "documents", "tokens", "size", first="shard")
    groups: dict[str, list[ShardRow]] = {}
    for row in rows:
        groups.setdefault(f"{row.source} {row.subset}" if grouped else row.name, []).append(row)
    for name, mine in groups.items():
        table.add_row(_styled(name), *_shard_cells(mine, grouped))
    table.add_section()
    total = f"{len(rows):,} shards" if len(rows) != 1 else "1 shard"
    table.add_row(_styled(total, "bold"), *_shard_cells(rows, grouped))
    console.print(table)


def print_packing(rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Of packed rows their padding, and the documents cut beside those that consecutive rows would cut."""
    table = _table("rows", "padding", "cut", "share", "by concat", "share", first="packed rows")
    for sequence_length in dict.fromkeys(row["sequence_length"] for row in rows):
        table.add_row(_styled(f"of {sequence_length:,}", "bold"))
        for row in rows:
            if row["sequence_length"] == sequence_length:
                table.add_row(_styled(f"    {row['source']} {row['subset']}"), *packing_cells(row))
    console.print(table)


def _shard_cells(rows: Sequence[ShardRow], grouped: bool) -> list[str]:
    documents, tokens = sum(row.documents for row in rows), sum(row.tokens for row in rows)
    cells = [f"{documents:,}", f"{tokens:,}", format_bytes(sum(row.bin_bytes for row in rows))]
    return [f"{len(rows):,}", *cells] if grouped else cells


def print_quarantine(sources: Mapping[str, Mapping[str, Any]], console: Console) -> None:
    """What readers passed over or mended; what could not be read: counts a source and reason, then the first
    records and files by place."""
    for name, facts in sources.items():
        if counts := facts.get("counts"):
            each = ", ".join(f"{slug} {count:,}" for slug, count in sorted(counts.items()))
            console.print(_styled(f"{name}: {each}", "dim"), soft_wrap=True)
    bad = {name: facts for name, facts in sources.items() if facts["records"] or facts["damaged"]}
    if not bad:
        console.print(_styled("quarantine: empty, everything could be read"))
        return
    table = _table("records", "damaged files", first="quarantine")
    for name, facts in bad.items():
        table.add_row(_styled(name, "bold"), f"{facts['records']:,}", f"{_damaged_files(facts):,}")
        for reason, count in sorted(facts["reasons"].items(), key=lambda item: (-item[1], item[0])):
            table.add_row(_styled(f"    {reason}", "dim"), _styled(f"{count:,}", "dim"))
    console.print(table)
    for name, facts in bad.items():
        lines = [_place(each) for each in (*facts["damaged"], *facts["first"])]
        shown = lines[:MAX_QUARANTINE_LINES]
        for line in shown:
            console.print(_styled(f"{name}: {line}"), soft_wrap=True)
        more = facts["records"] + len(facts["damaged"]) - len(shown)
        if more > 0:
            console.print(_styled(f"{name}: and {more:,} more", "dim"))


def _damaged_files(facts: Mapping[str, Any]) -> int:
    return len({each["file"] for each in facts["damaged"]})


def _place(fault: Mapping[str, Any]) -> str:
    """A bad record or a damage, with the place to look at."""
    line = f":{fault['line']}" if fault.get("line") is not None else ""
    return f"{fault['file']}{line}, byte {fault['position']:,}: {fault['reason']}: {fault['detail']}"


def print_samples(samples: Iterable[Sample], console: Console) -> None:
    """Dropped documents with their reasons, each text shortened and on one paragraph."""
    for sample in samples:
        head = f"{sample.source}, {sample.stage}: {sample.reason} ({sample.where})"
        console.print(_styled(head, "bold"), soft_wrap=True)
        text = " ".join(sample.text[: 4 * SAMPLE_CHARACTERS].split())
        cut = "..." if len(text) > SAMPLE_CHARACTERS or len(sample.text) > 4 * SAMPLE_CHARACTERS else ""
        console.print(_styled(f"  {text[:SAMPLE_CHARACTERS]}{cut}"))


def _table(*columns: str, first: str) -> Table:
    """A table whose first column holds names and whose others hold numbers, which are never cut."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column(first, overflow="fold", min_width=24)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _styled(text: str, style: str = "") -> Text:
    """Text that prints as it is: no markup, and control characters as escapes."""
    return Text("".join(char if char.isprintable() else repr(char)[1:-1] for char in text), style=style)

"""`report.html`: the report of a run as one page, to look at in a browser or to send to somebody.

The page needs nothing beside it and loads nothing: no script, no font, no picture. It holds what report.json
holds and the digest of the corpus, no times, so the same corpus has the same page. Everything from data
passes through `plain` (`html_parts.py`), which lets no markup, control character or change of direction take
effect; the page forbids scripts besides. Its looks are in `html_style.py`, tables for a terminal in
`terminal.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from os import PathLike
from typing import Any

from dataprep.report.contamination import format_ppm
from dataprep.report.funnel import ENDS, FunnelRow, Sample, ShardRow, by_source, funnel_of, totals
from dataprep.report.html_parts import (
    byte_count,
    folded,
    measured,
    number,
    plain,
    table_of,
    table_row,
    term,
    words_cell,
)
from dataprep.report.html_style import STYLE
from dataprep.report.packing import packing_cells
from dataprep.report.terminal import WORDS
from manifests.files import write_atomic
from manifests.units import format_bytes

HTML_NAME = "report.html"
SHARDS_SHOWN = 500
FAULTS_SHOWN = 100  # a source
SAMPLE_CHARACTERS = 2000
SAMPLE = "sample"
"""The stage that takes a share of a source. Bars below it are of that share, else none were seen."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"

Report = Mapping[str, Any]


def write_html(path: str | PathLike[str], report: Report, content_digest: str) -> None:
    """Write report.html whole or not at all. Raises OSError, or DiskFull."""
    write_atomic(path, encode_html(report, content_digest))


def encode_html(report: Report, content_digest: str) -> bytes:
    """The page of a report as `build_report` makes it. Parts that a report lacks are left out."""
    drawn = [(name, draw(report)) for name, draw in PARTS.items()]
    parts = [(name, body) for name, body in drawn if body]
    links = "".join(f'<a href="#{name}">{name}</a>' for name, _ in parts)
    sections = "\n".join(
        f'<section id="{name}">\n<h2>{_title(name)}</h2>\n{body}\n</section>' for name, body in parts
    )
    corpus = plain(report["corpus"])
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{corpus}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>{corpus}</h1>
<p class="dim">content <code>{plain(content_digest)}</code></p>
{_figures(report)}
<nav>{links}</nav>
</header>
<main>
{sections}
</main>
</body>
</html>
""".encode()


def _title(name: str) -> str:
    return name[0].upper() + name[1:]


def _figures(report: Report) -> str:
    """What one looks for first."""
    read, holdout, train = totals(funnel_of(report["funnel"]))
    shown = {
        "documents read": f"{read.documents:,}",
        "to train on": f"{train.documents:,}",
        "held out": f"{holdout.documents:,}",
        "tokens": f"{(train.tokens or 0) + (holdout.tokens or 0):,}",
        "text kept": format_bytes(train.text_bytes + holdout.text_bytes),
    }
    return f'<dl class="figures">{"".join(term(*each, tag="div") for each in shown.items())}</dl>'


def _warnings(report: Report) -> str:
    return "\n".join(f'<p class="warning">{plain(each)}</p>' for each in report.get("warnings", ()))


def _funnel(report: Report) -> str:
    """Of each source: documents after each step, and why the others left."""
    rows = funnel_of(report["funnel"])
    keys = (
        ("left", "left"),
        ("gone", "gone here, by first reason"),
        ("joint", "had gone for another reason"),
    )
    legend = "".join(f'<span class="key {kind}"></span>{words}' for kind, words in keys)
    if any(row.stage == SAMPLE for row in rows):
        legend += f"; bars below {SAMPLE} are of what it left"
    cards = [_source(source, mine) for source, mine in by_source(rows).items()]
    return "\n".join([f'<p class="dim">{legend}</p>', *cards]) if cards else ""


def _source(source: str, rows: Sequence[FunnelRow]) -> str:
    whole = max(row.documents + sum(row.dropped.values()) + sum(row.moved.values()) for row in rows)
    lines = []
    for row in rows:
        gone = sum(row.dropped.values()) + sum(row.moved.values())
        kind = "step end" if row.stage in ENDS else "step"
        name = measured(row.stage, whole, left=row.documents, gone=gone)
        tokens = "" if row.tokens is None else f"{row.tokens:,}"
        lines.append(table_row(name, f"{row.documents:,}", "", byte_count(row.text_bytes), tokens, kind=kind))
        for reason in dict.fromkeys([*row.joint, *row.dropped]):
            count = row.dropped.get(reason, 0)
            joint = row.joint.get(reason, count)
            name = measured(reason, whole, gone=count, joint=joint - count)
            lines.append(table_row(name, f"{-count:,}", f"{joint:,}", "", "", kind="reason"))
        for other, count in row.moved.items():
            name = measured(f"to {other}", whole, gone=count)
            lines.append(table_row(name, f"{-count:,}", "", "", "", kind="reason"))
        if row.stage == SAMPLE:
            whole = row.documents
    table = table_of(["after step", "documents", "joint", "text", "tokens"], lines, "funnel")
    return f'<div class="card"><h3>{plain(source)}</h3>{table}</div>'


def _ends(report: Report) -> str:
    """What every source gave to the two subsets."""
    rows = funnel_of(report["funnel"])
    sources = by_source(rows)
    listed = [(name, mine, "") for name, mine in sources.items()]
    if len(sources) > 1:
        listed.append(("all sources", totals(rows), "sum"))
    lines = []
    for name, mine, kind in listed:
        ends = {row.stage: row for row in mine if row.stage in ENDS}
        cells = []
        for end in ("train", "holdout"):
            row = ends.get(end, FunnelRow(name, end, 0, 0))
            cells += [f"{row.documents:,}", f"{row.tokens or 0:,}", byte_count(row.text_bytes)]
        lines.append(table_row(plain(name), *cells, kind=kind))
    heads = [f"{end} {what}" for end in ("train", "holdout") for what in ("documents", "tokens", "text")]
    return f'<div class="card">{table_of(["source", *heads], lines)}</div>' if lines else ""


def _duplicates(report: Report) -> str:
    lines = []
    for each in report.get("duplicates", ()):
        largest = ", ".join(f"{size:,}" for size in each.get("largest", ()))
        clusters = f"{each['clusters']:,}" if "clusters" in each else ""
        looked_at = f"{each['looked_at']:,} {plain(each['of'])}"
        lines.append(
            table_row(plain(each["step"]), looked_at, f"{each['removed']:,}", clusters, largest, kind="step")
        )
        for name, words in WORDS.items():
            if name in each:
                lines.append(table_row(f"<div>{words}</div>", "", f"{each[name]:,}", "", "", kind="reason"))
    heads = ["step", "looked at", "removed", "clusters", "largest"]
    return f'<div class="card">{table_of(heads, lines)}</div>' if lines else ""


def _contamination(report: Report) -> str:
    cards = []
    for step in report.get("contamination", ()):
        lines = []
        for each in step["sets"]:
            counts = [f"{each[name]:,}" for name in ("examples", "tested", "contaminated")]
            rest = [format_ppm(each["share_ppm"]), f"{each['documents']:,}", plain(each["action"])]
            lines.append(table_row(plain(each["name"]), *counts, *rest))
        of = "all sources" if step["sources"] is None else ", ".join(step["sources"])
        how = f'<span class="dim">by {plain(step["definition"])}, {plain(of)}</span>'
        head = f"<h3>{plain(step['step'])} {how}</h3>"
        heads = ["set", "examples", "tested", "contaminated", "share", "documents", "action"]
        cards.append(f'<div class="card">{head}{table_of(heads, lines)}</div>')
    return "\n".join(cards)


def _quarantine(report: Report) -> str:
    """What could not be read, and where; what readers passed over."""
    return "\n".join(
        _unread(name, facts)
        for name, facts in report["quarantine"].items()
        if facts["records"] or facts["damaged"] or facts.get("counts")
    ) or '<p class="card">Empty: everything could be read.</p>'  # fmt: skip


def _unread(name: str, facts: Mapping[str, Any]) -> str:
    files = len({each["file"] for each in facts["damaged"]})
    counts = {"records that could not be read": facts["records"], "damaged files": files}
    lines = [table_row(what, f"{count:,}") for what, count in counts.items()]
    reasons = sorted(facts["reasons"].items(), key=lambda item: (-item[1], item[0]))
    lines[1:1] = [
        table_row(f"<div>{plain(reason)}</div>", f"{count:,}", kind="reason") for reason, count in reasons
    ]
    for slug, count in sorted(facts.get("counts", {}).items()):
        lines.append(table_row(f"{plain(slug)} <span class='dim'>no mistake</span>", f"{count:,}"))
    faults = [*facts["damaged"], *facts["first"]]
    shown = [
        table_row(
            plain(each["file"]),
            number(each.get("line")),
            number(each["position"]),
            words_cell(each["reason"]),
            words_cell(each["detail"]),
        )
        for each in faults[:FAULTS_SHOWN]
    ]
    more = facts["records"] + len(facts["damaged"]) - len(shown)
    places = (
        folded("Where", table_of(["file", "line", "byte", "reason", "what"], shown, "places"), more)
        if shown
        else ""
    )
    return f'<div class="card"><h3>{plain(name)}</h3>{table_of(["", ""], lines)}{places}</div>'


def _shards(report: Report) -> str:
    """Sums a source and subset; each shard folded away."""
    rows = [ShardRow(**row) for row in report["shards"]]
    groups: dict[str, list[ShardRow]] = {}
    for row in rows:
        groups.setdefault(f"{row.source} {row.subset}", []).append(row)
    lines = [table_row(plain(name), *_sums(mine)) for name, mine in groups.items()]
    lines.append(table_row("all", *_sums(rows), kind="sum"))
    table = table_of(["source and subset", "shards", "documents", "tokens", "size"], lines)
    each = [table_row(plain(row.name), *_sums([row])[1:]) for row in rows[:SHARDS_SHOWN]]
    listed = table_of(["shard", "documents", "tokens", "size"], each)
    return (
        f'<div class="card">{table}{folded("Each shard", listed, len(rows) - len(each))}</div>'
        if rows
        else ""
    )


def _packing(report: Report) -> str:
    """Rows of `pack: best_fit`, one card a length."""
    cards = []
    rows = report.get("packing", ())
    heads = ["source and subset", "rows", "padding", "cut", "share", "cut by concat", "share"]
    for sequence_length in dict.fromkeys(row["sequence_length"] for row in rows):
        lines = [
            table_row(plain(f"{row['source']} {row['subset']}"), *packing_cells(row))
            for row in rows
            if row["sequence_length"] == sequence_length
        ]
        cards.append(f'<div class="card"><h3>rows of {sequence_length:,}</h3>{table_of(heads, lines)}</div>')
    return "\n".join(cards)


def _sums(rows: Sequence[ShardRow]) -> list[str]:
    documents, tokens = sum(row.documents for row in rows), sum(row.tokens for row in rows)
    return [f"{len(rows):,}", f"{documents:,}", f"{tokens:,}", byte_count(sum(row.bin_bytes for row in rows))]


def _tokenizer(report: Report) -> str:
    facts = report.get("tokenizer")
    if not facts:
        return ""
    shown = {
        "vocabulary": f"{facts['vocab_size']:,}",
        "engine": plain(facts["engine"]),
        "why this engine": plain(facts["engine_reason"]),
        "special tokens in texts": f"taken as {plain(facts['special_tokens'])}",
    }
    return f'<dl class="card facts">{"".join(term(*each) for each in shown.items() if each[1])}</dl>'


def _samples(report: Report) -> str:
    """Dropped documents, for a reader to judge whether they should have been."""
    cards = []
    for sample in (Sample(**each) for each in report.get("samples", ())):
        cut = "..." if len(sample.text) > SAMPLE_CHARACTERS else ""
        text = "\n".join(map(plain, sample.text[:SAMPLE_CHARACTERS].split("\n")))
        head = f"{sample.source}, {sample.stage}: {sample.reason}"
        cards.append(
            f'<div class="card"><h3>{plain(head)}</h3><p class="dim">{plain(sample.where)}</p>'
            f'<p class="text">{text}{cut}</p></div>'
        )
    return "\n".join(cards)


PARTS: dict[str, Callable[[Report], str]] = {
    "warnings": _warnings,
    "funnel": _funnel,
    "ends": _ends,
    "duplicates": _duplicates,
    "contamination": _contamination,
    "quarantine": _quarantine,
    "shards": _shards,
    "packing": _packing,
    "tokenizer": _tokenizer,
    "samples": _samples,
}

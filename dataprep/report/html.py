"""`report.html`: the report of a run as one page, to look at in a browser or to send to somebody.

The page needs nothing beside it and loads nothing: no script, no font, no picture. It holds what report.json
holds and the digest of the corpus, no times, so the same corpus has the same page. Everything from data
passes through `_text`, which lets no markup, control character or change of direction take effect; the page
forbids scripts besides. Its looks are in `html_style.py`, tables for a terminal in `terminal.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from os import PathLike
from typing import Any

from dataprep.report.contamination import format_ppm
from dataprep.report.funnel import ENDS, FunnelRow, Sample, ShardRow, by_source, funnel_of, totals
from dataprep.report.html_style import STYLE
from dataprep.report.terminal import WORDS
from manifests.files import write_atomic
from manifests.units import format_bytes

HTML_NAME = "report.html"
SHARDS_SHOWN = 500
FAULTS_SHOWN = 100  # a source
SAMPLE_CHARACTERS = 2000
SAMPLE = "sample"
"""The stage that takes a share of a source. Bars below it are of that share, or there would be none to see."""
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
    corpus = _text(report["corpus"])
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
<p class="dim">content <code>{_text(content_digest)}</code></p>
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
    return f'<dl class="figures">{"".join(_pair(*each, tag="div") for each in shown.items())}</dl>'


def _warnings(report: Report) -> str:
    return "\n".join(f'<p class="warning">{_text(each)}</p>' for each in report.get("warnings", ()))


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
        legend += f"; below {SAMPLE}, of what it left"
    cards = [_source(source, mine) for source, mine in by_source(rows).items()]
    return "\n".join([f'<p class="dim">{legend}</p>', *cards]) if cards else ""


def _source(source: str, rows: Sequence[FunnelRow]) -> str:
    whole = max(row.documents + sum(row.dropped.values()) + sum(row.moved.values()) for row in rows)
    lines = []
    for row in rows:
        gone = sum(row.dropped.values()) + sum(row.moved.values())
        kind = "step end" if row.stage in ENDS else "step"
        name = _measured(row.stage, whole, left=row.documents, gone=gone)
        tokens = "" if row.tokens is None else f"{row.tokens:,}"
        lines.append(_row(name, f"{row.documents:,}", "", _bytes(row.text_bytes), tokens, kind=kind))
        for reason in dict.fromkeys([*row.joint, *row.dropped]):
            count = row.dropped.get(reason, 0)
            joint = row.joint.get(reason, count)
            name = _measured(reason, whole, gone=count, joint=joint - count)
            lines.append(_row(name, f"{-count:,}", f"{joint:,}", "", "", kind="reason"))
        for other, count in row.moved.items():
            name = _measured(f"to {other}", whole, gone=count)
            lines.append(_row(name, f"{-count:,}", "", "", "", kind="reason"))
        if row.stage == SAMPLE:
            whole = row.documents
    table = _table(["after step", "documents", "joint", "text", "tokens"], lines, "funnel")
    return f'<div class="card"><h3>{_text(source)}</h3>{table}</div>'


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
            cells += [f"{row.documents:,}", f"{row.tokens or 0:,}", _bytes(row.text_bytes)]
        lines.append(_row(_text(name), *cells, kind=kind))
    heads = [f"{end} {what}" for end in ("train", "holdout") for what in ("documents", "tokens", "text")]
    return f'<div class="card">{_table(["source", *heads], lines)}</div>' if lines else ""


def _duplicates(report: Report) -> str:
    lines = []
    for each in report.get("duplicates", ()):
        largest = ", ".join(f"{size:,}" for size in each.get("largest", ()))
        clusters = f"{each['clusters']:,}" if "clusters" in each else ""
        looked_at = f"{each['looked_at']:,} {_text(each['of'])}"
        lines.append(
            _row(_text(each["step"]), looked_at, f"{each['removed']:,}", clusters, largest, kind="step")
        )
        for name, words in WORDS.items():
            if name in each:
                lines.append(_row(f"<div>{words}</div>", "", f"{each[name]:,}", "", "", kind="reason"))
    heads = ["step", "looked at", "removed", "clusters", "largest"]
    return f'<div class="card">{_table(heads, lines)}</div>' if lines else ""


def _contamination(report: Report) -> str:
    cards = []
    for step in report.get("contamination", ()):
        lines = []
        for each in step["sets"]:
            counts = [f"{each[name]:,}" for name in ("examples", "tested", "contaminated")]
            rest = [format_ppm(each["share_ppm"]), f"{each['documents']:,}", _text(each["action"])]
            lines.append(_row(_text(each["name"]), *counts, *rest))
        of = "all sources" if step["sources"] is None else ", ".join(step["sources"])
        how = f'<span class="dim">by {_text(step["definition"])}, {_text(of)}</span>'
        head = f"<h3>{_text(step['step'])} {how}</h3>"
        heads = ["set", "examples", "tested", "contaminated", "share", "documents", "action"]
        cards.append(f'<div class="card">{head}{_table(heads, lines)}</div>')
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
    lines = [_row(what, f"{count:,}") for what, count in counts.items()]
    reasons = sorted(facts["reasons"].items(), key=lambda item: (-item[1], item[0]))
    lines[1:1] = [
        _row(f"<div>{_text(reason)}</div>", f"{count:,}", kind="reason") for reason, count in reasons
    ]
    for slug, count in sorted(facts.get("counts", {}).items()):
        lines.append(_row(f"{_text(slug)} <span class='dim'>no mistake</span>", f"{count:,}"))
    faults = [*facts["damaged"], *facts["first"]]
    shown = [
        _row(
            _text(each["file"]),
            _number(each.get("line")),
            _number(each["position"]),
            _words(each["reason"]),
            _words(each["detail"]),
        )
        for each in faults[:FAULTS_SHOWN]
    ]
    more = facts["records"] + len(facts["damaged"]) - len(shown)
    places = (
        _details("Where", _table(["file", "line", "byte", "reason", "what"], shown, "places"), more)
        if shown
        else ""
    )
    return f'<div class="card"><h3>{_text(name)}</h3>{_table(["", ""], lines)}{places}</div>'


def _shards(report: Report) -> str:
    """Sums a source and subset; each shard folded away."""
    rows = [ShardRow(**row) for row in report["shards"]]
    groups: dict[str, list[ShardRow]] = {}
    for row in rows:
        groups.setdefault(f"{row.source} {row.subset}", []).append(row)
    lines = [_row(_text(name), *_sums(mine)) for name, mine in groups.items()]
    lines.append(_row("all", *_sums(rows), kind="sum"))
    table = _table(["source and subset", "shards", "documents", "tokens", "size"], lines)
    each = [_row(_text(row.name), *_sums([row])[1:]) for row in rows[:SHARDS_SHOWN]]
    listed = _table(["shard", "documents", "tokens", "size"], each)
    return (
        f'<div class="card">{table}{_details("Each shard", listed, len(rows) - len(each))}</div>'
        if rows
        else ""
    )


def _sums(rows: Sequence[ShardRow]) -> list[str]:
    documents, tokens = sum(row.documents for row in rows), sum(row.tokens for row in rows)
    return [f"{len(rows):,}", f"{documents:,}", f"{tokens:,}", _bytes(sum(row.bin_bytes for row in rows))]


def _tokenizer(report: Report) -> str:
    facts = report.get("tokenizer")
    if not facts:
        return ""
    shown = {
        "vocabulary": f"{facts['vocab_size']:,}",
        "engine": _text(facts["engine"]),
        "why this engine": _text(facts["engine_reason"]),
        "special tokens in texts": f"taken as {_text(facts['special_tokens'])}",
    }
    return f'<dl class="card facts">{"".join(_pair(*each) for each in shown.items() if each[1])}</dl>'


def _samples(report: Report) -> str:
    """Dropped documents, for a reader to judge whether they should have been."""
    cards = []
    for sample in (Sample(**each) for each in report.get("samples", ())):
        cut = "..." if len(sample.text) > SAMPLE_CHARACTERS else ""
        text = "\n".join(map(_text, sample.text[:SAMPLE_CHARACTERS].split("\n")))
        head = f"{sample.source}, {sample.stage}: {sample.reason}"
        cards.append(
            f'<div class="card"><h3>{_text(head)}</h3><p class="dim">{_text(sample.where)}</p>'
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
    "tokenizer": _tokenizer,
    "samples": _samples,
}


def _text(text: str) -> str:
    """Text that shows as it is: no markup, and what does not print as escapes."""
    return escape("".join(char if char.isprintable() else repr(char)[1:-1] for char in text))


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _bytes(count: int) -> str:
    """Rounded, with the exact number where a pointer rests on it."""
    return f'<span title="{count:,} bytes">{format_bytes(count)}</span>'


def _words(text: str) -> str:
    """A cell that is read, not compared. (A row knows it by its tag.)"""
    return f'<td class="words">{_text(text)}</td>'


def _pair(term: str, value: str, tag: str = "") -> str:
    pair = f"<dt>{term}</dt><dd>{value}</dd>"
    return f"<{tag}>{pair}</{tag}>" if tag else pair


def _measured(name: str, whole: int, **parts: int) -> str:
    """A name with a bar beside it: parts of `whole`, each in the colour of its kind."""
    pieces = "".join(
        f'<i class="{kind}" style="width:{_percent(count, whole)}"></i>'
        for kind, count in parts.items()
        if count
    )
    bar = f'<span class="bar" aria-hidden="true">{pieces}</span>'
    return f'<div class="measured"><span>{_text(name)}</span>{bar}</div>'


def _percent(count: int, whole: int) -> str:
    hundredths = min(10_000, 10_000 * count // max(1, whole))
    return f"{hundredths // 100}.{hundredths % 100:02d}%"


def _row(name: str, *cells: str, kind: str = "") -> str:
    """A row of markup, its first cell being what it is about."""
    rest = "".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in cells)
    return f'<tr class="{kind}"><th scope="row">{name}</th>{rest}</tr>'


def _table(heads: Sequence[str], rows: Iterable[str], kind: str = "") -> str:
    """A table that scrolls by itself where the window is narrower."""
    columns = "".join(f'<th scope="col">{head}</th>' for head in heads)
    head = f"<thead><tr>{columns}</tr></thead>" if any(heads) else ""
    body = "\n".join(rows)
    return f'<div class="wide"><table class="{kind}">{head}<tbody>\n{body}\n</tbody></table></div>'


def _details(summary: str, body: str, more: int) -> str:
    rest = f'<p class="dim">and {more:,} more</p>' if more > 0 else ""
    return f"<details><summary>{summary}</summary>{body}{rest}</details>"

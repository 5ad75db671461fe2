"""Pieces of markup of which `html.py` makes the page: escaped text, cells, rows, tables, bars.

What takes text of data says so and escapes it; everything else takes markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from manifests.units import format_bytes


def plain(text: str) -> str:
    """Text that shows as it is: no markup, and what does not print as escapes."""
    return escape("".join(char if char.isprintable() else repr(char)[1:-1] for char in text))


def number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def byte_count(count: int) -> str:
    """Rounded, with the exact number where a pointer rests on it."""
    return f'<span title="{count:,} bytes">{format_bytes(count)}</span>'


def words_cell(text: str) -> str:
    """A cell that is read, not compared. (A row knows it by its tag.)"""
    return f'<td class="words">{plain(text)}</td>'


def term(term: str, value: str, tag: str = "") -> str:
    pair = f"<dt>{term}</dt><dd>{value}</dd>"
    return f"<{tag}>{pair}</{tag}>" if tag else pair


def measured(name: str, whole: int, **parts: int) -> str:
    """A name with a bar beside it: parts of `whole`, each in the colour of its kind."""
    pieces = "".join(
        f'<i class="{kind}" style="width:{_percent(count, whole)}"></i>'
        for kind, count in parts.items()
        if count
    )
    bar = f'<span class="bar" aria-hidden="true">{pieces}</span>'
    return f'<div class="measured"><span>{plain(name)}</span>{bar}</div>'


def _percent(count: int, whole: int) -> str:
    hundredths = min(10_000, 10_000 * count // max(1, whole))
    return f"{hundredths // 100}.{hundredths % 100:02d}%"


def table_row(name: str, *cells: str, kind: str = "") -> str:
    """A row of markup, its first cell being what it is about."""
    rest = "".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in cells)
    return f'<tr class="{kind}"><th scope="row">{name}</th>{rest}</tr>'


def table_of(heads: Sequence[str], rows: Iterable[str], kind: str = "") -> str:
    """A table that scrolls by itself where the window is narrower."""
    columns = "".join(f'<th scope="col">{head}</th>' for head in heads)
    head = f"<thead><tr>{columns}</tr></thead>" if any(heads) else ""
    body = "\n".join(rows)
    return f'<div class="wide"><table class="{kind}">{head}<tbody>\n{body}\n</tbody></table></div>'


def folded(summary: str, body: str, more: int) -> str:
    rest = f'<p class="dim">and {more:,} more</p>' if more > 0 else ""
    return f"<details><summary>{summary}</summary>{body}{rest}</details>"

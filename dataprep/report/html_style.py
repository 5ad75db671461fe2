"""How `report.html` looks: one style sheet, which is written into the page."""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --page: #f6f7f8; --card: #fff; --ink: #1b2429; --dim: #5b6870; --line: #dfe4e7;
  --left: #1f7a8c; --gone: #e0813d; --joint: #f1cfb2; --track: #eaeef0; --warn: #fff4dc; --warn-line: #d99b1c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12181b; --card: #1a2226; --ink: #e4eaed; --dim: #98a6ae; --line: #2d383e;
    --left: #45a5b8; --gone: #dd7f3f; --joint: #6b4a33; --track: #263036;
    --warn: #33290f; --warn-line: #b58a2a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 4rem; background: var(--page); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
h1 { font-size: 1.7rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h3 .dim { font-weight: normal; }
p { margin: .3rem 0; }
code {
  font: .88em ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere;
}
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: 1rem 0 0; }
a { color: var(--left); }
.dim { color: var(--dim); }
.card {
  background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .9rem 1rem;
  margin: 0 0 1rem;
}
.wide { overflow-x: auto; }
.figures {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .7rem;
  margin: 1.2rem 0 0;
}
.figures div {
  background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .6rem .8rem;
}
.figures dt { color: var(--dim); font-size: .85rem; }
.figures dd { margin: 0; font-size: 1.2rem; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.2rem; margin: 0; }
dl.facts dt { color: var(--dim); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
th, td {
  padding: .28rem .6rem; text-align: right; vertical-align: top; white-space: nowrap; font-weight: normal;
  font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
tbody th, td.words { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 8rem; }
table.places th:nth-child(n+4) { text-align: left; }
thead th { color: var(--dim); font-size: .85rem; border-bottom: 1px solid var(--line); }
tbody tr.step > * { border-top: 1px solid var(--line); }
tbody tr:first-child > * { border-top: 0; }
tbody tr.end th { color: var(--left); font-weight: 600; }
tbody tr.sum > * { border-top: 1px solid var(--line); font-weight: 600; }
tr.reason > * { color: var(--dim); font-size: .9rem; padding-top: .05rem; }
tr.reason th > div:not(.measured), .reason .measured > :first-child { padding-left: 1.1rem; }
table.funnel tbody th { width: 99%; }
.measured {
  display: grid; grid-template-columns: minmax(9rem, 17rem) minmax(4rem, 1fr); gap: .1rem 1rem;
  align-items: center;
}
.bar { display: flex; height: .65rem; border-radius: 3px; overflow: hidden; background: var(--track); }
.reason .bar { height: .35rem; background: none; }
.bar i { display: block; flex: none; min-width: 1px; }
.left, .key.left { background: var(--left); }
.gone { background: var(--gone); }
.joint { background: var(--joint); }
.key { display: inline-block; width: .8rem; height: .65rem; border-radius: 2px; margin: 0 .35rem 0 .8rem; }
.key:first-child { margin-left: 0; }
.warning {
  background: var(--warn); border-left: 4px solid var(--warn-line); border-radius: 4px;
  padding: .5rem .8rem;
  margin: 0 0 .5rem; overflow-wrap: anywhere; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0 0; }
summary { cursor: pointer; color: var(--left); }
details { margin-top: .5rem; }
details > .wide { margin-top: .6rem; }
@media (max-width: 42rem) {
  .measured { grid-template-columns: 1fr; }
  tbody th { min-width: 10rem; }
  th, td { padding-left: .35rem; padding-right: .35rem; }
  dl.facts { grid-template-columns: 1fr; gap: 0; }
  dl.facts dd { margin-bottom: .5rem; }
}
@media print { body { max-width: none; } .card, .figures div { break-inside: avoid; } }
"""

"""The audit: compares a run's ledger with what manifests and schedule say each step must have consumed.

    write_data_plan(run_dir, plan)   at every start of the trainer: runs/x/data.json, RowPlan.facts()
    audit(run_dir)                   reads data.json and ledger.jsonl, opens the manifests named in data.json

`recompute.py` makes what is expected, by a route that shares little with the trainer, down to a digest of the
tokens read back from the shards; the lines that the newest checkpoint counts must be there. No torch is
imported, and nothing is written. Moved corpora: `corpora` gives their new places.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from manifests.corpus import Corpus, open_corpus
from manifests.errors import UserError
from manifests.files import write_atomic
from manifests.fingerprint import canonical_json
from trainer.checkpoint_meta import CheckpointError, read_meta, step_name, steps_in
from trainer.data.packed_rows import plan_packing
from trainer.data.plan_facts import plan_from_facts
from trainer.data.rows import RowPlan
from trainer.data.targets import CLASSES
from trainer.ledger import COLUMNS, START, LedgerError, LedgerPosition, effective_lines, iterate_ledger
from trainer.recompute import Recomputation

DATA_PLAN = "data.json"
LEDGER = "ledger.jsonl"
CHECKPOINTS = "checkpoints"


@dataclass(frozen=True, slots=True)
class SourceAudit:
    """One source over the steps that agree. Shares are of targets; tokens are targets too.

    epochs and planned_share also cover the step that differs, if there is one.
    """

    source: str
    rows: int
    trained_tokens: int
    other_tokens: int  # masked, padding, cut, excluded
    skipped_tokens: int  # passed over by changes of sequence length
    epochs: float
    planned_share: float
    realised_share: float


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first difference. `step` counts from 1; None when it is in no step."""

    step: int | None
    what: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        place = "" if self.step is None else f"step {self.step}: "
        return f"{place}{self.what}: expected {self.expected}, the ledger has {self.found}"


@dataclass(frozen=True, slots=True)
class AuditReport:
    """steps: how many agree, from the first on. rewinds: how often a resume went back."""

    run_dir: str
    steps: int
    rows: int
    rewinds: int
    sources: tuple[SourceAudit, ...]
    mismatch: Mismatch | None

    @property
    def ok(self) -> bool:
        return self.mismatch is None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"ok": self.ok, **asdict(self)}

    def lines(self) -> list[str]:
        """A table for a terminal, one string a line."""
        head = ("source", "rows", "trained tokens", "other", "skipped", "epochs", "planned", "realised")
        cells = [
            (
                source.source,
                f"{source.rows:,}",
                f"{source.trained_tokens:,}",
                f"{source.other_tokens:,}",
                f"{source.skipped_tokens:,}",
                f"{source.epochs:.3f}",
                f"{source.planned_share:.4%}",
                f"{source.realised_share:.4%}",
            )
            for source in self.sources
        ]
        widths = [max(len(line[i]) for line in (head, *cells)) for i in range(len(head))]
        table = [
            "  ".join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in (head, *cells)
        ]
        verdict = (
            f"{self.steps} steps, {self.rows:,} rows: the ledger agrees with manifests and schedule"
            if self.mismatch is None
            else f"MISMATCH after {self.steps} steps that agree: {self.mismatch}"
        )
        return [*table, "", verdict + (f" ({self.rewinds} rewinds)" if self.rewinds else "")]


def write_data_plan(run_dir: Path, plan: RowPlan) -> Path:
    """Write run_dir/data.json, whole or not at all, in place of an older one. Returns its path."""
    path = run_dir / DATA_PLAN
    write_atomic(path, json.dumps(plan.facts(), indent=1).encode() + b"\n")
    return path


def read_data_plan(run_dir: Path) -> dict[str, Any]:
    """The facts in run_dir/data.json. Raises UserError when it is missing, damaged or of another version."""
    path = run_dir / DATA_PLAN
    if not path.is_file():
        raise UserError("this is no run folder: it has no data.json", where=str(path))
    try:
        facts: dict[str, Any] = json.loads(path.read_bytes())
        unedited = plan_from_facts(facts).facts()["fingerprints"] == facts["fingerprints"]
    except UserError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise UserError(f"the data plan is damaged: {error!r}", where=str(path)) from error
    if not unedited:
        raise UserError("the data plan was edited: its fingerprints do not fit it", where=str(path))
    return facts


def audit(
    run_dir: Path,
    progress: Callable[[int, int], None] | None = None,
    corpora: Sequence[Path] = (),
) -> AuditReport:
    """Audit a run folder up to the first difference.

    progress  called with (steps done, steps of the schedule) after each step.
    corpora   folders or manifests to use instead of the places in data.json.

    Raises UserError for what keeps an audit from being done: no run, a manifest that is not there.
    """
    facts = read_data_plan(run_dir)
    path = run_dir / LEDGER
    counted = _counted_by_checkpoint(run_dir)  # before the ledger, which may be growing
    if not path.is_file():
        raise UserError("the run has no ledger", where=str(path))
    opened, mismatch = _open_corpora(facts, corpora)
    recomputation = Recomputation(facts, opened)
    found = {name: dict.fromkeys(COLUMNS, 0) for name in recomputation.names}
    targets = dict.fromkeys(recomputation.names, 0)
    steps = rows = rewinds = 0
    if mismatch is None:
        try:
            for line, expected in zip(effective_lines(path), recomputation.steps(), strict=False):
                mismatch = _compare(expected, line)
                if mismatch is not None:
                    break
                steps, rows = steps + 1, rows + line["rows"]
                for name, counts in line["sources"].items():
                    for column in COLUMNS:
                        found[name][column] += counts[column]
                    valid = ("trained",) if recomputation.in_packed_phase else CLASSES
                    targets[name] += sum(counts[column] for column in valid)
                if progress is not None:
                    progress(steps, facts["steps"])
        except LedgerError as error:
            text = str(error).replace("\n", ", ")
            mismatch = Mismatch(steps + 1, "the ledger", "an unbroken chain of lines", text)
        rewinds, missing = _survey(path, counted)
        if mismatch is None and missing is not None:
            mismatch = Mismatch(steps + 1, "the ledger", *missing)
    return AuditReport(
        run_dir=str(run_dir),
        steps=steps,
        rows=rows,
        rewinds=rewinds,
        sources=_source_audits(facts, recomputation, found, targets),
        mismatch=mismatch,
    )


def _counted_by_checkpoint(run_dir: Path) -> tuple[str, LedgerPosition] | None:
    """The newest checkpoint that can be read, by name, and how much of the ledger it counts."""
    folder = run_dir / CHECKPOINTS
    for step in reversed(steps_in(folder)):
        try:
            return step_name(step), LedgerPosition(**read_meta(folder / step_name(step)).facts["ledger"])
        except (CheckpointError, KeyError, TypeError):
            continue
    return None


def _same_line(left: LedgerPosition, right: LedgerPosition) -> bool:
    return (left.lines, left.chain) == (right.lines, right.chain)


def _survey(path: Path, counted: tuple[str, LedgerPosition] | None) -> tuple[int, tuple[str, str] | None]:
    """Rewinds in the ledger; if it lacks what a checkpoint counts, what was expected and what there is."""
    rewinds = 0
    end = START
    reached = counted is None or counted[1].lines == 0
    with suppress(LedgerError):
        for record, end in iterate_ledger(path):
            rewinds += record.get("event") == "rewind"
            reached = reached or (counted is not None and _same_line(end, counted[1]))
    if reached or counted is None:
        return rewinds, None
    name, position = counted
    return rewinds, (
        f"line {position.lines} with the chain {position.chain}, which {name} counts",
        f"{end.lines} lines, the last with the chain {end.chain}",
    )


def _open_corpora(
    facts: Mapping[str, Any], places: Sequence[Path]
) -> tuple[dict[str, Corpus], Mismatch | None]:
    paths = places or [Path(manifest["path"]) for manifest in facts["manifests"]]
    opened = {corpus.manifest.corpus: corpus for corpus in map(open_corpus, paths)}
    for manifest in facts["manifests"]:
        corpus = opened.get(manifest["corpus"])
        if corpus is None:
            raise UserError(
                f"the run was trained on {manifest['corpus']} {manifest['version']}, which is not given",
                where=", ".join(map(str, paths)),
            )
        digest = corpus.manifest.content_digest
        if digest != manifest["content_digest"]:
            what = f"content of {manifest['corpus']} at {corpus.folder}"
            return opened, Mismatch(None, what, digest, manifest["content_digest"])
    return opened, _other_packing(facts, opened)


def _other_packing(facts: Mapping[str, Any], opened: Mapping[str, Corpus]) -> Mismatch | None:
    """The first source whose packed rows are not those of the plan: they are no part of the content."""
    for source in facts["sources"]:
        for length, packing in source.get("packings", {}).items():
            corpus = opened[source["corpus"]]
            found = plan_packing(corpus, source["source"], facts["subset"], int(length)).digest
            if found != packing["digest"]:
                what = f"packed rows of {length} of {source['corpus']}/{source['source']} at {corpus.folder}"
                return Mismatch(None, what, found, packing["digest"])
    return None


def _compare(expected: Mapping[str, Any], line: Mapping[str, Any]) -> Mismatch | None:
    """The first difference of a line, the plainest fields first."""
    step = expected["step"]
    for name in ("step", "row", "rows"):
        if line.get(name) != expected[name]:
            return Mismatch(step, name, expected[name], line.get(name))
    counted = line.get("sources")
    if not isinstance(counted, dict):
        return Mismatch(step, "sources", expected["sources"], counted)
    for source in sorted({*expected["sources"], *counted}):
        wanted, found = expected["sources"].get(source), counted.get(source)
        if wanted is None or not isinstance(found, dict):
            return Mismatch(step, f"rows of {source}", wanted or 0, found or 0)
        for column in COLUMNS:
            if wanted[column] != found.get(column):
                return Mismatch(step, f"{column} of {source}", wanted[column], found.get(column))
    for name, what in (
        ("row_digest", "row_digest (other rows, or their order)"),
        ("token_digest", "token_digest (other tokens in these rows)"),
    ):
        if line.get(name) != expected[name]:
            return Mismatch(step, what, expected[name], line.get(name))
    proven = {name: value for name, value in line.items() if name not in ("chain", "outside")}
    if canonical_json(proven) != canonical_json(dict(expected)):  # a field too many, or 8.0 for 8
        return Mismatch(step, "the line", expected, proven)
    return None


def _source_audits(
    facts: Mapping[str, Any],
    recomputation: Recomputation,
    found: Mapping[str, Mapping[str, int]],
    targets: Mapping[str, int],
) -> tuple[SourceAudit, ...]:
    """`targets`: valid ones by source, which planned shares are shares of."""
    all_targets, all_planned = sum(targets.values()), sum(recomputation.planned_targets)
    counters = recomputation.counters
    return tuple(
        SourceAudit(
            source=source["name"],
            rows=found[name]["rows"],
            trained_tokens=found[name]["trained"],
            other_tokens=sum(found[name][column] for column in CLASSES) - found[name]["trained"],
            skipped_tokens=counters[k].skipped_tokens if counters else 0,
            epochs=recomputation.epochs()[k],
            planned_share=recomputation.planned_targets[k] / all_planned if all_planned else 0.0,
            realised_share=targets[name] / all_targets if all_targets else 0.0,
        )
        for k, (source, name) in enumerate(zip(facts["sources"], recomputation.names, strict=True))
    )

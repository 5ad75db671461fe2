"""Where a start begins: at step 0 of a new run, or after the newest verified checkpoint; never silently anew.

Compares what the checkpoint was made under with what is asked for now. The past may not change: manifests,
the part of the schedule that was trained, seed, model. The rest (steps, learning rate, micro_rows,
checkpoints) may, and is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from manifests.errors import UserError
from trainer import checkpoint
from trainer.checkpoint import Checkpoint
from trainer.data.resume import check_resume
from trainer.data.rows import RowPlan
from trainer.ledger import Ledger, LedgerPosition
from trainer.run_folder import RunFolder

FIXED = ("seed", "model")  # of the config; data and batch are compared through the plan, which knows the past
WHERE_ONLY = ("run", "data.manifests")  # paths: what they hold is compared by digest


def find_start(folder: RunFolder, say: Callable[[str], None]) -> Checkpoint | None:
    """The checkpoint to resume, None for step 0. Raises UserError if there were some and none verifies."""
    found = checkpoint.newest_verified(folder.checkpoints, say)
    if found is not None:
        say(f"resuming {folder.path} after step {found.step} ({found.path.name})")
        return found
    if checkpoint.steps_in(folder.checkpoints) or (folder.checkpoints / checkpoint.LATEST).exists():
        raise UserError(
            "none of the checkpoints of this run can be used, and starting over would lose it",
            where=str(folder.checkpoints),
            hint="restore them from a backup, or start a new run with --set run=PATH",
        )
    # A new run saves step 0 before it trains, so without a checkpoint there is nothing to lose. Ledger.create
    # refuses a ledger that holds lines all the same.
    return None


def check_unchanged(
    found: Checkpoint, config: Mapping[str, Any], plan: RowPlan, say: Callable[[str], None]
) -> None:
    """Raise UserError with a diff when what must not change did; name through `say` what may and did."""
    facts = found.facts
    check_resume(facts["data"], plan.facts(), facts["next_row"])
    changes = dict(differences(facts["config"], config))
    refused = [text for key, text in changes.items() if key.split(".")[0] in FIXED]
    if refused:
        raise UserError(
            "the config differs from the one this run was trained with:\n"
            + "\n".join(f"  {line}" for line in refused),
            where=str(found.path),
            hint="put these values back, or start a new run with --set run=PATH",
        )
    if plan.first_row(found.step) != facts["next_row"]:
        raise UserError(
            f"step {found.step} now starts at row {plan.first_row(found.step)}, not at {facts['next_row']}",
            where=str(found.path),
            hint="put batch.rows back, or start a new run with --set run=PATH",
        )
    for key, text in changes.items():
        if not key.startswith(WHERE_ONLY):
            say(f"changed since step {found.step}: {text}")


def differences(old: Any, new: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """(dotted key, "key: old -> new") of every leaf that differs between two JSON values."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in [*old, *(name for name in new if name not in old)]:
            yield from differences(old.get(name), new.get(name), f"{key}.{name}" if key else name)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from differences(left, right, f"{key}.{index}")
    elif old != new:
        yield key, f"{key}: {old} -> {new}"


def open_ledger(folder: RunFolder, found: Checkpoint | None) -> Ledger:
    """The ledger, rewound (by a line, never by deleting) to what the checkpoint counts; a new one without."""
    if found is None:
        return Ledger.create(folder.ledger)
    return Ledger.resume(folder.ledger, LedgerPosition(**found.facts["ledger"]), found.step)

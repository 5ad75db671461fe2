"""The command line: parse, call one public function, print. No torch is imported before a verb needs it.

stdout is data, stderr is narration. Exit codes: 0 ok (a run that a signal stopped cleanly included), 1
failed, 2 user error.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from manifests.errors import UserError
from trainer.errors import RunError

app = typer.Typer(
    name="trainer",
    help="Train on shards by mixture weights, resume to the exact row, and audit what was trained on.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

ConfigPath = Annotated[Path, typer.Argument(metavar="TRAIN.YAML", help="The run's config.")]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Override one value, as in steps=100 or model.dim=64. Repeatable."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout instead of tables.")]
NoWorkers = Annotated[
    int, typer.Option("--workers", min=0, help="Accepted as by every verb; planning needs no threads.")
]
Workers = Annotated[
    int, typer.Option("--workers", min=0, help="Threads that read ahead on each rank; 0 = none.")
]


@app.command()
def run(
    config: ConfigPath,
    sets: Sets = None,
    workers: Workers = 2,
    until: Annotated[
        int | None,
        typer.Option("--until", min=0, metavar="STEP", help="Save and stop after this step of the run."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Refuse to resume: the run folder must be empty.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train. A run folder that holds checkpoints is resumed after the newest one that verifies.

    Under torchrun every process is one data-parallel rank. SIGTERM and SIGINT save at the next step and stop;
    SIGUSR1 saves and goes on.
    """
    from trainer.config import load_config
    from trainer.train import train

    settings = load_config(config, sets or ())
    result = train(settings, until=until, fresh=fresh, workers=workers)
    if result is None:
        return
    if as_json:
        print_json(dataclasses.asdict(result))
    else:
        from trainer.report import run_table

        print(run_table(result))
    if result.step < result.total_steps:
        again = shlex.join(["trainer", "run", str(config), *(f"--set={each}" for each in sets or ())])
        print(
            f"stopped after step {result.step} of {result.total_steps}; go on with: {again}", file=sys.stderr
        )


@app.command()
def plan(config: ConfigPath, sets: Sets = None, workers: NoWorkers = 0, as_json: Json = False) -> None:
    """Print what a run would train on: weights, rows, tokens and epochs of each source. Trains nothing."""
    from manifests.checked import require_checked
    from manifests.store import open_corpus
    from trainer.config import data_spec, load_config
    from trainer.data.rows import RowPlan

    settings = load_config(config, sets or ())
    corpora = [open_corpus(path) for path in settings.data.manifests]
    manifests = [corpus.manifest for corpus in corpora]
    for line in require_checked(manifests, settings.evaluate.sets, settings.evaluate.unchecked):
        print(f"warning: scores may be contaminated: {line}", file=sys.stderr)
    summary = RowPlan.build(corpora, data_spec(settings)).summary()
    if as_json:
        print_json(summary)
        return
    from trainer.report import plan_table

    print(plan_table(summary))


@app.command()
def audit(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="The folder of a run.")],
    manifests: Annotated[
        list[Path] | None,
        typer.Option("--manifest", help="Where a corpus is now, if it was moved. Repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare the ledger with what every step must have consumed, recomputed without torch.

    Exits with 1 and names the first step that differs.
    """
    from trainer.audit import audit as audit_run
    from trainer.progress import counting

    with counting("audit") as progress:
        report = audit_run(run_dir, progress, corpora=manifests or ())
    if as_json:
        print_json(report.to_dict())
    else:
        print("\n".join(report.lines()))
    if not report.ok:
        raise typer.Exit(1)


def print_json(value: object) -> None:
    print(json.dumps(value, indent=1))


def fail(text: str, code: int) -> NoReturn:
    rank = os.environ.get("RANK")
    print(
        f"error: {text}" if rank in (None, "0") else f"rank {rank}: error: {text}",
        file=sys.stderr,
        flush=True,
    )
    raise SystemExit(code)


def main() -> None:
    """Run the command line; user errors become a message and exit code 2, run errors a message and 1."""
    try:
        app()
    except UserError as error:
        fail(str(error), 2)
    except RunError as error:
        fail(str(error), 1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        fail(
            "the disk is full\n\nhint: free some space; the same command goes on from the newest checkpoint",
            2,
        )

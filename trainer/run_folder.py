"""The folder of a run: its names, its lock, its attempts.

config.yaml config.json   the newest attempt's config, resolved
data.json                 what the plan of the data was (see audit.py, which reads it)
ledger.jsonl              what was trained on (ledger.py)
metrics.jsonl             losses, rates and times
checkpoints/              checkpoint.py
attempts/attempt-N/       one a start, made exclusively: who, when, from which step, with which config
lock                      held by the process that may write here
"""

from __future__ import annotations

import fcntl
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from manifests.errors import UserError
from manifests.files import is_temporary, write_atomic

OURS = {"config.json", "config.yaml", "data.json", "ledger.jsonl", "attempts", "checkpoints"}
"""A folder with one of these holds a run, if only one whose start was killed."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def ledger(self) -> Path:
        return self.path / "ledger.jsonl"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def attempts(self) -> Path:
        return self.path / "attempts"

    def write_config(self, config: dict[str, Any]) -> None:
        import yaml

        write_atomic(self.config, json.dumps(config, indent=1).encode())
        write_atomic(self.path / "config.yaml", yaml.safe_dump(config, sort_keys=False).encode())


def open_run_folder(path: Path, *, fresh: bool) -> RunFolder:
    """Make or accept the folder of a run; refuses a folder that holds something else, or anything with
    `fresh`.
    """
    if path.exists() and not path.is_dir():
        raise UserError("run is not a folder", where=str(path))
    try:
        path.mkdir(parents=True, exist_ok=True)
        entries = list(path.iterdir())
    except OSError as error:
        raise _unusable(path, error) from error
    held = sorted(entry.name for entry in entries if entry.name != "lock" and not is_temporary(entry))
    if held and fresh:
        raise UserError(
            f"--fresh needs an empty run folder; this one holds {', '.join(held[:5])}",
            where=str(path),
            hint="choose another folder with --set run=PATH, move this one away, or resume without --fresh",
        )
    if held and not OURS & set(held):
        raise UserError(
            f"the run folder is not empty and holds no run ({', '.join(held[:5])})",
            where=str(path),
            hint="choose another folder with --set run=PATH",
        )
    return RunFolder(path)


def _unusable(path: Path, error: OSError) -> UserError:
    return UserError(
        f"the run folder cannot be used: {error.strerror}",
        where=str(path),
        hint="choose another folder with --set run=PATH",
    )


def lock(folder: RunFolder) -> BinaryIO:
    """Hold the run for this process; the system lets go when the process ends, however it ends."""
    try:
        stream = open(folder.path / "lock", "ab")  # noqa: SIM115 - held until the run is over
    except OSError as error:
        raise _unusable(folder.path, error) from error
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        stream.close()
        raise UserError(
            "another process is training in this folder",
            where=str(folder.path),
            hint="wait for it or stop it (SIGTERM saves first), or choose another folder with --set run=PATH",
        ) from error
    return stream


def attempt_path(folder: RunFolder, attempt: int) -> Path:
    return folder.attempts / f"attempt-{attempt}"


def start_attempt(folder: RunFolder, facts: dict[str, Any]) -> int:
    """Create attempts/attempt-N exclusively, N one more than the last, and describe the start in it."""
    folder.attempts.mkdir(exist_ok=True)
    names = (path.name.removeprefix("attempt-") for path in folder.attempts.glob("attempt-*"))
    attempt = 1 + max((int(name) for name in names if name.isdecimal()), default=0)
    try:
        attempt_path(folder, attempt).mkdir()
    except FileExistsError as error:
        raise UserError(
            f"attempt {attempt} was started by another process just now", where=str(folder.path)
        ) from error
    write_atomic(
        attempt_path(folder, attempt) / "start.json",
        json.dumps({"attempt": attempt, **facts}, indent=1).encode(),
    )
    return attempt


def superseded(folder: RunFolder, attempt: int) -> bool:
    """Whether a newer attempt has started: where locks do not reach (network disks), this one must stop."""
    return attempt_path(folder, attempt + 1).exists()

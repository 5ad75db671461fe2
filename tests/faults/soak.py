"""The kill test at any length: `python -m tests.faults.soak --rounds 10 --kills 20 --seed 17`.

A round makes a corpus in an empty folder and kills the whole process group of `dataprep run` with SIGKILL at
random moments, starting it again each time, then lets it finish and compares every file with an undisturbed
run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.e2e.corpora import digests, write_inputs, write_recipe


def kill_and_rerun(folder: Path, *, seed: int, rounds: int, kills: int) -> dict[str, Any]:
    """Return how many rounds ended equal, how many kills hit a running process, and in which stage."""
    chance = random.Random(seed)
    write_inputs(folder / "in")
    recipe = write_recipe(folder)
    started = time.monotonic()
    _finish(recipe)
    seconds = time.monotonic() - started
    expected = _files(folder)
    equal, hits, places = 0, 0, Counter[str]()
    for _ in range(rounds):
        shutil.rmtree(folder / "out")
        shutil.rmtree(folder / "out.work")
        done = 0
        while done < kills:
            place = _kill_after(recipe, chance.uniform(0.2, 1.0) * seconds)
            if place is None:  # it finished first: from here on only its first moments can be hit
                shutil.rmtree(folder / "out", ignore_errors=True)
                shutil.rmtree(folder / "out.work", ignore_errors=True)
                continue
            done += 1
            places[place] += 1
        hits += done
        _finish(recipe)
        equal += _files(folder) == expected
    return {
        "seed": seed,
        "rounds": rounds,
        "equal": equal,
        "kills": hits,
        "last_line_when_killed": dict(places),
    }


def _start(recipe: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dataprep", "run", str(recipe), "--workers", "2"]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def _finish(recipe: Path) -> None:
    process = _start(recipe)
    _, errors = process.communicate()
    if process.returncode != 0:
        raise AssertionError(errors)


def _kill_after(recipe: Path, seconds: float) -> str | None:
    """Start a run and kill it; return the stage it had finished last, or None if it was done before."""
    process = _start(recipe)
    time.sleep(seconds)
    if process.poll() is not None:
        _, errors = process.communicate()
        if process.returncode != 0:
            raise AssertionError(errors)
        return None
    os.killpg(process.pid, signal.SIGKILL)
    _, errors = process.communicate()
    lines = [line.split()[0] for line in errors.splitlines() if line[:10].strip()]
    return lines[-1] if lines else "start"


def _files(folder: Path) -> dict[str, str]:
    return digests(folder / "out")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--kills", type=int, default=20, help="a round")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--write", type=Path, help="keep the result in this file, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = kill_and_rerun(
            Path(folder), seed=arguments.seed, rounds=arguments.rounds, kills=arguments.kills
        )
    text = json.dumps(result, indent=1)
    print(text)
    if arguments.write is not None:
        arguments.write.write_text(text + "\n")
    sys.exit(0 if result["equal"] == result["rounds"] else 1)


if __name__ == "__main__":
    main()

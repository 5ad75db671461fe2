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

from dataprep.plan import stages_of
from dataprep.recipe import recipe_of
from tests.e2e.corpora import digests, recipe_data, write_inputs, write_recipe


def kill_and_rerun(folder: Path, *, seed: int, rounds: int, kills: int, **changes: Any) -> dict[str, Any]:
    """Return how many rounds ended equal, how many kills hit a running process, and how far they had come.

    changes  fields of the recipe
    """
    chance = random.Random(seed)
    write_inputs(folder / "in")
    data = recipe_data(folder, **changes)
    recipe = write_recipe(folder, data)
    _finish(recipe)  # compiles kernels
    _clear(folder)
    seconds = _finish(recipe)
    expected = digests(folder / "out")
    equal, places = 0, Counter[str]()
    for number in range(rounds):
        _clear(folder)
        done = 0
        while done < kills:
            # Workers take a third of the time to start; a kill before that hits nothing.
            if not _kill_after(recipe, chance.uniform(0.3, 1.0) * seconds):
                _clear(folder)  # it finished first: begin again
                continue
            done += 1
            places[_reached(folder, data)] += 1
        _finish(recipe)
        equal += digests(folder / "out") == expected
        print(f"round {number + 1} of {rounds}: {equal} equal, {sum(places.values())} kills", file=sys.stderr)
    return {
        "seed": seed,
        "rounds": rounds,
        "equal": equal,
        "kills": sum(places.values()),
        "killed_in": dict(sorted(places.items())),
    }


def _clear(folder: Path) -> None:
    for name in ("out", "out.work"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _start(recipe: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dataprep", "run", str(recipe), "--workers", "2"]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def _finish(recipe: Path) -> float:
    """Run to the end; return the seconds it took."""
    started = time.monotonic()
    process = _start(recipe)
    _, errors = process.communicate()
    if process.returncode != 0:
        raise AssertionError(errors)
    return time.monotonic() - started


def _kill_after(recipe: Path, seconds: float) -> bool:
    """Start a run and kill it after that long; return False if it was done before."""
    process = _start(recipe)
    try:
        _, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return True
    if process.returncode != 0:
        raise AssertionError(errors)
    return False


def _reached(folder: Path, data: dict[str, Any]) -> str:
    """How far the work had come: the last stage that left a result, or publishing."""
    if (folder / "out").exists():
        return "publish or after it"
    kinds = [stage.kind for stage in stages_of(recipe_of(data))]
    done = [kind for kind in kinds if (folder / "out.work" / kind).exists()]
    return f"after a task of {done[-1]}" if done else "before the first result"


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

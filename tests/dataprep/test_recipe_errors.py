"""Bad recipes and the exact text that refuses them: pairs of .yaml and .txt in tests/golden/recipe_errors/.

A new case is a new .yaml; lines `# --set KEY=VALUE` in it are arguments. A missing .txt is written by
`python -m tests.dataprep.test_recipe_errors` and is to be read before it is committed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dataprep.recipe import load_recipe
from manifests.errors import UserError

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "recipe_errors"
CASES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


def refusal_of(case: str) -> str:
    """The text of the error, with the file called by its bare name."""
    path = FOLDER / f"{case}.yaml"
    lines = path.read_bytes().decode("utf-8", "replace").splitlines()
    sets = [line.removeprefix("# --set ") for line in lines if line.startswith("# --set ")]
    try:
        load_recipe(path, sets)
    except UserError as error:
        return f"error: {error}\n".replace(str(path), path.name)
    return "no error\n"


@pytest.mark.parametrize("case", CASES)
def test_bad_recipe(case: str) -> None:
    assert refusal_of(case) == (FOLDER / f"{case}.txt").read_text(encoding="utf-8")


def test_there_are_cases() -> None:
    assert len(CASES) >= 50
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == CASES


if __name__ == "__main__":
    for case in CASES:
        target = FOLDER / f"{case}.txt"
        if not target.exists():
            target.write_text(refusal_of(case), encoding="utf-8")
            sys.stdout.write(f"{case}\n{refusal_of(case)}\n")

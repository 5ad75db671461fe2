"""Every recipe that is shipped is valid, and the two of the quickstart fit each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataprep.recipe import load_recipe
from trainer.config import load_config

RECIPES = Path(__file__).resolve().parents[1] / "recipes"
TRAIN = sorted(RECIPES.glob("train_*.yaml"))
DATA = sorted(set(RECIPES.glob("*.yaml")) - set(TRAIN))


def test_there_are_recipes() -> None:
    assert {path.name for path in (*DATA, *TRAIN)} >= {"quickstart.yaml", "train_quickstart.yaml"}


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.stem)
def test_data_recipe_is_valid(path: Path) -> None:
    assert load_recipe(path).output


@pytest.mark.parametrize("path", TRAIN, ids=lambda path: path.stem)
def test_train_recipe_is_valid(path: Path) -> None:
    assert load_config(path).steps


def test_the_quickstart_trains_on_what_it_made() -> None:
    made, trained = load_recipe(RECIPES / "quickstart.yaml"), load_config(RECIPES / "train_quickstart.yaml")
    assert [str(path) for path in trained.data.manifests] == [made.output]
    assert {name for phase in trained.data.phases for name in phase.weights} == set(made.sources)
    assert str(trained.run) == "runs/quickstart"  # what the Makefile audits

"""The committed JSON Schemas are those of the models; they fit real files and see the faults they should."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import fsspec
import pytest
import yaml

from dataprep import schemas
from dataprep.recipe.model import Recipe
from manifests.errors import UserError
from manifests.lists import read_input_list, read_packing_list, read_shard_list
from manifests.store import publish
from tests.dataprep.corpora.runs import make_run
from tests.manifests.corpora import make_corpus
from tests.reference.json_schema import errors

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference" / "schemas"
RECIPES = [path for path in sorted((ROOT / "recipes").glob("*.yaml")) if not path.name.startswith("train")]


def problems(name: str, value: Any) -> list[str]:
    schema = json.loads((FOLDER / f"{name}.json").read_text())
    return errors(json.loads(json.dumps(value)), schema, schema)


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_the_committed_ones_are_up_to_date(name: str) -> None:
    """Else: python -m dataprep.schemas docs/reference/schemas"""
    assert (FOLDER / f"{name}.json").read_text("utf-8") == schemas.text_of(name)


def test_no_other_is_committed() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(schemas.SCHEMAS)
    with pytest.raises(UserError, match="there is no schema recipes"):
        schemas.schema("recipes")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_fits(path: Path) -> None:
    assert problems("recipe", yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"sed": 1}, "unknown key sed"),
        ({"seed": "x"}, "not a integer"),
        ({"steps": [{"gopher_qualty": {}}]}, "unknown key gopher_qualty"),
        ({"steps": [{"gopher_quality": {"min_wrds": 1}}]}, "unknown key min_wrds"),
        ({"steps": [{"normalize": {}, "exact_dedup": {}}]}, "more keys than 1"),
        ({"steps": [{"normalize": {"max_removed": 0.5}}]}, "unknown key max_removed"),
        ({"steps": [{"a.b:c": {"version": 0, "does": "drop"}}]}, "below 1"),
        ({"shards": {"tokens": [1]}}, "none of 2"),
    ],
)
def test_faults_of_recipes(change: dict[str, Any], what: str) -> None:
    recipe = yaml.safe_load((ROOT / "recipes" / "quickstart.yaml").read_text())
    assert what in str(problems("recipe", recipe | change))


def test_what_may_be_written_several_ways() -> None:
    recipe = yaml.safe_load((ROOT / "recipes" / "quickstart.yaml").read_text())
    first = next(iter(recipe["sources"].values()))
    for change in ({"max_bytes": 1000}, {"max_bytes": "20MB"}, {"path": ["a", "b"]}):
        changed = copy.deepcopy(recipe)
        changed["sources"] = {"one": first | change}
        assert problems("recipe", changed) == []
    own = {"mine.steps:shorten": {"version": 1, "does": "transform", "only": ["web"]}}
    assert problems("recipe", recipe | {"steps": [own, {"exact_dedup": None}]}) == []
    assert issubclass(schemas.SCHEMAS["recipe"], Recipe)


def test_manifests_and_lists_fit(tmp_path: Path) -> None:
    make_corpus(tmp_path, packed=(8,))
    assert problems("manifest", json.loads((tmp_path / "manifest.json").read_text())) == []
    assert problems("manifest", json.loads((ROOT / "tests/golden/manifest-4.json").read_text())) == []
    for row in read_shard_list(tmp_path / "shards.parquet"):
        assert problems("shard", row.model_dump()) == []
    for row in read_packing_list(tmp_path / "packing-8.parquet"):
        assert problems("packing", row.model_dump()) == []
    for entry in read_input_list(tmp_path / "inputs.parquet"):
        assert problems("input", entry.model_dump()) == []
    broken = json.loads((tmp_path / "manifest.json").read_text()) | {"dtype": "uint32"}
    assert "not one of" in str(problems("manifest", broken))


def test_published_names_fit(tmp_path: Path) -> None:
    make_corpus(tmp_path / "out")
    publish(tmp_path / "out", f"memory://{tmp_path}/root")
    name = json.loads(fsspec.filesystem("memory").cat_file(f"{tmp_path}/root/tiny/1.0.0.json"))
    assert problems("published", name) == []
    assert "unknown key size" in str(problems("published", name | {"size": 1}))


def test_manifests_and_receipts_of_a_run_fit(tmp_path: Path) -> None:
    made = make_run(tmp_path, texts={"web": ["one text", "another text", "a third"]})
    assert problems("manifest", json.loads((made / "manifest.json").read_text())) == []
    receipts = sorted(Path(f"{made}.work").rglob("receipt.json"))
    assert len({path.parts[-4] for path in receipts}) >= 5  # stages
    for path in receipts:
        assert problems("receipt", json.loads(path.read_text())) == []
        assert schemas.Receipt.model_validate_json(path.read_text())

"""train.yaml is strict: every mistake is named, all at once, with its line; the shipped recipe is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from manifests.errors import UserError
from trainer.config import MAX_EPOCHS, TrainConfig, data_spec, load_config

ROOT = Path(__file__).resolve().parents[2]
RECIPE = ROOT / "recipes" / "train_quickstart.yaml"


def write(folder: Path, **changes: Any) -> Path:
    """A valid config with values replaced by dotted key (`__` for the dot); None removes the key."""
    values = yaml.safe_load(RECIPE.read_text())
    for key, value in changes.items():
        *parents, last = key.split("__")
        place = values
        for parent in parents:
            place = place[parent]
        if value is None:
            del place[last]
        else:
            place[last] = value
    path = folder / "train.yaml"
    path.write_text(yaml.safe_dump(values, sort_keys=False))
    return path


def refusal(path: Path, *sets: str) -> str:
    with pytest.raises(UserError) as caught:
        load_config(path, sets)
    return str(caught.value)


def test_the_recipe_is_read_and_what_it_leaves_out_has_values() -> None:
    config = load_config(RECIPE)
    assert config.steps == 60 and config.checkpoint.every == 30
    assert config.model.ffn_dim == 512 and config.model.tie_embeddings
    assert config.device == "auto" and config.optimizer.name == "adamw"
    spec = data_spec(config)
    assert spec.batch.rows_in(0) == 8 and spec.max_epochs == {"default": MAX_EPOCHS}


def test_a_resolved_config_reads_as_itself(tmp_path: Path) -> None:
    config = load_config(RECIPE)
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False))
    assert load_config(path) == config


def test_set_overrides_before_validation(tmp_path: Path) -> None:
    path = write(tmp_path)
    config = load_config(
        path, ["steps=100", "model.dim=96", "data.phases.0.weights.code=0.25", "run=elsewhere"]
    )
    assert (config.steps, config.model.dim, str(config.run)) == (100, 96, "elsewhere")
    assert config.data.phases[0].weights["code"] == 0.25
    assert "at least 1" in refusal(path, "steps=0")


def test_every_mistake_is_named_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, steps="sixty", seed=None, model__dimm=3, optimizer__lr=-1.0, batch__rows=0)
    text = refusal(path)
    for said in ("steps", "seed", "dimm", 'did you mean "dim"', "lr", "rows"):
        assert said in text
    lines = path.read_text().splitlines()
    assert f"train.yaml:{1 + lines.index('steps: sixty')}" in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model__heads": 5}, "even head width"),
        ({"model__kv_heads": 4}, "kv_heads 4 must divide heads 6"),
        ({"schedule__warmup_steps": 61}, "exceed steps 60"),
        ({"schedule__decay": "cosin"}, "cosine"),
        ({"data__phases": []}, "phases"),
        ({"data__phases": [{"start": 5, "sequence_length": 8, "weights": {"a": 1}}]}, "not at 0"),
        ({"data__phases": [{"start": "five", "sequence_length": 8, "weights": {"a": 1}}]}, "'five' is not"),
        ({"data__phases": [{"sequence_length": 8, "weights": {}}]}, "weights"),
        ({"data__phases": [{"sequence_length": 8, "weights": {"a": 0}}]}, "above 0"),
        ({"data__phases": [{"sequence_length": 8, "weights": {"a": 1e40}}]}, "at most 1000000000000000"),
        ({"data__phases": [{"sequence_length": 10**24, "weights": {"a": 1}}]}, "below 2147483648"),
        ({"batch__rows": 10**21}, "below 2147483648"),
        ({"data__block_tokens": 10**24}, "below 2147483648"),
        ({"data__max_epochs": {"default": 0}}, "max_epochs"),
        ({"device": "tpu"}, "device"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    assert said in refusal(write(tmp_path, **changes))


@pytest.mark.parametrize("start", [0, 480, "480 rows", "30 steps", "2M tokens", "2.5k tokens"])
def test_ways_to_write_a_start(start: int | str) -> None:
    values = yaml.safe_load(RECIPE.read_text())
    values["data"]["phases"].append({"start": start, "sequence_length": 128, "weights": {"code": 1}})
    assert TrainConfig.model_validate(values).data.phases[1].start == start

"""From another tool's token files to a trained and audited model, through the command lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dataprep.corpora.combining import combine
from dataprep.corpora.importing import import_corpus
from dataprep.corpora.spec import ImportSpec
from manifests.corpus import open_corpus
from manifests.errors import UserError
from tests.dataprep.corpora import tokenfiles as files
from tests.dataprep.corpora.runs import make_run
from trainer.data.rows import RowPlan
from trainer.data.schedule import BatchSchedule, DataSpec, PhaseSpec

ROOT = Path(__file__).resolve().parents[2]
CONFIG = {
    "seed": 7,
    "batch": {"rows": 4, "micro_rows": 4},
    "steps": 6,
    "model": {"dim": 16, "layers": 1, "heads": 2, "kv_heads": 1},
    "optimizer": {"lr": 0.01},
    "schedule": {"warmup_steps": 2},
    "checkpoint": {"every": 3},
}


def call(folder: Path, *words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_train_and_audit(tmp_path: Path) -> None:
    """Imported over a symbolic link, combined with a run, trained on in two starts, and proven."""
    path = files.write_datatrove(tmp_path / "old.ds", files.encoded() * 2, "uint16")
    spec = ImportSpec("old", "1.0.0", files.write_tokenizer(tmp_path), {"old": [str(path)]}, link="symbolic")
    import_corpus(spec, tmp_path / "old")
    made = make_run(tmp_path / "made")
    combine([made, tmp_path / "old"], tmp_path / "both", "both", "1.0.0")
    phases: list[dict[str, Any]] = [
        {"start": 0, "sequence_length": 16, "weights": {"web": 0.5, "code": 0.2, "old": 0.3}}
    ]
    data = {"manifests": ["both"], "phases": phases, "max_epochs": {"default": 9}}
    (tmp_path / "train.yaml").write_text(yaml.safe_dump({"run": "run", "data": data, **CONFIG}))
    assert "old" in call(tmp_path, "trainer", "plan", "train.yaml")
    call(tmp_path, "trainer", "run", "train.yaml", "--until", 3)
    call(tmp_path, "trainer", "run", "train.yaml")
    report = json.loads(call(tmp_path, "trainer", "audit", "run", "--json"))
    trained = {source["source"].rpartition("/")[2]: source["rows"] for source in report["sources"]}
    assert report["ok"] and sum(trained.values()) == 24
    assert all(abs(trained[name] - 24 * share) < 1 for name, share in phases[0]["weights"].items())


def test_a_combined_corpus_beside_one_of_its_own_is_refused(tmp_path: Path) -> None:
    """Their documents would be trained on twice, under two names, and no count of epochs would say so."""
    first = make_run(tmp_path / "first", "first")
    texts = {"pages": [f"Another page, number {number}, of the valley." for number in range(30)]}
    second = make_run(tmp_path / "second", "second", texts, seed=6)
    combine([first, second], tmp_path / "both", "both", "1.0.0")
    corpora = [open_corpus(tmp_path / "both"), open_corpus(first)]

    def plan(weights: dict[str, float]) -> RowPlan:
        spec = DataSpec(seed=1, phases=(PhaseSpec(0, 16, weights),), batch=BatchSchedule.constant(4), steps=3)
        return RowPlan.build(corpora, spec)

    with pytest.raises(UserError, match=r"both/web and first/web have [0-9]+ shards in common") as caught:
        plan({"both/web": 1.0, "first/web": 1.0, "pages": 1.0})
    assert caught.value.where == "data.manifests"
    plan({"first/web": 1.0, "pages": 1.0})  # sources that the schedule does not have repeat nothing

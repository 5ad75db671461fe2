"""Data-parallel runs: the same ledger for every world size, resume across them, one voice in trouble."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer.runs import WEIGHTS, chained, lines, losses, tiny_config, weights
from trainer.config import TrainConfig

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


def free_port() -> int:
    with socket.socket() as stream:
        stream.bind(("127.0.0.1", 0))
        return int(stream.getsockname()[1])


def run_ranks(config: TrainConfig, world_size: int, fault: str = "") -> list[str]:
    """What each rank printed, in rank order."""
    path = config.run.parent / "config.json"
    path.write_text(json.dumps(config.model_dump(mode="json")))
    command = [
        sys.executable,
        "-m",
        "tests.trainer.ranks",
        str(path),
        str(world_size),
        str(free_port()),
        fault,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


def config_for(folder: Path, name: str, **changes: Any) -> TrainConfig:
    return tiny_config(folder, run=str(folder / name), model__dropout=0.0, **changes)


def test_every_world_size_trains_on_the_same_rows_to_the_same_loss(tmp_path: Path) -> None:
    """Five rows a step divide by none of these; losses differ by the order of float additions only."""
    alone = config_for(tmp_path, "alone")
    assert run_ranks(alone, 1)[0].startswith("0: ('done', 8")
    for world_size in (2, 3):
        config = config_for(tmp_path, f"ranks-{world_size}", batch__micro_rows=1)
        said = run_ranks(config, world_size)
        assert len(said) == world_size and said[1:] == [f"{rank}: None" for rank in range(1, world_size)]
        assert chained(config.run) == chained(alone.run)
        assert losses(config.run) == pytest.approx(losses(alone.run), rel=1e-5)
        for name, tensor in weights(alone.run, 8).items():
            torch.testing.assert_close(weights(config.run, 8)[name], tensor, atol=1e-3, rtol=1e-2)


def test_packed_rows_are_the_same_for_every_world_size(tmp_path: Path) -> None:
    phases = [{"sequence_length": 16, "pack": "best_fit", "weights": WEIGHTS}]
    changes: dict[str, Any] = {"data__phases": phases, "data__max_epochs": {"default": 20}}
    alone, ranks = config_for(tmp_path, "alone", **changes), config_for(tmp_path, "ranks", **changes)
    run_ranks(alone, 1)
    run_ranks(ranks, 2)
    assert chained(ranks.run) == chained(alone.run)
    assert losses(ranks.run) == pytest.approx(losses(alone.run), rel=1e-5)
    assert any(source["padding"] for line in lines(alone.run) for source in line["sources"].values())


def test_a_run_goes_on_under_another_world_size(tmp_path: Path) -> None:
    alone, moved = config_for(tmp_path, "alone"), config_for(tmp_path, "moved")
    run_ranks(alone, 1)
    assert run_ranks(moved, 2, "stop") == ["0: ('signal', 4, " + repr(losses(moved.run)[4]) + ")", "1: None"]
    assert run_ranks(moved, 1)[0].startswith("0: ('done', 8")
    assert chained(moved.run) == chained(alone.run)
    assert losses(moved.run) == pytest.approx(losses(alone.run), rel=1e-5)


def test_a_failure_of_one_rank_ends_all_with_its_reason(tmp_path: Path) -> None:
    config = config_for(tmp_path, "run")
    assert run_ranks(config, 2, "gone") == ["0: RankFailed: rank 1 failed", "1: OSError: the disk is gone"]
    assert [line["step"] for line in lines(config.run)] == [1, 2, 3]


def test_a_loss_that_is_not_finite_on_one_rank_stops_all(tmp_path: Path) -> None:
    config = config_for(tmp_path, "run")
    said = run_ranks(config, 2, "nan")
    assert [line.split(":")[1] for line in said] == [" NonFinite", " NonFinite"]
    assert said[0].split(":", 1)[1] == said[1].split(":", 1)[1]
    assert [line["step"] for line in lines(config.run)] == [1, 2, 3]


def test_ranks_that_were_started_differently_stop_before_anything_is_written(tmp_path: Path) -> None:
    config = config_for(tmp_path, "run")
    said = run_ranks(config, 2, "odd")
    assert len(said) == 6 and sum("RanksDiffer" in line for line in said) == 2
    assert sum(line.startswith("rank 1 (") and "config is blake2b-128" in line for line in said) == 2
    assert not config.run.exists()


def test_torchrun_trains_stops_on_sigterm_and_resumes(tmp_path: Path) -> None:
    config = config_for(
        tmp_path, "run", steps=100_000, checkpoint__every=100_000, data__max_epochs={"default": 1e9}
    )
    path = tmp_path / "train.yaml"
    path.write_text(json.dumps(config.model_dump(mode="json")))
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
        *("-m", "trainer", "run", str(path), "--json"),
    ]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 90
    ledger = config.run / "ledger.jsonl"
    while not (ledger.exists() and ledger.read_text().count("\n") >= 3):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=60)
    assert "SIGTERM: saving and stopping" in told
    steps = len(lines(config.run))
    assert (config.run / "checkpoints" / f"step-{steps:08d}" / "meta.json").is_file()
    done = subprocess.run(
        [*command, "--until", str(steps + 2)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["reason"], result["first_step"], result["step"]) == ("until", steps, steps + 2)

"""Whole runs in one process: resume bit for bit, refusals, ways to stop, damaged folders."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from manifests.errors import UserError
from manifests.fingerprint import digest_file
from manifests.manifest import MANIFEST_NAME, CheckedSet, load_manifest, write_manifest
from tests.trainer.runs import (
    WEIGHTS,
    Listener,
    chained,
    change_tokenizer,
    lines,
    losses,
    run,
    same,
    tiny_config,
    tiny_corpus,
    weights,
)
from trainer import loop
from trainer.audit import audit
from trainer.data import loader
from trainer.errors import NonFinite, Superseded
from trainer.train import train

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


class Crash(Exception):
    pass


def events(folder: Path) -> list[int | str]:
    return [line.get("step", line.get("event")) for line in lines(folder)]


def crash_at(step: int) -> Listener:
    def at(done: int) -> None:
        if done == step:
            raise Crash

    return Listener(at)


def check_against(corpus: Path, *sets: Path) -> None:
    """Say in a manifest that these evaluation sets were looked for."""
    manifest = load_manifest(corpus)
    evals = [
        CheckedSet(
            name=path.stem, digest=digest_file(path).digest, definition="longest", action="drop",
            sources=None, examples=1, contaminated=0, documents=0,
        )
        for path in sets
    ]  # fmt: skip
    lineage = manifest.lineage.model_copy(update={"evals": evals})
    write_manifest(corpus / MANIFEST_NAME, manifest.model_copy(update={"lineage": lineage}))


def test_an_evaluation_set_that_nobody_has_looked_for_is_refused_or_warned_of(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text("1")
    two.write_text("2")
    tiny_config(tmp_path)
    check_against(tmp_path / "corpus", one)
    both = {"sets": [str(one), str(two)]}
    with pytest.raises(UserError, match=r"two\.jsonl was not looked for in tiny"):
        run(tiny_config(tmp_path, evaluate=both, steps=2))
    assert not (tmp_path / "run").exists()
    listener = Listener()
    train(
        tiny_config(tmp_path, evaluate={**both, "unchecked": "warn"}, steps=2), workers=1, narrator=listener
    )
    (warning,) = [text for text in listener.said if text.startswith("warning: scores may be contaminated")]
    assert "two.jsonl" in warning
    assert run(tiny_config(tmp_path, evaluate={"sets": [str(one)]}, steps=2)).reason == "done"


def test_a_run_from_start_to_end(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    result = run(config)
    folder = config.run
    assert (result.reason, result.first_step, result.step, result.total_steps) == ("done", 0, 8, 8)
    assert sum(result.tokens.values()) == 8 * 5 * 16
    assert result.planned == pytest.approx(WEIGHTS)
    assert [line["step"] for line in lines(folder)] == list(range(1, 9))
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == [
        "LATEST",
        "step-00000003",
        "step-00000006",
        "step-00000008",
    ]
    assert json.loads((folder / "config.json").read_text()) == config.model_dump(mode="json")
    assert json.loads((folder / "attempts" / "attempt-1" / "start.json").read_text())["first_step"] == 0
    metrics = lines(folder, "metrics.jsonl")
    assert metrics[-1]["loss"] == result.loss and metrics[0]["learning_rate"] == pytest.approx(0.005)
    for line in metrics:
        spent = sum(seconds for name, seconds in line["seconds"].items() if name != "total")
        assert 0.5 * line["seconds"]["total"] < spent <= line["seconds"]["total"] + 1e-4


@pytest.mark.parametrize("stop", [0, 1, 3, 7, 8])
def test_stopped_and_resumed_equals_uninterrupted_bit_for_bit(tmp_path: Path, stop: int) -> None:
    whole, halves = (tiny_config(tmp_path, run=str(tmp_path / name)) for name in "ab")
    run(whole)
    first = run(halves, until=stop)
    second = run(halves)
    assert (first.step, second.first_step, second.step) == (stop, stop, 8)
    assert chained(whole.run) == chained(halves.run)
    assert losses(whole.run) == losses(halves.run)
    assert same(weights(whole.run, 8), weights(halves.run, 8))
    assert first.tokens | second.tokens == run(whole).tokens


def test_resume_at_every_boundary_of_phase_and_epoch(tmp_path: Path) -> None:
    """Sequence lengths change at step 4, licences (some 200 tokens) begin new epochs several times."""
    changes: dict[str, Any] = {
        "data__phases": [
            {"start": 0, "sequence_length": 16, "weights": {"code": 0.2, "licences": 0.8}},
            {"start": "4 steps", "sequence_length": 8, "weights": {"prose": 0.3, "licences": 0.7}},
        ],
        "steps": 10,
        "checkpoint__every": 1,
        "checkpoint__keep": 20,
    }
    whole = tiny_config(tmp_path, run=str(tmp_path / "whole"), **changes)
    run(whole)
    epochs = [line["sources"]["tiny/licences"]["epoch_sum"] for line in lines(whole.run)]
    assert epochs[0] == 0 and epochs[3] < epochs[9], "no epoch of licences ended, so none was tested"
    for stop in (1, 3, 4, 5, 8):
        halves = tiny_config(tmp_path, run=str(tmp_path / f"at-{stop}"), **changes)
        run(halves, until=stop)
        run(halves)
        assert chained(whole.run) == chained(halves.run)
        assert losses(whole.run) == losses(halves.run)


def test_packed_rows_are_trained_on_and_resumed_at_every_boundary(tmp_path: Path) -> None:
    """The packing changes at step 4, where every source begins a new epoch."""
    changes: dict[str, Any] = {
        "data__phases": [
            {"start": 0, "sequence_length": 16, "pack": "best_fit", "weights": WEIGHTS},
            {"start": "4 steps", "sequence_length": 8, "pack": "best_fit", "weights": WEIGHTS},
        ],
        "data__accept_repeat": True,
        "data__max_epochs": {"default": 20},
        "steps": 10,
        "checkpoint__every": 1,
        "checkpoint__keep": 20,
    }
    whole = tiny_config(tmp_path, run=str(tmp_path / "whole"), **changes)
    run(whole)
    counts = [line["sources"] for line in lines(whole.run)]
    assert any(each[source]["padding"] for each in counts[:4] for source in each)
    assert min(each[source]["epoch_sum"] for each in counts[4:] for source in each) >= 1
    assert audit(whole.run).ok
    for stop in (1, 4, 7):
        halves = tiny_config(tmp_path, run=str(tmp_path / f"at-{stop}"), **changes)
        run(halves, until=stop)
        run(halves)
        assert chained(whole.run) == chained(halves.run)
        assert losses(whole.run) == losses(halves.run)


PACKED_LATER: list[dict[str, Any]] = [
    {"start": 0, "sequence_length": 8, "pack": "best_fit", "weights": {"code": 1}},
    {"start": "3 steps", "sequence_length": 8, "pack": "best_fit", "weights": WEIGHTS},
    {"start": "6 steps", "sequence_length": 16, "weights": {"prose": 1, "code": 1}},
    {"start": "8 steps", "sequence_length": 16, "pack": "best_fit", "weights": {"licences": 1, "code": 3}},
]


def test_packed_phases_that_a_resume_adds_are_those_of_a_run_that_had_them(tmp_path: Path) -> None:
    """Other sources and lengths of row come later; the past is as it was."""
    changes: dict[str, Any] = {"data__accept_repeat": True, "data__max_epochs": {"default": 20}, "steps": 11}
    whole = tiny_config(tmp_path, run=str(tmp_path / "whole"), data__phases=PACKED_LATER, **changes)
    run(whole)
    assert audit(whole.run).ok
    for known, until in ((1, 3), (2, 5), (3, 8)):
        phases = PACKED_LATER[:known]
        grown = tiny_config(tmp_path, run=str(tmp_path / str(known)), data__phases=phases, **changes)
        run(grown, until=until)
        assert audit(grown.run).ok
        run(tiny_config(tmp_path, run=str(grown.run), data__phases=PACKED_LATER, **changes))
        assert chained(grown.run) == chained(whole.run)
        report = audit(grown.run)
        assert report.ok, report.mismatch


@pytest.mark.parametrize("change", ["missing", "short", "other"])
def test_packings_that_are_not_those_of_the_list_train_nothing(tmp_path: Path, change: str) -> None:
    """Sizes are compared at the start; what is inside when a packing is first used."""
    phases = [{"start": 0, "sequence_length": 8, "pack": "best_fit", "weights": WEIGHTS}]
    config = tiny_config(tmp_path, data__phases=phases)
    path = tmp_path / "corpus/prose/train-00000.packing-8"
    data = bytearray(path.read_bytes())
    data[-4] ^= 1  # the length of the last piece
    path.unlink()
    if change != "missing":
        path.write_bytes(data[:-1] if change == "short" else data)
    with pytest.raises(UserError) as caught:
        run(config)
    assert (caught.value.where, caught.value.hint) == (str(path), f"dataprep verify {tmp_path / 'corpus'}")
    assert (tmp_path / "run" / "ledger.jsonl").exists() == (change == "other")
    assert change != "other" or not lines(config.run)


def test_a_crash_goes_back_to_the_checkpoint_and_the_ledger_says_so(tmp_path: Path) -> None:
    whole, broken = (tiny_config(tmp_path, run=str(tmp_path / name)) for name in "ab")
    run(whole)
    with pytest.raises(Crash):
        train(broken, workers=1, narrator=crash_at(5))
    listener = Listener()
    train(broken, workers=1, narrator=listener)
    assert any("resuming" in text and "step 3" in text for text in listener.said)
    assert events(broken.run) == [1, 2, 3, 4, 5, "rewind", 4, 5, 6, 7, 8]
    assert losses(whole.run) == losses(broken.run)
    assert same(weights(whole.run, 8), weights(broken.run, 8))
    assert sorted(path.name for path in (broken.run / "attempts").iterdir()) == ["attempt-1", "attempt-2"]


def test_a_kill_before_the_first_checkpoint_starts_over_and_says_so(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, checkpoint__every=100)
    with pytest.raises(Crash):
        train(config, narrator=crash_at(2))
    assert run(config).first_step == 0
    assert events(config.run) == [
        1,
        2,
        "rewind",
        *range(1, 9),
    ]


def test_a_batch_from_the_wrong_step_shows_in_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger is counted from what entered the model: a stale batch differs from the plan."""
    config = tiny_config(tmp_path)
    honest = loader.read_batch

    def stale(plan: Any, sources: Any, step: int, rank: int, world_size: int) -> loader.Batch:
        return honest(plan, sources, 3 if step == 4 else step, rank, world_size)

    run(config, until=4)
    assert audit(config.run).ok
    monkeypatch.setattr(loader, "read_batch", stale)
    run(config)
    report = audit(config.run)
    assert report.mismatch is not None and report.mismatch.step == 5 and report.steps == 4


@pytest.mark.slow
def test_killed_at_any_moment_a_run_goes_on(tmp_path: Path) -> None:
    """SIGKILL at recorded random moments; in the end the weights are those of a run that was never killed."""
    whole, killed = (
        tiny_config(tmp_path, run=str(tmp_path / name), steps=60, checkpoint__every=2) for name in ("a", "b")
    )
    path = tmp_path / "train.yaml"
    path.write_text(json.dumps(killed.model_dump(mode="json")))
    command = [sys.executable, "-m", "trainer", "run", str(path), "--json"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    moments = random.Random(20)
    ledger = killed.run / "ledger.jsonl"
    for _ in range(4):
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
        before = ledger.stat().st_size if ledger.exists() else 0
        while (not ledger.exists() or ledger.stat().st_size == before) and process.poll() is None:
            time.sleep(0.01)
        time.sleep(moments.random() * 0.3)
        process.kill()
        process.wait()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert audit(killed.run).ok
    run(whole)
    assert same(weights(whole.run, 60), weights(killed.run, 60))
    assert len(list((killed.run / "attempts").iterdir())) == 5


def test_micro_rows_change_memory_and_not_the_result(tmp_path: Path) -> None:
    results = {}
    for micro_rows in (1, 3, 5, 8):
        config = tiny_config(
            tmp_path, run=str(tmp_path / f"m{micro_rows}"), batch__micro_rows=micro_rows, model__dropout=0.0
        )
        run(config, until=4)
        results[micro_rows] = (chained(config.run), losses(config.run), weights(config.run, 4))
    ledger, loss, weight = results[8]
    for other_ledger, other_loss, other_weight in results.values():
        assert other_ledger == ledger
        assert other_loss == pytest.approx(loss, rel=1e-5)
        for name, tensor in weight.items():
            torch.testing.assert_close(other_weight[name], tensor, atol=2e-4, rtol=1e-3)


def test_a_finished_run_has_nothing_to_do_and_may_go_on_for_longer(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    run(config)
    listener = Listener()
    assert train(config, narrator=listener).loss is None  # type: ignore[union-attr]
    assert any("nothing to do" in text for text in listener.said)
    listener = Listener()
    longer = train(tiny_config(tmp_path, steps=10), narrator=listener)
    assert longer is not None and (longer.first_step, longer.step) == (8, 10)
    assert any("steps: 8 -> 10" in text for text in listener.said)


def refused(config: Any, **options: Any) -> str:
    with pytest.raises(UserError) as caught:
        run(config, **options)
    return str(caught.value)


def test_a_changed_past_is_refused_with_a_diff_and_a_changed_future_is_not(tmp_path: Path) -> None:
    run(tiny_config(tmp_path), until=4)
    phases = [{"start": 0, "sequence_length": 16, "weights": {**WEIGHTS, "code": 0.7}}]
    assert "rows per period" in refused(tiny_config(tmp_path, data__phases=phases))
    assert "16 -> 8" in refused(
        tiny_config(tmp_path, data__phases=[{"sequence_length": 8, "weights": WEIGHTS}])
    )
    assert "rows per step" in refused(tiny_config(tmp_path, batch__rows=6))
    assert "seed" in refused(tiny_config(tmp_path, seed=8))
    assert "model.dim: 16 -> 32" in refused(tiny_config(tmp_path, model__dim=32))
    tiny_corpus(tmp_path / "other", seed=1)
    assert "source tiny/code" in refused(tiny_config(tmp_path, data__manifests=[str(tmp_path / "other")]))
    later = [
        {"start": 0, "sequence_length": 16, "weights": WEIGHTS},
        {"start": "6 steps", "sequence_length": 16, "weights": {"code": 1.0}},
    ]
    assert run(tiny_config(tmp_path, data__phases=later)).step == 8
    assert lines(tmp_path / "run")[-1]["sources"].keys() == {"tiny/code"}


def test_a_moved_corpus_is_the_same_corpus(tmp_path: Path) -> None:
    run(tiny_config(tmp_path), until=4)
    moved = (tmp_path / "corpus").rename(tmp_path / "moved")
    assert run(tiny_config(tmp_path, data__manifests=[str(moved)])).step == 8


def test_a_damaged_checkpoint_falls_back_with_a_message(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    whole = tiny_config(tmp_path, run=str(tmp_path / "whole"))
    run(whole)
    run(config, until=6)
    path = config.run / "checkpoints" / "step-00000006" / "weights.pt"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)
    listener = Listener()
    result = train(config, narrator=listener)
    assert result is not None and result.first_step == 3
    assert any("step-00000006 cannot be used" in text for text in listener.said)
    assert same(weights(config.run, 8), weights(whole.run, 8))
    assert same(weights(config.run, 6), weights(whole.run, 6)), "the damaged one was replaced"


def test_a_run_without_a_usable_checkpoint_never_starts_over(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    run(config, until=2)
    for path in (config.run / "checkpoints").glob("step-*/weights.pt"):
        path.write_bytes(b"")
    assert "none of the checkpoints" in refused(config)
    for path in (config.run / "checkpoints").glob("step-*"):
        path.rename(path.with_name(f"gone-{path.name}"))
    assert "none of the checkpoints" in refused(config), "LATEST still says that there was one"
    (config.run / "checkpoints" / "LATEST").unlink()
    assert "there is a ledger already" in refused(config)


def test_fresh_needs_an_empty_folder(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    assert run(config, fresh=True, until=2).step == 2
    assert "--fresh needs an empty run folder" in refused(config, fresh=True)
    other = tmp_path / "files"
    other.mkdir()
    (other / "thesis.tex").write_text("do not touch")
    assert "holds no run" in refused(tiny_config(tmp_path, run=str(other)))
    assert [path.name for path in other.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_stops_at_the_next_boundary(tmp_path: Path, number: signal.Signals) -> None:
    config = tiny_config(tmp_path)

    def at(step: int) -> None:
        if step == 4:
            os.kill(os.getpid(), number)

    result = train(config, narrator=Listener(at))
    assert result is not None and (result.reason, result.step) == ("signal", 4)
    resumed = run(config)
    assert (resumed.first_step, resumed.step) == (4, 8)
    assert len(lines(config.run)) == 8, "nothing was lost, so nothing was rewound"


def test_a_save_on_request_goes_on(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, checkpoint__keep=9)

    def at(step: int) -> None:
        if step == 4:
            os.kill(os.getpid(), signal.SIGUSR1)

    result = train(config, narrator=Listener(at))
    assert result is not None and result.step == 8
    assert (config.run / "checkpoints" / "step-00000004").is_dir()


def test_a_loss_that_is_not_finite_stops_before_weights_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_config(tmp_path)
    honest = loop.forward_backward
    seen: dict[str, Any] = {}

    def poisoned(parts: loop.Loop, batch: Any, num_trained: int) -> Any:
        result = honest(parts, batch, num_trained)
        if batch.step == 4:
            seen["model"] = parts.model
            seen["before"] = {name: p.detach().clone() for name, p in parts.model.named_parameters()}
            next(parts.model.parameters()).grad[0, 0] = float("inf")  # type: ignore[index]
        return result

    monkeypatch.setattr(loop, "forward_backward", poisoned)
    with pytest.raises(NonFinite, match=r"step 5 \(rows 20 to 24\)"):
        run(config)
    assert same(seen["before"], dict(seen["model"].named_parameters()))
    assert len(lines(config.run)) == 4, "a step that changed nothing is in no ledger"
    monkeypatch.undo()
    assert run(config).first_step == 3


def test_one_process_at_a_time(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)

    def at(step: int) -> None:
        if step == 2:
            assert "another process is training" in refused(config)

    assert train(config, narrator=Listener(at)).step == 8  # type: ignore[union-attr]


def test_a_newer_attempt_takes_over_where_locks_do_not_reach(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)

    def at(step: int) -> None:
        if step == 2:
            (config.run / "attempts" / "attempt-2").mkdir()

    with pytest.raises(Superseded, match="attempt 2"):
        train(config, narrator=Listener(at))
    assert len(lines(config.run)) == 2


def test_what_a_start_refuses(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    unknown = tiny_config(tmp_path, data__phases=[{"sequence_length": 16, "weights": {"coda": 1}}])
    assert "source coda is in no manifest" in refused(unknown)
    change_tokenizer(tiny_corpus(tmp_path / "second", corpus="second"))
    both = [str(tmp_path / "corpus"), str(tmp_path / "second")]
    assert "different tokenizers" in refused(tiny_config(tmp_path, data__manifests=both))
    assert "manifest" in refused(tiny_config(tmp_path, data__manifests=[str(tmp_path / "nowhere")]))
    with open(tmp_path / "corpus" / "code" / "train-00001.bin", "ab") as stream:
        stream.write(b"\0")
    assert "train-00001.bin" in refused(config) and "dataprep verify" in refused(config)
    assert not config.run.exists(), "refused before anything is written"


def test_document_mask_counts_what_it_masks(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, data__document_mask=True)
    result = run(config)
    masked = sum(counts["masked"] for line in lines(config.run) for counts in line["sources"].values())
    assert masked > 0
    assert sum(result.tokens.values()) + masked == 8 * 5 * 16


def test_a_source_under_another_name_keeps_its_count(tmp_path: Path) -> None:
    before = run(tiny_config(tmp_path), until=4).tokens
    weights = {"tiny/code": 0.5, "prose": 0.3, "licences": 0.2}
    phases = [{"start": 0, "sequence_length": 16, "weights": weights}]
    after = run(tiny_config(tmp_path, data__phases=phases)).tokens
    assert sum(after.values()) == 8 * 5 * 16
    assert after["tiny/code"] > before["code"]


def test_a_run_that_is_past_its_steps_is_done(tmp_path: Path) -> None:
    run(tiny_config(tmp_path), until=6)
    result = run(tiny_config(tmp_path, steps=4))
    assert (result.reason, result.step, result.loss) == ("done", 6, None)


def test_a_checkpoint_that_could_not_be_read_for_a_while(tmp_path: Path) -> None:
    """The run goes on from an older one, then from the newer one again; the audit follows both ways."""
    config = tiny_config(tmp_path)
    run(config, until=6)
    newer = config.run / "checkpoints" / "step-00000006"
    newer.rename(tmp_path / "away")
    assert run(config, until=5).step == 5
    (tmp_path / "away").rename(newer)
    assert run(config).first_step == 6
    report = audit(config.run)
    assert report.ok and (report.steps, report.rewinds) == (8, 2), report.mismatch


def test_a_copy_of_an_attempt_is_no_attempt(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    run(config, until=4)
    (config.run / "attempts" / "attempt-1.bak").mkdir()
    run(config)
    assert (config.run / "attempts" / "attempt-2").is_dir()


def test_a_run_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "run", Path("/proc/run")):
        assert "run" in refused(tiny_config(tmp_path, run=str(path)))

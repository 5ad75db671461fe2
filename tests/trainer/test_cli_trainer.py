"""The command line: data on stdout, narration on stderr, exit codes, and the audit of a real run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.trainer.runs import tiny_config
from trainer.cli import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "train.yaml"
    path.write_text(yaml.safe_dump(tiny_config(tmp_path).model_dump(mode="json")))
    return path


class Called:
    """One call of the command line in this process."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: Any
    ) -> None:
        monkeypatch.setattr(sys, "argv", ["trainer", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        self.code = ended.value.code or 0
        self.out, self.err = capsys.readouterr()


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda *arguments: Called(capsys, monkeypatch, *arguments)


def test_run_stop_resume_audit(call: Any, config: Path) -> None:
    half = call("run", config, "--until", 4, "--json", "--workers", 0)
    assert half.code == 0
    result = json.loads(half.out)
    assert (result["reason"], result["step"], result["total_steps"]) == ("until", 4, 8)
    rest = call("run", config, "--set", "checkpoint.every=1")
    assert rest.code == 0
    assert "resuming" in rest.err and "after step 4" in rest.err and "checkpoint.every: 3 -> 1" in rest.err
    assert "steps       8 of 8 (done)" in rest.out and "licences" in rest.out
    audit = call("audit", config.parent / "run", "--json")
    assert audit.code == 0
    report = json.loads(audit.out)
    assert report["ok"] and report["steps"] == 8
    assert {source["source"]: source["trained_tokens"] for source in report["sources"]} == (
        result_tokens(call, config)
    )


def result_tokens(call: Any, config: Path) -> dict[str, int]:
    """Tokens by source as the run counts them: the same call again has nothing left to do."""
    tokens: dict[str, int] = json.loads(call("run", config, "--json").out)["tokens"]
    return tokens


def test_an_edited_ledger_fails_the_audit(call: Any, config: Path) -> None:
    call("run", config)
    ledger = config.parent / "run" / "ledger.jsonl"
    lines = ledger.read_text().splitlines()
    record = json.loads(lines[4])
    source = next(iter(record["sources"].values()))
    source["trained"] += 1
    lines[4] = json.dumps(record, separators=(",", ":"))
    ledger.write_text("\n".join(lines) + "\n")
    audit = call("audit", config.parent / "run")
    assert audit.code == 1 and "MISMATCH" in audit.out
    assert json.loads(call("audit", config.parent / "run", "--json").out)["ok"] is False


def test_plan_trains_nothing(call: Any, config: Path) -> None:
    told = call("plan", config, "--set", "data.phases.0.weights={code: 3, prose: 1}")
    assert told.code == 0 and "75.0000%" in told.out and "rows of 16 tokens" in told.out
    summary = json.loads(call("plan", config, "--json").out)
    assert summary["rows"] == 40 and summary["sources"]["code"]["rows"] == 20
    assert not (config.parent / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "absent.yaml"], "absent.yaml"),
        (["run", "CONFIG", "--set", "stepz=3"], "steps"),
        (["plan", "CONFIG", "--set", "data.manifests=[nowhere]"], "nowhere"),
        (["plan", "CONFIG", "--set", "data.phases.0.weights={coda: 1}"], "coda"),
        (["audit", "nowhere"], "nowhere"),
    ],
)
def test_user_errors_are_a_message_and_a_two(
    call: Any, config: Path, arguments: list[str], said: str
) -> None:
    ended = call(*(config if argument == "CONFIG" else argument for argument in arguments))
    assert ended.code == 2
    assert ended.err.startswith("error: ") and said in ended.err
    assert ended.out == "" and "Traceback" not in ended.err


def test_a_full_disk_is_a_message_and_costs_the_last_steps(
    call: Any, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = os.write

    def full(descriptor: int, data: bytes) -> int:
        """The last 200 bytes of the line of step 5 find no room."""
        return honest(descriptor, data[:-200] if bytes(data[:9]) == b'{"step":5' else data)

    monkeypatch.setattr(os, "write", full)
    ended = call("run", config, "--json")
    assert ended.code == 2 and ended.out == "" and "error: the disk is full" in ended.err
    monkeypatch.undo()
    assert call("audit", config.parent / "run").code == 0
    again = call("run", config, "--json")
    assert again.code == 0 and json.loads(again.out)["first_step"] == 3
    assert call("audit", config.parent / "run").code == 0


@pytest.mark.parametrize("verb", ["run", "plan", "audit"])
def test_every_verb_has_help(call: Any, verb: str) -> None:
    told = call(verb, "--help")
    assert told.code == 0 and "--json" in told.out
    assert ("--set" in told.out) == (verb != "audit")


@pytest.mark.slow
def test_plan_and_audit_import_no_torch(call: Any, config: Path) -> None:
    call("run", config)
    code = (
        "import sys; sys.argv = ['trainer', *sys.argv[1:]]\n"
        "import trainer.cli\n"
        "try: trainer.cli.main()\n"
        "finally: assert 'torch' not in sys.modules"
    )
    for arguments in (["plan", str(config)], ["audit", str(config.parent / "run")]):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

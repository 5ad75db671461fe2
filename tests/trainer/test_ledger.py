from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from manifests.corpus import Corpus
from tests.trainer.feeding import feed, make_plan, make_tiny_corpus
from trainer import ledger as ledger_module
from trainer.data.rows import RowPlan
from trainer.ledger import (
    Ledger,
    LedgerError,
    LedgerPosition,
    effective_lines,
    read_ledger,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_tiny_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def plan(corpus: Corpus) -> RowPlan:
    return make_plan(corpus)


def write(path: Path, plan: RowPlan, corpus: Corpus, steps: int) -> list[LedgerPosition]:
    """A new ledger of `steps` steps; positions[k] is what a checkpoint after k steps counts."""
    ledger = Ledger.create(path)
    positions = [ledger.position()]
    for step in range(steps):
        feed(plan, corpus, ledger, [step])
        positions.append(ledger.position())
    ledger.close()
    return positions


def test_lines_and_positions(tmp_path: Path, plan: RowPlan, corpus: Corpus) -> None:
    path = tmp_path / "ledger.jsonl"
    positions = write(path, plan, corpus, 4)
    records = read_ledger(path)
    assert [record["step"] for record in records] == [1, 2, 3, 4]
    assert [record["row"] for record in records] == [0, 7, 14, 21]
    assert records[2]["outside"] == {"loss": 1 / 3}
    assert [position.lines for position in positions] == [0, 1, 2, 3, 4]
    assert positions[-1].bytes == path.stat().st_size
    assert positions[-1].chain == records[-1]["chain"]
    assert len({position.chain for position in positions}) == 5


def test_the_same_steps_have_the_same_chain_whatever_the_loss(
    tmp_path: Path, plan: RowPlan, corpus: Corpus
) -> None:
    chain = write(tmp_path / "a", plan, corpus, 3)[-1].chain
    ledger = Ledger.create(tmp_path / "b")
    feed(plan, corpus, ledger, range(3), world=2)
    assert ledger.position().chain == chain
    text = (tmp_path / "a").read_text().replace('"loss":', '"time":')
    (tmp_path / "a").write_text(text)
    assert read_ledger(tmp_path / "a")[-1]["chain"] == chain


def test_an_existing_ledger_is_never_written_over(tmp_path: Path, plan: RowPlan, corpus: Corpus) -> None:
    path = tmp_path / "ledger.jsonl"
    write(path, plan, corpus, 1)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="ledger already"):
        Ledger.create(path)
    assert path.read_bytes() == before
    path.write_bytes(b"")
    Ledger.create(path).close()


def test_steps_come_in_order(tmp_path: Path, plan: RowPlan, corpus: Corpus) -> None:
    ledger = Ledger.create(tmp_path / "ledger.jsonl")
    for wrong in ([1], [0, 0], [2]):
        with pytest.raises(ValueError, match="comes next"):
            feed(plan, corpus, ledger, wrong)


@pytest.mark.parametrize("kept", [0, 1, 3, 5])
def test_resume_rewinds_by_a_line_and_keeps_the_old_ones(
    tmp_path: Path, plan: RowPlan, corpus: Corpus, kept: int
) -> None:
    path = tmp_path / "ledger.jsonl"
    positions = write(path, plan, corpus, 5)
    before = path.read_bytes()
    ledger = Ledger.resume(path, positions[kept], kept)
    feed(plan, corpus, ledger, range(kept, 7))
    assert path.read_bytes().startswith(before)
    events = [record for record in read_ledger(path) if "event" in record]
    if kept == 5:
        assert events == []
    else:
        assert len(events) == 1
        event = {name: value for name, value in events[0].items() if name != "chain"}
        assert event == {"event": "rewind", "steps": kept, "lines": 5 - kept, "torn_bytes": 0}
    effective = list(effective_lines(path))
    assert [record["step"] for record in effective] == list(range(1, 8))
    # Those that count are those written last.
    assert [record["chain"] for record in effective[kept:]] == [
        record["chain"] for record in read_ledger(path)[-(7 - kept) :]
    ]


def test_rewinds_over_rewinds(tmp_path: Path, plan: RowPlan, corpus: Corpus) -> None:
    path = tmp_path / "ledger.jsonl"
    positions = write(path, plan, corpus, 4)
    ledger = Ledger.resume(path, positions[3], 3)
    feed(plan, corpus, ledger, [3, 4])
    after = ledger.position()
    feed(plan, corpus, ledger, [5])
    ledger.close()
    feed(plan, corpus, Ledger.resume(path, positions[2], 2), [2])
    assert [record["step"] for record in effective_lines(path)] == [1, 2, 3]
    ledger = Ledger.resume(path, after, 5)  # a checkpoint that was written between the two
    feed(plan, corpus, ledger, [5])
    assert [record.get("steps") for record in read_ledger(path) if "event" in record] == [3, 2, 5]


@pytest.mark.parametrize("torn", [b"{", b'{"step":6,"row":35', b"\0" * 50, b"\n", b"not json\n"])
def test_a_torn_last_line_is_tolerated_past_the_checkpoint(
    tmp_path: Path, plan: RowPlan, corpus: Corpus, torn: bytes
) -> None:
    path = tmp_path / "ledger.jsonl"
    positions = write(path, plan, corpus, 5)
    with open(path, "ab") as stream:
        stream.write(torn)
    assert len(read_ledger(path)) == 5
    feed(plan, corpus, Ledger.resume(path, positions[5], 5), [5])
    records = read_ledger(path)
    assert records[5]["event"] == "rewind" and records[5]["torn_bytes"] == len(torn)
    assert [record["step"] for record in effective_lines(path)] == [1, 2, 3, 4, 5, 6]


def test_shorter_than_the_checkpoint_is_refused(tmp_path: Path, plan: RowPlan, corpus: Corpus) -> None:
    path = tmp_path / "ledger.jsonl"
    positions = write(path, plan, corpus, 5)
    whole = path.read_bytes()
    for size_bytes in (0, positions[4].bytes, positions[5].bytes - 1):
        path.write_bytes(whole[:size_bytes])
        with pytest.raises(LedgerError, match="counts 5 lines"):
            Ledger.resume(path, positions[5], 5)
        assert path.read_bytes() == whole[:size_bytes]
    path.unlink()
    with pytest.raises(LedgerError, match="the ledger has 0"):
        Ledger.resume(path, positions[5], 5)


def test_a_line_that_is_being_written_is_not_there_yet(
    tmp_path: Path, plan: RowPlan, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of a last line may come between the read that found no newline and the next."""
    path = tmp_path / "ledger.jsonl"
    write(path, plan, corpus, 3)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    honest = ledger_module._parse

    def slow(line: bytes, *before: Any) -> Any:
        if not line.endswith(b"\n"):
            path.write_bytes(whole)
        return honest(line, *before)

    monkeypatch.setattr(ledger_module, "_parse", slow)
    assert len(read_ledger(path)) == 2


def test_another_ledger_is_refused(tmp_path: Path, corpus: Corpus, plan: RowPlan) -> None:
    positions = write(tmp_path / "a", plan, corpus, 3)
    write(tmp_path / "b", make_plan(corpus, seed=6), corpus, 3)
    with pytest.raises(LedgerError, match="line 2 is not the one"):
        Ledger.resume(tmp_path / "b", positions[2], 2)


def test_every_edit_of_an_integer_field_shows(tmp_path: Path, plan: RowPlan, corpus: Corpus) -> None:
    path = tmp_path / "ledger.jsonl"
    write(path, plan, corpus, 4)
    lines = path.read_text().splitlines(keepends=True)
    record = json.loads(lines[1])
    edits = [{**record, "row": 8}, {**record, "row_digest": "0" * 16}, {**record, "extra": 1}]
    name = next(iter(record["sources"]))
    counts = {**record["sources"][name], "trained": 1}
    edits.append({**record, "sources": {**record["sources"], name: counts}})
    damaged = [[lines[0], json.dumps(edit) + "\n", *lines[2:]] for edit in edits]
    damaged += [[lines[0], *lines[2:]], [lines[1], lines[0], *lines[2:]], [lines[0], lines[0], *lines[1:]]]
    damaged += [[lines[0], "{torn", "\n", *lines[2:]]]
    for value in ("NaN", "1e400", '"\\ud800"', "[" * 100_000):
        damaged.append([lines[0], lines[1].replace('"row":7', f'"row":{value}'), *lines[2:]])
    for text in damaged:
        path.write_text("".join(text))
        with pytest.raises(LedgerError) as caught:
            read_ledger(path)
        assert caught.value.where in (f"{path}:1", f"{path}:2")
    path.write_text("".join(lines))
    assert len(read_ledger(path)) == 4

"""The loader: the same rows for any number of ranks and threads, from any step on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from manifests.corpus import open_corpus
from tests.trainer.runs import WEIGHTS, tiny_config
from trainer.config import data_spec
from trainer.data.loader import Batch, Loader, read_batch
from trainer.data.rows import RowPlan
from trainer.data.source_tokens import SourceTokens, open_sources
from trainer.data.targets import MASKED, PADDING, TRAINED
from trainer.model.loss import row_losses
from trainer.model.transformer import TransformerShape, build_transformer


def opened(folder: Path, **changes: object) -> tuple[RowPlan, tuple[SourceTokens, ...]]:
    config = tiny_config(folder, **changes)
    corpora = [open_corpus(path) for path in config.data.manifests]
    plan = RowPlan.build(corpora, data_spec(config))
    return plan, open_sources(plan, corpora)


def as_arrays(batch: Batch) -> list[np.ndarray]:
    arrays = [batch.tokens.numpy(), batch.classes, batch.trained.numpy(), batch.refs.row]
    places = [each.numpy() for each in (batch.documents, batch.positions) if each is not None]
    return [*arrays, *places]


def equal(left: Batch, right: Batch) -> bool:
    pairs = zip(as_arrays(left), as_arrays(right), strict=True)
    return left.step == right.step and all(np.array_equal(a, b) for a, b in pairs)


PACKED = [{"start": 0, "sequence_length": 16, "pack": "best_fit", "weights": WEIGHTS}]


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("first_step", [0, 5, 8])
@pytest.mark.parametrize("changes", [{}, {"data__phases": PACKED}], ids=["concat", "best_fit"])
def test_threads_and_start_do_not_matter(
    tmp_path: Path, workers: int, first_step: int, changes: dict[str, object]
) -> None:
    plan, sources = opened(tmp_path, **changes)
    batches = list(Loader(plan, sources, 0, 1, workers).batches(first_step, 8))
    expected = [read_batch(plan, sources, step, 0, 1) for step in range(first_step, 8)]
    assert len(batches) == len(expected)
    assert all(equal(left, right) for left, right in zip(batches, expected, strict=True))


@pytest.mark.parametrize("world_size", [2, 3, 4, 7])
def test_ranks_together_hold_the_rows_of_one(tmp_path: Path, world_size: int) -> None:
    """Five rows a step: no world size here divides them, and with seven two ranks hold nothing but fill."""
    plan, sources = opened(tmp_path)
    for step in range(3):
        alone = read_batch(plan, sources, step, 0, 1)
        parts = [read_batch(plan, sources, step, rank, world_size) for rank in range(world_size)]
        assert len({len(part) for part in parts}) == 1, "ranks run the same number of micro-batches"
        tokens = np.concatenate([part.tokens for part in parts])
        trained = np.concatenate([part.trained for part in parts])
        assert np.array_equal(tokens[:5], alone.tokens) and np.array_equal(trained[:5], alone.trained)
        assert not tokens[5:].any() and not trained[5:].any()
        assert (np.concatenate([part.classes for part in parts])[5:] == PADDING).all()


def test_padding_of_a_packed_row_sees_itself_alone_and_is_seen_by_none(tmp_path: Path) -> None:
    """Whatever stands there, no loss changes, and none is NaN."""
    plan, sources = opened(tmp_path, data__phases=PACKED)
    shape = TransformerShape(
        vocab_size=64, dim=16, layers=2, heads=2, kv_heads=1, ffn_dim=32, max_sequence_length=16
    )
    network = build_transformer(shape, seed=1, device=torch.device("cpu"))
    padded = 0
    for step in range(8):
        batch = read_batch(plan, sources, step, 0, 1)
        inputs, is_padding = batch.tokens[:, :-1], torch.zeros(len(batch), 17, dtype=torch.bool)
        is_padding[:, 1:] = torch.from_numpy(batch.classes == PADDING)
        other = inputs.masked_fill(is_padding[:, :-1], 7)
        padded += int((other != inputs).sum())
        losses = [
            row_losses(network(each, batch.documents, batch.positions), batch.tokens[:, 1:], batch.trained)
            for each in (inputs, other)
        ]
        assert torch.isfinite(losses[0]).all() and torch.equal(*losses)
    assert padded


def test_tokens_are_those_of_the_shards(tmp_path: Path) -> None:
    plan, sources = opened(tmp_path)
    batch = read_batch(plan, sources, 2, 0, 1)
    refs = plan.locate(plan.rows_of_step(2))
    for index in range(len(refs)):
        expected = sources[refs.source[index]].read(int(refs.start[index]), 17)
        assert np.array_equal(batch.tokens[index], expected)
    assert (batch.classes == TRAINED).all() and batch.documents is None


def test_document_numbers_follow_the_index(tmp_path: Path) -> None:
    plan, sources = opened(tmp_path, data__document_mask=True)
    seen_masked = 0
    for step in range(4):
        batch = read_batch(plan, sources, step, 0, 1)
        assert batch.documents is not None
        for index in range(len(batch)):
            start = int(batch.refs.start[index])
            starts = sources[batch.refs.source[index]].document_starts(start, 17).tolist()
            number = 0
            for position in range(16):
                number += position > 0 and position in starts
                assert batch.documents[index, position] == number
                masked = position + 1 in starts
                assert batch.classes[index, position] == (MASKED if masked else TRAINED)
                assert batch.trained[index, position] == (not masked)
                seen_masked += masked
    assert seen_masked > 10


def test_micro_batches_are_the_batch_in_order(tmp_path: Path) -> None:
    plan, sources = opened(tmp_path, data__document_mask=True)
    batch = read_batch(plan, sources, 0, 0, 1)
    for micro_rows, sizes in ((1, [1] * 5), (2, [2, 2, 1]), (5, [5]), (9, [5])):
        parts = list(batch.split(micro_rows))
        assert [len(part) for part in parts] == sizes
        joined = [np.concatenate(arrays) for arrays in zip(*map(as_arrays, parts), strict=True)]
        assert all(np.array_equal(a, b) for a, b in zip(joined, as_arrays(batch), strict=True))


def test_lengths_change_with_the_phase(tmp_path: Path) -> None:
    phases = [
        {"start": 0, "sequence_length": 8, "weights": WEIGHTS},
        {"start": "4 steps", "sequence_length": 16, "weights": WEIGHTS},
    ]
    plan, sources = opened(tmp_path, data__phases=phases)
    lengths = [batch.tokens.shape[1] for batch in Loader(plan, sources, 0, 1, 2).batches(2, 6)]
    assert lengths == [9, 9, 17, 17]


def test_an_error_in_a_thread_comes_at_its_step(tmp_path: Path) -> None:
    plan, sources = opened(tmp_path)

    bad = plan.locate(plan.rows_of_step(3))
    index, start = int(bad.source[0]), int(bad.start[0])

    class Broken(SourceTokens):
        def __init__(self) -> None: ...

        def read(self, at: int, count: int) -> np.ndarray:
            if at == start:
                raise OSError("the disk is gone")
            return sources[index].read(at, count)

        def document_starts(self, at: int, count: int) -> np.ndarray:
            return sources[index].document_starts(at, count)

    broken = [Broken() if number == index else source for number, source in enumerate(sources)]
    batches = Loader(plan, broken, 0, 1, 2).batches(0, 8)
    assert [next(batches).step for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="the disk is gone"):
        next(batches)

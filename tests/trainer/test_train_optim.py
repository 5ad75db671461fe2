"""Learning rate, gradient norm, clipping, optimizer state by name, and random streams."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import nn

from manifests.errors import UserError
from trainer.config import OptimizerConfig
from trainer.optim import (
    build_adamw,
    clip_gradients,
    gradient_norm,
    set_learning_rate,
)
from trainer.randomness import rekey, stream_seed
from trainer.schedule import LearningRate
from trainer.state import load_optimizer_state, optimizer_state


def rate(decay: str, decay_steps: int = 8) -> LearningRate:
    return LearningRate(
        peak=1.0, total_steps=10, warmup_steps=2, decay=decay, decay_steps=decay_steps, min_ratio=0.1
    )


def test_warm_up_ends_at_the_peak_and_the_last_step_at_the_floor() -> None:
    for decay in ("linear", "cosine"):
        values = [rate(decay).at(step) for step in range(10)]
        assert values[:2] == [0.5, 1.0]
        assert values[9] == pytest.approx(0.1)
        assert all(left > right for left, right in itertools.pairwise(values[1:]))
    assert rate("cosine").at(5) == pytest.approx(0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi / 2)))
    assert [rate("constant").at(step) for step in range(10)] == [0.5] + [1.0] * 9


def test_a_short_decay_leaves_a_plateau() -> None:
    values = [rate("linear", decay_steps=3).at(step) for step in range(10)]
    assert values[1:7] == [1.0] * 6
    assert values[7:] == pytest.approx([0.7, 0.4, 0.1])
    assert rate("linear").at(50) == pytest.approx(0.1), "past the end it stays at the floor"


def network() -> nn.Module:
    generator = torch.Generator().manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(generator=generator)
    return model


def step(model: nn.Module, optimizer: torch.optim.Optimizer, size: float) -> None:
    model(torch.full((2, 3), size)).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def test_norm_and_clip_are_those_of_torch() -> None:
    ours, theirs = network(), network()
    for model in (ours, theirs):
        model(torch.ones(2, 3)).square().sum().backward()
    norm = gradient_norm(ours.parameters())
    expected = torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
    torch.testing.assert_close(norm, expected)
    clip_gradients(ours.parameters(), float(norm), 0.5)
    for left, right in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(left.grad, right.grad)
    clip_gradients(ours.parameters(), 0.5, 1.0)
    torch.testing.assert_close(gradient_norm(ours.parameters()), torch.tensor(0.5))


def test_state_saved_by_name_goes_on_bit_for_bit() -> None:
    config = OptimizerConfig(lr=0.01)
    model = network()
    optimizer = build_adamw(model, config)
    for size in (1.0, 2.0):
        step(model, optimizer, size)
    other = network()
    other.load_state_dict(model.state_dict())
    copy = build_adamw(other, config)
    load_optimizer_state(other, copy, optimizer_state(model, optimizer))
    for run, runner in ((model, optimizer), (other, copy)):
        set_learning_rate(runner, 0.005)
        step(run, runner, 3.0)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    # Without the moments the same step gives something else, so the comparison can fail.
    cold = build_adamw(model, config)
    before = [parameter.clone() for parameter in other.parameters()]
    step(model, cold, 3.0)
    step(other, copy, 3.0)
    assert not all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    assert before


def test_state_of_another_model_is_refused() -> None:
    model = network()
    optimizer = build_adamw(model, OptimizerConfig(lr=0.01))
    step(model, optimizer, 1.0)
    state = optimizer_state(model, optimizer)
    del state["1.bias"]
    with pytest.raises(UserError, match=r"1\.bias: absent -> there"):
        load_optimizer_state(model, optimizer, state)


def test_streams_differ_in_every_coordinate_and_never_by_chance() -> None:
    seeds = {
        stream_seed(seed, name, step, rank)
        for seed in (0, 1)
        for name in "ab"
        for step in range(5)
        for rank in range(3)
    }
    assert len(seeds) == 60 and all(0 <= seed < 2**63 for seed in seeds)
    assert stream_seed(17, "step", 3, 0) == 7870488186079021540


def test_rekeying_gives_the_same_draws_whatever_was_drawn_before() -> None:
    rekey(1, 2, 3)
    first = torch.rand(4)
    torch.rand(100)
    rekey(1, 2, 3)
    assert torch.equal(first, torch.rand(4))
    rekey(1, 2, 4)
    assert not torch.equal(first, torch.rand(4))

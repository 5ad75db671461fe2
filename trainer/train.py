"""Read this first: builds every part of a training run, in order, then calls `loop.run`.

    world -> manifests -> plan of rows -> run folder -> model -> optimizer -> checkpoint -> loader -> loop

Each rank runs this from top to bottom. What only one may do (decide where to start, write files) the first
rank does inside `together`, so that its failure ends all ranks with its message. The order of the data, the
ledger and the audit are the torch-free half: `trainer/data/`, `ledger.py`, `audit.py`.
"""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import torch

from manifests.checked import require_checked
from manifests.errors import UserError
from manifests.fingerprint import digest_value
from manifests.store import open_corpus
from trainer import loop
from trainer.checkpoint import Checkpoint, step_name
from trainer.config import ModelConfig, TrainConfig, data_spec
from trainer.control import Control
from trainer.data.loader import Loader
from trainer.data.rows import RowPlan
from trainer.data.source_tokens import SourceTokens, open_sources
from trainer.metrics import StepMetrics
from trainer.model import MODELS
from trainer.model.transformer import TransformerShape
from trainer.optim import OPTIMIZERS
from trainer.parallel import ddp
from trainer.parallel.ddp import World, check_same, together
from trainer.progress import Narrator, open_narrator, say_at_once
from trainer.report import RunResult, describe_start, planned_shares
from trainer.schedule import build_learning_rate
from trainer.state import load_model_state, load_optimizer_state
from trainer.writer import RunWriter

VOCAB_MULTIPLE = 64
"""The model's vocabulary is rounded up to this, since matrices with odd sides are slow."""


def train(
    config: TrainConfig,
    *,
    until: int | None = None,
    fresh: bool = False,
    workers: int = 2,
    narrator: Narrator | None = None,
) -> RunResult | None:
    """Train from step 0, or from the newest verified checkpoint, to `until` or to the end.

    Returns None on all ranks but the first. Raises UserError before any work, NonFinite before a bad step
    changes weights, RankFailed when another rank failed.
    """
    be_deterministic()
    with ExitStack() as stack:
        world = stack.enter_context(ddp.joined(config.device, config.timeout_seconds))
        if narrator is None or not world.is_first:
            narrator = open_narrator(config.steps, world.is_first)
        stack.enter_context(closing(narrator))
        return build_and_run(config, world, narrator, stack, until=until, fresh=fresh, workers=workers)


def build_and_run(
    config: TrainConfig,
    world: World,
    narrator: Narrator,
    stack: ExitStack,
    *,
    until: int | None,
    fresh: bool,
    workers: int,
) -> RunResult | None:
    started = time.monotonic()
    with together(world, "opening the manifests"):
        plan, sources, vocab_size = open_data(config, world, narrator.say)
    config_digest = digest_value(config.model_dump(mode="json"))
    versions = {"torch": str(torch.__version__), "python": platform.python_version()}
    check_same(world, {"config": config_digest, "plan": plan.fingerprint(), **versions})

    with together(world, "opening the run folder"):
        writer = None
        if world.is_first:
            writer = RunWriter.open(config, plan, world.size, fresh=fresh, say=narrator.say)
            stack.callback(writer.close)
    found = agree_on_start(world, writer)
    first_step = 0 if found is None else found.step
    last_step = max(first_step, config.steps if until is None else min(until, config.steps))

    shape = transformer_shape(config.model, plan, vocab_size)
    model = MODELS[config.model.name](shape, seed=config.seed, device=world.device)
    optimizer = OPTIMIZERS[config.optimizer.name](model, config.optimizer)
    if found is not None:
        with together(world, "loading the checkpoint"):
            load_model_state(model, found.load("weights", world.device))
            load_optimizer_state(model, optimizer, found.load("optimizer", world.device))
    trained = trained_before(plan, found)
    narrator.say(describe_start(plan, first_step, last_step, model.num_parameters(), world.size))

    def save(step: int) -> None:
        with together(world, f"saving step {step}"):
            if writer is not None:
                writer.save(step, model, optimizer, trained)

    def tell(metrics: StepMetrics) -> None:
        if writer is not None:
            writer.metrics.append(metrics)
        narrator.step(metrics)

    # A new run shows at once that it can save, and every later start has something to go back to.
    save(first_step)
    control = Control(say_at_once if world.is_first else lambda text: None)
    batches = Loader(plan, sources, world.rank, world.size, workers).batches(first_step, last_step)
    parts = loop.Loop(
        world=world,
        plan=plan,
        model=ddp.replicate(model, world),
        optimizer=optimizer,
        learning_rate=build_learning_rate(config),
        clip=math.inf if config.optimizer.clip is None else config.optimizer.clip,
        micro_rows=config.batch.micro_rows,
        seed=config.seed,
        control=control,
        check=writer.check if writer is not None else lambda: None,
        ledger=writer.ledger if writer is not None else None,
        trained=trained,
        save=save,
        save_every=config.checkpoint.every,
        tell=tell,
    )
    with closing(batches), control.listen():
        outcome = loop.run(parts, batches, first_step, last_step)

    if writer is None:
        return None
    names = [source.name for source in plan.sources]
    return RunResult(
        run=str(config.run),
        reason="signal" if outcome.stopped else "done" if outcome.step >= config.steps else "until",
        first_step=first_step,
        step=outcome.step,
        total_steps=config.steps,
        loss=outcome.loss,
        tokens=dict(zip(names, map(int, trained), strict=True)),
        planned=planned_shares(plan, outcome.step),
        checkpoint=str(writer.folder.checkpoints / step_name(outcome.step)),
        ledger=str(writer.folder.ledger),
        metrics=str(writer.folder.metrics),
        seconds=round(time.monotonic() - started, 3),
    )


def be_deterministic() -> None:
    """Same inputs, same bits, on one machine with one number of threads. Process-wide, as torch has it."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS has no deterministic mode without it
    torch.use_deterministic_algorithms(True)
    # Slow, and only shows reads of unset memory.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def open_data(
    config: TrainConfig, world: World, say: Callable[[str], None]
) -> tuple[RowPlan, tuple[SourceTokens, ...], int]:
    """The plan of rows, its sources, the vocabulary size. Raises UserError on shards that cannot be right,
    and on evaluation sets that nobody has looked for in the corpora, if the config's policy is to refuse.

    Sizes of all shards and packings that the plan uses are compared with the manifests here, each by one
    rank.
    """
    corpora = [open_corpus(path) for path in config.data.manifests]
    if world.is_first:
        manifests = [corpus.manifest for corpus in corpora]
        for line in require_checked(manifests, config.evaluate.sets, config.evaluate.unchecked):
            say(f"warning: scores may be contaminated: {line}")
    plan = RowPlan.build(corpora, data_spec(config))
    vocab_size = corpora[0].manifest.tokenizer.vocab_size
    for corpus in corpora:
        used = {source.source for source in plan.sources if source.corpus == corpus.manifest.corpus}
        shards = [shard for name in sorted(used) for shard in corpus.shards_of(name, plan.subset)]
        mine = shards[world.rank :: world.size]
        corpus.check_sizes(mine)
        for source in plan.sources:
            if source.corpus == corpus.manifest.corpus:
                for length in source.packings:
                    of_source = [shard for shard in mine if shard.source == source.source]
                    corpus.check_packing_sizes(length, of_source)
        for shard in shards:
            if shard.max_token_id >= vocab_size:
                raise UserError(
                    f"shard {shard.name} holds token {shard.max_token_id}; the vocabulary has {vocab_size}",
                    where=str(corpus.folder),
                )
    return plan, open_sources(plan, corpora), vocab_size


def transformer_shape(config: ModelConfig, plan: RowPlan, vocab_size: int) -> TransformerShape:
    """The model's shape: vocabulary and longest row come from the data."""
    return TransformerShape(
        vocab_size=-(-vocab_size // VOCAB_MULTIPLE) * VOCAB_MULTIPLE,
        dim=config.dim,
        layers=config.layers,
        heads=config.heads,
        kv_heads=config.kv_heads or config.heads,
        ffn_dim=config.ffn_dim,
        max_sequence_length=plan.max_sequence_length,
        rope_theta=config.rope_theta,
        norm_eps=config.norm_eps,
        tie_embeddings=config.tie_embeddings,
        dropout=config.dropout,
    )


def agree_on_start(world: World, writer: RunWriter | None) -> Checkpoint | None:
    """The checkpoint that the first rank found and verified, known to all."""
    found = writer.found if writer is not None else None
    text = "" if found is None else json.dumps([str(found.path), found.step, found.facts])
    text = world.broadcast(text)
    if not text:
        return None
    path, step, facts = json.loads(text)
    return Checkpoint(Path(path), step, facts)


def trained_before(plan: RowPlan, found: Checkpoint | None) -> np.ndarray:
    """Trained targets of each source before this start, int64 [K]."""
    before = {} if found is None else found.facts["trained"]
    return np.array([before.get(source.key_name, 0) for source in plan.sources], dtype=np.int64)

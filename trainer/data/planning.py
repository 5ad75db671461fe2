"""From open corpora and a DataSpec to a RowPlan: everything that a start refuses is refused here, by name.

All that is found wrong with the sources and weights comes in one UserError. No token is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from manifests.errors import UserError
from manifests.wording import did_you_mean
from trainer.data.cursors import BEST_FIT, Phase
from trainer.data.mixture import quotas
from trainer.data.packed_rows import plan_packing
from trainer.data.rows import PlanManifest, PlanSource, RowPlan
from trainer.data.schedule import DataSpec, PhaseSpec, mean_targets, resolve_starts, row_weights
from trainer.data.walk import MAX_SOURCES, PERIOD

if TYPE_CHECKING:
    from manifests.corpus import Corpus

MAX_ROUNDING = 0.05
"""A realised weight may be this share off the one asked for."""


def build_plan(corpora: Sequence[Corpus], spec: DataSpec) -> RowPlan:
    """The plan of a run. Raises UserError."""
    _check_corpora(corpora)
    sources = _find_sources(corpora, spec)
    _check_disjoint(corpora, sources, spec.subset)
    for phase in spec.phases:
        _check_weights(phase)
    targets = [_targets_per_row(sources, phase) for phase in spec.phases]
    means = [mean_targets(phase.weights, each) for phase, each in zip(spec.phases, targets, strict=True)]
    phases = _make_phases(sources, spec, resolve_starts(spec.phases, spec.batch, means), targets)
    _check_blocks(sources, phases, spec)
    plan = RowPlan(
        seed=spec.seed,
        subset=spec.subset,
        manifests=[
            PlanManifest(
                str(corpus.folder.resolve()),
                corpus.manifest.corpus,
                corpus.manifest.version,
                corpus.manifest.content_digest,
            )
            for corpus in corpora
        ],
        sources=sources,
        phases=phases,
        batch=spec.batch,
        num_steps=spec.steps,
        document_mask=spec.document_mask,
        shuffle_extent=spec.shuffle_extent,
    )
    _check_epochs(plan, spec.max_epochs)
    return plan


def _check_corpora(corpora: Sequence[Corpus]) -> None:
    if not corpora:
        raise UserError("no manifest is given", where="data.manifests")
    first = corpora[0]
    for index, corpus in enumerate(corpora):
        if corpus.manifest.tokenizer.digest != first.manifest.tokenizer.digest:
            raise UserError(
                f"{corpus.manifest.corpus} {corpus.manifest.version} and {first.manifest.corpus} "
                f"{first.manifest.version} were made with different tokenizers, so their ids mean different "
                f"things:\n  {corpus.manifest.tokenizer.digest}\n  {first.manifest.tokenizer.digest}",
                where=f"{corpus.folder}, {first.folder}",
                hint="make one of them again with tokenizer: {file: tokenizer.json of the other}",
            )
        for other in corpora[:index]:
            if other.manifest.corpus == corpus.manifest.corpus:
                raise UserError(
                    f"two manifests of corpus {corpus.manifest.corpus} in one mixture",
                    where=f"{other.folder}, {corpus.folder}",
                    hint="documents of one are most likely in the other; take one, or give one another name",
                )


def _find_sources(corpora: Sequence[Corpus], spec: DataSpec) -> list[PlanSource]:
    """The sources that the schedule names, as "source" or, where that is not unique, "corpus/source"."""
    found: dict[str, list[PlanSource]] = {}
    for corpus in corpora:
        for source in corpus.manifest.sources:
            tokens = sum(shard.tokens for shard in corpus.shards_of(source, spec.subset))
            for name in (source, f"{corpus.manifest.corpus}/{source}"):
                found.setdefault(name, []).append(PlanSource(name, corpus.manifest.corpus, source, tokens))
    problems: list[str] = []
    chosen: dict[str, PlanSource] = {}
    for name in sorted({name for phase in spec.phases for name in phase.weights}):
        matches = found.get(name, [])
        if not matches:
            problems.append(f"source {name} is in no manifest{did_you_mean(name, _names(found))}")
        elif len(matches) > 1:
            full = " or ".join(match.key_name for match in matches)
            problems.append(f"source {name} is in several manifests; write {full}")
        elif matches[0].key_name in chosen:
            other = chosen[matches[0].key_name].name
            problems.append(f"{name} and {other} are the same source; use one name")
        else:
            chosen[matches[0].key_name] = matches[0]
    if len(chosen) > MAX_SOURCES:
        problems.append(f"{len(chosen)} sources; at most {MAX_SOURCES} are possible")
    for name in sorted(set(spec.max_epochs) - {"default"} - {source.name for source in chosen.values()}):
        problems.append(f"max_epochs names {name}, which no phase has")
    _refuse(problems, "data", None)
    by_name = {corpus.manifest.corpus: corpus for corpus in corpora}
    return [_with_packings(chosen[key], by_name[chosen[key].corpus], spec) for key in sorted(chosen)]


def _check_disjoint(corpora: Sequence[Corpus], sources: Sequence[PlanSource], subset: str) -> None:
    """Refuse two sources with the same shards: a combined corpus beside one that it was made of, or the same
    files imported twice. Their documents would be repeated, and no count of epochs would say so."""
    by_name = {corpus.manifest.corpus: corpus for corpus in corpora}
    owners: dict[str, PlanSource] = {}
    shared: dict[tuple[str, str], int] = {}
    for source in sources:
        for shard in by_name[source.corpus].shards_of(source.source, subset):
            owner = owners.setdefault(shard.bin_sha256, source) if shard.tokens else source
            if owner is not source:
                place = owner.key_name, source.key_name
                shared[place] = shared.get(place, 0) + 1
    problems = [f"{a} and {b} have {count} shards in common" for (a, b), count in shared.items()]
    _refuse(problems, "data.manifests", "take one of them: more weight for it does what two would do")


def _with_packings(source: PlanSource, corpus: Corpus, spec: DataSpec) -> PlanSource:
    """The source with the packed rows of every length for which a phase that has it wants some."""
    lengths = {
        phase.sequence_length
        for phase in spec.phases
        if phase.pack == BEST_FIT and source.name in phase.weights
    }
    return replace(
        source,
        packings={
            length: plan_packing(corpus, source.source, spec.subset, length) for length in sorted(lengths)
        },
    )


def _targets_per_row(sources: Sequence[PlanSource], phase: PhaseSpec) -> dict[str, Fraction]:
    """tau_k of the sources of a phase. Raises UserError for a source whose packing has no row."""
    if phase.pack != BEST_FIT:
        return dict.fromkeys(phase.weights, Fraction(phase.sequence_length))
    found = {
        source.name: source.packings[phase.sequence_length]
        for source in sources
        if source.name in phase.weights
    }
    empty = [
        f"source {name} has no packed row of {phase.sequence_length}"
        for name in found
        if not found[name].rows
    ]
    _refuse(empty, "data.phases", "leave them out, or add documents of two tokens or more")
    return {name: Fraction(packing.targets, packing.rows) for name, packing in found.items()}


def _names(found: Mapping[str, Sequence[PlanSource]]) -> list[str]:
    """The shortest names that are unique, for an error message."""
    short = {name for name, matches in found.items() if len(matches) == 1 and "/" not in name}
    full = {match.key_name for name, matches in found.items() if len(matches) > 1 for match in matches}
    return sorted(short | full)


def _make_phases(
    sources: Sequence[PlanSource],
    spec: DataSpec,
    starts: Sequence[int],
    targets: Sequence[Mapping[str, Fraction]],
) -> list[Phase]:
    """The phases. `targets`: mean targets of a row of each source, by phase."""
    concat_lengths = [phase.sequence_length for phase in spec.phases if phase.pack != BEST_FIT]
    block_tokens = spec.block_tokens or max(concat_lengths, default=1)
    problems: list[str] = []
    phases: list[Phase] = []
    if spec.block_tokens is not None and not concat_lengths:
        problems.append("block_tokens is of consecutive rows, and every phase has packed ones: leave it out")
    for index, phase in enumerate(spec.phases):
        length = phase.sequence_length
        is_packed = phase.pack == BEST_FIT
        if not is_packed and block_tokens % length and not spec.accept_repeat:
            problems.append(
                f"phase {index}: sequence_length {length} does not divide the block of {block_tokens} "
                "tokens, so every source would start a new epoch and repeat tokens (accept_repeat allows it)"
            )
        weights, quota, found = _weigh(sources, phase, targets[index])
        if not spec.accept_rounding:
            problems.extend(f"phase {index}: {problem}" for problem in found)
        block = length if is_packed else -(-block_tokens // length) * length
        phases.append(Phase(starts[index], length, block, weights, quota, phase.pack))
        if index and not spec.accept_repeat and _is_repacked(*phases[-2:]):
            problems.append(
                f"phase {index}: its rows are packed otherwise than those of phase {index - 1} "
                f"({phases[-2].pack} of {phases[-2].sequence_length}, {phase.pack} of {length}), so every "
                "source would start a new epoch and repeat tokens (accept_repeat allows it)"
            )
    _refuse(
        problems,
        "data.phases",
        "change weights or lengths, or set data.accept_rounding or data.accept_repeat",
    )
    return phases


def _is_repacked(old: Phase, new: Phase) -> bool:
    return (old.is_packed or new.is_packed) and old.blocks != new.blocks


def _check_weights(phase: PhaseSpec) -> None:
    for name, weight in phase.weights.items():
        if not (np.isfinite(weight) and weight > 0):
            raise UserError(
                f"source {name} has the weight {weight}; weights are numbers above 0",
                where="data.phases",
                hint="leave a source out of a phase that should not have it",
            )


def _weigh(
    sources: Sequence[PlanSource], phase: PhaseSpec, targets: Mapping[str, Fraction]
) -> tuple[tuple[float, ...], tuple[int, ...], list[str]]:
    """(shares of targets asked for, quotas of rows) by source, 0 where absent; problems of rounding."""
    total = sum(phase.weights.values())
    rows = row_weights(phase.weights, {name: float(mean) for name, mean in targets.items()})
    wanted = [rows.get(source.name, 0.0) for source in sources]
    quota = quotas(wanted)
    problems = []
    for source, share, realised in zip(sources, wanted, quota.tolist(), strict=True):
        off = abs(realised / PERIOD / share - 1) if share else 0.0
        if source.name in phase.weights and not realised:
            problems.append(f"source {source.name} gets no row: {share:.3g} of {PERIOD} rows rounds to 0")
        elif off > MAX_ROUNDING:
            problems.append(
                f"source {source.name}: weight {share:.3g} becomes {realised} of {PERIOD} rows, {off:.1%} off"
            )
    weights = tuple(phase.weights.get(source.name, 0.0) / total for source in sources)
    return weights, tuple(quota.tolist()), problems


def _check_blocks(sources: Sequence[PlanSource], phases: Sequence[Phase], spec: DataSpec) -> None:
    problems = []
    concat = [phase for phase in phases if not phase.is_packed]
    largest = max((phase.block_tokens for phase in concat), default=0)
    for index, source in enumerate(sources):
        if source.tokens == 0:
            problems.append(f"source {source.name} has no tokens in its {spec.subset} subset")
        elif source.tokens - 1 < largest and any(phase.quota[index] for phase in concat):
            problems.append(
                f"source {source.name} has {source.tokens} tokens, which is not one block of {largest} and a "
                "target for its last token"
            )
    _refuse(problems, "data", "leave them out, add documents, or use shorter sequences and block_tokens")


def _check_epochs(plan: RowPlan, max_epochs: Mapping[str, float]) -> None:
    problems = []
    for source, epochs in zip(plan.sources, plan.epochs(plan.num_rows).tolist(), strict=True):
        limit = max_epochs.get(source.name, max_epochs.get("default"))
        if limit is not None and epochs > limit:
            problems.append(
                f"source {source.name} would be gone through {epochs:.2f} times in {plan.num_steps} steps; "
                f"its limit is {limit:g}"
            )
    _refuse(problems, "data.max_epochs", "lower its weight, take fewer steps, or raise its data.max_epochs")


def _refuse(problems: Sequence[str], where: str, hint: str | None) -> None:
    if problems:
        raise UserError("\n".join(problems), where=where, hint=hint)

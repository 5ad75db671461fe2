"""What every step must have consumed, by the plain definitions, row after row: the audit's second route.

Shares no code with `data/mixture.py`, `data/cursors.py`, `data/rows.py` or `data/source_tokens.py`: the
mixture is Tijdeman's rule looked up over all sources for each row, cursors are counters that count, tokens
are read from the `.bin` files at their byte offsets. Permutations are the trainer's own, each result checked
through the inverse. It starts from the facts in `data.json` and takes time in proportion to the rows;
`audit.py` compares.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from manifests.corpus import Corpus
from manifests.shard import bin_path
from trainer.counts import COLUMNS, MODULUS, record_of, row_hash, token_hash
from trainer.data.order import ExtentPermutation, Permutation, block_order, permutation_key
from trainer.data.targets import CLASSES

TRAINED, MASKED = CLASSES.index("trained"), CLASSES.index("masked")


def chairman_rows(quota: Sequence[int], credits: list[int], period: int) -> Iterator[int]:
    """The source of each row, without end. `credits` are the state, changed in place before the yield.

    Per row: each source's credit grows by its quota; of those with enough, the one whose rows until it lags
    too far are fewest, the first of equals, pays a whole row. Margins and the sharing out of what absent
    sources hold are those of data/walk.py, in units of 1 / (period * scale) row.
    """
    active = [k for k, rows in enumerate(quota) if rows]
    if len(active) == 1:
        while True:
            yield active[0]
    inverse_margin = 2 * len(active) - 2
    scale = inverse_margin * len(active)
    shared = inverse_margin * sum(credits[k] for k in active)
    margin, whole = len(active) * period, scale * period
    while True:
        chosen, fewest = -1, 0
        for k in active:
            credits[k] += quota[k]
            owed = scale * credits[k] - shared
            if owed >= margin:
                rows_left = (whole - margin - owed) // (scale * quota[k])
                if chosen < 0 or rows_left < fewest:
                    chosen, fewest = k, rows_left
        credits[chosen] -= period
        yield chosen


@dataclass(slots=True)
class Counter:
    """Where a source stands: the part of the block of the epoch that its next row is."""

    num_blocks: int
    epoch: int = 0
    position: int = 0
    part: int = 0
    skipped_tokens: int = 0
    order: Permutation | ExtentPermutation | None = None  # of this epoch

    def advance(self, rows_per_block: int) -> None:
        self.part += 1
        if self.part == rows_per_block:
            self.next_block()

    def next_block(self) -> None:
        self.part = 0
        self.position += 1
        if self.position == self.num_blocks:
            self.next_epoch(self.num_blocks)

    def next_epoch(self, num_blocks: int) -> None:
        self.epoch, self.position, self.part = self.epoch + 1, 0, 0
        self.num_blocks, self.order = num_blocks, None

    def epochs(self, rows_per_block: int) -> float:
        return self.epoch + (self.position + self.part / rows_per_block) / self.num_blocks


class ShardFiles:
    """The tokens and document starts of one source, read from its files at byte offsets."""

    def __init__(self, corpus: Corpus, source: str, subset: str) -> None:
        self._corpus = corpus
        self._shards = corpus.shards_of(source, subset)
        self._ends: list[int] = []
        self.num_tokens = 0
        self._packed: dict[int, tuple[list[int], int]] = {}  # row after the last of each shard; all targets
        for shard in self._shards:
            self.num_tokens += shard.tokens
            self._ends.append(self.num_tokens)

    def read(self, start: int, count: int) -> tuple[np.ndarray, list[int]]:
        """(tokens as uint32[count], offsets of those that are the first of a document)."""
        pieces: list[np.ndarray] = []
        first_tokens: list[int] = []
        have = 0
        index = bisect.bisect_right(self._ends, start)
        while have < count:
            shard = self._shards[index]
            reader = self._corpus.reader(shard)  # compares sizes with the manifest
            inside = start + have - (self._ends[index] - shard.tokens)
            piece = np.fromfile(
                bin_path(self._corpus.prefix(shard)),
                reader.dtype,
                min(count - have, shard.tokens - inside),
                offset=inside * reader.dtype.itemsize,
            )
            offsets = reader.offsets
            for document in range(bisect.bisect_left(offsets, inside), len(offsets) - 1):
                if offsets[document] >= inside + len(piece):
                    break
                first_tokens.append(int(offsets[document]) - inside + have)
            pieces.append(piece)
            have += len(piece)
            index += 1
        return np.concatenate(pieces).astype("<u4"), first_tokens

    def num_packed(self, sequence_length: int) -> tuple[int, int]:
        """(packed rows, their targets)."""
        if sequence_length not in self._packed:
            listed = self._corpus.packings(sequence_length)
            mine = [listed[shard.name] for shard in self._shards]
            ends = list(accumulate(each.rows for each in mine))
            self._packed[sequence_length] = ends, sum(each.targets for each in mine)
        ends, targets = self._packed[sequence_length]
        return ends[-1], targets

    def read_packed(self, sequence_length: int, row: int) -> tuple[np.ndarray, int, int]:
        """(tokens as uint32[S + 1], 0 where there are none; how many there are; pieces that they are of)."""
        if row >= self.num_packed(sequence_length)[0]:
            raise IndexError(f"packed row {row} beyond the last shard")
        ends, _ = self._packed[sequence_length]
        index = bisect.bisect_right(ends, row)
        shard = self._shards[index]
        packing = self._corpus.packing(shard, sequence_length)
        dtype = self._corpus.reader(shard).dtype
        tokens = np.zeros(sequence_length + 1, "<u4")
        have = 0
        inside = row - (ends[index - 1] if index else 0)
        pieces = range(int(packing.first_piece[inside]), int(packing.first_piece[inside + 1]))
        for piece in pieces:
            start, length = int(packing.start[piece]), int(packing.length[piece])
            tokens[have : have + length] = np.fromfile(
                bin_path(self._corpus.prefix(shard)), dtype, length, offset=start * dtype.itemsize
            )
            have += length
        return tokens, have, len(pieces)


class Recomputation:
    """Steps in order, from the facts of a plan (data.json) and its corpora by name."""

    def __init__(self, facts: Mapping[str, Any], corpora: Mapping[str, Corpus]) -> None:
        self.facts = facts
        self.names = [f"{source['corpus']}/{source['source']}" for source in facts["sources"]]
        self.files = [
            ShardFiles(corpora[source["corpus"]], source["source"], facts["subset"])
            for source in facts["sources"]
        ]
        self.phase = -1
        self.counters: list[Counter] = []
        self.planned_targets = [0.0] * len(self.names)  # by realised weight, of the steps so far
        self._credits = [0] * len(self.names)
        self._rows: Iterator[int] = iter(())

    def steps(self) -> Iterator[dict[str, Any]]:
        """What the ledger line of each step must say, without chain and outside; without end."""
        row = step = 0
        starts, sizes = self.facts["batch"]["starts"], self.facts["batch"]["rows"]
        while True:
            num_rows = sizes[bisect.bisect_right(starts, step) - 1]
            self._enter_phases(row)
            yield self._step(step, row, num_rows)
            row, step = row + num_rows, step + 1

    @property
    def in_packed_phase(self) -> bool:
        """Whether the rows of the last step were packed: then only what was trained on is a valid target."""
        return _is_packed(self.facts["phases"][self.phase])

    def epochs(self) -> list[float]:
        """Epochs of each source gone through by the steps so far."""
        per_block = self._rows_per_block() if self.counters else 1
        return [counter.epochs(per_block) for counter in self.counters] or [0.0] * len(self.names)

    def _step(self, step: int, first_row: int, num_rows: int) -> dict[str, Any]:
        phase = self.facts["phases"][self.phase]
        length = phase["sequence_length"]
        counts: dict[str, dict[str, int]] = {}
        row_digest = token_digest = 0
        for row in range(first_row, first_row + num_rows):
            k = next(self._rows)
            counter = self.counters[k]
            block = self._block(k)
            if _is_packed(phase):
                tokens, used, pieces = self.files[k].read_packed(length, block)
                masked, padding = pieces - 1, length - (used - 1)
            else:
                start = block * phase["block_tokens"] + counter.part * length
                tokens, first_tokens = self.files[k].read(start, length + 1)
                masked = sum(1 for offset in first_tokens if offset) if self.facts["document_mask"] else 0
                padding = 0
            line = counts.setdefault(self.names[k], dict.fromkeys(COLUMNS, 0))
            line["rows"] += 1
            line["trained"] += length - masked - padding
            line["masked"] += masked
            line["padding"] += padding
            line["epoch_sum"] += counter.epoch
            row_digest += row_hash(row, self.names[k], counter.epoch, block, counter.part)
            token_digest += token_hash(row, tokens.tobytes())
            counter.advance(self._rows_per_block())
        for k, source in enumerate(self.facts["sources"]):
            share = phase["quota"].get(source["name"], 0) / self.facts["period"]
            self.planned_targets[k] += num_rows * self._targets(phase, k) * share
        return record_of(step, first_row, counts, row_digest % MODULUS, token_digest % MODULUS)

    def _block(self, k: int) -> int:
        """The block at the counter's place, checked: the inverse must lead back to the place."""
        counter = self.counters[k]
        if counter.order is None:
            key = permutation_key(self.facts["seed"], "blocks", self.names[k], counter.epoch)
            counter.order = block_order(counter.num_blocks, key, self.facts["shuffle_extent"])
        block = counter.order.forward(counter.position)
        if not 0 <= block < counter.num_blocks or counter.order.inverse(block) != counter.position:
            raise AssertionError(f"the order of {self.names[k]}, epoch {counter.epoch}, is no permutation")
        return block

    def _enter_phases(self, row: int) -> None:
        phases = self.facts["phases"]
        while self.phase + 1 < len(phases) and phases[self.phase + 1]["start_row"] <= row:
            old = phases[self.phase] if self.phase >= 0 else None
            self.phase += 1
            new = phases[self.phase]
            blocks = [self._num_blocks(new, k) for k in range(len(self.files))]
            if old is None:
                self.counters = [Counter(num_blocks) for num_blocks in blocks]
            elif old["block_tokens"] != new["block_tokens"] or _is_packed(old) != _is_packed(new):
                per_block = old["block_tokens"] // old["sequence_length"]
                for k, (counter, num_blocks) in enumerate(zip(self.counters, blocks, strict=True)):
                    used = counter.position * per_block + counter.part
                    if used:
                        left = counter.num_blocks * per_block - used
                        counter.skipped_tokens += int(left * self._targets(old, k))
                        counter.next_epoch(num_blocks)
                    counter.num_blocks, counter.order = num_blocks, None
            elif old["sequence_length"] != new["sequence_length"]:
                for counter in self.counters:
                    if counter.part:
                        passed = new["block_tokens"] - counter.part * old["sequence_length"]
                        counter.skipped_tokens += passed
                        counter.next_block()
            quota = [new["quota"].get(source["name"], 0) for source in self.facts["sources"]]
            self._rows = chairman_rows(quota, self._credits, self.facts["period"])

    def _num_blocks(self, phase: Mapping[str, Any], k: int) -> int:
        """N_k; 1 for a source that no phase of these blocks has."""
        if not _is_packed(phase):
            return max(1, int((self.files[k].num_tokens - 1) // phase["block_tokens"]))
        if str(phase["sequence_length"]) not in self.facts["sources"][k]["packings"]:
            return 1
        return self.files[k].num_packed(phase["sequence_length"])[0]

    def _targets(self, phase: Mapping[str, Any], k: int) -> Fraction:
        """Valid targets of a row of a source, on average."""
        if not _is_packed(phase) or self.facts["sources"][k]["name"] not in phase["quota"]:
            return Fraction(phase["sequence_length"])
        rows, targets = self.files[k].num_packed(phase["sequence_length"])
        return Fraction(targets, rows)

    def _rows_per_block(self) -> int:
        phase = self.facts["phases"][self.phase]
        return int(phase["block_tokens"] // phase["sequence_length"])


def _is_packed(phase: Mapping[str, Any]) -> bool:
    return bool(phase.get("pack") == "best_fit")

"""Reading a split again: the chosen documents as the chain leaves them, for WRITE and SAMPLE.

What is read must be what was measured, so the raw hashes of the whole split are computed once more. Cheap
steps are run again, on the chosen documents alone; what expensive ones rewrote was kept. Memory: one chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.batch import Batch
from dataprep.cache import Cache
from dataprep.chain import BASE, Link, chain_from_json, chain_to_json, rewriting
from dataprep.readers import Split
from dataprep.stages import measure
from dataprep.stages.base import input_changed, options_from_json, split_label
from dataprep.stages.cuts import Cuts
from dataprep.stages.measure import SplitPlan, raw_digest
from dataprep.stages.reading import read_chunks
from dataprep.stages.rewrites import Rewrites
from dataprep.steps.base import CorpusEdit, Edit, Transform


def payload_of(plan: SplitPlan, measured: Mapping[str, str], until: str | None = None) -> dict[str, Any]:
    """What `reread` needs of a split, as JSON values. `measured`: the keys of its column sets. `until`: the
    label of the step whose text is wanted, if not that which is tokenized."""
    links = [link for link, _ in rewriting(until_step(plan.chain, until), plan.options)]
    return {
        "chain": chain_to_json(links),
        "base": measured[BASE],
        "rewrites": {link.label: measured[link.label] for link in links if link.is_expensive},
    }


def until_step(chain: Sequence[Link], label: str | None) -> Sequence[Link]:
    """The links above a step; all of them for None."""
    places = [place for place, link in enumerate(chain) if link.label == label]
    return chain[: places[0]] if places else chain


def reread(
    split: Split,
    options: Mapping[str, Any],
    payload: Mapping[str, Any],
    chosen: npt.NDArray[np.bool_],
    cache: Cache,
) -> Iterator[Batch]:
    """The chosen documents [n of the split], in order, in batches that are not empty. Raises UserError when
    the split is not what was measured; then nothing that was yielded may be used."""
    links = chain_from_json(payload["chain"])
    cuts = {link.label: Cuts.of_link(link, cache) for link in links if link.cut is not None}
    kept = {
        label: Rewrites(cache.get(measure.STAGE, key).file(measure.REWRITES))
        for label, key in payload["rewrites"].items()
    }
    raw_hashes = []
    row = 0
    for reading in read_chunks(split, options_from_json(options)):
        batch = reading.batch
        raw_hashes.append(batch.raw_hash)
        if row + len(batch) > len(chosen):
            raise input_changed(split_label(split))
        places = np.flatnonzero(chosen[row : row + len(batch)])
        if len(places):
            yield _rewritten(batch.take(places), row + places, links, kept, cuts)
        row += len(batch)
    digest = cache.get(measure.STAGE, payload["base"]).facts["raw_digest"]
    if row != len(chosen) or raw_digest(raw_hashes) != digest:
        raise input_changed(split_label(split))


def _rewritten(
    batch: Batch,
    rows: npt.NDArray[np.int64],
    links: Sequence[Link],
    kept: Mapping[str, Rewrites],
    cuts: Mapping[str, Cuts],
) -> Batch:
    for link in links:
        if link.label in kept:
            batch = batch.with_texts(kept[link.label].over(batch.texts, rows))
        elif isinstance(link.step, Transform):
            batch = batch.with_texts(link.step.apply(batch, link.params))
        elif isinstance(link.step, CorpusEdit):
            batch = batch.with_texts(link.step.cut(batch, link.params, *cuts[link.label].of(rows))[0])
        elif isinstance(link.step, Edit):
            batch = batch.with_texts(link.step.edit(batch, link.params)[0])
    return batch

"""What a manifest and its list of shards must agree on, found without touching a shard.

Pure: data in, findings out. `verify.py` compares the same descriptions with the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from manifests.fields import SUBSETS
from manifests.lists import Shard
from manifests.manifest import Manifest, Subset, subset_of
from manifests.shard import idx_size_bytes


def shard_order(manifest: Manifest) -> Callable[[Shard], tuple[int, int, int]]:
    """Return the sort key of the list of shards: source as in the manifest, train before holdout, index."""
    place = {source: number for number, source in enumerate(manifest.sources)}
    return lambda shard: (place.get(shard.source, len(place)), SUBSETS.index(shard.subset), shard.index)


def inconsistencies(manifest: Manifest, shards: Sequence[Shard]) -> list[str]:
    """Return what does not add up, one finding a line; empty when all agrees."""
    return [*_list_problems(manifest, shards), *_sum_problems(manifest, shards)]


def _list_problems(manifest: Manifest, shards: Sequence[Shard]) -> Iterator[str]:
    itemsize = np.dtype(manifest.dtype).itemsize
    for name, count in Counter(shard.name for shard in shards).items():
        if count > 1:
            yield f"{count} shards have the name {name}"
    if list(shards) != sorted(shards, key=shard_order(manifest)):
        yield "the shards are not in the order (source, subset, index)"
    for shard in shards:
        if shard.max_token_id >= manifest.tokenizer.vocab_size:
            yield (
                f"{shard.name}: the token id {shard.max_token_id} is outside the vocabulary of "
                f"{manifest.tokenizer.vocab_size}"
            )
        if shard.bin_bytes != shard.tokens * itemsize:
            yield f"{shard.name}: {shard.tokens} tokens of {manifest.dtype} in {shard.bin_bytes} bytes"
        if shard.idx_bytes != idx_size_bytes(shard.documents):
            yield f"{shard.name}: {shard.documents} documents in an index of {shard.idx_bytes} bytes"
        if shard.tokens < shard.documents or (shard.tokens > 0) != (shard.documents > 0):
            yield f"{shard.name}: {shard.documents} documents in {shard.tokens} tokens"
        if (shard.first_key == "") != (shard.documents == 0):
            yield f"{shard.name}: {shard.documents} documents and the first key {shard.first_key!r}"


def _sum_problems(manifest: Manifest, shards: Sequence[Shard]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[Shard]] = {}
    for shard in shards:
        groups.setdefault((shard.source, shard.subset), []).append(shard)
    described = {
        (name, subset): counts
        for name, source in manifest.sources.items()
        for subset, counts in source.subsets.items()
    }
    for place in {**described, **groups}:
        name = f"{place[0]} {place[1]}"
        group = groups.get(place, [])
        if place not in described:
            yield f"{name}: {len(group)} shards of a subset that the manifest does not have"
            continue
        found = subset_of(group)
        for field in Subset.model_fields:
            said, summed = getattr(described[place], field), getattr(found, field)
            if said != summed:
                yield f"{name}: the manifest says {said} {field}, its shards add up to {summed}"
        if [shard.index for shard in group] != list(range(len(group))):
            yield f"{name}: the shards are numbered {[shard.index for shard in group]}, not 0, 1, 2, ..."
        keys = [shard.first_key for shard in group if shard.first_key]
        if any(later < earlier for earlier, later in pairwise(keys)):
            yield f"{name}: the first keys of the shards do not ascend"

"""Slow twin of `dataprep/decide/bands.py` and `dataprep/kernels/buckets.py`."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Sequence

from xxhash import xxh3_64_intdigest

Pair = tuple[int, int]


def band_key(group: int, values: Sequence[int], band: int) -> int:
    return xxh3_64_intdigest(struct.pack(f"<QQ{len(values)}I", group, band, *values))


def candidates(records: Sequence[tuple[int, int, int]], limit: int) -> tuple[list[Pair], int]:
    """(all pairs, sorted, as often as they come; limited buckets) of (key, document, signature) records."""
    buckets: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for key, document, signature in records:
        buckets[key].append((document, signature))
    pairs, limited = [], 0
    for bucket in buckets.values():
        bucket.sort()
        leaders = bucket
        if len(bucket) > limit:
            first: dict[int, tuple[int, int]] = {}
            for document, signature in bucket:
                first.setdefault(signature, (document, signature))
            limited += len(first) > limit
            leaders = list(first.values())[:limit]
        pairs += [(a, b) for a, _ in leaders for b, _ in bucket if a < b]
    return sorted(pairs), limited

"""What packed rows cost: padding, and documents that are cut all the same, beside those of `pack: concat`.

A packed row has room for S + 1 tokens. Rows of `concat` have no padding, and cut whatever lies across their
ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from manifests.lists import Shard
from manifests.manifest import Packings


def packing_of(packings: Iterable[Packings], shards: Iterable[Shard]) -> list[dict[str, Any]]:
    """One row a length, source and subset, as JSON values."""
    documents: dict[tuple[str, str], int] = {}
    for shard in shards:
        place = shard.source, shard.subset
        documents[place] = documents.get(place, 0) + shard.documents
    return [
        {
            "sequence_length": part.sequence_length,
            "source": source,
            "subset": subset,
            "rows": found.rows,
            "tokens": found.tokens,
            "padding": found.rows * (part.sequence_length + 1) - found.tokens,
            "documents": documents[source, subset],
            "documents_cut": found.documents_cut,
            "documents_left_out": found.documents_left_out,
            "documents_cut_by_concat": found.documents_cut_by_concat,
        }
        for part in packings
        for source, subsets in part.sources.items()
        for subset, found in subsets.items()
    ]


def packing_cells(row: Mapping[str, Any]) -> list[str]:
    """Rows, padding, documents cut, documents that `concat` would cut: what both tables show of a row."""
    room = row["tokens"] + row["padding"]

    def share(count: int, whole: int) -> str:
        return f"{count / whole:.2%}" if whole else ""

    return [
        f"{row['rows']:,}",
        share(row["padding"], room),
        f"{row['documents_cut']:,}",
        share(row["documents_cut"], row["documents"]),
        f"{row['documents_cut_by_concat']:,}",
        share(row["documents_cut_by_concat"], row["documents"]),
    ]

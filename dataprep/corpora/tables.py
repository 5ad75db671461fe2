"""What several verbs ask of a corpus: its document tables, content hashes, inputs and tokenizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.columnfile import hashes_from_arrow
from dataprep.tokenizers.files import Definition, load_stored
from manifests.corpus import Corpus
from manifests.lists import InputFile, Shard, read_input_list
from manifests.shard import table_path
from manifests.tables import read_document_table


def table_of(corpus: Corpus, shard: Shard, columns: Sequence[str] | None = None) -> pa.Table:
    """The document table of a shard, or some of its columns. Raises TableError."""
    return read_document_table(table_path(corpus.prefix(shard)), None if columns is None else list(columns))


def content_hashes(corpus: Corpus, shard: Shard) -> npt.NDArray[np.uint64]:
    """uint64 [n, 2] (high, low), in the order of the shard."""
    column = table_of(corpus, shard, ["content_hash"]).column("content_hash").combine_chunks()
    return hashes_from_arrow(column)


def hashes_of(corpus: Corpus, source: str, subset: str) -> npt.NDArray[np.uint64]:
    """Those of all shards of a subset: 16 bytes of memory a document."""
    parts = [content_hashes(corpus, shard) for shard in corpus.shards_of(source, subset)]
    return np.concatenate([np.zeros((0, 2), np.uint64), *parts])


def sorted_hashes(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """In ascending order."""
    return hashes[np.lexsort((hashes[:, 1], hashes[:, 0]))]


def is_among(hashes: npt.NDArray[np.uint64], among: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """bool [n]: whether each of `hashes` is one of `among`, which ascend."""
    found = np.zeros(len(hashes), bool)
    if not len(among):
        return found
    first = np.searchsorted(among[:, 0], hashes[:, 0], side="left")
    last = np.searchsorted(among[:, 0], hashes[:, 0], side="right")
    # Equal high halves are next to one another, ascending by the low half; more than one is next to never.
    for step in range(int((last - first).max(initial=0))):
        place = np.minimum(first + step, len(among) - 1)
        found |= (first + step < last) & (among[place, 1] == hashes[:, 1])
    return found


def inputs_of(corpus: Corpus) -> dict[tuple[str, str], InputFile]:
    """(source, name) -> the input file."""
    entries = read_input_list(corpus.folder / corpus.manifest.lineage.inputs_file)
    return {(entry.source, entry.name): entry for entry in entries}


def tokenizer_of(corpus: Corpus) -> Definition:
    """The tokenizer of a corpus."""
    return load_stored(corpus.folder / corpus.manifest.tokenizer.file)


def places(corpus: Corpus) -> Iterator[tuple[str, str]]:
    """(source, subset) in the order of the manifest, those without shards left out."""
    for source, described in corpus.manifest.sources.items():
        for subset in described.subsets:
            if corpus.shards_of(source, subset):
                yield source, subset

"""`dataprep pack`: a corpus that is there already, with plans of rows beside its shards.

No token is written: the new corpus is made of second names of the files of the old one, its packings and a
manifest of its own. `dataprep run` makes packings itself (`shards: {pack: best_fit}`); this is for corpora
that were imported or combined, and for another length of row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dataprep.corpora.links import link_file
from dataprep.fit import VERSION, fit_shard
from manifests.corpus import Corpus, open_corpus
from manifests.errors import UserError
from manifests.fields import check_identity
from manifests.files import atomic_directory
from manifests.lists import Shard, ShardPacking
from manifests.manifest import Manifest, Packings
from manifests.packing import MAX_SEQUENCE_LENGTH, packing_path
from manifests.packings import packings_of, seal_packings
from manifests.seal import seal_corpus
from manifests.verify import shard_files


def pack_corpus(
    corpus: Path,
    out: Path,
    sequence_lengths: Sequence[int],
    version: str | None = None,
    link: str = "auto",
    workers: int = 1,
) -> Manifest:
    """Write a corpus of the same tokens into the folder `out`, which must not exist or be empty; all or
    nothing. Packings that the corpus has for other lengths stay.

    version  of the new corpus; None: that of the old one, which is for corpora that were not published yet

    Memory: 100 bytes a document of a shard, for each worker. Raises UserError.
    """
    wrong = [length for length in sequence_lengths if not 1 <= length <= MAX_SEQUENCE_LENGTH]
    if wrong or not sequence_lengths:
        what = f"rows of {wrong[0]} tokens" if wrong else "no length of row is given"
        raise UserError(what, hint="--sequence-length 2048")
    opened = open_corpus(corpus)
    version = opened.manifest.version if version is None else version
    check_identity(opened.manifest.corpus, version)
    if out.is_dir() and any(out.iterdir()):
        raise UserError("the folder is not empty", where=str(out), hint="pack into a new folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_directory(out) as folder:
        link_corpus(opened, folder, link)
        lengths = {part.sequence_length for part in opened.manifest.packings} - set(sequence_lengths)
        kept = take_packings([opened], lengths, opened.shards, folder, link)
        made = [pack_shards(folder, opened.shards, length, workers) for length in set(sequence_lengths)]
        packings = sorted([*kept, *made], key=lambda part: part.sequence_length)
        update = {"packings": packings, "version": version}
        return seal_corpus(folder, opened.manifest.model_copy(update=update), opened.shards)


def pack_shards(folder: Path, shards: Sequence[Shard], sequence_length: int, workers: int = 1) -> Packings:
    """Write the packings of all shards of a folder, and their list; return the part of the manifest."""

    def fit(shard: Shard) -> ShardPacking:
        prefix = folder / shard.name
        found = fit_shard(prefix, sequence_length, packing_path(prefix, sequence_length))
        return found.model_copy(update={"shard": shard.name})

    with ThreadPoolExecutor(workers) as pool:
        rows = list(pool.map(fit, shards))
    return seal_packings(folder, packings_of(sequence_length, VERSION, shards, rows), rows)


def take_packings(
    parents: Sequence[Corpus],
    sequence_lengths: Collection[int],
    shards: Sequence[Shard],
    folder: Path,
    link: str,
) -> list[Packings]:
    """Link the packings that all parents have for these lengths beside shards of other names.

    shards  the new names of the shards of the parents, one parent after the other
    """
    old = [(parent, shard) for parent in parents for shard in parent.shards]
    parts = []
    for length in sorted(sequence_lengths):
        rows = []
        version = next(p.version for p in parents[0].manifest.packings if p.sequence_length == length)
        for (parent, shard), new in zip(old, shards, strict=True):
            listed = parent.packings(length)[shard.name]
            before, after = parent.prefix(shard), folder / new.name
            link_file(packing_path(before, length), packing_path(after, length), link)
            rows.append(listed.model_copy(update={"shard": new.name}))
        parts.append(seal_packings(folder, packings_of(length, version, shards, rows), rows))
    return parts


def common_lengths(parents: Sequence[Corpus]) -> set[int]:
    """Lengths of row for which all parents have packings, made by the rule of this version."""
    return set.intersection(
        *(
            {part.sequence_length for part in parent.manifest.packings if part.version == VERSION}
            for parent in parents
        )
    )


def link_corpus(corpus: Corpus, folder: Path, link: str) -> None:
    """Give all files of a corpus but its packings and its manifest a second name in `folder`."""
    packing_lists = {part.file for part in corpus.manifest.packings}
    names = [name for name in corpus.manifest.side_files if name not in packing_lists]
    paths = [corpus.folder / name for name in names]
    for shard in corpus.shards:
        paths.extend(shard_files(corpus.folder, shard))
    for path in paths:
        place = folder / path.relative_to(corpus.folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        link_file(path, place, link)

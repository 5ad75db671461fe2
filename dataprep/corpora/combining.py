"""`dataprep combine`: one corpus over the shards of several, none of which is written again.

Tokenizers and dtypes must agree, since a token means one thing in a corpus; names of sources must not
clash; what any of them holds out must not be trained on by another. Tokens, indices and digests are linked;
only the document tables of renamed sources are written anew, because they name their source.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.corpora.links import link_file
from dataprep.corpora.packing import common_lengths, take_packings
from dataprep.corpora.tables import content_hashes, hashes_of, is_among, sorted_hashes, table_of
from manifests.corpus import Corpus, open_corpus
from manifests.errors import UserError
from manifests.fields import check_identity, check_name
from manifests.files import atomic_directory
from manifests.fingerprint import digest_file, digest_value
from manifests.lists import InputFile, Shard, read_input_list, write_input_list
from manifests.manifest import CheckedSet, Lineage, Manifest, StepRecord
from manifests.seal import seal_corpus
from manifests.shard import bin_path, blocks_path, idx_path, table_path
from manifests.tables import write_document_table

Names = Mapping[tuple[int, str], str]
"""(number of the corpus, its source) -> the source of the new corpus."""

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Combined:
    """The new corpus, and what could not be compared."""

    folder: Path
    manifest: Manifest
    notes: list[str]


def combine(
    parents: Sequence[Path],
    out: Path,
    corpus: str,
    version: str,
    rename: Mapping[str, str] | None = None,
    link: str = "auto",
) -> Combined:
    """Write a corpus into the folder `out`, which must not exist or be empty; all or nothing.

    rename  "corpus/source" -> the name that this source gets

    Memory: 16 bytes a held-out document, and one document table. Raises UserError, which lists every clash.
    """
    if len(parents) < 2:
        raise UserError("one corpus alone is combined with nothing", hint="name two or more")
    check_identity(corpus, version)
    for name in (rename or {}).values():
        check_name(name, "a source")
    opened = [open_corpus(path) for path in parents]
    if out.is_dir() and any(out.iterdir()):
        raise UserError("the folder is not empty", where=str(out), hint="combine into a new folder")
    _check_agreement(opened)
    names = _names(opened, rename or {})
    notes = check_disjoint(opened, names)
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_directory(out) as folder:
        shards = [
            _take(each, shard, names[number, shard.source], folder, link)
            for number, each in enumerate(opened)
            for shard in each.shards
        ]
        tokenizer = opened[0].manifest.tokenizer
        file = Path(tokenizer.file).name
        link_file(opened[0].folder / tokenizer.file, folder / file, "copy")
        write_input_list(folder / "inputs.parquet", list(_inputs(opened, names)))
        manifest = _manifest(opened, names, corpus, version, folder)
        lengths = common_lengths(opened)
        packings = take_packings(opened, lengths, shards, folder, link)
        sealed = seal_corpus(folder, manifest.model_copy(update={"packings": packings}), shards)
    return Combined(out, sealed, [*notes, *_lost_packings(opened, lengths)])


def _lost_packings(opened: Sequence[Corpus], lengths: Collection[int]) -> list[str]:
    """A note of lengths of row for which not all of the corpora have packings."""
    lost = {part.sequence_length for each in opened for part in each.manifest.packings} - set(lengths)
    if not lost:
        return []
    listed = ", ".join(map(str, sorted(lost)))
    return [f"not all have packed rows of {listed}, so the new corpus has none (dataprep pack makes them)"]


def _check_agreement(opened: Sequence[Corpus]) -> None:
    """What defines a token must be the same in all. Lists every difference from the first."""
    first = opened[0].manifest
    problems = []
    for each in opened[1:]:
        titles = _title(first), _title(each.manifest)
        for name in ("digest", "eos_id", "bos_id", "append_eos", "prepend_bos", "special_tokens"):
            here, there = getattr(first.tokenizer, name), getattr(each.manifest.tokenizer, name)
            if here != there:
                problems.append(f"tokenizer.{name}: {here} in {titles[0]}, {there} in {titles[1]}")
        if first.dtype != each.manifest.dtype:
            problems.append(f"dtype: {first.dtype} in {titles[0]}, {each.manifest.dtype} in {titles[1]}")
    if problems:
        raise UserError(
            "the tokens of these corpora mean different things:\n" + "\n".join(problems),
            hint="make one of them again with tokenizer: {file: tokenizer.json of the other}",
        )


def _names(opened: Sequence[Corpus], rename: Mapping[str, str]) -> dict[tuple[int, str], str]:
    names: dict[tuple[int, str], str] = {}
    unused = dict(rename)
    for number, each in enumerate(opened):
        for source in each.manifest.sources:
            names[number, source] = unused.pop(f"{each.manifest.corpus}/{source}", source)
    if unused:
        known = [f"{each.manifest.corpus}/{source}" for each in opened for source in each.manifest.sources]
        raise UserError(
            f"there is no source {next(iter(unused))} to rename", hint=f"there are {', '.join(known)}"
        )
    by_name: dict[str, list[str]] = {}
    for (number, _), name in names.items():
        by_name.setdefault(name, []).append(_title(opened[number].manifest))
    clashes = [f"{name}: {', '.join(titles)}" for name, titles in by_name.items() if len(titles) > 1]
    if clashes:
        example = clashes[0].partition(":")[0]
        raise UserError(
            "several corpora have a source of the same name:\n" + "\n".join(clashes),
            hint=f"--rename {opened[-1].manifest.corpus}/{example}=another-name",
        )
    return names


def check_disjoint(opened: Sequence[Corpus], names: Names) -> list[str]:
    """Refuse when a held-out document is a training document, by content hash; return what was not compared.

    Hashes of texts and hashes of tokens say nothing about each other.
    """
    problems = overlaps(opened, names)
    if problems:
        raise UserError(
            "documents that one corpus holds out are trained on by another (or the same):\n"
            + "\n".join(problems),
            hint="combine what does not overlap, or drop them from the training side with the step exclude",
        )
    tokens = [name for place, name in names.items() if _kind(opened, place) == "tokens"]
    if not tokens or len(tokens) == len(names):
        return []
    why = "hashed by tokens, so held-out documents were not compared with those of the rest"
    return [f"{', '.join(tokens)}: {why}"]


def overlaps(opened: Sequence[Corpus], names: Names) -> list[str]:
    """One line for each shard with training documents that are held out somewhere."""
    problems = []
    for kind in ("text", "tokens"):
        mine = [place for place in names if _kind(opened, place) == kind]
        held = [hashes_of(opened[number], source, "holdout") for number, source in mine]
        among = sorted_hashes(np.concatenate([np.zeros((0, 2), np.uint64), *held]))
        for number, source in mine if len(among) else ():
            for shard in opened[number].shards_of(source, "train"):
                found = np.flatnonzero(is_among(content_hashes(opened[number], shard), among))
                if found.size:
                    problems.append(_overlap(opened[number], shard, names[number, source], found))
    return problems


def _kind(opened: Sequence[Corpus], place: tuple[int, str]) -> str:
    number, source = place
    return opened[number].manifest.sources[source].content_hash


def _overlap(corpus: Corpus, shard: Shard, name: str, rows: Any) -> str:
    table = table_of(corpus, shard, ["id", "path", "position"]).take(pa.array(rows[:SHOWN]))
    shown = [row["id"] or f"{row['path']}:{row['position']}" for row in table.to_pylist()]
    more = f" and {rows.size - SHOWN:,} more" if rows.size > SHOWN else ""
    return f"{_title(corpus.manifest)} {name}, {shard.name}: {', '.join(shown)}{more}"


def _take(corpus: Corpus, shard: Shard, source: str, folder: Path, link: str) -> Shard:
    """Link the files of a shard; of a renamed source, write the document table with the new name."""
    name = f"{source}-{shard.subset}-{shard.index:05d}"
    before, after = corpus.prefix(shard), folder / name
    for path in (bin_path, idx_path, blocks_path):
        link_file(path(before), path(after), link)
    if source == shard.source:
        link_file(table_path(before), table_path(after), link)
        return shard.model_copy(update={"name": name})
    table = table_of(corpus, shard)
    place = table.schema.get_field_index("source")
    column = pa.array([source], pa.string()).take(pa.array(np.zeros(table.num_rows, np.int64)))
    write_document_table(table_path(after), table.set_column(place, table.schema.field(place), column))
    digest = digest_file(table_path(after)).sha256
    return shard.model_copy(update={"name": name, "source": source, "table_sha256": digest})


def _inputs(opened: Sequence[Corpus], names: Names) -> Iterator[InputFile]:
    for number, each in enumerate(opened):
        for entry in read_input_list(each.folder / each.manifest.lineage.inputs_file):
            yield entry.model_copy(update={"source": names[number, entry.source]})


def _manifest(opened: Sequence[Corpus], names: Names, corpus: str, version_of: str, folder: Path) -> Manifest:
    recipe: dict[str, Any] = {
        "combine": [
            {
                "corpus": each.manifest.corpus,
                "version": each.manifest.version,
                "content_digest": each.manifest.content_digest,
                "manifest_digest": each.manifest.manifest_digest,
                "created_by": each.manifest.created_by,
                "sources": {source: names[number, source] for source in each.manifest.sources},
                "recipe": each.manifest.lineage.recipe,
                "tools": each.manifest.lineage.tools,
                "parents": each.manifest.lineage.parents,
            }
            for number, each in enumerate(opened)
        ]
    }
    info = opened[0].manifest.tokenizer
    return Manifest(
        corpus=corpus,
        version=version_of,
        dtype=opened[0].manifest.dtype,
        tokenizer=info.model_copy(update={"file": Path(info.file).name}),
        sources={
            names[number, source]: described
            for number, each in enumerate(opened)
            for source, described in each.manifest.sources.items()
        },
        created_by=f"headrace {version('headrace')}",
        lineage=Lineage(
            recipe=recipe,
            recipe_digest=digest_value(recipe),
            inputs_digest=digest_file(folder / "inputs.parquet").digest,
            steps=[
                _step(step, each, {source: names[number, source] for source in each.manifest.sources})
                for number, each in enumerate(opened)
                for step in each.manifest.lineage.steps
            ],
            funnel=[
                {**row, "source": names.get((number, str(row.get("source"))), row.get("source"))}
                for number, each in enumerate(opened)
                for row in each.manifest.lineage.funnel
            ],
            tools={"python": sys.version.split()[0], "pyarrow": version("pyarrow")},
            parents=[f"{_title(each.manifest)} {each.manifest.content_digest}" for each in opened],
            evals=[
                _checked(found, each, {source: names[number, source] for source in each.manifest.sources})
                for number, each in enumerate(opened)
                for found in each.manifest.lineage.evals
            ],
        ),
    )


def _step(step: StepRecord, corpus: Corpus, names: Mapping[str, str]) -> StepRecord:
    """A step of a parent, which was run on the sources of that parent alone."""
    sources = list(corpus.manifest.sources) if step.sources is None else step.sources
    return step.model_copy(
        update={
            "sources": [names.get(source, source) for source in sources],
            **{
                field: {names.get(source, source): value for source, value in getattr(step, field).items()}
                for field in ("documents_in", "documents_out", "dropped")
            },
        }
    )


def _checked(found: CheckedSet, corpus: Corpus, names: Mapping[str, str]) -> CheckedSet:
    """An evaluation set that a parent was checked against: still so, for the sources of that parent."""
    sources = list(corpus.manifest.sources) if found.sources is None else found.sources
    return found.model_copy(update={"sources": [names.get(source, source) for source in sources]})


def _title(manifest: Manifest) -> str:
    return f"{manifest.corpus}@{manifest.version}"

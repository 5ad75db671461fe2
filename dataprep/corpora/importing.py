"""`dataprep import`: a corpus around token files that are there already, without copying them.

Each file becomes one shard: its bytes get a second name (a link) as `.bin`, and an index, a document table
and digests are written beside it. What a manifest must know and the files do not say (where documents end,
whether each has the begin- and the end-of-text token, the greatest id, the texts and their hashes) is counted
from the tokens. Files in which the tokens do not lie in one piece, or as another integer than a shard holds,
are written anew.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from dataprep.corpora.combining import overlaps
from dataprep.corpora.layouts import read_token_file, token_files
from dataprep.corpora.links import link_file
from dataprep.corpora.measure import GROUP_TOKENS, Facts, Job, add, framing, measure_shard, reproduced
from dataprep.corpora.spec import ImportSpec, imported_manifest
from dataprep.corpora.tokenfile import TokenFile
from dataprep.kernels.texts import offsets_of
from dataprep.tokenizers import TokenizerFacts, describe
from dataprep.tokenizers.decode import Decoder, document_groups
from dataprep.tokenizers.files import read_tokenizer, stored
from manifests.corpus import Corpus
from manifests.errors import UserError
from manifests.fields import SUBSETS, check_identity, check_name
from manifests.files import atomic_directory, check_free_space, write_atomic
from manifests.fingerprint import digest_file
from manifests.lists import InputFile, Shard, write_input_list
from manifests.manifest import MAX_ID, Manifest
from manifests.seal import seal_corpus, seal_shard
from manifests.shard import bin_path, dtype_for_vocab, encode_index, idx_path, write_shard

LINKED = {"uint16": "uint16", "int32": "int32", "uint32": "int32"}
"""Dtypes that are linked, and the name that a manifest has for them: ids are below 2^31."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The corpus, what was found in it, and what was settled in its files."""

    folder: Path
    manifest: Manifest
    facts: dict[str, Facts]
    """By source."""
    reproduced: dict[str, tuple[int, int]]
    """Source -> (documents whose ids the tokenizer gives again, documents tried)."""
    notes: list[str]


def import_corpus(spec: ImportSpec, out: Path, workers: int = 1) -> Imported:
    """Write a corpus into the folder `out`, which must not exist or be empty; all or nothing.

    Every token is read twice (to count and to hash), and before that the first of each document, as long as
    all are the begin-of-text token. Memory for each of `workers` threads: one index and document table, about
    150 bytes a document, and 200 MB. Raises UserError, which names the file.
    """
    check_identity(spec.corpus, spec.version)
    for source in (*spec.train, *spec.holdout):
        check_name(source, "a source")
    definition = read_tokenizer(spec.tokenizer)
    facts = describe(definition, eos=spec.eos, bos=spec.bos)
    decoder = Decoder(definition)
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.is_dir() and any(out.iterdir()):
        raise UserError("the folder is not empty", where=str(out), hint="import into a new folder")
    with atomic_directory(out) as folder:
        jobs = _Jobs(spec, facts)
        all_begin = _all_begin(jobs, facts)
        made: list[tuple[Job, Shard, Facts]] = []
        pending: deque[tuple[Job, Future[tuple[Shard, Facts]]]] = deque()
        with ThreadPoolExecutor(workers) as pool:
            for job in jobs:
                future = pool.submit(
                    _import_file, job, jobs.dtype, folder, facts, decoder, all_begin, spec.link
                )
                pending.append((job, future))
                if len(pending) > workers:
                    made.append(_finished(pending))
            while pending:
                made.append(_finished(pending))
        write_atomic(folder / facts.file, stored(definition))
        inputs = [entry for job, shard, _ in made for entry in _inputs(job, shard)]
        write_input_list(folder / "inputs.parquet", inputs)
        by_source: dict[str, Facts] = {}
        for job, _, found in made:
            by_source[job.source] = add(by_source.get(job.source), found)
        probe = {source: reproduced(definition, decoder, found) for source, found in by_source.items()}
        _check_probe(probe, spec)
        notes = [f"{job.name}: {note}" for job, _, _ in made for note in job.file.notes]
        shards = [(job, shard) for job, shard, _ in made]
        manifest = imported_manifest(spec, facts, decoder, jobs.dtype, shards, by_source, probe, notes)
        shared = overlaps(
            [Corpus(manifest, [shard for _, shard in shards], folder)],
            {(0, source): source for source in manifest.sources},
        )
        if shared:  # in what others made it is said and not refused: it may be how that set was published
            notes += [f"held-out documents are trained on: {line}" for line in shared]
            manifest = imported_manifest(spec, facts, decoder, jobs.dtype, shards, by_source, probe, notes)
        lineage = manifest.lineage.model_copy(
            update={"inputs_digest": digest_file(folder / "inputs.parquet").digest}
        )
        sealed = seal_corpus(
            folder, manifest.model_copy(update={"lineage": lineage}), [shard for _, shard in shards]
        )
    return Imported(out, sealed, by_source, probe, notes)


class _Jobs:
    """The files in the order (source, subset, name), opened one after the other; their one dtype."""

    def __init__(self, spec: ImportSpec, facts: TokenizerFacts) -> None:
        self._spec, self._facts = spec, facts
        unknown = set(spec.licenses) - {*spec.train, *spec.holdout}
        if unknown:
            raise UserError(f"a licence for {sorted(unknown)[0]}, which is not a source that is imported")
        self._files = {
            (source, subset): [path for pattern in patterns.get(source, ()) for path in token_files(pattern)]
            for source in dict.fromkeys([*spec.train, *spec.holdout])
            for subset, patterns in zip(SUBSETS, (spec.train, spec.holdout), strict=True)
        }
        every = [path.resolve() for files in self._files.values() for path in files]
        if len(set(every)) != len(every):
            twice = next(path for path in every if every.count(path) > 1)
            raise UserError("this file would be imported twice", where=str(twice))
        self.dtype = ""

    def __iter__(self) -> Iterator[Job]:
        for (source, subset), paths in self._files.items():
            base = os.path.commonpath([path.resolve().parent for path in paths]) if paths else ""
            first, index = 0, 0
            for path in paths:
                file = read_token_file(path, self._spec.layout, self._spec.dtype, self._facts.eos_id)
                if not file.lengths.size:
                    continue  # nothing is in it, and a shard without documents is of no use
                self._check_dtype(file)
                name = path.resolve().relative_to(base).as_posix()
                yield Job(source, subset, index, path, name, file, first)
                first, index = first + int(file.lengths.size), index + 1

    def _check_dtype(self, file: TokenFile) -> None:
        """All files of a corpus have one dtype, which holds every id. The first file that is linked says
        it."""
        name = LINKED.get(file.dtype.name) if _is_linked(file) else self.dtype
        name = name or dtype_for_vocab(self._facts.vocab_size).name
        if self._facts.vocab_size - 1 > MAX_ID[name]:
            raise UserError(
                f"the tokens are {name}; the tokenizer has ids up to {self._facts.vocab_size - 1:,}, "
                "which were cut "
                "when they were written",
                where=str(file.path),
                hint="is it the tokenizer that made them? else tokenize again, wider",
            )
        if self.dtype and name != self.dtype:
            raise UserError(
                f"the tokens are {name}; those of the files before are {self.dtype}, and a corpus has "
                "one dtype",
                where=str(file.path),
                hint="import them as two corpora; a trainer reads both",
            )
        self.dtype = name


def _all_begin(jobs: Iterable[Job], facts: TokenizerFacts) -> bool:
    """Whether every document of every file starts with the begin-of-text token. Hashes are of texts without
    it only then, so it must be known before the first text is hashed. Stops at the first that does not."""
    if facts.bos_id is None:
        return False
    for job in jobs:
        tokens, ends = job.file.read(), offsets_of(job.file.lengths)
        for first, last in document_groups(ends, GROUP_TOKENS):
            part = tokens[ends[first] : ends[last]]
            if not framing(part, ends[first : last + 1] - ends[first], facts)[0].all():
                return False
    return True


def _is_linked(file: TokenFile) -> bool:
    return file.tokens is None and file.offset == 0 and file.dtype.name in LINKED


def _import_file(
    job: Job,
    dtype: str,
    folder: Path,
    facts: TokenizerFacts,
    decoder: Decoder,
    all_begin: bool,
    link: str,
) -> tuple[Shard, Facts]:
    prefix = folder / job.shard_name
    file = job.file
    try:
        tokens = file.read()
        if _is_linked(file):
            link_file(job.path, bin_path(prefix), link)
            write_atomic(idx_path(prefix), encode_index(file.lengths, dtype))
        else:
            check_free_space(folder, tokens.size * np.dtype(dtype).itemsize)
            write_shard(prefix, tokens, file.lengths, dtype)
            tokens = np.memmap(bin_path(prefix), dtype, "r")
        found = measure_shard(prefix, tokens, job, facts, decoder, all_begin)
    except UserError as error:
        raise UserError(error.what, where=error.where or str(job.path), hint=error.hint) from None
    shard = Shard(
        source=job.source,
        subset=job.subset,
        index=job.index,
        name=job.shard_name,
        documents=int(file.lengths.size),
        tokens=int(file.lengths.sum()),
        text_bytes=found.text_bytes,
        max_token_id=found.max_token_id,
        first_key=job.first_document.to_bytes(16, "big").hex(),
        **asdict(seal_shard(prefix)),
    )
    return shard, found


def _finished(pending: deque[tuple[Job, Future[tuple[Shard, Facts]]]]) -> tuple[Job, Shard, Facts]:
    job, future = pending.popleft()
    return (job, *future.result())


def _inputs(job: Job, shard: Shard) -> list[InputFile]:
    linked = _is_linked(job.file)
    entries = []
    for path in (job.path, *job.file.sides):
        name = (Path(job.name).parent / path.name).as_posix()
        known = f"sha256:{shard.bin_sha256}" if path == job.path and linked else digest_file(path).digest
        entries.append(InputFile(source=job.source, name=name, size_bytes=path.stat().st_size, digest=known))
    return entries


def _check_probe(probe: Mapping[str, tuple[int, int]], spec: ImportSpec) -> None:
    for source, (equal, tried) in probe.items():
        if tried >= 4 and equal == 0:
            raise UserError(
                f"of {tried} documents of {source}, decoded and encoded again, none has the ids that it had: "
                "these tokens are of another tokenizer",
                where=str(spec.tokenizer),
                hint="give the tokenizer that made them; is the dtype right (--dtype)?",
            )

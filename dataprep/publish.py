"""PUBLISH: the finished shards become the output folder; `manifest.json` is its last file and its name.

The shards are hard links into the work folder where the file system allows it, else copies. Every linked
file is hashed against its receipt before the manifest is written. While an older corpus is being replaced
the folder has no manifest, and no index of the older corpus stands beside tokens of the new one, so it is
never readable and wrong, not even for a tool that reads no manifest; a kill at any moment is mended by the
next run.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataprep.cache import exclusive
from dataprep.packed import Packed, packed_of
from dataprep.plan import Plans
from dataprep.report import REPORT_NAME
from dataprep.report.build import build_report
from dataprep.report.html import HTML_NAME
from dataprep.run_manifest import INPUTS_FILE, inputs_of, manifest_of, shards_of
from dataprep.stages import fit, index, pack, tokenizer
from dataprep.tokenizers.files import JSON_FILE, MODEL_FILE
from dataprep.verdict_table import NAME as VERDICTS_NAME
from manifests.errors import UserError
from manifests.files import check_free_space, fsync_directory, is_temporary, link_or_copy, write_atomic
from manifests.fingerprint import digest_bytes, digest_file
from manifests.manifest import (
    MANIFEST_NAME,
    DedupPart,
    Manifest,
    Shard,
    load_manifest,
    read_packing_list,
    read_shard_list,
    write_input_list,
)
from manifests.packing import is_packing
from manifests.packings import is_packing_list, seal_packings
from manifests.seal import seal_corpus
from manifests.shard import idx_path

MARKER = ".headrace-corpus"
"""Says that this folder is ours, so that files of an older version in it may be removed."""

SUFFIXES = (".bin", ".idx", ".documents.parquet", ".blocks")
TOLD_OF_IT = (REPORT_NAME, HTML_NAME, VERDICTS_NAME)
"""What a run says of its corpus, written when that is sealed."""


@dataclass(frozen=True, slots=True)
class Published:
    """The corpus in its folder. `is_new` is False when it was there already, byte for byte."""

    folder: Path
    manifest: Manifest
    shards: tuple[Shard, ...]
    report: dict[str, Any]
    is_new: bool


class DamagedEntries(Exception):
    """Results of `stage` whose files are not what their receipts say, by their keys."""

    def __init__(self, stage: str, keys: Sequence[str]) -> None:
        super().__init__(f"{len(keys)} damaged results of {stage}")
        self.stage = stage
        self.keys = list(keys)


def publish(plans: Plans) -> Published:
    """Make the output folder hold exactly the corpus of this run."""
    folder = Path(plans.recipe.output)
    shards = shards_of(plans)
    packed = packed_of(plans, shards)
    report = build_report(plans, shards, [each.part for each in packed])
    unsealed = manifest_of(plans, shards, report, packed)
    existing = _existing(folder)
    if existing is not None and _same(existing, unsealed, shards, packed, folder):
        _remove_unfinished(folder)
        return Published(folder, existing, tuple(shards), report, False)

    folder.mkdir(parents=True, exist_ok=True)
    _claim(folder)
    with exclusive(folder / MARKER):  # of runs with other work folders, too
        return _replace(plans, shards, packed, unsealed, report, folder)


def _replace(
    plans: Plans,
    shards: Sequence[Shard],
    packed: Sequence[Packed],
    unsealed: Manifest,
    report: dict[str, Any],
    folder: Path,
) -> Published:
    """Take the manifest away, and what else would be wrong; put everything in its place, and seal it."""
    (folder / MANIFEST_NAME).unlink(missing_ok=True)
    for name in TOLD_OF_IT:
        (folder / name).unlink(missing_ok=True)
    _remove_older_indices(plans, shards, folder)
    fsync_directory(folder)
    _link(plans, shards, folder)
    if damaged := [key for each in packed for key in each.link(folder)]:
        raise DamagedEntries(fit.STAGE, damaged)
    _link_dedup(plans, unsealed.dedup, folder)
    tokenized = plans.entries[tokenizer.STAGE][0]
    link_or_copy(tokenized.file(unsealed.tokenizer.file), folder / unsealed.tokenizer.file)
    if digest_file(folder / unsealed.tokenizer.file).digest != unsealed.tokenizer.digest:
        raise DamagedEntries(tokenizer.STAGE, [tokenized.key])
    write_input_list(folder / INPUTS_FILE, inputs_of(plans))
    packings = [seal_packings(folder, each.part, each.rows) for each in packed]
    _remove_stale(folder, shards, packed, unsealed.tokenizer.file)
    lineage = unsealed.lineage.model_copy(update={"inputs_digest": digest_file(folder / INPUTS_FILE).digest})
    update = {"lineage": lineage, "packings": packings}
    manifest = seal_corpus(folder, unsealed.model_copy(update=update), shards)
    return Published(folder, manifest, tuple(shards), report, True)


def _link_dedup(plans: Plans, part: DedupPart | None, folder: Path) -> None:
    """Link its files into the folder, and remove those that an older version of the corpus left."""
    files = {} if part is None else {each.file: each.digest for each in part.steps.values()}
    if part is not None:
        files[part.documents_file] = part.documents_digest
    for path in folder.glob("dedup-*.arrow"):
        if path.name not in files:
            path.unlink()
    for name, digest in files.items():
        (entry,) = plans.entries[index.STAGE]
        link_or_copy(entry.file(name), folder / name)
        if digest_file(folder / name).digest != digest:
            raise DamagedEntries(index.STAGE, [entry.key])


def _link(plans: Plans, shards: Sequence[Shard], folder: Path) -> None:
    """Link all files of all shards into the folder, then hash what lies there."""
    entries = plans.entries[pack.STAGE]
    across = entries and entries[0].folder.stat().st_dev != folder.stat().st_dev
    if across:
        written = [*entries, *plans.entries.get(fit.STAGE, ())]
        check_free_space(folder, sum(entry.num_bytes for entry in written))
    for shard, entry in zip(shards, entries, strict=True):
        for suffix in SUFFIXES:
            link_or_copy(entry.file(pack.STEM + suffix), folder / (shard.name + suffix))
    with ThreadPoolExecutor(max_workers=4) as pool:
        intact = list(pool.map(lambda shard: _is_intact(folder, shard), shards))
    damaged = [entry.key for entry, good in zip(entries, intact, strict=True) if not good]
    if damaged:
        raise DamagedEntries(pack.STAGE, damaged)


def _remove_older_indices(plans: Plans, shards: Sequence[Shard], folder: Path) -> None:
    """A pair of new tokens and an older index may be of equal sizes, so that other tools read it."""
    for shard, entry in zip(shards, plans.entries[pack.STAGE], strict=True):
        older, newer = idx_path(folder / shard.name), idx_path(entry.file(pack.STEM))
        if older.exists() and not older.samefile(newer):
            older.unlink()


def _is_intact(folder: Path, shard: Shard) -> bool:
    digests = (shard.bin_sha256, shard.idx_sha256, shard.table_sha256, shard.blocks_sha256)
    return all(
        digest_file(folder / (shard.name + suffix)).sha256 == digest
        for suffix, digest in zip(SUFFIXES, digests, strict=True)
    )


def _existing(folder: Path) -> Manifest | None:
    if not (folder / MANIFEST_NAME).is_file():
        return None
    try:
        return load_manifest(folder)
    except UserError:
        return None  # damaged or of another format: it is replaced


def _same(
    existing: Manifest, unsealed: Manifest, shards: Sequence[Shard], packed: Sequence[Packed], folder: Path
) -> bool:
    """Whether the folder already holds this corpus, and no file of it was touched since its manifest was
    written."""
    blank = {"content_digest": "", "manifest_digest": "", "shards_digest": ""}
    inputs_digest = existing.lineage.inputs_digest
    lineage = unsealed.lineage.model_copy(update={"inputs_digest": inputs_digest})
    undigested = [each.model_copy(update={"digest": digest_bytes(b"")}) for each in existing.packings]
    if existing.model_copy(update={**blank, "packings": undigested}) != unsealed.model_copy(
        update={"lineage": lineage}
    ):
        return False
    try:
        if read_shard_list(folder / existing.shards_file) != list(shards):
            return False
        if any(read_packing_list(folder / each.part.file) != list(each.rows) for each in packed):
            return False
        if digest_file(folder / existing.lineage.inputs_file).digest != inputs_digest:
            return False
        if any(digest_file(folder / name).digest != digest for name, digest in existing.side_files.items()):
            return False
        written = (folder / MANIFEST_NAME).stat().st_mtime_ns
        return all(
            _is_older(folder, shard, written) or _is_intact(folder, shard) for shard in shards
        ) and not any(each.damaged(folder, written) for each in packed)
    except (OSError, UserError):
        return False


def _is_older(folder: Path, shard: Shard, time_ns: int) -> bool:
    """Whether no file of a shard was touched at that time or later. A clock ticks in milliseconds, so one
    that was touched just after may bear the same time."""
    return all((folder / (shard.name + suffix)).stat().st_mtime_ns < time_ns for suffix in SUFFIXES)


def _claim(folder: Path) -> None:
    """Mark the folder as a corpus. Raises when it holds something else."""
    if (folder / MARKER).exists():
        return
    others = [
        path.name for path in folder.iterdir() if not path.name.startswith(".") and path.name != MANIFEST_NAME
    ]
    if others:
        raise UserError(
            f"the output folder is not empty and no corpus: it holds {sorted(others)[0]}",
            where=str(folder),
            hint="choose another `output:`, or empty the folder",
        )
    write_atomic(folder / MARKER, b"The files of one corpus; see manifest.json. Made by dataprep run.\n")


def _remove_stale(
    folder: Path, shards: Sequence[Shard], packed: Sequence[Packed], tokenizer_file: str
) -> None:
    """Remove shards that an older version of this corpus left, and what killed runs left unfinished."""
    current = {shard.name + suffix for shard in shards for suffix in SUFFIXES} | {tokenizer_file}
    current |= {path.name for each in packed for path in (*each.files(folder), folder / each.part.file)}
    for path in sorted(folder.iterdir()):
        is_ours = path.name.endswith(SUFFIXES) or path.name in (JSON_FILE, MODEL_FILE)
        is_ours = is_ours or is_packing(path) or is_packing_list(path)
        is_old = is_ours and path.name not in current
        if is_temporary(path) or (is_old and not path.name.startswith(".")):
            path.unlink()


def _remove_unfinished(folder: Path) -> None:
    """What a run that was killed after it had sealed the corpus left of its report."""
    if any(map(is_temporary, folder.iterdir())) and (folder / MARKER).exists():
        with exclusive(folder / MARKER):
            for path in filter(is_temporary, folder.iterdir()):
                path.unlink(missing_ok=True)

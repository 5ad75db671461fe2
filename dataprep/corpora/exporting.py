"""`dataprep export`: the texts of a corpus as Parquet or as a Hugging Face dataset folder, or its tokens in
the layout of another tool.

Texts are decoded from the tokens, and compared with the hash of the text that was tokenized: what would not
be exact is refused, or marked where that is asked for. Token files are links to the shards wherever the
bytes are the same, which they are for all layouts here. The card of a dataset is in card.py.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.corpora.card import dataset_card
from dataprep.corpora.links import link_file
from dataprep.corpora.restore import Restored, restore
from dataprep.corpora.tables import table_of, tokenizer_of
from dataprep.tokenizers.decode import Decoder
from manifests.corpus import Corpus, open_corpus
from manifests.errors import UserError
from manifests.files import atomic_directory, write_atomic
from manifests.lists import Shard
from manifests.shard import bin_path, encode_index, idx_path

FIELDS = pa.list_(pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string())]))
"""A map in a form that every reader knows; the library `datasets` has no maps."""

TEXT_SCHEMA = pa.schema(
    [
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("id", pa.string()),
        pa.field("source", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("tokens", pa.int32(), nullable=False),
        pa.field("text_bytes", pa.int64(), nullable=False),
        pa.field("content_hash", pa.string(), nullable=False),
        pa.field("is_exact", pa.bool_(), nullable=False),
        pa.field("fields", FIELDS),
    ]
)
"""Columns of exported texts. is_exact: whether the text has the hash of the text that was tokenized."""

UNSIGNED = {"uint16": "uint16", "int32": "uint32"}
"""What others call our dtypes; ids are below 2^31, so the bytes are the same."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written. `inexact` counts documents whose text is not known to be exact."""

    folder: Path
    files: int
    documents: int
    tokens: int
    inexact: int


def export(
    path: Path, out: Path, to: str, approximate: bool = False, link: str = "auto", workers: int = 1
) -> Exported:
    """Write a corpus into the folder `out`, which must not exist or be empty; all or nothing.

    to           one of TARGETS
    approximate  texts that are not exactly those that were tokenized are exported too, marked in `is_exact`

    Memory of a text export: 200 MB for each of `workers` threads. Raises UserError.
    """
    if to not in TARGETS:
        raise UserError(f"there is no layout {to}", hint=f"there are {', '.join(TARGETS)}")
    corpus = open_corpus(path)
    corpus.check_sizes()
    if out.is_dir() and any(out.iterdir()):
        raise UserError("the folder is not empty", where=str(out), hint="export into a new folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_directory(out) as folder:
        if to in ("parquet", "huggingface"):
            inexact = _export_texts(corpus, folder, to, approximate, workers)
        else:
            inexact = 0
            for shard in corpus.shards:
                _TOKEN_LAYOUTS[to](corpus, shard, folder, link)
            if to in _NOTES:
                _NOTES[to](corpus, folder)
        file = corpus.manifest.tokenizer.file
        link_file(corpus.folder / file, folder / Path(file).name, "copy")
        files = sum(each.is_file() for each in folder.rglob("*"))
    return Exported(
        out,
        files,
        sum(shard.documents for shard in corpus.shards),
        sum(shard.tokens for shard in corpus.shards),
        inexact,
    )


# --- texts -------------------------------------------------------------------------------------------------


def _export_texts(corpus: Corpus, folder: Path, to: str, approximate: bool, workers: int) -> int:
    decoder = Decoder(tokenizer_of(corpus))

    def write(shard: Shard) -> int:
        target = folder / (
            f"data/{_split_name(corpus, shard)}" if to == "huggingface" else f"{shard.name}.parquet"
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        return _write_texts(corpus, shard, decoder, target, approximate)

    with ThreadPoolExecutor(workers) as pool:
        inexact = sum(pool.map(write, corpus.shards))
    if to == "huggingface":
        write_atomic(folder / "README.md", dataset_card(corpus, inexact).encode())
    return inexact


def _split_name(corpus: Corpus, shard: Shard) -> str:
    """The name that the Hub gives to one file of a split."""
    count = len(corpus.shards_of(shard.source, shard.subset))
    return f"{shard.source}/{shard.subset}-{shard.index:05d}-of-{count:05d}.parquet"


def _write_texts(corpus: Corpus, shard: Shard, decoder: Decoder, target: Path, approximate: bool) -> int:
    inexact = 0
    with pq.ParquetWriter(target, TEXT_SCHEMA, compression="zstd", store_schema=False) as writer:
        for group in restore(corpus, shard, decoder):
            table = _text_table(group)
            wrong = np.flatnonzero(~np.asarray(table.column("is_exact")))
            if wrong.size and not approximate:
                raise _inexact(corpus, shard, decoder, group, int(wrong[0]))
            inexact += wrong.size
            writer.write_table(table)
    return inexact


def _text_table(group: Restored) -> pa.Table:
    strings, is_exact = group.strings()
    rows = group.table
    columns = {name: rows.column(name) for name in TEXT_SCHEMA.names if name in rows.schema.names}
    hashes = [value.hex() for value in rows.column("content_hash").to_pylist()]
    columns |= {
        "fields": rows.column("fields").cast(FIELDS),
        "text": strings,
        "content_hash": pa.array(hashes, pa.string()),
        "is_exact": pa.array(is_exact),
    }
    return pa.table({name: columns[name] for name in TEXT_SCHEMA.names}, schema=TEXT_SCHEMA)


def _inexact(corpus: Corpus, shard: Shard, decoder: Decoder, group: Restored, row: int) -> UserError:
    (found,) = group.table.slice(row, 1).to_pylist()
    why = "its vocabulary is not made of bytes" + (f" ({decoder.rewrites})" if decoder.rewrites else "")
    if corpus.manifest.sources[shard.source].content_hash != "text":
        why = "the corpus was imported without its texts"
    elif decoder.is_byte_level:
        why = (
            f"it rewrites texts ({decoder.rewrites})"
            if decoder.rewrites
            else "the tokens are of another text"
        )
    return UserError(
        f"the tokenizer does not give back the text of {found['id'] or found['path']}, position "
        f"{found['position']:,}, as it was tokenized: {why}",
        where=shard.name,
        hint="--approximate exports it as the tokens spell it, and marks it in the column is_exact",
    )


# --- tokens ------------------------------------------------------------------------------------------------


def _to_megatron(corpus: Corpus, shard: Shard, folder: Path, link: str) -> None:
    before, after = corpus.prefix(shard), folder / shard.name
    after.parent.mkdir(parents=True, exist_ok=True)
    link_file(bin_path(before), bin_path(after), link)
    lengths = corpus.reader(shard).lengths
    write_atomic(idx_path(after), encode_index(lengths, corpus.manifest.dtype))


def _to_datatrove(corpus: Corpus, shard: Shard, folder: Path, link: str) -> None:
    target = folder / f"{shard.name}.ds"
    target.parent.mkdir(parents=True, exist_ok=True)
    link_file(bin_path(corpus.prefix(shard)), target, link)
    write_atomic(Path(f"{target}.index"), corpus.reader(shard).offsets[1:].astype("<u8").tobytes())
    width = np.dtype(corpus.manifest.dtype).itemsize
    lines = f"{Path(corpus.manifest.tokenizer.file).name}|{width}\n{shard.tokens}\n{shard.tokens:,} tokens"
    write_atomic(Path(f"{target}.metadata"), lines.encode())


def _to_olmo(corpus: Corpus, shard: Shard, folder: Path, link: str) -> None:
    target = folder / f"{shard.name}.npy"
    target.parent.mkdir(parents=True, exist_ok=True)
    link_file(bin_path(corpus.prefix(shard)), target, link)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    table = table_of(corpus, shard, ["token_start", "tokens", "id", "path", "position"])
    for row in table.to_pylist():
        start = row["token_start"]
        writer.writerow([start, start + row["tokens"], row["id"] or "", row["path"], row["position"]])
    # Without the time of day in its header, so that the same shard gives the same bytes.
    write_atomic(target.with_suffix(".csv.gz"), gzip.compress(text.getvalue().encode(), mtime=0))


def _note_megatron(corpus: Corpus, folder: Path) -> None:
    """Files for --train-data-path and --valid-data-path: weights by tokens, and prefixes."""
    for subset, name in (("train", "train_data_path.txt"), ("holdout", "valid_data_path.txt")):
        lines = [f"{shard.tokens} {shard.name}\n" for shard in corpus.shards if shard.subset == subset]
        write_atomic(folder / name, "".join(lines).encode())


def _note_olmo(corpus: Corpus, folder: Path) -> None:
    """What the headerless files do not say: the settings of OLMo's NumpyDatasetConfig and TokenizerConfig."""
    manifest = corpus.manifest
    lines = [
        f"# {manifest.corpus}@{manifest.version}, {manifest.content_digest}",
        f"dtype: {UNSIGNED[manifest.dtype]}",
        f"vocab_size: {manifest.tokenizer.vocab_size}",
        f"eos_token_id: {'null' if manifest.tokenizer.eos_id is None else manifest.tokenizer.eos_id}",
        # Where it is set, documents are taken to begin with it: only where they do.
        *([f"bos_token_id: {manifest.tokenizer.bos_id}"] if manifest.tokenizer.prepend_bos else []),
        "paths:",
        *(f"- {shard.name}.npy" for shard in corpus.shards if shard.subset == "train"),
        "holdout_paths:",
        *(f"- {shard.name}.npy" for shard in corpus.shards if shard.subset == "holdout"),
    ]
    write_atomic(folder / "dataset.yaml", ("\n".join(lines) + "\n").encode())


_TOKEN_LAYOUTS: dict[str, Callable[[Corpus, Shard, Path, str], None]] = {
    "olmo": _to_olmo,
    "datatrove": _to_datatrove,
    "megatron": _to_megatron,
}
_NOTES: dict[str, Callable[[Corpus, Path], None]] = {
    "olmo": _note_olmo,
    "megatron": _note_megatron,
}

TARGETS = ("parquet", "huggingface", *_TOKEN_LAYOUTS)

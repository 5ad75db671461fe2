"""A small corpus on the disk, whole and sealed, for tests of whatever reads one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dataprep.corpora.packing import pack_shards
from manifests.consistency import shard_order
from manifests.fingerprint import digest_bytes, digest_file, digest_value
from manifests.lists import InputFile, Shard, write_input_list
from manifests.manifest import Lineage, Manifest, Source, StepRecord, Subset, TokenizerInfo
from manifests.seal import seal_corpus, seal_shard
from manifests.shard import dtype_for_vocab, table_path, write_shard
from manifests.tables import document_schema, write_document_table

EOS_ID = 0
BOS_ID = 1


@dataclass(frozen=True)
class Part:
    """One shard to be: the lengths of its documents, end-of-text token included."""

    source: str
    subset: str
    lengths: Sequence[int]


DEFAULT_PARTS = (
    Part("code", "train", (3, 1, 4)),
    Part("code", "train", (1, 5, 9, 2)),
    Part("code", "holdout", (6,)),
    Part("prose", "train", (5, 3)),
)


def make_corpus(
    folder: Path,
    parts: Sequence[Part] = DEFAULT_PARTS,
    *,
    corpus: str = "tiny",
    version: str = "1.0.0",
    vocab_size: int = 1000,
    seed: int = 0,
    packed: Sequence[int] = (),
    prepend_bos: bool = False,
) -> Manifest:
    """Write a corpus of random tokens, a pure function of the arguments, and return its manifest.

    With `prepend_bos` each document is longer by one begin-of-text token. `packed` lists lengths of row for
    which shards get packings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(seed)
    shards: list[Shard] = []
    for part in parts:
        index = sum((part.source, part.subset) == (shard.source, shard.subset) for shard in shards)
        first = sum(shard.documents for shard in shards)
        shards.append(_make_shard(folder, part, index, first, vocab_size, generator, prepend_bos))
    (folder / "tokenizer.json").write_bytes(b"{}\n")
    write_input_list(
        folder / "inputs.parquet",
        [
            InputFile(source=source, name="a.txt", size_bytes=3, digest=digest_bytes(source.encode()))
            for source in dict.fromkeys(part.source for part in parts)
        ],
    )
    described = _describe(folder, parts, shards, corpus, version, vocab_size, prepend_bos)
    shards.sort(key=shard_order(described))
    packings = [pack_shards(folder, shards, length) for length in packed]
    return seal_corpus(folder, described.model_copy(update={"packings": packings}), shards)


def _make_shard(
    folder: Path,
    part: Part,
    index: int,
    first: int,
    vocab_size: int,
    generator: np.random.Generator,
    prepend_bos: bool,
) -> Shard:
    lengths = np.array(part.lengths, dtype=np.int64) + int(prepend_bos)
    ends = np.cumsum(lengths, dtype=np.int64)
    tokens = generator.integers(1, vocab_size, int(lengths.sum()))
    if prepend_bos:
        tokens[ends - lengths] = BOS_ID
    tokens[ends - 1] = EOS_ID
    # Keys ascend through the corpus, as they do through each source of a real one.
    keys = [(first + number).to_bytes(16, "big") for number in range(lengths.size)]
    name = f"{part.source}/{part.subset}-{index:05d}"
    (folder / part.source).mkdir(exist_ok=True)
    write_shard(folder / name, tokens, lengths, dtype_for_vocab(vocab_size))
    write_document_table(
        table_path(folder / name),
        pa.table(
            {
                "id": [None] * lengths.size,
                "source": [part.source] * lengths.size,
                "path": ["a.txt"] * lengths.size,
                "position": np.arange(lengths.size),
                "key": keys,
                "content_hash": keys,
                "token_start": ends - lengths,
                "tokens": lengths.astype(np.int32),
                "text_bytes": lengths * 4,
                "fields": [[("url", f"u{number}")] if number % 2 else None for number in range(lengths.size)],
                "cluster_size": 1 + np.arange(lengths.size) % 3,
            },
            schema=document_schema(),
        ),
    )
    return Shard(
        source=part.source,
        subset=part.subset,
        index=index,
        name=name,
        documents=int(lengths.size),
        tokens=int(lengths.sum()),
        text_bytes=int(lengths.sum()) * 4,
        max_token_id=int(tokens.max(initial=0)),
        first_key=keys[0].hex() if keys else "",
        **asdict(seal_shard(folder / name)),
    )


def _describe(
    folder: Path,
    parts: Sequence[Part],
    shards: Sequence[Shard],
    corpus: str,
    version: str,
    vocab_size: int,
    prepend_bos: bool,
) -> Manifest:
    names = list(dict.fromkeys(part.source for part in parts))
    documents = {name: sum(shard.documents for shard in shards if shard.source == name) for name in names}
    recipe = {"corpus": corpus, "version": version, "min_score": 0.65}
    return Manifest(
        corpus=corpus,
        version=version,
        dtype=dtype_for_vocab(vocab_size).name,
        tokenizer=TokenizerInfo(
            digest=digest_file(folder / "tokenizer.json").digest,
            vocab_size=vocab_size,
            eos_id=EOS_ID,
            bos_id=BOS_ID if prepend_bos else None,
            append_eos=True,
            prepend_bos=prepend_bos,
            special_tokens="text",
            engine="tokenizers",
            engine_reason="a test",
        ),
        sources={name: Source(license="CC0-1.0", subsets=_subsets(name, shards)) for name in names},
        created_by="headrace 0.0.0",
        lineage=Lineage(
            recipe=recipe,
            recipe_digest=digest_value(recipe),
            inputs_digest=digest_file(folder / "inputs.parquet").digest,
            steps=[
                StepRecord(
                    name="exact_dedup",
                    version=1,
                    parameters={},
                    sources=None,
                    documents_in={name: count + 2 for name, count in documents.items()},
                    documents_out=documents,
                    dropped={name: {"exact_duplicate": 2} for name in documents},
                )
            ],
            funnel=[{"source": name, "documents": count} for name, count in documents.items()],
            tools={"python": "3.11"},
            parents=[],
        ),
    )


def _subsets(source: str, shards: Sequence[Shard]) -> dict[str, Subset]:
    subsets: dict[str, Subset] = {}
    for name in ("train", "holdout"):
        group = [shard for shard in shards if (shard.source, shard.subset) == (source, name)]
        if group:
            subsets[name] = Subset(
                documents=sum(shard.documents for shard in group),
                tokens=sum(shard.tokens for shard in group),
                text_bytes=sum(shard.text_bytes for shard in group),
                shards=len(group),
            )
    return subsets

"""The tools themselves: Megatron-Core trains on our shards, and what Megatron-Core and datatrove write is
imported."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataprep.corpora.exporting import export
from dataprep.corpora.importing import import_corpus
from dataprep.corpora.spec import ImportSpec
from manifests.corpus import open_corpus
from manifests.shard import bin_path, dtype_for_vocab, idx_path, write_shard
from manifests.verify import verify
from tests.dataprep.corpora import tokenfiles as files
from tests.dataprep.corpora.test_importing import documents_in

pytestmark = pytest.mark.slow

SEQUENCE_LENGTH = 32


def megatron(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its optional parts, which are not needed here
        return pytest.importorskip(f"megatron.core.datasets.{name}")


class Ids:
    """What GPTDataset asks of a tokenizer."""

    def __init__(self, vocab_size: int, eod: int) -> None:
        self.vocab_size, self.eod, self.pad = vocab_size, eod, eod - 1
        self.unique_identifiers = {"class": "Ids", "vocab_size": vocab_size}


def gpt_dataset(prefix: Path, vocab_size: int, eod: int, cache: Path) -> Any:
    """All sequences of a shard, once, as Megatron-Core would train on it."""
    gpt, indexed, utils = megatron("gpt_dataset"), megatron("indexed_dataset"), megatron("utils")
    config = gpt.GPTDatasetConfig(
        random_seed=17,
        sequence_length=SEQUENCE_LENGTH,
        blend=([str(prefix)], None),
        split="1,0,0",
        path_to_cache=str(cache),
        tokenizer=Ids(vocab_size, eod),
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
    )
    dataset = indexed.IndexedDataset(str(prefix))
    indices = np.arange(len(dataset), dtype=np.int32)
    return gpt.GPTDataset(dataset, str(prefix), indices, None, utils.Split.train, config)


def check_samples(dataset: Any, documents: list[list[int]]) -> None:
    """Every sample is a window of the documents laid end to end in the order that Megatron drew."""
    stream = files.flat([documents[index] for index in dataset.document_index])
    assert sorted(dataset.document_index) == list(range(len(documents)))
    assert len(dataset) == (len(stream) - 1) // SEQUENCE_LENGTH > 5
    for sample, place in enumerate(dataset.shuffle_index[: len(dataset)]):
        start = int(place) * SEQUENCE_LENGTH
        found = dataset[sample]
        assert found["tokens"].tolist() == stream[start : start + SEQUENCE_LENGTH]
        assert found["labels"].tolist() == stream[start + 1 : start + 1 + SEQUENCE_LENGTH]


def test_gpt_dataset_reads_a_run(made: Path, tmp_path: Path) -> None:
    export(made, tmp_path / "out", "megatron")
    corpus = open_corpus(made)
    for shard in corpus.shards:
        if shard.tokens < 300:
            continue
        documents = [corpus.reader(shard).document(row).tolist() for row in range(shard.documents)]
        tokenizer = corpus.manifest.tokenizer
        assert tokenizer.eos_id is not None
        for folder in (made, tmp_path / "out"):
            dataset = gpt_dataset(
                folder / shard.name, tokenizer.vocab_size, tokenizer.eos_id, tmp_path / "cache"
            )
            check_samples(dataset, documents)


@pytest.mark.parametrize("vocab_size", [65_499, 65_500, 65_535, 65_536, 70_000])
def test_gpt_dataset_reads_every_width(vocab_size: int, tmp_path: Path) -> None:
    """The vocabularies around the borders of the dtypes, greatest ids included."""
    generator = np.random.default_rng(vocab_size)
    documents = [generator.integers(0, vocab_size, count).tolist() for count in generator.integers(1, 90, 30)]
    documents[3][-1] = vocab_size - 1
    lengths = np.array([len(document) for document in documents])
    write_shard(tmp_path / "s", np.array(files.flat(documents)), lengths, dtype_for_vocab(vocab_size))
    check_samples(gpt_dataset(tmp_path / "s", vocab_size, 0, tmp_path / "cache"), documents)


@pytest.mark.parametrize("dtype", ["uint16", "int32"])
def test_what_megatrons_builder_writes(dtype: str, tmp_path: Path) -> None:
    indexed = megatron("indexed_dataset")
    documents = files.encoded()
    builder = indexed.IndexedDatasetBuilder(str(tmp_path / "a.bin"), dtype=getattr(np, dtype))
    for document in documents[:20]:
        builder.add_document(document, [len(document)])
    for document in documents[20:]:  # of two sequences
        builder.add_document(document, [1, len(document) - 1])
    builder.finalize(str(tmp_path / "a.idx"))
    spec = ImportSpec("c", "1.0.0", files.write_tokenizer(tmp_path), {"web": [str(tmp_path / "a.bin")]})
    made = import_corpus(spec, tmp_path / "out")
    assert documents_in(tmp_path / "out") == documents and verify(tmp_path / "out").ok
    assert made.manifest.dtype == dtype and "32 sequences were joined" in made.notes[0]


def test_what_megatrons_builder_merges(tmp_path: Path) -> None:
    indexed = megatron("indexed_dataset")
    documents = files.encoded()
    for name, part in (("a", documents[:9]), ("b", documents[9:])):
        lengths = np.array([len(document) for document in part])
        write_shard(tmp_path / name, np.array(files.flat(part)), lengths, "uint16")
    builder = indexed.IndexedDatasetBuilder(str(bin_path(tmp_path / "both")), dtype=np.uint16)
    builder.add_index(str(tmp_path / "a"))
    builder.add_index(str(tmp_path / "b"))
    builder.finalize(str(idx_path(tmp_path / "both")))
    tokenizer = files.write_tokenizer(tmp_path)
    spec = ImportSpec("c", "1.0.0", tokenizer, {"web": [str(tmp_path / "both.bin")]})
    import_corpus(spec, tmp_path / "out")
    assert documents_in(tmp_path / "out") == documents


@pytest.mark.parametrize("writer", ["megatron_tokenizer", "tokenizer"])
def test_what_datatrove_tokenizes(writer: str, tmp_path: Path) -> None:
    tokens = pytest.importorskip(f"datatrove.pipeline.tokens.{writer}")
    from datatrove.data import Document

    tokenizer = files.write_tokenizer(tmp_path)
    texts = [
        text for text in files.TEXTS if "<|endoftext|>" not in text
    ]  # which datatrove takes for the token
    pipe = [Document(text=text, id=str(number)) for number, text in enumerate(texts)]
    options = {"tokenizer_name_or_path": str(tokenizer), "eos_token": "<|endoftext|>"}
    folder = tmp_path / "theirs"
    if writer == "megatron_tokenizer":
        step = tokens.MegatronDocumentTokenizer(str(folder), **options)
    else:
        step = tokens.DocumentTokenizer(str(folder), shuffle_documents=False, **options)
    for _ in step.run(iter(pipe)) or ():
        pass
    spec = ImportSpec("c", "1.0.0", tokenizer, {"web": [str(folder)]})
    made = import_corpus(spec, tmp_path / "out")
    assert documents_in(tmp_path / "out") == files.encoded(texts)
    assert made.manifest.tokenizer.append_eos and verify(tmp_path / "out").ok
    if writer == "tokenizer":
        assert "its metadata names the tokenizer" in made.notes[0]


def test_datatrove_reads_what_is_exported(made: Path, tmp_path: Path) -> None:
    """Its own loader of `.ds` files, token for token."""
    dataset = pytest.importorskip("datatrove.utils.dataset")
    export(made, tmp_path / "out", "datatrove")
    corpus = open_corpus(made)
    for shard in corpus.shards:
        tokens = np.asarray(corpus.reader(shard).tokens)
        path = tmp_path / "out" / f"{shard.name}.ds"
        theirs = dataset.DatatroveFileDataset(
            str(path), seq_len=31, token_size=2, return_positions=True, fsize=path.stat().st_size
        )
        read = [theirs[row]["input_ids"].tolist() for row in range(len(theirs))]
        assert files.flat(read) == tokens[: 32 * len(theirs)].tolist()

"""Megatron-Core's own reader sees every token of every shard of a real run."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from dataprep.run import run
from manifests.store import open_corpus
from tests.e2e.corpora import make_recipe, write_inputs


@pytest.mark.slow
def test_token_for_token(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its optional parts, which are not needed here
        indexed_dataset = pytest.importorskip("megatron.core.datasets.indexed_dataset")
    write_inputs(tmp_path / "in")
    run(make_recipe(tmp_path), workers=0)
    corpus = open_corpus(tmp_path / "out")
    assert len(corpus.shards) >= 6
    for shard in corpus.shards:
        theirs = indexed_dataset.IndexedDataset(str(tmp_path / "out" / shard.name), mmap=True)
        ours = corpus.reader(shard)
        assert len(theirs) == ours.num_documents
        for index in range(len(theirs)):
            np.testing.assert_array_equal(theirs[index], ours.document(index))

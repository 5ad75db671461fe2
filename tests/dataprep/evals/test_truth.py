"""What is found of contamination with known answers in the data pack, by each definition."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from benchmarks.decontaminate import by_definition, found_of_plants
from dataprep.evals.definitions import DEFINITIONS, Name
from dataprep.evals.index import build_index
from dataprep.evals.sets import eval_files, read_set

LEAST_RECALL = {"longest": 0.99, "gpt3": 0.95, "palm": 0.75, "llama3": 0.95, "tulu3": 0.95, "datatrove": 0.99}


@pytest.mark.parametrize("name", get_args(Name))
def test_planted_documents(name: Name, data_pack: Path) -> None:
    """Verbatim, with its answer, in other case and punctuation, other white space, as HTML, cut after 60 %;
    and none of the documents with an example's first 6 words, nor of those with none."""
    figures = by_definition(data_pack, name)
    print(name, figures)
    assert figures["recall"] >= LEAST_RECALL[name]
    assert figures["precision"] == 1.0
    if name == "longest":
        assert figures["recall_replaced"] >= 0.8


@pytest.mark.slow
def test_every_set_planted_into_clean_documents(data_pack: Path) -> None:
    """`longest`: at least 99 % verbatim, 95 % reformatted, 80 % with one word in fifteen changed, and at most
    0.5 % of the documents without a plant."""
    sets = [read_set(file) for file in eval_files([str(data_pack / "evals" / "*.jsonl.gz")])]
    figures = found_of_plants(data_pack, sets, build_index(sets, DEFINITIONS["longest"]), 5_000)
    print(figures)
    assert figures["recall_verbatim"] >= 0.99
    assert figures["recall_reformatted"] >= 0.95
    assert figures["recall_edited"] >= 0.8
    assert figures["clean_documents"] >= 5_000
    assert figures["false_positive_rate"] <= 0.005

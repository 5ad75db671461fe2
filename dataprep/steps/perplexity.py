"""perplexity: how much a KenLM language model is surprised by a document, as CCNet counts it (Wenzek et al.
2020, arXiv:1911.00359; cc_net/perplexity.py at 0714a6f).

    - perplexity: {model: en.arpa.bin, tokenizer: en.sp.model, max_perplexity: 1000, only: [web]}

With a SentencePiece `tokenizer` the whole text is normalized and cut into pieces, which are scored as one
line. Without one each line of the text is normalized and scored, its words between white space. A line counts
one token more than it has, for its end. The perplexity is 10 ** (-sum of log10 probabilities / tokens); CCNet
rounds it to one decimal place. A text without tokens (an empty one) has none, and is never dropped.

Models are files of the user's: KenLM's own `lmplz` makes them, which no Python package has. Whoever wants
CCNet's buckets (head, middle, tail) routes a source by `perplexity.perplexity_milli`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from importlib.metadata import version
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from dataprep.batch import Batch
from dataprep.steps.base import Check, Params, Rule, Signals, above, below, refuse_crossed, unicode_version
from dataprep.steps.ccnet_text import normalized
from dataprep.steps.model_file import file_digest
from manifests.errors import UserError

NONE = -1
"""`perplexity_milli` of a text without tokens."""

MOST = 2**63 - 1
_CONTEXT = Context(prec=30, Emax=10**9, Emin=-(10**9))

Path = Annotated[str, Field(min_length=1)]
Limit = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PerplexityParams(Params):
    """model      a KenLM model, as ARPA text or in KenLM's binary form
    tokenizer  a SentencePiece model, or null for words between white space
    normalize  what is done to the text first
    """

    model: Path
    tokenizer: Path | None = None
    definition: Literal["ccnet"] = "ccnet"
    normalize: Literal["ccnet", "none"] = "ccnet"
    min_perplexity: Limit | None = None
    max_perplexity: Limit | None = None

    @model_validator(mode="after")
    def _limits_leave_something(self) -> PerplexityParams:
        refuse_crossed(self, ("min_perplexity", "max_perplexity"))
        return self


def depends(params: PerplexityParams) -> Mapping[str, str]:
    """The bytes of the models, wherever they lie, and the versions of what reads them."""
    found = {**unicode_version(params), "model": file_digest(params.model, "perplexity")}
    found["kenlm"] = _version("kenlm")
    if params.tokenizer is not None:
        found["tokenizer"] = file_digest(params.tokenizer, "perplexity")
        found["sentencepiece"] = _version("sentencepiece")
    return found


def measure(batch: Batch, params: PerplexityParams) -> Signals:
    """int64 [n]: log10_micro (sum of log10 probabilities, in millionths), tokens, perplexity_milli."""
    logs, tokens, perplexities = [], [], []
    if len(batch):
        score, pieces = _model(params.model), _tokenizer(params.tokenizer)
        for text in batch.texts.to_strings():
            log10, count = score_text(text, score, pieces, params.normalize == "ccnet")
            logs.append(round(log10 * 1e6))
            tokens.append(count)
            perplexities.append(perplexity_milli(logs[-1], count))
    columns = {"log10_micro": logs, "tokens": tokens, "perplexity_milli": perplexities}
    return {name: np.array(values, dtype=np.int64) for name, values in columns.items()}


def checks(signals: Signals, params: PerplexityParams) -> Sequence[Check]:
    perplexity = np.where(signals["tokens"] > 0, signals["perplexity_milli"] / 1000, np.nan)
    return (
        below("low_perplexity", perplexity, params.min_perplexity),
        above("high_perplexity", perplexity, params.max_perplexity),
    )


def score_text(
    text: str,
    score: Callable[[str], float],
    pieces: Callable[[str], list[str]] | None,
    normalize: bool,
) -> tuple[float, int]:
    """Sum of log10 probabilities, and tokens. `score`: of one line, its words between spaces."""
    if pieces is not None:
        text = " ".join(pieces(normalized(text) if normalize else text))
        normalize = False
    if not text:
        return 0.0, 0
    lines = [normalized(line) if normalize else line for line in text.split("\n")]
    return math.fsum(score(line) for line in lines), sum(len(line.split()) + 1 for line in lines)


def perplexity_milli(log10_micro: int, tokens: int) -> int:
    """The perplexity in thousandths, from whole numbers alone, so that it is the same on every machine."""
    if not tokens:
        return NONE
    exponent = _CONTEXT.divide(Decimal(-log10_micro), Decimal(1_000_000 * tokens))
    value = _CONTEXT.power(Decimal(10), exponent)
    return MOST if value > MOST // 1000 else int((value * 1000).to_integral_value())


def _model(path: str) -> Callable[[str], float]:
    stat = os.stat(path)
    return _load_model(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=2)
def _load_model(path: str, size_bytes: int, mtime_ns: int) -> Callable[[str], float]:
    import kenlm

    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        score: Callable[[str], float] = kenlm.Model(path, config).score
    except UnicodeDecodeError as error:  # KenLM's message quotes bytes of the file
        raise UserError(
            "KenLM cannot read the model: it is no text and no binary model", where=path
        ) from error
    except (OSError, RuntimeError) as error:
        message = " ".join(str(error).split())
        raise UserError(f"KenLM cannot read the model: {message[:300]}", where=path) from error
    return score


def _tokenizer(path: str | None) -> Callable[[str], list[str]] | None:
    if path is None:
        return None
    stat = os.stat(path)
    return _load_tokenizer(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=2)
def _load_tokenizer(path: str, size_bytes: int, mtime_ns: int) -> Callable[[str], list[str]]:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.Load(path)
    except (OSError, RuntimeError) as error:
        raise UserError(f"SentencePiece cannot read the tokenizer: {error}", where=path) from error
    pieces: Callable[[str], list[str]] = processor.EncodeAsPieces
    return pieces


def _version(package: str) -> str:
    try:
        __import__(package)
        return version(package)
    except ImportError as error:
        raise UserError(
            f"the step perplexity needs the package {package}: {error}",
            where="step perplexity",
            hint="pip install 'headrace[kenlm]'; KenLM is compiled then, by a C++ compiler and CMake",
        ) from error


PERPLEXITY = Rule(
    name="perplexity",
    version=1,
    params=PerplexityParams,
    measure=measure,
    checks=checks,
    # Which files the models are is not in the key: their bytes are, through `depends`.
    measuring=frozenset({"definition", "normalize"}),
    depends=depends,
    expensive=True,
)

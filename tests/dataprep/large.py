"""One document of 50 MB: counts beyond 2^24, offsets far into a text, tables that had to grow.

It is one text many times over, so that the slow twins can remember what they made of a part of it, or be
asked about the part alone where nothing looks across its seam (a part ends with white space and line breaks).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from tests.reference.sentences import sentences
from tests.reference.words import words
from tests.reference.zstd_lines import texts_of

LARGE_BYTES = 50_000_000
SEAM = " \r\n\n"


def times_of(part: str) -> int:
    """How often the part makes a large document."""
    return LARGE_BYTES // len(part.encode()) + 1


def batch_of(text: str) -> Batch:
    return Batch.of(Texts.from_strings([text]))


@cache
def part(data_pack: Path, articles: int = 4000) -> str:
    """English articles; 4,000 are 6 MB."""
    return "\n\n".join(texts_of(data_pack / "wiki" / "wiki_en.jsonl.zst", articles)) + SEAM


@cache
def document(data_pack: Path) -> tuple[str, Batch]:
    """The part as often as it takes."""
    text = part(data_pack) * times_of(part(data_pack))
    return text, batch_of(text)


@cache
def words_of_document(data_pack: Path) -> list[str]:
    once = part(data_pack)
    return words(once) * times_of(once)


@cache
def sentences_of_document(data_pack: Path) -> list[str]:
    return sentences(document(data_pack)[0])


def everywhere(once: str, found: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """int64[k, 2]: places (start, size) in bytes of the part, wherever they come in the document."""
    table = np.array(found, dtype=np.int64).reshape(-1, 2)
    every = np.tile(table, (times_of(once), 1))
    every[:, 0] += np.repeat(np.arange(times_of(once)) * len(once.encode()), len(table))
    return every

"""Exact substring deduplication of text in memory, one core; part of `dedup`.

All phases, with files in a temporary folder: windows, parts, comparison, ranges. Tokens are made beforehand
(the `tokens` benchmark times that), once by GPT-2's vocabulary and once as bytes; MB are of text. The text
has much to cut: four versions of one manual, translated manual pages. `*_share_of_runs` is the share of CPU
time of the first phase alone. No other tool beside it: those of the field call a Rust program that
builds suffix arrays, and that each user compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.measure import MEGABYTE, alternate
from benchmarks.steps import strings_of
from benchmarks.tokens import load_tokenizer
from dataprep.decide.layout import Split, layout_of
from dataprep.decide.substrings import cut_ranges, runs_of_split
from dataprep.kernels.texts import Texts
from dataprep.tokenizers import Encoder, strip_special
from dataprep.tokenizers.spelling import bytes_as_tokens, spelling_of, tokenized

FILES = (
    "wiki/wiki_en.jsonl.zst",
    "docs_versions/django_docs_4_versions.jsonl.zst",
    "manpages/manpages.jsonl.zst",
    "books/books_fr_de_hu_uk_el_ja.jsonl.zst",
    "peps/peps.jsonl.zst",
)
LENGTHS = {"substring": 50, "substring_bytes": 200}
MEMORY_BYTES = 250 * MEGABYTE


def figures(data_pack: Path, rounds: int, quick: bool) -> dict[str, Any]:
    """`substring_*`: with GPT-2's tokens; `substring_bytes_*`: with bytes."""
    strings = [strings_of(data_pack / name) for name in FILES]
    texts = [Texts.from_strings(each[::5] if quick else each) for each in strings]
    megabytes = sum(each.num_bytes for each in texts) / MEGABYTE
    splits = {"substring": _tokens(texts, data_pack), "substring_bytes": _bytes(texts)}
    works: dict[str, Callable[[], object]] = {}
    found: dict[str, Any] = {"substring_mb": round(megabytes, 1)}
    for name, own in splits.items():
        cut_all(own[:1], LENGTHS[name])
        works[name] = partial(cut_all, own, LENGTHS[name])
        works[f"{name}_runs"] = partial(runs_of_all, own, LENGTHS[name])
        tokens = sum(int(split.token_offsets[-1]) for split in own)
        found[f"{name}_cut_ratio"] = round(cut_all(own, LENGTHS[name]) / tokens, 4)
        found[f"{name}_runs_per_token"] = round(runs_of_all(own, LENGTHS[name]) / tokens, 4)
    seconds = alternate(works, rounds)
    for name, own in splits.items():
        tokens = sum(int(split.token_offsets[-1]) for split in own)
        found[f"{name}_mb_s"] = round(megabytes / seconds[name], 1)
        found[f"{name}_tokens_s"] = round(tokens / seconds[name])
        found[f"{name}_share_of_runs"] = round(seconds[f"{name}_runs"] / seconds[name], 2)
    return found


def cut_all(splits: list[Split], length: int) -> int:
    """Tokens that are cut."""
    with TemporaryDirectory() as folder:
        ranges = list(cut_ranges(splits, length, Path(folder), MEMORY_BYTES))
    return sum(int((each[:, 2] - each[:, 1]).sum()) for each in ranges)


def runs_of_all(splits: list[Split], length: int) -> int:
    """Runs of windows: the first phase alone, without its files."""
    layout = layout_of(splits)
    return sum(len(runs) for split in splits for runs, _ in runs_of_split(split, layout, length, 8))


def _tokens(texts: list[Texts], data_pack: Path) -> list[Split]:
    tokenizer_json = load_tokenizer(data_pack)
    encoder = Encoder(strip_special(tokenizer_json, "text"), "gigatoken", None)
    spelling = spelling_of(tokenizer_json)
    return _ranked([tokenized(each, encoder, spelling) for each in texts])


def _bytes(texts: list[Texts]) -> list[Split]:
    return _ranked([bytes_as_tokens(each) for each in texts])


def _ranked(parts: list[tuple[Any, Any]]) -> list[Split]:
    """The first documents are the best."""
    firsts = np.cumsum([0, *(offsets.size - 1 for _, offsets in parts)])
    return [
        Split(tokens, offsets, np.arange(offsets.size - 1, dtype=np.int64) + first)
        for (tokens, offsets), first in zip(parts, firsts, strict=False)
    ]

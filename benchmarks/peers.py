"""A whole pipeline of datatrove's own blocks. A peer that is not installed is reported as absent, never
guessed.

Only what a peer can do is compared: datatrove has no step for Unicode forms, so ours leaves it out too. It
works at less than 1 MB/s, so it gets a fixed 2 MB: every k-th document. What helps it is granted: documents
stay in memory between blocks, whose executor would write and read them, and loading its index of evaluation
sets is not counted. Two of its blocks need a hand, which changes nothing of what they do:

- with xxhash 4, which takes bytes alone, its hash functions fail on the text that it hands them; they are
  given the text's bytes
- its indexer of evaluation sets refuses to start without lighteval, so its hashes are asked of it directly
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import MEGABYTE, Laps
from dataprep.evals.sets import EvalSet

SAMPLE_BYTES = 2 * MEGABYTE
FEW = 20  # documents that make a peer load what it needs
BUCKETS = 14

Work = Callable[[], dict[str, float]]
"""Does everything once; CPU seconds of each step."""


def has_datatrove() -> bool:
    return all(find_spec(name) is not None for name in ("datatrove", "spacy", "regex", "orjson"))


def sample_lines(texts: list[str], folder: Path) -> tuple[Path, Path, int]:
    """Files of a few documents and of SAMPLE_BYTES of text, evenly spread over `texts`; its bytes."""
    sizes = [len(text.encode()) for text in texts]
    stride = -(-sum(sizes) // SAMPLE_BYTES)
    chosen = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(texts[::stride])]
    few, sample = folder / "few.jsonl", folder / "sample.jsonl"
    few.write_text("\n".join(chosen[:FEW]) + "\n", encoding="utf-8")
    sample.write_text("\n".join(chosen) + "\n", encoding="utf-8")
    return few, sample, sum(sizes[::stride])


def write_index(sets: Iterable[EvalSet], folder: Path) -> None:
    """datatrove's index of evaluation sets: of each a file of hashes."""
    from datatrove.pipeline.decont.n_grams import NGramsDecontFilter, NGramsDecontIndexer

    _hash_bytes()
    folder.mkdir()
    # The filter has what the indexer's method asks for: settings, hash function, words.
    asked: Any = NGramsDecontFilter(str(folder))
    for each in sets:
        hashes: set[int] = set()
        for example in each.examples:
            hashes.update(NGramsDecontIndexer.compute_hashes(asked, example.answer, example.question))
        np.array(sorted(hashes), dtype=np.uint64).tofile(folder / f"{each.name}.index.hashes")


def datatrove(lines: Path, tokenizer: Path, index: Path, folder: Path) -> Work:
    """Reads, judges by the same rules, deduplicates, decontaminates, tokenizes, shuffles and writes; in this
    process."""
    from datatrove.pipeline.decont.n_grams import NGramsDecontFilter
    from datatrove.pipeline.filters import FineWebQualityFilter, GopherQualityFilter, GopherRepetitionFilter
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer
    from loguru import logger

    logger.remove()
    _hash_bytes()
    decontaminate = NGramsDecontFilter(str(index))
    decontaminate.load_index_hashes()
    numbers = count()

    def work() -> dict[str, float]:
        place = folder / str(next(numbers))
        lap = Laps()
        documents = list(JsonlReader(str(lines.parent), glob_pattern=lines.name).run(None, 0, 1))
        lap("read")
        for name, rules in {
            "gopher_quality": GopherQualityFilter(),
            "gopher_repetition": GopherRepetitionFilter(),
            "fineweb_quality": FineWebQualityFilter(),
        }.items():
            documents = list(rules.run(documents, 0, 1))
            lap(name)
        with contextlib.redirect_stderr(io.StringIO()):  # progress bars
            documents = _without_copies(documents, place)
            lap("exact_dedup")
            documents = _without_near_copies(documents, place)
            lap("minhash_dedup")
        documents = list(decontaminate.run(documents, 0, 1))
        lap("decontaminate")
        step = DocumentTokenizer(str(place / "tokens"), tokenizer_name_or_path=str(tokenizer), seed=17)
        step.run(documents, 0, 1)
        lap("tokenize")
        return lap.seconds

    return work


def _text_of(document: Any) -> str:
    text: str = document.text
    return text


# datatrove chooses the hash function by the type itself, which is a string where annotations are postponed.
_text_of.__annotations__["return"] = str


def _without_copies(documents: list[Any], place: Path) -> list[Any]:
    from datatrove.pipeline.dedup.exact_dedup import (
        ExactDedupConfig,
        ExactDedupFilter,
        ExactDedupSignature,
        ExactFindDedups,
    )

    config = ExactDedupConfig(content_getter=_text_of)
    hashes, copies = str(place / "hashes"), str(place / "copies")
    ExactDedupSignature(hashes, config).run(documents, 0, 1)
    ExactFindDedups(hashes, copies, config).run(None, 0, 1)
    return list(ExactDedupFilter(copies, config).run(documents, 0, 1))


def _without_near_copies(documents: list[Any], place: Path) -> list[Any]:
    from datatrove.pipeline.dedup import MinhashDedupFilter, MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupBuckets, MinhashDedupCluster

    config = MinhashConfig(num_buckets=BUCKETS)
    signatures, pairs, clusters = str(place / "signatures"), str(place / "pairs"), str(place / "clusters")
    MinhashDedupSignature(signatures, config).run(documents, 0, 1)
    for bucket in range(BUCKETS):
        MinhashDedupBuckets(signatures, pairs, config=config).run(None, bucket, BUCKETS)
    MinhashDedupCluster(pairs, clusters, config=config).run(None, 0, 1)
    return list(MinhashDedupFilter(clusters).run(documents, 0, 1))


def _hash_bytes() -> None:
    import xxhash
    from datatrove.utils.hashes import xxhash as theirs

    def bytes_of(data: str | bytes) -> bytes:
        return data.encode() if isinstance(data, str) else data

    theirs.xxhash64 = lambda data: xxhash.xxh64_intdigest(bytes_of(data))
    theirs.xxhash32 = lambda data: xxhash.xxh32_intdigest(bytes_of(data))

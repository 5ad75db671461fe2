"""How right and how complete the removal of near-duplicates is, against all pairs, beside other tools.

precision   of the removed documents those rightly so. Ours names the document that stays in its stead, and
            the two must reach the threshold. The others name none, so any document that they keep will do.
recall      of the pairs at the threshold + 0.1 or more those of which a member at least is removed
recall_bin  the same of the pairs from the threshold + 0.1 up to + 0.15

Similarity is that of sets of our `plain` 5-grams of words, which is what the others come nearest to:
datatrove leaves numbers and accents as they are, but its words are spaCy's. It runs its three stages by their
own classes, text-dedup its own command, rensa its own index. All have 14 bands of 8 values and 5-grams of
words.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers import has_datatrove
from benchmarks.similar_pairs import FEW, MANY, THRESHOLD_PPM, Truth, strings_of, truth_of
from dataprep.decide.near import near_duplicates
from dataprep.kernels.shingles import jaccard_ppm
from dataprep.kernels.texts import Texts

Gone = npt.NDArray[np.bool_]


def quality(data_pack: Path, quick: bool) -> dict[str, Any]:
    """Ours on all documents; ours and the peers on a part of them (a fifth of that when quick)."""
    figures: dict[str, Any] = {}
    few = [text for path in FEW for text in strings_of(data_pack / path)]
    if not quick:
        strings = [*few, *(text for path in MANY[len(FEW) :] for text in strings_of(data_pack / path))]
        start = time.process_time()
        truth = truth_of(Texts.from_strings(strings))
        figures |= {"truth_seconds": round(time.process_time() - start, 1), "documents": len(strings)}
        figures |= {"similar_pairs": len(truth.pairs), **_ours(truth, "exact")}
        figures["estimate"] = _ours(truth, "estimate")
    else:
        few = few[: len(few) // 5]
    truth = truth_of(Texts.from_strings(few))
    peers: dict[str, Any] = {"documents": len(few), "similar_pairs": len(truth.pairs)}
    peers["ours"] = _ours(truth, "exact")
    for name, (present, peer) in PEERS.items():
        peers[name] = _theirs(truth, peer, few) if present() else "absent"
    return figures | {"beside_peers": peers} if figures else peers["ours"] | {"beside_peers": peers}


def _ours(truth: Truth, verify: str) -> dict[str, Any]:
    start = time.process_time()
    found = near_duplicates(truth.texts, np.arange(len(truth.texts)), THRESHOLD_PPM, verify=verify)
    seconds = time.process_time() - start
    gone = np.flatnonzero(~found.kept)
    named = np.column_stack([gone, found.match[gone]])
    right = jaccard_ppm(truth.hashes, truth.hash_offsets, named) >= THRESHOLD_PPM
    return {"precision": _share(right), **_recall(truth, ~found.kept), "seconds": round(seconds, 1)}


def _theirs(truth: Truth, peer: Callable[[list[str], Path], Gone], strings: list[str]) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        start = time.monotonic()
        gone = peer(strings, Path(folder))
        seconds = time.monotonic() - start
    right = np.zeros(gone.size, dtype=bool)
    for a, b in ((0, 1), (1, 0)):
        right[truth.pairs[~gone[truth.pairs[:, b]], a]] = True
    return {"precision": _share(right[gone]), **_recall(truth, gone), "seconds": round(seconds, 1)}


def _recall(truth: Truth, gone: Gone) -> dict[str, Any]:
    found: Gone = np.any(gone[truth.pairs], axis=1)
    sure = truth.similarity_ppm >= THRESHOLD_PPM + 100_000
    bin_ = sure & (truth.similarity_ppm < THRESHOLD_PPM + 150_000)
    return {"recall": _share(found[sure]), "recall_bin": _share(found[bin_]), "removed": int(gone.sum())}


def _share(right: Gone) -> float:
    return round(float(right.mean()), 5) if right.size else 1.0


def by_datatrove(strings: list[str], folder: Path) -> Gone:
    from datatrove.data import Document
    from datatrove.pipeline.dedup.minhash import (
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupSignature,
    )
    from datatrove.utils.hashing import HashConfig
    from datatrove.utils.text import TextNormConfig
    from loguru import logger

    logger.remove()
    config = MinhashConfig(
        norm_config=TextNormConfig(norm_numbers=False, norm_unicode_diacritics=False),
        hash_config=HashConfig(hash_fc="sha1"),  # as FineWeb had it; the default fails with xxhash 4
    )
    signatures, buckets, clusters = (str(folder / name) for name in ("signatures", "buckets", "clusters"))
    documents = (Document(text=text, id=str(row)) for row, text in enumerate(strings))
    MinhashDedupSignature(signatures, config).run(documents, 0, 1)
    for bucket in range(config.num_buckets):
        MinhashDedupBuckets(signatures, buckets, config=config).run(None, bucket, config.num_buckets)
    MinhashDedupCluster(buckets, clusters, config).run(None, 0, 1)
    gone = np.zeros(len(strings), dtype=bool)
    gone[np.fromfile(next(Path(clusters).glob("*.remove")), dtype="<u4")] = True
    return gone


def by_text_dedup(strings: list[str], folder: Path) -> Gone:
    from datasets import load_from_disk

    lines = folder / "texts.jsonl"
    with lines.open("w", encoding="utf-8") as file:
        for row, text in enumerate(strings):
            file.write(json.dumps({"text": text, "row": row}) + "\n")
    options = {"path": "json", "data_files": lines, "split": "train", "column": "text", "ngram": 5}
    options |= {"num_perm": 112, "b": 14, "r": 8, "output": folder / "kept", "cache_dir": folder / "cache"}
    arguments = [argument for name, value in options.items() for argument in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "text_dedup.minhash", *arguments, "--num_proc", "1"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    kept = np.zeros(len(strings), dtype=bool)
    kept[load_from_disk(str(folder / "kept"))["row"]] = True
    # It leaves texts of less than five words out of its output; they are no duplicates of anything.
    return ~kept & np.array([len(re.split(r"\W", text.lower())) >= 5 for text in strings])


def by_rensa(strings: list[str], folder: Path) -> Gone:
    from rensa import RMinHash, RMinHashDeduplicator

    kept = RMinHashDeduplicator(THRESHOLD_PPM / 10**6, 112, True, 14, 1)
    gone = np.zeros(len(strings), dtype=bool)
    for row, text in enumerate(strings):
        words = re.findall(r"\w+", text.lower())
        sketch = RMinHash(112, 1)
        sketch.update([" ".join(words[at : at + 5]) for at in range(max(1, len(words) - 4))])
        gone[row] = not kept.add(str(row), sketch)
    return gone


PEERS: dict[str, tuple[Callable[[], bool], Callable[[list[str], Path], Gone]]] = {
    "datatrove": (has_datatrove, by_datatrove),
    "text_dedup": (lambda: bool(find_spec("text_dedup") and find_spec("datasets")), by_text_dedup),
    "rensa": (lambda: find_spec("rensa") is not None, by_rensa),
}

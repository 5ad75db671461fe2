"""MinHash signatures of English text in memory, one core, and two other makers of signatures beside ours; how
right the choice of near-duplicates is (`near_quality.py`), and what it costs (`planted.py`).

Signatures are all made from the same texts: the n-grams of 5 words, 112 permutations. datasketch and rensa
get the n-grams from two lines of Python, as their users write them (`vs_*`), and once more ready-made, so
that only their own work counts (`vs_*_shingled`: ours still starts from the text). datasketch hashes by the
function that makes its signatures equal to ours, which is faster than its own; rensa makes a matrix of all
texts at once. Figures of repeated passages come from
`substrings.py`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import substrings
from benchmarks.measure import MEGABYTE, ROUNDS, alternate
from benchmarks.near_quality import quality
from benchmarks.steps import seconds_of, strings_of
from dataprep.kernels.minhash import signatures
from dataprep.kernels.shingles import Shingling, shingle_hashes
from dataprep.kernels.texts import Texts

PEER_BYTES = 2 * MEGABYTE
"""The peers get every k-th document, about this much."""

COUNTS = (1_000_000, 20_000_000)
PERMUTATIONS = 112
WORDS = Shingling()


def run(data_pack: Path, quick: bool) -> dict[str, Any]:
    """MB of text per CPU second and core; `vs_*` are ratios of throughputs, null without the peer."""
    rounds = 3 if quick else ROUNDS
    strings = strings_of(data_pack / "wiki" / "wiki_en.jsonl.zst")
    texts = Texts.from_strings(strings[: len(strings) // 5] if quick else strings)
    ways: dict[str, Callable[[Texts], object]] = {
        "signature": partial(_signatures, WORDS),
        "signature_characters": partial(_signatures, Shingling(24, "characters")),
        "signature_datatrove": partial(_signatures, Shingling(5, "words", "datatrove")),
        "shingle_sets": lambda part: shingle_hashes(part.data, part.offsets, WORDS),
    }
    first = texts.slice(0, 1)
    figures: dict[str, Any] = {
        f"{name}_start_seconds": seconds_of(partial(way, first)) for name, way in ways.items()
    }
    works = {name: partial(way, texts) for name, way in ways.items()}
    for name, seconds in alternate(works, rounds).items():
        figures[f"{name}_mb_s"] = round(texts.num_bytes / MEGABYTE / seconds, 1)
    figures |= substrings.figures(data_pack, rounds, quick)
    figures |= _beside_peers(strings, rounds) | quality(data_pack, quick)
    figures["decide"] = {f"{count // 10**6}m": _decided(count) for count in COUNTS[: 1 if quick else None]}
    for scale, part in figures["decide"].items():
        figures[f"decide_us_per_document_{scale}"] = part["us_per_document"]
        figures["decide_rss_mb"] = max(figures.get("decide_rss_mb", 0), part["rss_mb"])
    return figures


def _decided(count: int) -> dict[str, Any]:
    """Of so many planted documents, in a process of its own, whose memory is its own."""
    command = [sys.executable, "-m", "benchmarks.planted", str(count)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def _beside_peers(strings: list[str], rounds: int) -> dict[str, Any]:
    sample = strings[:: max(1, sum(map(len, strings)) // PEER_BYTES)]
    texts = Texts.from_strings(sample)
    shingled = [shingles_of(text) for text in sample]
    peers: dict[str, Callable[[list[list[str]]], object]] = {"datasketch": _by_datasketch}
    if find_spec("rensa"):
        peers["rensa"] = _by_rensa
    works: dict[str, Callable[[], object]] = {"ours": partial(_signatures, WORDS, texts)}
    for name, peer in peers.items():
        works[name] = partial(_from_text, peer, sample)
        works[f"{name}_shingled"] = partial(peer, shingled)
    seconds = alternate(works, rounds)
    ours = seconds.pop("ours")
    figures: dict[str, Any] = {} if "rensa" in peers else {"vs_rensa": None, "rensa": "absent"}
    for name, taken in seconds.items():
        figures[f"vs_{name}"] = round(taken / ours, 1)
        figures[f"{name}_mb_s"] = round(texts.num_bytes / MEGABYTE / taken, 2)
    return figures


def shingles_of(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return [" ".join(words[at : at + 5]) for at in range(max(1, len(words) - 4))]


def _signatures(shingling: Shingling, texts: Texts) -> object:
    return signatures(texts.data, texts.offsets, shingling, PERMUTATIONS)


def _from_text(peer: Callable[[list[list[str]]], object], sample: list[str]) -> object:
    return peer([shingles_of(text) for text in sample])


def _by_datasketch(shingled: list[list[str]]) -> object:
    from datasketch import MinHash
    from xxhash import xxh3_64_intdigest

    def hash32(shingle: bytes) -> int:
        return xxh3_64_intdigest(shingle) & 0xFFFFFFFF

    sets = ([shingle.encode() for shingle in shingles] for shingles in shingled)
    return MinHash.bulk(sets, num_perm=PERMUTATIONS, hashfunc=hash32)


def _by_rensa(shingled: list[list[str]]) -> object:
    from rensa import RMinHash

    return RMinHash.digest_matrix_from_token_sets(shingled, PERMUTATIONS, 1)

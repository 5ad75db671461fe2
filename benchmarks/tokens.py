"""`tokens`: text in memory to flat arrays of token ids, end-of-text tokens and spot checks included.

mb_s is cold: every round is a new process that has never seen the text; warm_mb_s repeats a text in one
process. Both are MB (10^6) of UTF-8 over CPU seconds, medians of five. Peers run in the same rounds on one
thread, on Python strings made beforehand: `tokenizers` (encode_batch, which the pipelines of the field call;
vs_best_peer is the cold figure over its) and, where it is installed, tiktoken with the same vocabulary
(vs_tiktoken). decode_mb_s is the way back, MB of text over CPU seconds, and decode_vs_tokenizers its ratio to
`decode_batch` on the same documents. Run as a program, this is one cold round.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from benchmarks.measure import MEGABYTE, ROUNDS, alternate, cpu_seconds
from dataprep.kernels.texts import Texts
from dataprep.tokenizers import Encoder, choose_engine, describe, strip_special
from dataprep.tokenizers.backends import batches
from dataprep.tokenizers.decode import Decoder

FILES = (
    "wiki/wiki_en.jsonl.zst",
    "peps/peps.jsonl.zst",
    "books/books_fr_de_hu_uk_el_ja.jsonl.zst",
    "manpages/manpages.jsonl.zst",
    "blogs/blogs_18f_rust.jsonl.zst",
    "wiki/wiki_zh.jsonl.zst",
)
TOKENIZER = "gpt2"
CHUNK_BYTES = 4 << 20
"""Text that a pipeline hands over at a time."""


class Record(msgspec.Struct, gc=False):
    text: str


def run(data_pack: Path, quick: bool) -> dict[str, Any]:
    """The figures of `tokens`; `quick` takes 1 MB of each file, else it is 4."""
    file_bytes = MEGABYTE if quick else 4 * MEGABYTE
    texts = load_texts(data_pack, file_bytes)
    tokenizer_json = load_tokenizer(data_pack)
    encoding_json = strip_special(tokenizer_json, "text")
    choice = choose_engine(encoding_json, texts.slice(0, 100))
    encoder = Encoder(encoding_json, choice.engine, describe(tokenizer_json).eos_id)
    contestants: dict[str, Callable[[], object]] = {"ours": lambda: encode(encoder, texts)}
    contestants["tokenizers"] = tokenizers_peer(encoding_json, texts)
    if importlib.util.find_spec("tiktoken"):
        contestants["tiktoken"] = tiktoken_peer(tokenizer_json, texts)
    encode(encoder, texts)

    cold = []
    rounds: list[dict[str, float]] = []
    for _ in range(ROUNDS):
        cold.append(cold_round(data_pack, file_bytes, choice.engine))
        rounds.append(alternate(contestants, rounds=1))
    megabytes = texts.num_bytes / MEGABYTE
    rates = {name: megabytes / statistics.median(each[name] for each in rounds) for name in contestants}
    cold_rate = megabytes / statistics.median(each["seconds"] for each in cold)
    tiktoken = rates.get("tiktoken")
    return {
        "mb_s": round(cold_rate, 1),
        "warm_mb_s": round(rates["ours"], 1),
        "vs_best_peer": round(cold_rate / rates["tokenizers"], 2),
        "warm_vs_best_peer": round(rates["ours"] / rates["tokenizers"], 2),
        "vs_tiktoken": round(cold_rate / tiktoken, 2) if tiktoken else "absent",
        "peers": {f"{name}_mb_s": round(rate, 2) for name, rate in rates.items() if name != "ours"},
        **decoding(tokenizer_json, encoder, texts),
        "engine": choice.engine,
        "tokens_start_seconds": round(statistics.median(each["start_seconds"] for each in cold), 2),
        "mb": round(megabytes, 1),
    }


def decoding(tokenizer_json: str, encoder: Encoder, texts: Texts) -> dict[str, float]:
    """Figures of the way back, ours and that of `tokenizers`, one thread each."""
    from tokenizers import Tokenizer

    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tokens, lengths = encoder.encode(texts)
    decoder, reference = Decoder(tokenizer_json), Tokenizer.from_str(tokenizer_json)
    ends = lengths.cumsum().tolist()
    documents = [tokens[start:stop].tolist() for start, stop in pairwise([0, *ends])]
    decoder.decode(tokens, lengths)
    seconds = alternate(
        {
            "ours": lambda: decoder.decode(tokens, lengths),
            "tokenizers": lambda: reference.decode_batch(documents, skip_special_tokens=False),
        },
        rounds=ROUNDS,
    )
    return {
        "decode_mb_s": round(texts.num_bytes / MEGABYTE / seconds["ours"], 1),
        "decode_vs_tokenizers": round(seconds["tokenizers"] / seconds["ours"], 2),
    }


def load_texts(data_pack: Path, file_bytes: int) -> Texts:
    """The first `file_bytes` of text of each file."""
    chosen: list[bytes] = []
    for name in FILES:
        with zstandard.ZstdDecompressor().stream_reader((data_pack / name).read_bytes()) as stream:
            data = stream.read(3 * file_bytes)  # JSON escapes take more than text
        left = file_bytes
        for record in msgspec.json.Decoder(Record).decode_lines(data[: data.rfind(b"\n") + 1]):
            text = record.text.encode()
            if len(text) > left:
                break
            chosen.append(text)
            left -= len(text)
    return Texts.from_bytes(chosen)


def load_tokenizer(data_pack: Path) -> str:
    stored = (data_pack / "tokenizers" / TOKENIZER / "tokenizer.json.zst").read_bytes()
    with zstandard.ZstdDecompressor().stream_reader(stored) as stream:
        return str(stream.read().decode("utf-8"))


def encode(encoder: Encoder, texts: Texts) -> int:
    total = 0
    for chunk in batches(texts, CHUNK_BYTES):
        encoder.spot_check(chunk)
        tokens, _ = encoder.encode(chunk)
        total += tokens.size
    return total


def tokenizers_peer(encoding_json: str, texts: Texts) -> Callable[[], object]:
    from tokenizers import Tokenizer

    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tokenizer = Tokenizer.from_str(encoding_json)
    chunks = [chunk.to_strings() for chunk in batches(texts, CHUNK_BYTES)]

    def work() -> None:
        for chunk in chunks:
            for encoding in tokenizer.encode_batch(chunk, add_special_tokens=False):
                _ = encoding.ids

    return work


def tiktoken_peer(tokenizer_json: str, texts: Texts) -> Callable[[], object]:
    import tiktoken

    config = json.loads(tokenizer_json)
    pieces = byte_level_pieces(config["model"]["vocab"])
    ranks = {piece: rank for piece, rank in pieces.items() if piece != b"<|endoftext|>"}
    pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
    encoding = tiktoken.Encoding(TOKENIZER, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    chunks = [chunk.to_strings() for chunk in batches(texts, CHUNK_BYTES)]

    def work() -> None:
        for chunk in chunks:
            encoding.encode_ordinary_batch(chunk, num_threads=1)

    return work


def byte_level_pieces(vocab: dict[str, int]) -> dict[bytes, int]:
    """Vocabulary entries as the bytes that they stand for (GPT-2's `bytes_to_unicode`, backwards)."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    byte_of = {chr(byte): byte for byte in shown}
    byte_of |= {chr(256 + index): byte for index, byte in enumerate(b for b in range(256) if b not in shown)}
    return {bytes(byte_of[character] for character in piece): rank for piece, rank in vocab.items()}


def cold_round(data_pack: Path, file_bytes: int, engine: str) -> dict[str, float]:
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.tokens", str(data_pack), str(file_bytes), engine],
        stdout=subprocess.PIPE,
        check=True,
        cwd=Path(__file__).resolve().parents[1],
    )
    figures: dict[str, float] = json.loads(child.stdout)
    return figures


def cold(data_pack: Path, file_bytes: int, engine: str) -> dict[str, float]:
    """One round in this process, which must be new: seconds of encoding, and of getting ready for it."""
    tokenizer_json = load_tokenizer(data_pack)
    encoding_json = strip_special(tokenizer_json, "text")
    texts = load_texts(data_pack, file_bytes)
    start = time.process_time()
    encoder = Encoder(encoding_json, engine, describe(tokenizer_json).eos_id)
    # Compiled kernels are loaded on their first call; these three texts are all that the engine has seen.
    encode(encoder, Texts.from_strings(["a", "\u4e2d", "\ua7ce"]))
    start_seconds = time.process_time() - start
    return {"seconds": cpu_seconds(lambda: encode(encoder, texts)), "start_seconds": start_seconds}


if __name__ == "__main__":
    print(json.dumps(cold(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))

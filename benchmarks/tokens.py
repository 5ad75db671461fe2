"""`tokens`: a file of documents to shards (`shards.py`), cold and warm; beside it peers (`token_peers.py`).

Everybody reads the same JSON lines, but for the two that are given strings in memory and write nothing. mb_s
is cold: every round is a new process that has never seen the text; warm_mb_s writes the text once more with
the same encoder. Both are MB (10^6) of UTF-8 over CPU seconds, medians of five, and in turn with the peers,
which run in this process and so are warm from the second round on. vs_best_peer is the cold figure over the
best of the peers but tiktoken, a vocabulary's own engine (vs_tiktoken). `stages` has what each part of the
cold way takes of all of the text, so that 1 / mb_s adds up. decode_mb_s is the way back, MB of text over CPU
seconds, and decode_vs_tokenizers its ratio to `decode_batch` on the same documents. Run as a program, this is
one cold round.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from benchmarks.measure import MEGABYTE, ROUNDS, alternate
from benchmarks.shards import write_shards
from benchmarks.token_peers import NAMES, Record, token_peers
from dataprep.kernels.texts import Texts
from dataprep.tokenizers import Encoder, choose_engine, describe, strip_special
from dataprep.tokenizers.decode import Decoder
from manifests.shard import dtype_for_vocab

FILES = (
    "wiki/wiki_en.jsonl.zst",
    "peps/peps.jsonl.zst",
    "books/books_fr_de_hu_uk_el_ja.jsonl.zst",
    "manpages/manpages.jsonl.zst",
    "blogs/blogs_18f_rust.jsonl.zst",
    "wiki/wiki_zh.jsonl.zst",
)
TOKENIZER = "gpt2"
OTHER_ENGINE = "tiktoken"


def run(data_pack: Path, quick: bool) -> dict[str, Any]:
    """The figures of `tokens`; `quick` takes 1 MB of each file and three rounds, else it is 4 and five."""
    num_rounds = 3 if quick else ROUNDS
    texts = load_texts(data_pack, MEGABYTE if quick else 4 * MEGABYTE)
    megabytes = texts.num_bytes / MEGABYTE
    tokenizer_json = load_tokenizer(data_pack)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        documents, tokenizer = folder / "documents.jsonl", folder / "tokenizer.json"
        save_documents(documents, texts.to_strings())
        tokenizer.write_text(tokenizer_json, encoding="utf-8")
        encoding_json = strip_special(tokenizer_json, "text")
        choice = choose_engine(encoding_json, texts.slice(0, 100))
        facts = describe(tokenizer_json)
        encoder = Encoder(encoding_json, choice.engine, facts.eos_id)
        dtype = dtype_for_vocab(facts.vocab_size)
        fresh = (folder / f"ours-{number}" for number in count())
        contestants = {
            "ours": lambda: write_shards(encoder, documents, next(fresh), dtype),
            **token_peers(documents, tokenizer, folder),
        }
        write_shards(encoder, documents, next(fresh), dtype)
        cold: list[dict[str, Any]] = []
        rounds: list[dict[str, float]] = []
        for number in range(num_rounds):
            cold.append(cold_round(documents, tokenizer, folder / f"cold-{number}", choice.engine))
            rounds.append(alternate(contestants, rounds=1))
    rates = {name: megabytes / statistics.median(each[name] for each in rounds) for name in contestants}
    warm_rate = rates.pop("ours")
    cold_rate = megabytes / statistics.median(each["seconds"] for each in cold)
    best = max(rate for name, rate in rates.items() if name != OTHER_ENGINE)
    parts = {name: statistics.median(each["parts"][name] for each in cold) for name in cold[0]["parts"]}
    return {
        "mb_s": round(cold_rate, 1),
        "warm_mb_s": round(warm_rate, 1),
        "vs_best_peer": round(cold_rate / best, 2),
        "warm_vs_best_peer": round(warm_rate / best, 2),
        "vs_tiktoken": round(cold_rate / rates[OTHER_ENGINE], 2) if OTHER_ENGINE in rates else "absent",
        "peers": {f"{name}_mb_s": round(rates[name], 2) if name in rates else "absent" for name in NAMES},
        "stages": {name: {"mb_s": round(megabytes / seconds, 1)} for name, seconds in parts.items()},
        **decoding(tokenizer_json, encoder, texts, num_rounds),
        "engine": choice.engine,
        "tokens_start_seconds": round(statistics.median(each["start_seconds"] for each in cold), 2),
        "mb": round(megabytes, 1),
    }


def decoding(tokenizer_json: str, encoder: Encoder, texts: Texts, num_rounds: int) -> dict[str, float]:
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
        rounds=num_rounds,
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


def save_documents(path: Path, texts: list[str]) -> None:
    records = ({"id": str(number), "text": text} for number, text in enumerate(texts))
    path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))


def load_tokenizer(data_pack: Path) -> str:
    stored = (data_pack / "tokenizers" / TOKENIZER / "tokenizer.json.zst").read_bytes()
    with zstandard.ZstdDecompressor().stream_reader(stored) as stream:
        return str(stream.read().decode("utf-8"))


def cold_round(documents: Path, tokenizer: Path, folder: Path, engine: str) -> dict[str, Any]:
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.tokens", str(documents), str(tokenizer), str(folder), engine],
        stdout=subprocess.PIPE,
        check=True,
        cwd=Path(__file__).resolve().parents[1],
    )
    figures: dict[str, Any] = json.loads(child.stdout)
    return figures


def cold(documents: Path, tokenizer: Path, folder: Path, engine: str) -> dict[str, Any]:
    """One round in this process, which must be new: seconds of writing, and of getting ready for it."""
    tokenizer_json = tokenizer.read_text(encoding="utf-8")
    facts = describe(tokenizer_json)
    encoding_json = strip_special(tokenizer_json, "text")
    dtype = dtype_for_vocab(facts.vocab_size)
    few = folder / "few.jsonl"
    folder.mkdir()
    # Compiled kernels are loaded on their first call; these three texts are all that the engine has seen.
    save_documents(few, ["a", "\u4e2d", "\ua7ce"])
    start = time.process_time()
    encoder = Encoder(encoding_json, engine, facts.eos_id)
    write_shards(encoder, few, folder / "few", dtype)
    start_seconds = time.process_time() - start
    start = time.process_time()
    parts = write_shards(encoder, documents, folder / "all", dtype)
    return {"seconds": time.process_time() - start, "parts": parts, "start_seconds": start_seconds}


if __name__ == "__main__":
    print(json.dumps(cold(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])))

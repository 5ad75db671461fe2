"""tiktoken's rank files (cl100k_base.tiktoken and the like) as a tokenizer.json.

A line is the base64 of a token's bytes and its rank, which is its id. tiktoken merges, in a cut of the text,
the pair whose joined bytes have the lowest rank; the pair that makes each token follows from the ranks below
it, and these pairs in order are the merges of byte-level BPE. How text is cut and which special tokens there
are the file does not say: that is in a `config.json` beside it (`pat_str` and `special_tokens`, as tiktoken's
own constructor calls them), or known for the vocabularies that OpenAI published.
"""

from __future__ import annotations

import base64
import binascii
import functools
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from dataprep.tokenizers.alphabet import spelled
from manifests.errors import UserError

_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_LOWER, _UPPER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"

PUBLISHED: dict[str, tuple[str, dict[str, int]]] = {
    "cl100k_base": (
        _ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _REST,
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    "o200k_base": (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_ENDINGS}?|"
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_ENDINGS}?|"
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _REST,
        {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    ),
}
"""Name -> (how text is cut, special tokens), as OpenAI documents them; written with the one spelling of each
expression that gigatoken knows."""


def tokenizer_json_of_ranks(data: bytes, name: str, config: Path) -> str:
    """The text of a tokenizer.json with the same ids, the same for the same ranks and settings.

    name    of the file up to its first dot, by which published vocabularies are known
    config  the settings; where it does not exist, those of the published vocabulary count

    Raises UserError: no settings, or ranks that are none.
    """
    pattern, special = _settings(name, config)
    return _converted(data, pattern, tuple(special.items()))


def _settings(name: str, config: Path) -> tuple[str, dict[str, int]]:
    if config.is_file():
        try:
            found = json.loads(config.read_text("utf-8"))
            return str(found["pat_str"]), {str(text): int(at) for text, at in found["special_tokens"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if name not in PUBLISHED:
                raise UserError(
                    f"no `pat_str` and `special_tokens` for tiktoken's ranks in it: {error}",
                    where=str(config),
                ) from None
    if name not in PUBLISHED:
        raise UserError(
            f"tiktoken's ranks of {name} don't say how text is cut and which tokens are special",
            hint=f"put {config.name} beside the file: "
            '{"pat_str": "...", "special_tokens": {"<|endoftext|>": 100257}}',
        )
    return PUBLISHED[name]


@functools.lru_cache(maxsize=2)  # seconds for a large vocabulary, and a run asks three times
def _converted(data: bytes, pattern: str, special: tuple[tuple[str, int], ...]) -> str:
    ranks = _ranks(data)
    vocabulary = {spelled(token): rank for token, rank in ranks.items()} | dict(special)
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        if len(token) > 1:
            merges += [[spelled(left), spelled(right)] for left, right in _merges(token, rank, ranks)]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    config: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": token_id, "content": text, **flags, "special": True} for text, token_id in special
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "post_processor": None,
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,  # tiktoken looks a whole cut up before it merges
            "vocab": vocabulary,
            "merges": merges,
        },
    }
    return json.dumps(config, ensure_ascii=False, separators=(",", ":"))


def _ranks(data: bytes) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except (ValueError, binascii.Error):
            raise UserError(f"line {number} is no base64 and rank: {line[:40]!r}") from None
    if len(set(ranks.values())) != len(ranks):
        raise UserError("two tokens of this rank file have the same rank")
    return ranks


def _merges(token: bytes, rank: int, ranks: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    """The pairs that are joined to a token: the one that its own bytes come to. Where they do not come to
    two parts (Llama 3 has such tokens) other texts may, and it is every pair of tokens."""
    parts = [token[at : at + 1] for at in range(len(token))]
    while len(parts) > 2:
        pairs = [ranks.get(left + right, rank) for left, right in pairwise(parts)]
        lowest = min(pairs)
        if lowest >= rank:
            cuts = [(token[:at], token[at:]) for at in range(1, len(token))]
            return [(left, right) for left, right in cuts if left in ranks and right in ranks]
        at = pairs.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [(parts[0], parts[1])]

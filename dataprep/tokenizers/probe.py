"""Texts on which the engines are compared, whatever the corpus: the places where tokenizers differ.

A probe of the corpus shows what is common in it. These are the rare things: contractions in any case, white
space of every kind, marks, joined emoji, very long words, the text of special tokens and pieces of it, every
code point.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from typing import Any

FRAGMENTS = (
    " ", "  ", "\t", "\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u2003", "\u2028",
    "\u200b", "\u3000", "\ufeff", "\x00", "\x7f", "'", "'s", "'S", "'T", "'re", "'LL", "'\u017f", "'\u0130",
    "\u2019s", "a", "B", "z", "\xe9", "e\u0301", "\u0301", "\u0345", "\u0300\u0323", "\u0338", "\xdf",
    "\u017f", "\u212a", "\u0130", "\u0131", "\u01c5", "\u03c2", "\ufb01", "1", "12", "12345", "\u0663",
    "\xbd", "\u2167", "\xb2", "\u4e2d", "\u56fd\u4eba", "\u1100\u1161\u11a8", "\uac01", "\u0f71\u0f72",
    "\u0958", "\u05d0", "\u093f", "\u0e33", "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea", "\ufe0f", "\U000e0061", "\U0010ffff", "\ue000", ".", "!?", "...", "//", "_",
    "-", "<", "|>", "hello", "World", "\u0120", "\u010a", "\u2581", "<0x0A>", "{", '"', "\\",
)  # fmt: skip

SPECIAL_NAMES = (
    "<|endoftext|>", "<|im_start|>", "<|begin_of_text|>", "<s>", "</s>", "<unk>", "<pad>", "[CLS]", "[MASK]",
    "<|fim_prefix|>", "<tool_call>", "<think>",
)  # fmt: skip

REPEATED = ("a", "ab", "1", " ", "\n", " \n", "\u0301", "\u4e2d", "-", "=\n", "a\u0301\u0323", "\U0001f600")

UNREACHED_LIMIT = 512
"""Vocabulary entries that no merge makes (added tokens, bytes, spelled-out special tokens) that are tried."""

NEIGHBOUR_LIMIT = 48
"""Added tokens that are tried in pairs: one may swallow the spaces with which the next begins."""

_SINGLETONS = str.maketrans({"K": "\u212a", ";": "\u037e", "`": "\u1fef", "\xc5": "\u212b"})
"""Characters with a twin that every normalization replaces by them."""


def built_in_texts(encoding_json: str, sweep_step: int) -> list[str]:
    """The texts for one tokenizer. sweep_step: 1 sweeps all code points, n every nth."""
    config = json.loads(encoding_json)
    texts = ["", *(left + space + right for left in FRAGMENTS for right in FRAGMENTS for space in ("", " "))]
    texts += [part * count for part in REPEATED for count in (2, 3, 7, 500, 10_000)]
    for token in dict.fromkeys((*SPECIAL_NAMES, *_unreached(config))):
        texts += _around(token)
    neighbours = [entry["content"] for entry in config.get("added_tokens") or []][:NEIGHBOUR_LIMIT]
    texts += [left + right for left in neighbours for right in neighbours]
    for code in range(0, 0x34000, sweep_step):
        if not 0xD800 <= code < 0xE000:
            one = chr(code)
            texts += [f" {one}1{one}'s{one}x", f"a{one}B{one}b{one}\u0323\u0301"]
    return texts


def _around(token: str) -> Iterator[str]:
    """A token alone, in a word, among spaces, doubled, before marks, and cut; so too its normalized forms."""
    forms = (unicodedata.normalize(form, token) for form in ("NFC", "NFD"))
    for one in dict.fromkeys((token, *forms, token.translate(_SINGLETONS))):
        yield from (one, f"a{one}a", f" {one} {one}\n", f"\n\n{one}  ", one * 2)
        yield from (f"{one}\u0301", f"{one}\u0338")
        yield from (one[:-1], one[1:], one[:-1] + one, one + one[1:])


def _unreached(config: dict[str, Any]) -> list[str]:
    """Added tokens, and entries of a BPE vocabulary that no merge makes, in the order of the file."""
    added = [entry["content"] for entry in config.get("added_tokens") or []]
    model = config["model"]
    if "merges" not in model:
        return added[:UNREACHED_LIMIT]
    made = {"".join(merge.split(" ") if isinstance(merge, str) else merge) for merge in model["merges"]}
    spelled = [entry for entry in model["vocab"] if len(entry) > 1 and entry not in made]
    return list(dict.fromkeys(added + spelled))[:UNREACHED_LIMIT]

"""What a tokenizer.json says, and the version of it that encodes: special tokens taken out, ids left alone.

A raw "<|endoftext|>" in crawled text must not become the id that ends documents. So, under the default policy
"text", entries with `special: true` are removed from what both engines load and only code may emit their ids;
entries with `special: false` stay. "parse" keeps all of them.

Also removed is whatever would cut or change ids behind one's back: a stored truncation (one published file
cuts every text at 192 tokens) and padding. SentencePiece never reads its control pieces from text, so there
both policies differ only where the end-of-text piece is a user-defined one. Which ids end a document is
`describe`'s to find; engines are in engines.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, overload

from tokenizers import Tokenizer

from dataprep.tokenizers.files import Definition, file_name, stored
from dataprep.tokenizers.sentencepiece_model import CONTROL, USER_DEFINED, as_text, parse_model
from manifests.errors import UserError
from manifests.fingerprint import digest_bytes

SpecialPolicy = Literal["text", "parse"]

EOS_NAMES = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "[EOS]")
BOS_NAMES = ("<|begin_of_text|>", "<s>", "<bos>", "<|startoftext|>", "[BOS]")
"""A tokenizer.json doesn't say which token ends or begins a text; these names are looked up in this order."""


@dataclass(frozen=True, slots=True)
class TokenizerFacts:
    """What a tokenizer.json or a SentencePiece model defines, as its library reads it."""

    vocab_size: int
    """Greatest id + 1, added tokens included."""
    eos_token: str | None
    eos_id: int | None
    bos_token: str | None
    bos_id: int | None
    model: str
    """"BPE", "Unigram", "WordPiece" or "WordLevel"."""
    special_tokens: dict[str, int]
    """Entries with `special: true` -> their ids, in the order of the file; of a model its control pieces, and
    user-defined ones that end or begin texts."""
    digest: str
    """Of the bytes of the file."""
    file: str
    """What it is called in a corpus: tokenizer.json or tokenizer.model."""


@lru_cache(maxsize=2)  # a run asks before it starts and once more when it gets there
def describe(definition: Definition, eos: str | None = None, bos: str | None = None) -> TokenizerFacts:
    """Return the facts of a tokenizer.

    eos, bos  tokens by name, which must exist; None looks the usual names up among the special tokens, and a
              tokenizer without any of them has no such id. A SentencePiece model names its own

    Raises UserError for what is no tokenizer, and for a named token that it lacks.
    """
    if isinstance(definition, bytes):
        model = parse_model(definition)
        ids = {piece.text: token_id for token_id, piece in enumerate(model.pieces)}
        usual = {model.eos_piece, model.bos_piece, *EOS_NAMES, *BOS_NAMES}
        special = {
            piece.text: token_id
            for token_id, piece in enumerate(model.pieces)
            if piece.kind == CONTROL or (piece.kind == USER_DEFINED and piece.text in usual)
        }
        eos_names: tuple[str, ...] = (model.eos_piece, *EOS_NAMES)
        bos_names: tuple[str, ...] = (model.bos_piece, *BOS_NAMES)
        kind = model.model_type
    else:
        config, tokenizer = _load(definition)
        ids = tokenizer.get_vocab(with_added_tokens=True)
        special = {
            str(entry["content"]): _id_of(tokenizer, entry["content"])
            for entry in config["added_tokens"]
            if entry["special"]
        }
        eos_names, bos_names = EOS_NAMES, BOS_NAMES
        kind = str(config["model"]["type"])
    eos_token = _choose(ids, eos, eos_names, special, "end-of-text")
    bos_token = _choose(ids, bos, bos_names, special, "begin-of-text")
    return TokenizerFacts(
        vocab_size=max(ids.values(), default=-1) + 1,
        eos_token=eos_token,
        eos_id=None if eos_token is None else ids[eos_token],
        bos_token=bos_token,
        bos_id=None if bos_token is None else ids[bos_token],
        model=kind,
        special_tokens=special,
        digest=digest_bytes(stored(definition)),
        file=file_name(definition),
    )


@overload
def strip_special(definition: str, policy: SpecialPolicy) -> str: ...
@overload
def strip_special(definition: bytes, policy: SpecialPolicy) -> bytes: ...
def strip_special(definition: Definition, policy: SpecialPolicy) -> Definition:
    """What the engines load, of the same kind. A SentencePiece model changes only where its end-of-text or
    begin-of-text piece is one that is read from text."""
    if isinstance(definition, str):
        return strip_special_json(definition, policy)
    return as_text(definition, describe(definition).special_tokens) if policy == "text" else definition


def strip_special_json(tokenizer_json: str, policy: SpecialPolicy) -> str:
    """Return the tokenizer.json that the engines load. Every entry that stays keeps its id.

    `tokenizers` gives added tokens new ids when an earlier one is missing, so all of them are first written
    into the model's vocabulary, where no merge leads to them. The result is then tried: UserError if the text
    of a removed token can still give its id, if an id moved, or if the model encodes at random (dropout).
    """
    config, tokenizer = _load(tokenizer_json)
    if config["model"].get("dropout"):
        raise UserError(
            f"this tokenizer drops merges at random (dropout {config['model']['dropout']})",
            hint='set "dropout" to null in the tokenizer.json, or ids differ from run to run',
        )
    config["truncation"] = config["padding"] = None
    added = config["added_tokens"]
    removed = [entry for entry in added if entry["special"]] if policy == "text" else []
    if removed:
        _hold_ids(config["model"], added, tokenizer)
        config["added_tokens"] = [entry for entry in added if not entry["special"]]
    encoding_json = json.dumps(config, ensure_ascii=False, separators=(",", ":"))
    _check(
        Tokenizer.from_str(encoding_json),
        tokenizer,
        config["added_tokens"],
        removed,
        _unknown(config["model"]),
    )
    return encoding_json


def _load(tokenizer_json: str) -> tuple[dict[str, Any], Tokenizer]:
    """The parsed file, with `added_tokens` and the `special` and `type` fields filled in, and the
    tokenizer."""
    try:
        config = json.loads(tokenizer_json)
        tokenizer = Tokenizer.from_str(tokenizer_json)
        added = config.get("added_tokens") or []
        config["added_tokens"] = [{"special": False, **entry} for entry in added]
        # Files of before 2020 leave the type out; `tokenizers` then tells by the fields.
        config["model"].setdefault("type", type(tokenizer.model).__name__)
    except Exception as error:  # `tokenizers` raises the bare class
        raise UserError(f"this is not a tokenizer.json that `tokenizers` can load: {error}") from None
    return config, tokenizer


def _id_of(tokenizer: Tokenizer, token: str) -> int:
    token_id = tokenizer.token_to_id(token)
    assert token_id is not None, f"{token!r} was just read from this tokenizer"
    return int(token_id)


def _choose(
    ids: dict[str, int], named: str | None, usual: tuple[str, ...], special: dict[str, int], what: str
) -> str | None:
    if named is None:
        return next((name for name in usual if name in special), None)
    if named not in ids:
        raise UserError(
            f"the {what} token {named!r} is not in the tokenizer",
            hint=f"its special tokens are: {', '.join(special) or 'none'}",
        )
    return named


def _hold_ids(model: dict[str, Any], added: list[dict[str, Any]], tokenizer: Tokenizer) -> None:
    """Give every added token its id inside the model's own vocabulary, in a way that no text can reach."""
    vocab = model["vocab"]
    if isinstance(vocab, dict):
        for entry in added:
            vocab.setdefault(entry["content"], _id_of(tokenizer, entry["content"]))
        return
    # Unigram: a list of [piece, score] in which any piece may match, so what is removed gets a name with a
    # space, which the normalizers of such models replace before the pieces are looked up.
    for entry in sorted(added, key=lambda entry: _id_of(tokenizer, entry["content"])):
        token_id = _id_of(tokenizer, entry["content"])
        while len(vocab) <= token_id:
            vocab.append([f"unused {len(vocab)}", 0.0])
        if entry["special"]:
            vocab[token_id][0] = f"removed {token_id}"
        elif vocab[token_id][0].startswith("unused "):
            vocab[token_id][0] = entry["content"]


def _unknown(model: dict[str, Any]) -> int | None:
    """The id of what the model cannot spell."""
    if isinstance(model["vocab"], dict):
        token_id = model["vocab"].get(model.get("unk_token"))
    else:
        token_id = model.get("unk_id")
    return None if token_id is None else int(token_id)


def _check(
    stripped: Tokenizer,
    full: Tokenizer,
    kept: list[dict[str, Any]],
    removed: list[dict[str, Any]],
    unknown: int | None,
) -> None:
    for entry in kept:
        content = entry["content"]
        if stripped.token_to_id(content) != full.token_to_id(content):
            raise UserError(
                f"the added token {content!r} would change its id from {full.token_to_id(content)} to "
                f"{stripped.token_to_id(content)} when special tokens are removed",
                hint="`special_tokens: parse` leaves the tokenizer whole",
            )
    for entry in removed:
        content, token_id = entry["content"], full.token_to_id(entry["content"])
        if token_id == unknown:
            continue  # what any text gives that the model cannot spell
        for text in (content, f" {content} ", f"a{content}a", content * 2):
            if token_id in stripped.encode(text, add_special_tokens=False).ids:
                raise UserError(
                    f"the model itself spells {content!r}, so that text would still give the id {token_id} "
                    "of the special token",
                    hint="choose `special_tokens: parse`, or another tokenizer",
                )

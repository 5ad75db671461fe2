"""Training a Unigram vocabulary: the SentencePiece model of a recipe that says `train: {model: unigram}`.

A language model over pieces of text (Kudo 2018): of all ways to cut a text, the likeliest counts. It is
trained by `sentencepiece`, an optional package, with settings that change no text: no normalization, no space
put before a text or removed from it, bytes for characters without a piece. So every text comes back, but for
a U+2581 in it, which is how SentencePiece writes a space. Byte-level BPE is in train.py.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator

from dataprep.tokenizers.train import EOS_TOKEN
from manifests.errors import UserError

BOS_TOKEN = "<|startoftext|>"
MIN_UNIGRAM_SIZE = 256 + 3
"""Every byte, the unknown piece that SentencePiece insists on, the end-of-text piece and one character; and
the begin-of-text piece, where there is one."""

MAX_UNIGRAM_SIZE = 1 << 22
"""More pieces no text gives: the trainer looks at a million candidates and every character. It counts up to
what it is asked for, which takes hours for the largest numbers."""

COVERAGE = 0.9995
"""Characters get a piece each, the commonest first, until they make up this much of the texts; all others are
spelled in bytes. Without that, the rarest characters of a crawl would fill the vocabulary."""

SENTENCE_BYTES = 4096
"""Longer sentences are cut here: SentencePiece would leave them out."""

RESERVED = "\u2585"
"""SentencePiece leaves out every sentence that holds it; so texts are cut there, and the rest counts."""

_NO_ROOM = re.compile(r"Vocabulary size is smaller than required_chars\. \d+ vs (\d+)")


def train_unigram(
    texts: Iterable[str], vocab_size: int, eos: str = EOS_TOKEN, bos: str | None = None
) -> bytes:
    """Return the bytes of a SentencePiece model with `vocab_size` ids, trained on `texts`.

    Id 0 is the unknown piece, which no text gives, 1 is `eos` and 2 is `bos`, where one is named: control
    pieces, which no text gives either. Then come the 256 bytes, then the pieces, the likeliest first. Texts
    too few for `vocab_size` give fewer ids than asked, which `special.describe(...).vocab_size` tells.

    The bytes of the result depend on the multiset of `texts` and on the version of `sentencepiece` alone. For
    the trainer sums up floats, so its result would change with the order of the sentences and the number of
    threads: they are sorted, and there is one.

    Memory: about twenty times the texts. Raises UserError: `sentencepiece` is not installed, a vocabulary
    that has no room for the characters of the texts, no text.
    """
    try:
        from sentencepiece import SentencePieceTrainer
    except ImportError:
        raise UserError(
            "sentencepiece trains Unigram vocabularies, and it is not installed",
            hint="pip install 'headrace[sentencepiece]'",
        ) from None
    least = least_vocab_size(bos is not None)
    if vocab_size < least:
        raise UserError(
            f"a Unigram vocabulary of {vocab_size} cannot hold the 256 bytes, its special tokens and a "
            "character",
            hint=f"set tokenizer.train.vocab_size to {least} or more",
        )
    sentences = sorted(sentence for text in texts for sentence in sentences_of(text))
    if not any(sentence.strip("\0\r\n") for sentence in sentences):
        raise UserError("there is no text to train a Unigram vocabulary on")
    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            model_type="unigram",
            vocab_size=min(vocab_size, MAX_UNIGRAM_SIZE),
            hard_vocab_limit=False,
            character_coverage=COVERAGE,
            byte_fallback=True,
            normalization_rule_name="identity",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            allow_whitespace_only_pieces=True,  # the indentation of code is one token
            max_sentence_length=SENTENCE_BYTES,
            input_sentence_size=0,  # all of them
            shuffle_input_sentence=False,
            num_threads=1,
            unk_id=0,
            eos_id=1,
            bos_id=-1 if bos is None else 2,
            pad_id=-1,
            eos_piece=eos,
            bos_piece=bos or "<s>",  # the name of none has to be one, too
            minloglevel=2,  # errors; what it says of its progress is no news
        )
    except RuntimeError as error:
        raise _refusal(str(error), vocab_size) from None
    return model.getvalue()


def least_vocab_size(has_bos: bool) -> int:
    return MIN_UNIGRAM_SIZE + has_bos


def sentences_of(text: str) -> Iterator[str]:
    """The text in parts that the trainer takes, in order; together all of it but the reserved character.

    A part ends before line breaks where it can, else before spaces, else between two characters: a space
    belongs to the word that follows it, and the trainer removes line breaks at the end.
    """
    for part in text.split(RESERVED):
        data, start = part.encode(), 0
        while len(data) - start > SENTENCE_BYTES:
            stop = _stop(data, start)
            yield data[start:stop].decode()
            start = stop
        if start < len(data):
            yield data[start:].decode()


def _stop(data: bytes, start: int) -> int:
    """Where the part that begins at `start` ends; more than SENTENCE_BYTES follow."""
    limit = start + SENTENCE_BYTES
    for mark in (b"\n", b" "):
        last = max(start, data.rfind(mark, start, limit + 1))
        stop = start + len(data[start:last].rstrip(mark))
        if stop > start:
            return stop
    while data[limit] & 0xC0 == 0x80:
        limit -= 1
    return limit


def _refusal(message: str, vocab_size: int) -> UserError:
    """What the trainer says, in words that name what to change."""
    needed = _NO_ROOM.search(message)
    if needed is None:
        return UserError(f"sentencepiece cannot train on these texts: {message}")
    return UserError(
        f"a vocabulary of {vocab_size:,} has no room for the characters that make up {COVERAGE:.2%} of the "
        "texts",
        hint=f"set tokenizer.train.vocab_size to {needed[1]} or more",
    )

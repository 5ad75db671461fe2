"""Training a byte-level BPE vocabulary: the tokenizer.json of a recipe that says `tokenizer: {train: ...}`.

Byte-level BPE after GPT-2 (Radford et al. 2019): text is cut by GPT-2's regular expression, every cut is a
string of bytes, and `tokenizers` merges the most frequent pair until the vocabulary is full. Which texts are
sampled is the caller's choice; how the result is read is in special.py. The other kind is in unigram.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from manifests.errors import UserError

EOS_TOKEN = "<|endoftext|>"
MIN_VOCAB_SIZE = 256 + 1
"""Every byte has an id of its own, so that any text can be encoded and decoded again; and the end-of-text
token."""


def train_bpe(texts: Iterable[str], vocab_size: int, eos: str = EOS_TOKEN) -> str:
    """Return the text of a tokenizer.json with `vocab_size` ids, trained on `texts`.

    Ids 0 to 255 are the bytes in `tokenizers`' order, then the merges, and `eos` is the last id: a stretch of
    zeros in a damaged file is then not a row of end-of-text tokens, and the ids of text do not move when
    `eos` is renamed. A pair is merged only if it occurs twice; texts too few for that give fewer ids than
    asked, which `special.describe(...).vocab_size` tells.

    The bytes of the result depend on the multiset of `texts` and on the version of `tokenizers` alone: not on
    the order of the texts, the number of threads or the process. (Merges are chosen by count, then by the
    lower pair of ids; the counts are sums over all texts.) Raises UserError for a vocabulary below 257, and
    for an `eos` that the texts contain so often that it became an ordinary entry.
    """
    if vocab_size < MIN_VOCAB_SIZE:
        raise UserError(
            f"a vocabulary of {vocab_size} cannot hold the 256 bytes and the end-of-text token",
            hint=f"set tokenizer.train.vocab_size to {MIN_VOCAB_SIZE} or more",
        )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - 1,
        min_frequency=2,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.token_to_id(eos) is not None:
        raise UserError(
            f"the end-of-text token {eos!r} is an ordinary word of the training texts",
            hint=f"name one that no text is made of, such as {EOS_TOKEN}",
        )
    tokenizer.add_special_tokens([AddedToken(eos, special=True, normalized=False)])
    return str(tokenizer.to_str(pretty=True))

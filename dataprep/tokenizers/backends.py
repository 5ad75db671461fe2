"""The libraries that encode, behind one function each: Texts in, one flat array of ids and offsets out.

`tokenizers` is the reference for any tokenizer.json, `sentencepiece` for its models: a few MB/s. gigatoken is
the fast one: byte-level BPE and SentencePiece BPE, hundreds of MB/s, without a Python object for a document
or an id. All run on the calling thread and share no lock with other processes. Which one is used is decided
in engines.py, once per run.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from dataprep.kernels.texts import Offsets, Texts, offsets_of
from dataprep.tokenizers.files import Definition
from dataprep.tokenizers.sentencepiece_json import tokenizer_json_of
from dataprep.tokenizers.sentencepiece_model import parse_model
from manifests.errors import UserError

Ids = npt.NDArray[np.uint32]

REFERENCE_BATCH_BYTES = 1 << 20
"""`tokenizers` makes about 200 bytes of Python and Rust objects a token; a batch keeps that below 100 MB."""

CACHED_TOKENS = 1 << 26
"""gigatoken remembers every word it has met: up to 16 bytes for each token encoded, without a limit of its
own. After this many tokens (1 GB at worst, a second of English) the backend is loaded again, which takes 0.1
to 0.3 seconds."""

GIGATOKEN_BATCH_BYTES = 1 << 25
"""Between two batches the cache can be dropped; larger batches are no faster."""


class Backend(Protocol):
    def encode(self, texts: Texts) -> tuple[Ids, Offsets]:
        """(ids uint32 [T], offsets int64 [n + 1]): text i is ids[offsets[i] : offsets[i + 1]]. No special
        tokens are added."""


class Reference:
    """`tokenizers`. Ids come as Python lists: the library has no other way out."""

    def __init__(self, encoding_json: str) -> None:
        # Its thread pool would fight the other workers for cores, and a fork beside it may hang.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_str(encoding_json)

    def encode(self, texts: Texts) -> tuple[Ids, Offsets]:
        ids: list[Ids] = []
        for batch in batches(texts, REFERENCE_BATCH_BYTES):
            encodings = self._tokenizer.encode_batch_fast(batch.to_strings(), add_special_tokens=False)
            ids += [np.array(encoding.ids, dtype=np.uint32) for encoding in encodings]
        lengths = np.fromiter((each.size for each in ids), dtype=np.int64, count=len(ids))
        return (np.concatenate(ids) if ids else np.zeros(0, dtype=np.uint32)), offsets_of(lengths)


class SentencePiece:
    """`sentencepiece`, an optional package. Ids come as one array a text, or as lists before its 0.2.2."""

    def __init__(self, model: bytes) -> None:
        try:
            from sentencepiece import SentencePieceProcessor
        except ImportError:
            raise UserError(
                "a SentencePiece model, and the package that encodes with it is not installed",
                hint="pip install 'headrace[sentencepiece]'",
            ) from None
        parse_model(model)  # the library aborts on some damaged files, with a message of its own
        self._processor = SentencePieceProcessor(model_proto=model)
        self._encode = getattr(self._processor, "EncodeAsNumpy", self._processor.EncodeAsIds)

    def encode(self, texts: Texts) -> tuple[Ids, Offsets]:
        ids: list[Ids] = []
        for batch in batches(texts, REFERENCE_BATCH_BYTES):
            # One thread, and nothing before or after the text, whatever a model or its caller has set.
            encoded = self._encode(batch.to_strings(), num_threads=1, add_bos=False, add_eos=False)
            ids += [np.asarray(each, dtype=np.uint32) for each in encoded]
        lengths = np.fromiter((each.size for each in ids), dtype=np.int64, count=len(ids))
        return (np.concatenate(ids) if ids else np.zeros(0, dtype=np.uint32)), offsets_of(lengths)


def reference_name(definition: Definition) -> Literal["tokenizers", "sentencepiece"]:
    """The library whose ids count."""
    return "tokenizers" if isinstance(definition, str) else "sentencepiece"


@lru_cache(maxsize=1)  # choosing an engine and checking on it ask for the same one; it keeps no state
def reference_of(definition: Definition) -> Backend:
    return Reference(definition) if isinstance(definition, str) else SentencePiece(definition)


def gigatoken_json(definition: Definition) -> str:
    """What gigatoken loads. Raises ValueError for a SentencePiece model that no tokenizer.json can say."""
    return definition if isinstance(definition, str) else tokenizer_json_of(parse_model(definition))


class Gigatoken:
    """gigatoken, fed with the text's own memory as an Awkward array of strings.

    Raises whatever gigatoken raises on a tokenizer.json that it doesn't support (RuntimeError, ValueError),
    and ValueError for a SentencePiece model that cannot be written as one.
    """

    def __init__(self, definition: Definition) -> None:
        self._json = gigatoken_json(definition)
        self._load()

    def _load(self) -> None:
        from gigatoken.gigatoken_rs import load_hf_json

        self._backend = load_hf_json(self._json)
        self._tokens_left = CACHED_TOKENS

    def encode(self, texts: Texts) -> tuple[Ids, Offsets]:
        parts = [self._encode_batch(batch) for batch in batches(texts, GIGATOKEN_BATCH_BYTES)]
        if len(parts) == 1:
            return parts[0]
        ids = [part[0] for part in parts]
        lengths = [np.diff(part[1]) for part in parts]
        if not parts:
            return np.zeros(0, dtype=np.uint32), np.zeros(1, dtype=np.int64)
        return np.concatenate(ids), offsets_of(np.concatenate(lengths))

    def _encode_batch(self, texts: Texts) -> tuple[Ids, Offsets]:
        if self._tokens_left <= 0:
            self._load()
        # parallel=False: never its own thread pool, also outside of worker processes.
        encoded = self._backend.encode_batch(_as_awkward(texts), parallel=False).layout
        offsets = np.asarray(encoded.offsets.data, dtype=np.int64)
        ids = np.asarray(encoded.content.data, dtype=np.uint32)[offsets[0] : offsets[-1]]
        self._tokens_left -= ids.size
        return ids, offsets - offsets[0]


def _as_awkward(texts: Texts):  # type: ignore[no-untyped-def]
    """An ak.Array of strings over the memory of `texts`; nothing is copied."""
    import awkward as ak

    characters = ak.contents.NumpyArray(texts.data, parameters={"__array__": "char"})
    strings = ak.contents.ListOffsetArray(
        ak.index.Index64(texts.offsets), characters, parameters={"__array__": "string"}
    )
    return ak.Array(strings)


def batches(texts: Texts, batch_bytes: int) -> list[Texts]:
    """Slices of at most `batch_bytes` of text each, or of one longer text; together all of `texts`, in
    order."""
    found = []
    start = 0
    while start < len(texts):
        limit = texts.offsets[start] + batch_bytes
        stop = max(start + 1, int(np.searchsorted(texts.offsets, limit, side="right")) - 1)
        found.append(texts.slice(start, stop))
        start = stop
    return found

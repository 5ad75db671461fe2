"""Encoder: documents in, one flat array of token ids and the length of each document out.

Built once in a worker, for the engine that engines.py chose for the run. It never changes the engine by
itself: ids are always those of the reference (`tokenizers`, or `sentencepiece` for its models), and where the
two libraries turn out to differ, `spot_check` stops the run.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dataprep.kernels.codepoints import CodePointSet, texts_with_code_points
from dataprep.kernels.gather import gather_documents
from dataprep.kernels.texts import Offsets, Texts, concat
from dataprep.tokenizers.backends import Backend, Gigatoken, Ids, reference_name, reference_of
from dataprep.tokenizers.files import Definition
from dataprep.tokenizers.unsettled import UNSETTLED
from manifests.errors import UserError

SPOT_CHECK_BYTES = 2048
"""Bytes of a text that a spot check looks at: `tokenizers` needs half a millisecond for them."""


class Encoder:
    """Encodes with one engine.

    definition  what `strip_special` returned
    engine      "gigatoken", "tokenizers" or "sentencepiece", as `choose_engine` said
    eos_id      appended to every document and counted in its length; None: nothing is appended
    bos_id      put before every document, likewise

    Raises what the engine raises when it cannot load the tokenizer, and UserError for an eos_id or bos_id
    without a meaning. Memory: the vocabulary, up to 1 GB of gigatoken's cache, and about 12 bytes for each
    token of a call.
    """

    def __init__(
        self, definition: Definition, engine: str, eos_id: int | None, bos_id: int | None = None
    ) -> None:
        reference = reference_name(definition)
        if engine not in ("gigatoken", reference):
            raise ValueError(f"unknown engine {engine!r}; there are gigatoken and {reference}")
        for token_id, what, policy in (
            (eos_id, "end-of-text", "append_eos"),
            (bos_id, "begin-of-text", "prepend_bos"),
        ):
            if token_id is not None and not 0 <= token_id < 2**31:
                raise UserError(
                    f"{token_id} is not a token id",
                    hint=f"the tokenizer has no {what} token; say {policy}: false",
                )
        self.engine = engine
        self.eos_id = eos_id
        self.bos_id = bos_id
        self._definition = definition
        self._reference: Backend | None = None
        self._fast: Gigatoken | None = Gigatoken(definition) if engine == "gigatoken" else None
        self._unsettled = CodePointSet(UNSETTLED)
        if self._fast is None:
            self._reference = reference_of(definition)

    @property
    def reference(self) -> Backend:
        """The library whose ids count, loaded when it is first needed."""
        if self._reference is None:
            self._reference = reference_of(self._definition)
        return self._reference

    def encode(self, texts: Texts) -> tuple[Ids, Offsets]:
        """Return (tokens uint32 [sum of lengths], lengths int64 [n]); the begin-of-text token is the first of
        each and the end-of-text token the last.

        Without an eos_id and a bos_id the length of an empty text is 0. Texts with a code point that the
        engines know differently (unsettled.py) are encoded by the reference whatever the engine.
        """
        ids, offsets, order = self._ids(texts)
        counts = np.diff(offsets)
        # Text i has the ids of place order[i]; without unsettled texts this is the identity.
        starts, counts = offsets[:-1][order], counts[order]
        before, after = int(self.bos_id is not None), int(self.eos_id is not None)
        lengths = before + counts + after
        ends = np.cumsum(lengths)
        out = np.empty(int(ends[-1]) if len(texts) else 0, dtype=np.uint32)
        gather_documents(ids, starts, counts, out, ends - lengths + before)
        if self.bos_id is not None:
            out[ends - lengths] = self.bos_id
        if self.eos_id is not None:
            out[ends - 1] = self.eos_id
        return out, lengths

    def _ids(self, texts: Texts) -> tuple[Ids, Offsets, npt.NDArray[np.int64]]:
        """(ids, offsets, order): the ids of text i are at place order[i]."""
        identity = np.arange(len(texts), dtype=np.int64)
        if self._fast is None:
            return *self.reference.encode(texts), identity
        unsettled = texts_with_code_points(texts.data, texts.offsets, self._unsettled)
        if not unsettled.any():
            return *self._fast.encode(texts), identity
        fast_ids, fast_offsets = self._fast.encode(texts.take(~unsettled))
        slow_ids, slow_offsets = self.reference.encode(texts.take(unsettled))
        order = np.empty(len(texts), dtype=np.int64)
        order[np.concatenate([np.flatnonzero(~unsettled), np.flatnonzero(unsettled)])] = identity
        offsets = np.concatenate([fast_offsets, slow_offsets[1:] + fast_offsets[-1]])
        return np.concatenate([fast_ids, slow_ids]), offsets, order

    def spot_check(self, texts: Texts, n: int = 4) -> None:
        """Compare the beginnings of n texts, the first and the longest, with what the reference gives.

        Of each text up to 2 kB are looked at, so a call costs a few milliseconds whatever the texts. Raises
        UserError at the first difference: a run must not go on with ids that a probe of its corpus would have
        ruled out.
        """
        if self._fast is None or not len(texts):
            return
        longest = np.argsort(-texts.lengths, kind="stable")[: n - n // 2]
        chosen = np.unique(np.concatenate([np.arange(min(n // 2, len(texts))), longest]))
        sample = concat([_beginning(texts, int(index)) for index in chosen])
        ids, offsets, order = self._ids(sample)
        expected, expected_offsets = self.reference.encode(sample)
        for index in range(len(sample)):
            place = order[index]
            found = ids[offsets[place] : offsets[place + 1]]
            wanted = expected[expected_offsets[index] : expected_offsets[index + 1]]
            if not np.array_equal(found, wanted):
                name = reference_name(self._definition)
                raise UserError(
                    f"gigatoken and {name} give different ids, {_first_difference(found, wanted)}",
                    where=f"text that begins {sample[index][:60]!r}",
                    hint=f"encode this corpus with the reference: tokenizer.engine: {name}",
                )


def _beginning(texts: Texts, index: int) -> Texts:
    """The first SPOT_CHECK_BYTES of a text, cut before a whole code point."""
    start, stop = int(texts.offsets[index]), int(texts.offsets[index + 1])
    if stop - start > SPOT_CHECK_BYTES:
        stop = start + SPOT_CHECK_BYTES
        while texts.data[stop] & 0xC0 == 0x80:
            stop -= 1
    return Texts(texts.data, np.array([start, stop], dtype=np.int64))


def _first_difference(found: Ids, wanted: Ids) -> str:
    common = min(found.size, wanted.size)
    unequal = np.flatnonzero(found[:common] != wanted[:common])
    place = int(unequal[0]) if unequal.size else common
    return f"at token {place}, {found[place : place + 4].tolist()} and {wanted[place : place + 4].tolist()}"

"""Which kept documents are held out: a share of each source, chosen by a hash of the normalised text.

The hash is keyed by the corpus name and not by its version, so new data never moves old choices: what
version 1 held out, version 2 never trains on. Two documents that differ in white space only share the hash
and the choice.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt


def hash_key(purpose: str, name: str) -> bytes:
    """16 bytes that key a hash: BLAKE2b of the name, personalised by the purpose (at most 16 ASCII
    characters)."""
    return hashlib.blake2b(name.encode(), digest_size=16, person=purpose.encode()[:16]).digest()


def held_out(
    mixed: npt.NDArray[np.uint64],
    source: npt.NDArray[np.int32],
    kept: npt.NDArray[np.bool_],
    share: float,
) -> npt.NDArray[np.bool_]:
    """Return bool[n]: True for kept documents that are held out.

    mixed   uint64[n, 2], the keyed hash; a document is chosen when its high word is under share * 2^64
    source  int32[n]
    kept    bool[n]
    share   of documents, 0 (nothing) to 0.5

    A source that keeps two documents or more holds out at least one: when none falls under the share, the
    one with the least hash. Its copies in other sources go with it, so that no held-out text is trained on
    elsewhere.
    """
    chosen = np.zeros(len(source), dtype=bool)
    if share <= 0:
        return chosen
    high = mixed[:, 0]
    chosen = kept & (high < np.uint64(min(int(share * 2.0**64), 2**64 - 1)))
    forced: list[tuple[int, int]] = []
    for index in np.unique(source[kept]):
        rows = np.flatnonzero(kept & (source == index))
        if len(rows) >= 2 and not chosen[rows].any():
            first = rows[np.lexsort((mixed[rows, 1], mixed[rows, 0]))[0]]
            forced.append((int(mixed[first, 0]), int(mixed[first, 1])))
    for high_word, low_word in forced:
        chosen |= kept & (high == np.uint64(high_word)) & (mixed[:, 1] == np.uint64(low_word))
    return chosen

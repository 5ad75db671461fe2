"""Labelled documents from files, for training a classifier: read once, spooled to one file on the disk.

Which documents are held out, and in which order the others are trained on, are hashes of their texts: the
same for the same texts, whatever the files are called or how they are cut. Copies of a text stay together, so
none is both trained on and held out.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dataprep.decide.heldout import hash_key
from dataprep.fasttext.flat import normalized, one_line
from dataprep.kernels.hashing import hash128, mix128
from dataprep.kernels.texts import Texts, offsets_of
from dataprep.readers.listing import InputFile, list_inputs
from dataprep.readers.texts import read_texts
from manifests.errors import UserError

HOLDOUT_PURPOSE, ORDER_PURPOSE = "fasttext holdout", "fasttext order"


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """n documents of k labels in a spool file, each as one line (`flat.one_line`).

    names     of the labels
    inputs    the files of each label
    labels    int64 [n]: index of the label
    hashes    uint64 [n, 2]: of the text as read
    offsets   int64 [n + 1]: where each line is in the spool
    unread    records that are no document, by label
    """

    spool: Path
    names: tuple[str, ...]
    inputs: tuple[tuple[InputFile, ...], ...]
    labels: npt.NDArray[np.int64]
    hashes: npt.NDArray[np.uint64]
    offsets: npt.NDArray[np.int64]
    unread: tuple[int, ...]

    def held_out(self, share: float) -> npt.NDArray[np.bool_]:
        """bool [n]: about `share` of the documents."""
        keys = mix128(self.hashes, hash_key(HOLDOUT_PURPOSE, ""))
        return keys[:, 0].astype(np.float64) < share * 2.0**64

    def shuffled(self, chosen: npt.NDArray[np.bool_], seed: int) -> npt.NDArray[np.int64]:
        """The chosen documents in an order that depends on the texts and the seed."""
        rows = np.flatnonzero(chosen)
        keys = mix128(self.hashes[rows], hash_key(ORDER_PURPOSE, str(seed)))
        return rows[np.lexsort((self.labels[rows], keys[:, 1], keys[:, 0]))]

    def lines(self, rows: npt.NDArray[np.int64]) -> Iterator[tuple[int, bytes]]:
        """(label, line) of the given documents."""
        with self.spool.open("rb") as file:
            if self.offsets[-1] == 0:  # an empty file cannot be mapped
                yield from ((int(self.labels[row]), b"") for row in rows)
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                for row in rows.tolist():
                    yield int(self.labels[row]), data[self.offsets[row] : self.offsets[row + 1]]

    def texts(self, rows: npt.NDArray[np.int64]) -> Texts:
        return Texts.from_bytes([line for _, line in self.lines(rows)])


def read_examples(patterns: Mapping[str, Sequence[str]], text: str, normalize: str, spool: Path) -> Examples:
    """The documents of the files of each label. UserError: no such files, a damaged file, no documents."""
    inputs = {name: tuple(list_inputs(each)) for name, each in patterns.items()}
    labels, hashes, unread = [], [], []
    lengths: list[int] = []
    with spool.open("wb") as file:
        for index, (name, files) in enumerate(inputs.items()):
            refused, found = 0, 0
            for texts, bad in read_texts(name, files, text):
                refused += bad
                found += len(texts)
                hashes.append(hash128(texts.data, texts.offsets))
                lines = [one_line(line) for line in normalized(texts, normalize)]
                lengths += map(len, lines)
                labels.append(np.full(len(lines), index, dtype=np.int64))
                file.writelines(lines)
            if not found:
                where, why = ", ".join(patterns[name]), f" ({refused:,} records are none)" if refused else ""
                raise UserError(f'no document with the label "{name}"{why}', where=where)
            unread.append(refused)
    return Examples(
        spool,
        tuple(inputs),
        tuple(inputs.values()),
        np.concatenate(labels),
        np.concatenate(hashes),
        offsets_of(np.array(lengths, dtype=np.int64)),
        tuple(unread),
    )

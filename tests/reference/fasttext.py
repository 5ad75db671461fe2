"""Slow twin of `dataprep/fasttext` and `kernels/fasttext_*`: reads a model and classifies texts, one value at
a time, after the sources of fastText 0.9.2 (args, dictionary, matrices, losses). Trusts the file.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HS, NS, SOFTMAX, OVA = 1, 2, 3, 4
SEPARATORS = re.compile(rb"[ \n\r\t\v\f\0]+")
LABEL = b"__label__"


@dataclass
class Twin:
    """A model. `words` and `labels` map to their numbers, `pruned` maps n-grams to rows (None: all are
    there)."""

    dim: int
    word_ngrams: int
    loss: int
    bucket: int
    min_n: int
    max_n: int
    words: dict[bytes, int]
    labels: dict[bytes, int]
    counts: list[int]
    pruned: dict[int, int] | None
    inputs: np.ndarray  # float32 [rows, dim]
    outputs: np.ndarray

    def ngram_row(self, number: int) -> list[int]:
        if self.pruned is None:
            return [len(self.words) + number]
        return [len(self.words) + self.pruned[number]] if number in self.pruned else []

    def rows_of(self, token: bytes) -> list[int]:
        """Of the token and its character n-grams."""
        rows = [self.words[token]] if token in self.words else []
        if token != b"</s>" and self.max_n > 0:
            for ngram in ngrams(f"<{token.decode()}>", self.min_n, self.max_n):
                rows += self.ngram_row(fnv(ngram.encode()) % self.bucket)
        return rows

    def scores(self, text: bytes) -> list[tuple[str, float]]:
        """(label, score) of all labels that fastText's `predict` can name, best first; none for a text
        without words."""
        tokens = [*(token for token in SEPARATORS.split(text) if token), b"</s>"]
        tokens = tokens[: tokens.index(b"</s>") + 1]
        if len(tokens) == 1:
            return []
        known = [
            token
            for token in tokens
            if token not in self.labels and (token in self.words or not token.startswith(LABEL))
        ]
        hash_of = {token: fnv(token) for token in set(known)}
        hashes = [hash_of[token] for token in known]
        rows: Counter[int] = Counter()
        for token, times in Counter(known).items():
            for row in self.rows_of(token):
                rows[row] += times
        for each, times in word_ngrams(hashes, self.word_ngrams).items():
            for row in self.ngram_row(each % self.bucket):
                rows[row] += times
        if not rows:
            return []
        total = [0.0] * self.dim
        for row, times in rows.items():
            total = [a + times * float(b) for a, b in zip(total, self.inputs[row], strict=True)]
        hidden = [value / rows.total() for value in total]
        names = [name.decode().removeprefix("__label__") for name in self.labels]
        found = self.tree_scores(hidden) if self.loss == HS else list(enumerate(self.flat_scores(hidden)))
        found.sort(key=lambda each: (-each[1], -each[0]))
        return [(names[label], score) for label, score in found]

    def flat_scores(self, hidden: list[float]) -> list[float]:
        values = [self.dot(row, hidden) for row in range(len(self.labels))]
        if self.loss == SOFTMAX:
            powers = [math.exp(value - max(values)) for value in values]
            return [power / sum(powers) + 1e-5 for power in powers]
        return [sigmoid(value) + 1e-5 for value in values]

    def tree_scores(self, hidden: list[float]) -> list[tuple[int, float]]:
        children, leaves = huffman(self.counts), len(self.counts)
        found: list[tuple[int, float]] = []

        def visit(node: int, score: float) -> None:
            if score < 1e-5:
                return
            if node < leaves:
                found.append((node, score))
                return
            right = 1 / (1 + math.exp(-self.dot(node - leaves, hidden)))
            visit(children[node][0], score * (1 - right + 1e-5))
            visit(children[node][1], score * (right + 1e-5))

        visit(2 * leaves - 2, 1.0)
        return found

    def dot(self, row: int, hidden: list[float]) -> float:
        return sum(float(a) * b for a, b in zip(self.outputs[row], hidden, strict=True))


def ngrams(word: str, least: int, most: int) -> Iterator[str]:
    for start in range(len(word)):
        for size in range(max(least, 1), most + 1):
            piece = word[start : start + size]
            if len(piece) == size and not (size == 1 and start in (0, len(word) - 1)):
                yield piece


def word_ngrams(hashes: list[int], most: int) -> Counter[int]:
    """The numbers of all runs of two to `most` words, and how often each comes."""
    found: Counter[int] = Counter()
    for size in range(2, most + 1):
        for run, times in Counter(zip(*(hashes[at:] for at in range(size)), strict=False)).items():
            value = 0
            for each in run:
                value = (value * 116049371 + signed(each)) % 2**64
            found[value] += times
    return found


def signed(value: int) -> int:
    """A 32-bit number as fastText widens it to 64 bits."""
    return (value - 2**32 if value >= 2**31 else value) % 2**64


def fnv(data: bytes) -> int:
    value = 2166136261
    for byte in data:
        value = ((value ^ (byte if byte < 128 else byte - 256) % 2**32) * 16777619) % 2**32
    return value


def sigmoid(x: float) -> float:
    """From the table of 513 values that fastText looks it up in."""
    if abs(x) > 8:
        return 0.0 if x < 0 else 1.0
    step = int((x + 8) * 512 / 8 / 2)
    return float(np.float32(1 / (1 + math.exp(-(step * 16 / 512 - 8)))))


def huffman(counts: list[int]) -> dict[int, tuple[int, int]]:
    weights = [*counts, *([10**15] * (len(counts) - 1))]
    children: dict[int, tuple[int, int]] = {}
    leaf, node = len(counts) - 1, len(counts)
    for index in range(len(counts), 2 * len(counts) - 1):
        pair = []
        for _ in range(2):
            if leaf >= 0 and weights[leaf] < weights[node]:
                pair.append(leaf)
                leaf -= 1
            else:
                pair.append(node)
                node += 1
        children[index] = (pair[0], pair[1])
        weights[index] = weights[pair[0]] + weights[pair[1]]
    return children


class _File:
    def __init__(self, path: Path) -> None:
        self.data, self.at = path.read_bytes(), 0

    def take(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def word(self) -> bytes:
        end = self.data.index(b"\0", self.at)
        word, self.at = self.data[self.at : end], end + 1
        return word

    def matrix(self, is_quantized: bool) -> np.ndarray:
        if not is_quantized:
            rows, dim = self.take("qq")
            return np.array(self.take(f"{rows * dim}f"), dtype=np.float32).reshape(rows, dim)
        has_norms, rows, dim, size = self.take("?qqi")
        codes = np.array(self.take(f"{size}B")).reshape(rows, -1)
        part, centroids = self.quantizer(dim)
        norms = np.ones(rows, dtype=np.float32)
        if has_norms:
            norm_codes = self.take(f"{rows}B")
            norms = np.array(self.quantizer(1)[1], dtype=np.float32)[list(norm_codes)]
        out = np.zeros((rows, dim), dtype=np.float32)
        for row in range(rows):
            for index, code in enumerate(codes[row]):
                start = index * part
                size = min(part, dim - start)
                first = start * 256 + int(code) * size
                for lane in range(size):
                    out[row, start + lane] = norms[row] * np.float32(centroids[first + lane])
        return out

    def quantizer(self, dim: int) -> tuple[int, tuple[float, ...]]:
        _, _, part, _ = self.take("4i")
        return part, self.take(f"{dim * 256}f")


def read(path: Path) -> Twin:
    file = _File(path)
    version = file.take("2i")[1]
    dim, _, _, _, _, longest, loss, _, bucket, min_n, max_n, _, _ = file.take("12id")
    _, num_words, num_labels, _, num_pruned = file.take("3i2q")
    entries = []
    for _ in range(num_words + num_labels):
        word = file.word()
        entries.append((word, file.take("qb")[0]))
    pruned = None if num_pruned < 0 else dict(file.take("2i") for _ in range(num_pruned))
    is_quantized = bool(file.take("B")[0])
    inputs = file.matrix(is_quantized)
    outputs = file.matrix(bool(file.take("B")[0]) and is_quantized)
    return Twin(
        dim=dim,
        word_ngrams=longest,
        loss=loss,
        bucket=bucket,
        min_n=min_n,
        max_n=0 if version == 11 else max_n,
        words={word: index for index, (word, _) in enumerate(entries[:num_words])},
        labels={word: index for index, (word, _) in enumerate(entries[num_words:])},
        counts=[count for _, count in entries[num_words:]],
        pruned=pruned,
        inputs=inputs,
        outputs=outputs,
    )

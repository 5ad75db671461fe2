"""From the sum of a text to the labels that fastText gives it: the two best with their scores, or the score
of one label.

The hidden vector is the sum over the number of rows. With hierarchical softmax labels are the leaves of a
Huffman tree, searched depth first as fastText does; with softmax, one-vs-all and negative sampling every
label has a row. What fastText calls a probability is exp(log(p + 1e-5)) of each step, and so are our scores
(they may be a little above 1). Of labels with equal scores the later one comes first, and labels below 1e-5
in a tree are not found: both as in fastText's `predict` with k = 2.

All in float64 with an exponential of our own, so that every machine rounds alike. The slow twin is
`tests/reference/fasttext.py`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.fasttext_sums import Sums
from dataprep.kernels.utf8 import read_only

Ints = npt.NDArray[np.int64]

TREE, NEGATIVE_SAMPLING, SOFTMAX, ONE_VS_ALL = 1, 2, 3, 4
"""fastText's numbers of its losses."""

FLOOR = 1e-5
NONE = -1
LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
TERMS = np.array([1.0 / math.factorial(power) for power in range(13, -1, -1)])
SIGMOID_STEPS, MAX_SIGMOID = 512, 8
COUNT_LIMIT = 10**15


class Labels(NamedTuple):
    """The part of a model that makes labels of a sum; made by `dataprep/fasttext/model.py`.

    loss      one of the four numbers above
    rows      float32 [labels, dim]: of a label, or, with TREE, of node i + labels
    columns   float32 [dim, labels]: the same transposed, [dim, 0] with TREE
    children  int64 [nodes, 2]: left and right child of each node, NONE for labels; [0, 2] without TREE
    sigmoids  float64 [513]: the values that fastText's sigmoid can have
    """

    loss: int
    rows: npt.NDArray[np.float32]
    columns: npt.NDArray[np.float32]
    children: Ints
    sigmoids: npt.NDArray[np.float64]


def two_best(sums: Sums, counts: Ints, labels: Labels) -> tuple[Ints, npt.NDArray[np.float64]]:
    """(int64 [n, 2] label, float64 [n, 2] score) of the best and second best label of each text.

    NONE and 0.0 where there is none, as in a text without rows. Scores are NaN only if the model is broken.
    """
    best = np.full((len(counts), 2), NONE, dtype=np.int64)
    scores = np.zeros((len(counts), 2), dtype=np.float64)
    if labels.loss == TREE:
        _best_of_tree(read_only(sums), read_only(counts), labels.rows, labels.children, best, scores)
    else:
        _best_of_all(read_only(sums), read_only(counts), labels, best, scores)
    return best, scores


def scores_of(sums: Sums, counts: Ints, labels: Labels, label: int) -> npt.NDArray[np.float64]:
    """float64 [n]: score of one label; 0.0 for a text without rows."""
    out = np.zeros(len(counts), dtype=np.float64)
    if labels.loss == TREE:
        nodes, turns = _path(labels.children, label)
        _score_in_tree(read_only(sums), read_only(counts), labels.rows, nodes, turns, out)
    else:
        _score_among_all(read_only(sums), read_only(counts), labels, label, out)
    return out


def huffman_tree(counts: Ints) -> Ints:
    """int64 [2 n - 1, 2]: fastText's tree over n labels, whose counts are taken to descend.

    Node i < n is label i, the last node is the root. Counts from COUNT_LIMIT on, which fastText cannot tell
    from what is not built yet, are a ValueError.
    """
    if counts.size == 0 or counts.min() < 0 or sum(counts.tolist()) >= COUNT_LIMIT:
        raise ValueError("counts of labels that no text can have")
    children = np.full((2 * counts.size - 1, 2), NONE, dtype=np.int64)
    _grow(read_only(counts), children)
    return children


def sigmoid_table() -> npt.NDArray[np.float64]:
    """float64 [513]: 1 / (1 + exp(-x)) for x from -8 to 8, as float32."""
    return _sigmoid_table().astype(np.float32).astype(np.float64)


def _path(children: Ints, label: int) -> tuple[Ints, Ints]:
    """The inner nodes from a label up to the root, and at each whether the way leads right (1)."""
    parents = np.full(len(children), NONE, dtype=np.int64)
    inner = np.flatnonzero(children[:, 0] != NONE)
    parents[children[inner, 0]] = parents[children[inner, 1]] = inner
    nodes, turns = [], []
    node = label
    while parents[node] != NONE:
        turns.append(int(children[parents[node], 1] == node))
        node = int(parents[node])
        nodes.append(node)
    return np.array(nodes, dtype=np.int64), np.array(turns, dtype=np.int64)


@njit(cache=True, nogil=True)
def _exp(x):  # type: ignore[no-untyped-def]
    """e^x to about one unit in the last place, from operations that IEEE 754 defines to the last bit."""
    x = min(max(x, -700.0), 700.0)
    power = math.floor(x * LOG2_E + 0.5)
    rest = (x - power * LN2_HIGH) - power * LN2_LOW
    total = 0.0
    for index in range(TERMS.size):
        total = total * rest + TERMS[index]
    return math.ldexp(total, int(power))


@njit(cache=True, nogil=True)
def _sigmoid_table():  # type: ignore[no-untyped-def]
    out = np.empty(SIGMOID_STEPS + 1, dtype=np.float64)
    for index in range(SIGMOID_STEPS + 1):
        out[index] = 1.0 / (1.0 + _exp(MAX_SIGMOID - index * 2.0 * MAX_SIGMOID / SIGMOID_STEPS))
    return out


@njit(cache=True, nogil=True)
def _grow(counts, children):  # type: ignore[no-untyped-def]
    number = counts.size
    weights = np.full(2 * number - 1, COUNT_LIMIT, dtype=np.int64)
    weights[:number] = counts
    leaf, node = number - 1, number
    for index in range(number, 2 * number - 1):
        for side in range(2):
            if leaf >= 0 and weights[leaf] < weights[node]:
                child = leaf
                leaf -= 1
            else:
                child = node
                node += 1
            children[index, side] = child
        weights[index] = weights[children[index, 0]] + weights[children[index, 1]]


@njit(cache=True, nogil=True)
def _right(row, sums, index, scale):  # type: ignore[no-untyped-def]
    """How likely the way leads right at a node."""
    total = 0.0
    for place in range(row.size):
        total += np.float64(row[place]) * (sums[index, place] * scale)
    return 1.0 / (1.0 + _exp(-total)) if total == total else total


@njit(cache=True, nogil=True)
def _best_of_tree(sums, counts, rows, children, best, scores):  # type: ignore[no-untyped-def]
    number = rows.shape[0]
    nodes = np.empty(number + 1, dtype=np.int64)  # still to visit: at most one for each level above
    chances = np.empty(number + 1, dtype=np.float64)
    for index in range(counts.size):
        if counts[index] == 0:
            continue
        scale = 1.0 / counts[index]
        nodes[0], chances[0] = 2 * number - 2, 1.0
        waiting = 1
        while waiting:
            waiting -= 1
            node, chance = nodes[waiting], chances[waiting]
            if chance < FLOOR or (best[index, 1] != NONE and chance < scores[index, 1]):
                continue
            if node < number:
                _insert(node, chance, index, best, scores)
                continue
            right = _right(rows[node - number], sums, index, scale)
            nodes[waiting], chances[waiting] = children[node, 1], chance * (right + FLOOR)
            nodes[waiting + 1], chances[waiting + 1] = children[node, 0], chance * (1.0 - right + FLOOR)
            waiting += 2


@njit(cache=True, nogil=True)
def _insert(label, score, index, best, scores):  # type: ignore[no-untyped-def]
    """Put a label into the two best so far, before what is not better."""
    if best[index, 0] == NONE or not score < scores[index, 0]:
        best[index, 1], scores[index, 1] = best[index, 0], scores[index, 0]
        best[index, 0], scores[index, 0] = label, score
    elif best[index, 1] == NONE or not score < scores[index, 1]:
        best[index, 1], scores[index, 1] = label, score


@njit(cache=True, nogil=True)
def _score_in_tree(sums, counts, rows, nodes, turns, out):  # type: ignore[no-untyped-def]
    for index in range(counts.size):
        if counts[index] == 0:
            continue
        scale, score = 1.0 / counts[index], 1.0
        for step in range(nodes.size - 1, -1, -1):
            right = _right(rows[nodes[step] - rows.shape[0]], sums, index, scale)
            score *= (right if turns[step] else 1.0 - right) + FLOOR
        out[index] = score


@njit(cache=True, nogil=True)
def _scores(sums, index, scale, labels, out):  # type: ignore[no-untyped-def]
    """Fill out [labels] with the score of each."""
    out[:] = 0.0
    for place in range(labels.columns.shape[0]):
        factor = sums[index, place] * scale
        for label in range(out.size):
            out[label] += factor * np.float64(labels.columns[place, label])
    if labels.loss == SOFTMAX:
        highest, total = out[0], 0.0
        for label in range(out.size):
            highest = max(highest, out[label])
        for label in range(out.size):
            out[label] = _exp(out[label] - highest) if out[label] == out[label] else out[label]
            total += out[label]
        for label in range(out.size):
            out[label] = out[label] / total + FLOOR
        return
    for label in range(out.size):
        x = out[label]
        if x != x:
            continue
        step = int((min(max(x, -8.0), 8.0) + MAX_SIGMOID) * SIGMOID_STEPS / MAX_SIGMOID / 2)
        chance = labels.sigmoids[step]
        if x < -MAX_SIGMOID or x > MAX_SIGMOID:
            chance = 0.0 if x < 0 else 1.0
        out[label] = chance + FLOOR


@njit(cache=True, nogil=True)
def _best_of_all(sums, counts, labels, best, scores):  # type: ignore[no-untyped-def]
    every = np.empty(labels.columns.shape[1], dtype=np.float64)
    for index in range(counts.size):
        if counts[index]:
            _scores(sums, index, 1.0 / counts[index], labels, every)
            for label in range(every.size):
                _insert(label, every[label], index, best, scores)


@njit(cache=True, nogil=True)
def _score_among_all(sums, counts, labels, label, out):  # type: ignore[no-untyped-def]
    every = np.empty(labels.columns.shape[1], dtype=np.float64)
    for index in range(counts.size):
        if counts[index]:
            _scores(sums, index, 1.0 / counts[index], labels, every)
            out[index] = every[label]

"""Reads a fastText model file (.bin, or quantized .ftz; format versions 11 and 12) into a `Model`.

Nothing in the file is trusted: every size is checked against the bytes that are there, and every index
against what it points into. What fastText itself would refuse, or misread without a word, is a UserError that
names the file. The format is that of fastText 0.9.2 (args.cc, dictionary.cc, densematrix.cc, quantmatrix.cc,
productquantizer.cc): little-endian values one after the other, no alignment, no checksums.
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from dataprep.fasttext.cursor import Cursor, cursor_at_start
from dataprep.fasttext.model import Model
from dataprep.fasttext.quantized import CENTROIDS, Quantized
from dataprep.fasttext.tables import Arguments, Dense, Dictionary, tables_of
from dataprep.kernels.fasttext_dictionary import read_entries
from dataprep.kernels.fasttext_labels import TREE, Labels, huffman_tree, sigmoid_table
from dataprep.kernels.fasttext_rows import MAX_CHARACTERS, MAX_WORDS
from dataprep.kernels.utf8 import read_only
from manifests.errors import UserError

MAGIC, VERSIONS = 793712314, (11, 12)
KINDS = {1: "word vectors (cbow)", 2: "word vectors (skipgram)", 3: "classifier"}
CLASSIFIER = 3
LABEL_PREFIX = "__label__"
MAX_DIM, MAX_BUCKET = 1 << 16, 1 << 28
"""Far above what is in use, so that a damaged number is seen."""


def read_model(path: str | os.PathLike[str]) -> Model:
    """The classifier in a file. UserError: no such file, damaged, word vectors and not a classifier."""
    cursor = cursor_at_start(os.fspath(path))
    arguments = _read_arguments(cursor)
    dictionary = _read_dictionary(cursor)
    inputs = _read_matrix(cursor, cursor.flag(), "input")
    if dictionary.pruned is not None and not isinstance(inputs, Quantized):
        raise cursor.refuse("its dictionary is pruned but its matrix is whole")
    # fastText reads a matrix as quantized only if the input matrix is.
    outputs = _read_matrix(cursor, cursor.flag() and isinstance(inputs, Quantized), "output")
    if cursor.at != cursor.file.size:
        raise cursor.refuse(f"{cursor.file.size - cursor.at:,} bytes follow its end")
    names = _names(cursor, dictionary)
    if not inputs.dim == outputs.dim == arguments.dim:
        raise cursor.refuse(f"rows of {inputs.dim} and {outputs.dim} components, not {arguments.dim}")
    if outputs.rows != len(names):
        raise cursor.refuse(f"{outputs.rows:,} rows for {len(names):,} labels")
    tables = tables_of(cursor, arguments, dictionary, inputs)
    return Model(cursor.path, names, tables, _labels(cursor, arguments.loss, dictionary, outputs))


def _read_arguments(cursor: Cursor) -> Arguments:
    if cursor.file.size < 4 or cursor.number(np.int32) != MAGIC:
        raise cursor.refuse("it begins with other bytes")
    version = cursor.number(np.int32)
    if version not in VERSIONS:
        raise cursor.refuse(f"its format version is {version}; read are {VERSIONS[0]} and {VERSIONS[1]}")
    dim, _, _, _, _, word_ngrams, loss, kind, bucket, min_n, max_n, _ = cursor.array(np.int32, 12).tolist()
    cursor.skip(8)  # the sampling threshold of training
    if kind in KINDS and kind != CLASSIFIER:
        hint = "train one with `dataprep train-classifier` or `fasttext supervised`"
        raise UserError(f"{KINDS[kind]} and no classifier", where=cursor.path, hint=hint)
    if version == 11:
        max_n = 0  # classifiers of that version used no character n-grams, whatever they say
    limits = {
        "model": (kind, CLASSIFIER, CLASSIFIER),
        "dim": (dim, 1, MAX_DIM),
        "wordNgrams": (word_ngrams, 0, MAX_WORDS),
        "loss": (loss, 1, 4),
        "minn": (min_n, 0, MAX_CHARACTERS),
        "maxn": (max_n, 0, MAX_CHARACTERS),
        "bucket": (bucket, 1 if max_n > 0 or word_ngrams > 1 else 0, MAX_BUCKET),
    }
    for name, (value, least, most) in limits.items():
        if not least <= value <= most:
            raise cursor.refuse(f"{name} is {value:,}")
    return Arguments(dim, word_ngrams, loss, bucket, min_n, max_n)


def _read_dictionary(cursor: Cursor) -> Dictionary:
    size, num_words, num_labels = cursor.array(np.int32, 3).tolist()
    _, num_pruned = cursor.array(np.int64, 2).tolist()
    if min(num_words, num_labels) < 0 or num_words + num_labels != size:
        raise cursor.refuse(f"a dictionary of {num_words:,} words, {num_labels:,} labels, {size:,} in all")
    if (found := read_entries(cursor.file, cursor.at, size)) is None:
        raise cursor.refuse("the file ends early, in its dictionary")
    entries, cursor.at = found
    if (entries.types[:num_words] != 0).any() or (entries.types[num_words:] != 1).any():
        raise cursor.refuse("words and labels of its dictionary are mixed up")
    pruned = None if num_pruned < 0 else cursor.array(np.int32, 2 * num_pruned).reshape(-1, 2)
    return Dictionary(entries, num_words, pruned)


def _read_matrix(cursor: Cursor, is_quantized: bool, what: str) -> Dense | Quantized:
    has_norms = is_quantized and cursor.flag()
    rows, dim = cursor.array(np.int64, 2).tolist()
    if not (0 <= rows < 1 << 40 and 1 <= dim <= MAX_DIM):
        raise cursor.refuse(f"its {what} matrix has {rows:,} rows of {dim:,} components")
    if not is_quantized:
        return Dense(rows, dim, cursor.skip(4 * rows * dim))
    num_codes = cursor.number(np.int32)
    codes = cursor.array(np.uint8, num_codes)
    part, centroids = _read_quantizer(cursor, dim)
    parts = -(-dim // part)
    if num_codes != rows * parts:
        raise cursor.refuse(f"{num_codes:,} codes for {rows:,} rows of {parts} parts")
    norms = np.ones(rows, dtype=np.float32)
    if has_norms:
        norm_codes = cursor.array(np.uint8, rows)
        norms = _read_quantizer(cursor, 1)[1][norm_codes]
    return Quantized(codes.reshape(rows, parts), norms, centroids, part, dim)


def _read_quantizer(cursor: Cursor, dim: int) -> tuple[int, npt.NDArray[np.float32]]:
    """(components of a part, centroids)."""
    found = tuple(cursor.array(np.int32, 4).tolist())
    part = found[2]
    if part < 1 or found != (dim, -(-dim // part), part, dim % part or part):
        raise cursor.refuse(f"a quantizer of {found} for {dim} components")
    return part, cursor.array(np.float32, dim * CENTROIDS)


def _names(cursor: Cursor, dictionary: Dictionary) -> tuple[str, ...]:
    entries, first = dictionary.entries, dictionary.num_words
    if first == len(entries.starts):
        raise cursor.refuse("it has no labels")
    spans = zip(entries.starts[first:].tolist(), entries.ends[first:].tolist(), strict=True)
    try:
        names = [cursor.file[start:end].tobytes().decode("utf-8") for start, end in spans]
    except UnicodeDecodeError:
        raise cursor.refuse("a label is not UTF-8") from None
    return tuple(name.removeprefix(LABEL_PREFIX) for name in names)


def _labels(cursor: Cursor, loss: int, dictionary: Dictionary, outputs: Dense | Quantized) -> Labels:
    if isinstance(outputs, Quantized):
        rows = outputs.unpacked()
    else:
        cursor.at = outputs.start
        rows = cursor.array(np.float32, outputs.rows * outputs.dim).reshape(outputs.rows, outputs.dim)
    columns, children = np.zeros((0, 0), dtype=np.float32), np.zeros((0, 2), dtype=np.int64)
    if loss == TREE:
        try:
            children = huffman_tree(dictionary.entries.counts[dictionary.num_words :])
        except ValueError as error:
            raise cursor.refuse(str(error)) from None
    else:
        columns = np.ascontiguousarray(rows.T)
    return Labels(loss, *(read_only(each) for each in (rows, columns, children, sigmoid_table())))

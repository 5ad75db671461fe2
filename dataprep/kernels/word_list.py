"""Whether one of a list of words or phrases stands in a text, whatever its case, in one walk.

Case is `str.lower`, character by character, with every final sigma as an ordinary one. A word stands where
no letter, digit or underscore (`str.isalnum`) is next to it, or, where a script has no spaces, anywhere.
Slow twin: `tests/reference/word_list.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.marks import ALPHANUMERIC, mark_table, properties_at
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.unicode import POPULATED
from dataprep.kernels.utf8 import decode, pointer, read_only

DOTTED_I = 0x130
"""Its lower case is an i and a dot, two characters: it is a letter of no word, and the dot parts it from
what comes after."""

Trie = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.uint8]]


def folded(text: str) -> str:
    """A word or text in the case in which words are looked for."""
    return text.lower().replace("\u03c2", "\u03c3")


@lru_cache(maxsize=1)
def _lower() -> npt.NDArray[np.int32]:
    """int32[0x40000]: the lower case of each code point; -1 where that is more than one."""
    lower = np.arange(POPULATED[0].stop, dtype=np.int32)
    for code in POPULATED[0]:
        character = chr(code)
        small = folded(character)
        if small != character:
            lower[code] = ord(small) if len(small) == 1 else -1
    return lower


@lru_cache(maxsize=4)
def word_trie(words: frozenset[str]) -> Trie:
    """(letters int32[0x40000], children int32[nodes, letters + 1], ends uint8[nodes]) of folded words.

    letters   number of the letter that a code point is in any case; 0 if no word has it
    children  node after a node and a letter, 0 for none; node 0 is the root
    ends      1 where a word ends
    """
    alphabet = {letter: number for number, letter in enumerate(sorted(set("".join(words))), start=1)}
    of_code = np.zeros(POPULATED[0].stop, dtype=np.int32)
    for letter, number in alphabet.items():
        if ord(letter) < of_code.size:
            of_code[ord(letter)] = number
    lower = _lower()
    letters = np.where(lower >= 0, of_code[lower], 0).astype(np.int32)
    nodes: list[dict[int, int]] = [{}]
    ends = [0]
    for word in sorted(words):
        node = 0
        for letter in word:
            if alphabet[letter] not in nodes[node]:
                nodes[node][alphabet[letter]] = len(nodes)
                nodes.append({})
                ends.append(0)
            node = nodes[node][alphabet[letter]]
        ends[node] = 1
    children = np.zeros((len(nodes), len(alphabet) + 1), dtype=np.int32)
    for number, after in enumerate(nodes):
        children[number, list(after)] = list(after.values())
    return read_only(letters), read_only(children), read_only(np.array(ends, dtype=np.uint8))


def has_word(data: Bytes, offsets: Offsets, words: Iterable[str], apart: bool) -> npt.NDArray[np.bool_]:
    """bool[n]: whether one of the words, none empty, stands in each text. `apart`: with no letter next to
    it."""
    wanted = frozenset(map(folded, words))
    return _has_word(read_only(data), read_only(offsets), apart, *word_trie(wanted), *mark_table())


@njit(cache=True, nogil=True, forceinline=True)
def _parts(text, at, stop, pages, cells):  # type: ignore[no-untyped-def]
    """Whether the character at `at` is no letter, digit or underscore."""
    if text[at] == 0x5F:
        return False
    return properties_at(text, at, stop, pages, cells)[0] & ALPHANUMERIC == 0


@njit(cache=True, nogil=True)
def _has_word(  # type: ignore[no-untyped-def]
    data, offsets, apart, letters, children, ends, page_array, cell_array
):
    text, pages, cells = pointer(data), pointer(page_array), pointer(cell_array)
    out = np.zeros(offsets.size - 1, dtype=np.bool_)
    for index in range(offsets.size - 1):
        start, stop = offsets[index], offsets[index + 1]
        at, may_begin = start, True
        while at < stop and not out[index]:
            code, size = decode(text, at, stop)
            node = 0
            if may_begin:
                place, here, wide = at, code, size
                while True:
                    letter = letters[here] if here < letters.size else 0
                    node = children[node, letter] if letter else 0
                    place += wide
                    if node == 0:
                        break
                    if ends[node] and (not apart or place == stop or _parts(text, place, stop, pages, cells)):
                        out[index] = True
                        break
                    if place == stop:
                        break
                    here, wide = decode(text, place, stop)
            may_begin = not apart or code == DOTTED_I or _parts(text, at, stop, pages, cells)
            at += size
    return out

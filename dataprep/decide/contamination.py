"""Which documents contaminate which examples: the hits of all documents, judged by a definition.

What must be known of all documents is small and adds up: in how many documents each n-gram stands
(`gram_documents`). With the sum over all splits in hand, each split is judged by itself (`evidence`), so
results depend neither on the number of splits nor on their order. `contaminated_texts` and `tally` put the
splits together again.

An n-gram in more than `frequent` documents is no evidence while it is isolated: while the stretch of an
example that it belongs to matches fewer than twice its words. A stretch of 2n words or more always counts, so
that a question copied a thousand times is not excused as boilerplate. The documents to count are those left
after exact deduplication.

Slow twin: `tests/reference/contamination.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dataprep.evals.definitions import PPM
from dataprep.evals.index import UNTESTED, EvalIndex
from dataprep.evals.measure import Hits

Int64s = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

FREQUENT = 10
"""GPT-3's n-grams in more than ten documents are no evidence either (arXiv:2005.14165, appendix C)."""

EXPANDED = 1 << 22
"""Places of n-grams that are looked at together; bounds memory to some 300 MB. One document may take more."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What an index's definition is applied with.

    frequent  an n-gram in more documents than this is no evidence while isolated; None: all are
    answer    of runs: the answer of the example, where it has one, must stand near the run
    """

    frequent: int | None = None
    answer: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What counts against documents of one split.

    pairs    int64 [p, 7]: document, text, matched words that count, first word and end in the text, first
             byte and end in the document. Of runs, a row for each; else one row for a document and text, with
             the bytes of its first stretch of n-grams. Ordered by document, then text, then place.
    excused  int64 [q, 7]: the same, of what would count if none of its n-grams were frequent
    """

    pairs: Int64s
    excused: Int64s


def gram_documents(hits: Hits, index: EvalIndex, counted: Mask | None = None) -> Int64s:
    """int64[g]: in how many of the documents each n-gram stands; `counted`, bool[documents], chooses them."""
    distinct = _first_grams(hits)
    if counted is not None:
        distinct = distinct[counted[distinct[:, 0]]]
    return np.bincount(distinct[:, 1], minlength=index.references.keys.size).astype(np.int64)


def evidence(hits: Hits, index: EvalIndex, documents: Int64s | None, rule: Rule) -> Evidence:
    """What the documents of a split show; `documents` is the sum of `gram_documents` over all splits, None
    where it is not asked for."""
    frequent = None
    if rule.frequent is not None and documents is not None:
        frequent = documents > rule.frequent
    if index.definition.kind == "run":
        return _of_runs(hits, index, frequent, rule.answer)
    parts = [_of_grams(part, index, frequent) for part in _pieces(_first_grams(hits), index)]
    lost, counts = (
        np.concatenate([np.zeros((0, 7), dtype=np.int64), *(part[place] for part in parts)])
        for place in (0, 1)
    )
    return Evidence(counts, lost)


def contaminated_texts(parts: Sequence[Evidence], index: EvalIndex, documents: Int64s) -> Mask:
    """bool[t]: which texts are contaminated. Of a definition that asks what all documents show together, more
    than the documents with evidence of their own may be at fault."""
    texts = np.zeros(index.num_texts, dtype=np.bool_)
    if index.definition.kind == "seen":
        part, whole = seen_share(index, documents > 0)
        reached = part * PPM
        needed = whole * index.shares.astype(np.int64)
        texts |= reached > needed if index.definition.by_words else reached >= needed
        return texts & (part > 0)
    for each in parts:
        texts[each.pairs[:, 1]] = True
    return texts


def seen_share(index: EvalIndex, seen: Mask) -> tuple[Int64s, Int64s]:
    """(part, whole) int64[t] of each text: n-grams that are seen and all of them, or words in such n-grams
    and all words."""
    references, size = index.references, index.definition.ngram
    first = references.word_offsets[:-1]
    if index.num_texts == 0:
        return first, first
    hit = np.zeros(references.words.size, dtype=np.int64)
    whole = references.grams >= 0
    hit[whole] = seen[references.grams[whole]]
    if not index.definition.by_words:
        return np.add.reduceat(hit, first), np.add.reduceat(whole.astype(np.int64), first)
    covered = np.zeros(hit.size + size, dtype=np.int64)  # no n-gram reaches past its text
    covered[:-size] += hit
    covered[size:] -= hit
    return np.add.reduceat((np.cumsum(covered)[: hit.size] > 0).astype(np.int64), first), index.text_words


@dataclass(frozen=True, slots=True)
class SetTally:
    """One line of the table: an evaluation set and what became of it."""

    name: str
    digest: str
    examples: int
    tested: int
    contaminated: int
    documents: int

    @property
    def share_ppm(self) -> int:
        """Contaminated among the tested, in millionths."""
        return self.contaminated * PPM // max(1, self.tested)


def tally(parts: Sequence[Evidence], texts: Mask, index: EvalIndex) -> list[SetTally]:
    """Of each set: examples, those that could be tested, those contaminated, and documents with evidence."""
    documents = [0] * len(index.sets)
    of_text = text_sets(index)
    for part in parts:
        pairs = np.unique(part.pairs[texts[part.pairs[:, 1]], :2], axis=0)
        for place in range(len(index.sets)):
            documents[place] += np.unique(pairs[of_text[place][pairs[:, 1]], 0]).size
    rows = []
    for place, each in enumerate(index.sets):
        mine = index.example_texts[each.first : each.first + each.examples]
        tested = mine[mine != UNTESTED]
        contaminated = int(texts[tested].sum())
        rows.append(
            SetTally(each.name, each.digest, each.examples, tested.size, contaminated, documents[place])
        )
    return rows


def text_sets(index: EvalIndex) -> list[Mask]:
    """Of each set bool[t]: the texts of its examples."""
    masks = []
    for each in index.sets:
        mine = index.example_texts[each.first : each.first + each.examples]
        mask = np.zeros(index.num_texts, dtype=np.bool_)
        mask[mine[mine != UNTESTED]] = True
        masks.append(mask)
    return masks


def example_marks(texts: Mask, index: EvalIndex) -> npt.NDArray[np.int8]:
    """int8[e]: 1 for a contaminated example, 0 for a clean one, -1 for one that could not be tested."""
    marks = np.full(index.example_texts.size, -1, dtype=np.int8)
    tested = index.example_texts != UNTESTED
    marks[tested] = texts[index.example_texts[tested]]
    return marks


def _first_grams(hits: Hits) -> Int64s:
    """int64[k, 4]: the hits, each n-gram of a document once, where it comes first; by document and n-gram."""
    if not len(hits.grams):
        return hits.grams
    order = np.lexsort((hits.grams[:, 2], hits.grams[:, 1], hits.grams[:, 0]))
    grams = hits.grams[order]
    first = np.ones(len(grams), dtype=np.bool_)
    first[1:] = (np.diff(grams[:, :2], axis=0) != 0).any(axis=1)
    return grams[first]


def _of_runs(hits: Hits, index: EvalIndex, frequent: Mask | None, answer: bool) -> Evidence:
    runs, references, size = hits.runs, index.references, index.definition.ngram
    if answer:
        has_none = np.diff(references.answer_offsets)[runs[:, 1]] == 0
        runs = runs[(runs[:, 8] == 1) | has_none]
    matched = runs[:, 2].copy()
    for row in np.flatnonzero(matched < 2 * size).tolist() if frequent is not None else ():
        first = int(references.word_offsets[runs[row, 1]])
        grams = references.grams[first + runs[row, 4] : first + max(runs[row, 4], runs[row, 5] - size + 1)]
        assert frequent is not None
        often = frequent[grams]
        if often.any():
            covered = _spread(often, size), _spread(~often, size)
            matched[row] -= min(matched[row], int((covered[0] & ~covered[1]).sum()))
    table = np.column_stack([runs[:, :2], matched, runs[:, 4:8]])
    counts = matched >= references.needs[runs[:, 1]]
    return Evidence(_ordered(table[counts]), _ordered(table[~counts]))


def _spread(starts: Mask, size: int) -> Mask:
    """Which words lie in the n-grams that begin at the chosen places."""
    words = np.zeros(starts.size + size - 1, dtype=np.bool_)
    for shift in range(size):
        words[shift : shift + starts.size] |= starts
    return words


def _ordered(table: Int64s) -> Int64s:
    return table[np.lexsort((table[:, 5], table[:, 1], table[:, 0]))]


def _pieces(distinct: Int64s, index: EvalIndex) -> Iterator[Int64s]:
    """Whole documents at a time, so many that their n-grams stand in about EXPANDED places."""
    sizes = np.diff(index.references.gram_offsets)[distinct[:, 1]]
    ends = np.cumsum(sizes)
    start = 0
    while start < len(distinct):
        stop = int(np.searchsorted(ends, (ends[start - 1] if start else 0) + EXPANDED, side="right"))
        stop = min(max(stop, start + 1), len(distinct))
        document = distinct[stop - 1, 0]
        if stop < len(distinct) and distinct[stop, 0] == document:
            before = int(np.searchsorted(distinct[:, 0], document, side="left"))
            after = int(np.searchsorted(distinct[:, 0], document, side="right"))
            stop = before if before > start else after
        yield distinct[start:stop]
        start = stop


def _of_grams(distinct: Int64s, index: EvalIndex, frequent: Mask | None) -> tuple[Int64s, Int64s]:
    """(what would count if no n-gram were frequent but does not, what counts), rows as in `Evidence`."""
    references = index.references
    counts = np.diff(references.gram_offsets)[distinct[:, 1]]
    owners = np.repeat(np.arange(len(distinct)), counts)
    within = np.arange(owners.size) - np.repeat(np.cumsum(counts) - counts, counts)
    places = references.places[references.gram_offsets[distinct[owners, 1]] + within].astype(np.int64)
    order = np.lexsort((places, distinct[owners, 0]))
    found = _Found(distinct[owners[order]], places[order], index)
    whole = _judged(found, index)
    if frequent is None:
        return whole[:0], whole
    rest = _judged(found.take(~frequent[found.hits[:, 1]] | ~_isolated(found, index.definition.ngram)), index)
    return whole[~_among(whole[:, :2], rest[:, :2])], rest


class _Found:
    """N-grams of documents laid over the texts: hits int64 [k, 4] as in `Hits`, places among all words of the
    index, texts; by document and place."""

    def __init__(
        self, hits: Int64s, places: Int64s, index: EvalIndex | None = None, texts: Int64s | None = None
    ) -> None:
        self.hits, self.places = hits, places
        if index is not None:
            texts = np.searchsorted(index.references.word_offsets, places, side="right") - 1
        assert texts is not None
        self.texts: Int64s = texts

    def take(self, chosen: Mask) -> _Found:
        return _Found(self.hits[chosen], self.places[chosen], texts=self.texts[chosen])

    def changes(self) -> Mask:
        """Where another document or text begins."""
        new = np.ones(self.places.size, dtype=np.bool_)
        new[1:] = (np.diff(self.texts) != 0) | (np.diff(self.hits[:, 0]) != 0)
        return new


def _among(rows: Int64s, others: Int64s) -> Mask:
    """bool[n]: which rows (document, text) are among the others."""
    width = max(rows[:, 1].max(initial=0), others[:, 1].max(initial=0)) + 1
    return np.isin(rows[:, 0] * width + rows[:, 1], others[:, 0] * width + others[:, 1])


def _isolated(found: _Found, size: int) -> Mask:
    """bool[k]: which n-grams belong to a stretch of neighbours of fewer than 2n words."""
    new = found.changes()
    new[1:] |= np.diff(found.places) != 1
    lengths = np.diff(np.append(np.flatnonzero(new), found.places.size))
    return np.repeat(lengths + size - 1 < 2 * size, lengths)


def _judged(found: _Found, index: EvalIndex) -> Int64s:
    """The documents and texts whose n-grams reach what the definition asks."""
    definition, size, places = index.definition, index.definition.ngram, found.places
    if not places.size:
        return np.zeros((0, 7), dtype=np.int64)
    new = found.changes()
    firsts = np.flatnonzero(new)
    lasts = np.append(firsts[1:], places.size) - 1
    reach = np.full(places.size, size, dtype=np.int64)
    reach[:-1] = np.where(new[1:], size, np.minimum(size, np.diff(places)))
    words = np.add.reduceat(reach, firsts)
    text = found.texts[firsts]
    begin, lengths = index.references.word_offsets[text], index.text_words[text]
    shares = index.shares[text].astype(np.int64)
    if definition.kind == "any":
        chosen = np.ones(firsts.size, dtype=np.bool_)
    elif definition.by_words:
        chosen = words * PPM > lengths * shares
    else:
        chosen = (lasts - firsts + 1) * PPM >= (lengths - size + 1) * shares
    # The first stretch: n-grams that follow one another in the text and overlap in the document.
    starts, ends = found.hits[:, 2], found.hits[:, 3]
    parted = new.copy()
    parted[1:] |= (np.diff(places) != 1) | (np.diff(starts) <= 0) | (starts[1:] > ends[:-1])
    breaks = np.append(np.flatnonzero(parted), places.size)
    stretch_ends = breaks[np.searchsorted(breaks, firsts, side="right")] - 1
    columns = (found.hits[firsts, 0], text, words, places[firsts] - begin, places[lasts] + size - begin)
    return np.column_stack([*columns, starts[firsts], ends[stretch_ends]])[chosen]


def hits_of_pairs(pairs: Int64s, hits: Hits, index: EvalIndex) -> Int64s:
    """int64[h, 3]: (document, first byte, end) of the hits whose n-gram is of a text that the document is
    paired with, in order: what there is to cut where no runs are grown."""
    references, chosen = index.references, np.unique(pairs[:, :2], axis=0)
    lengths = index.text_words[chosen[:, 1]]
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    grams = references.grams[np.repeat(references.word_offsets[chosen[:, 1]], lengths) + within]
    whole, count = grams >= 0, references.keys.size
    wanted = np.unique(np.repeat(chosen[:, 0], lengths)[whole] * count + grams[whole])
    return hits.grams[np.isin(hits.grams[:, 0] * count + hits.grams[:, 1], wanted)][:, [0, 2, 3]]

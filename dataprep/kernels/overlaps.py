"""Where documents overlap with a set of reference texts: hits of n-grams, and runs of words grown from them.

A hit is an n-gram of a document that is in the set (`kernels/grams.py`). From hits grow runs: a hit is laid
over each place of the reference texts where its n-gram stands, and both sides are followed word by word, to
the right and to the left. Where the words differ, up to 3 words of either side may be passed over, if at
least CONFIRM words after them are equal again (or all that the reference text has left, where that is less);
of the ways to pass over, the first in SKIPS that does it. `matched` counts equal words, `exact` is the
longest stretch of them without a difference. A run that matches at least what its reference text needs is
kept. A hit inside the run that was kept last over the same reference text grows nothing; of that run and a
new one that overlap in the document the one with more matched words stays, of equals the first.

Runs also grow from n-grams with a hole, one word longer: any word may stand at one of the places HOLES. A
short text with a changed word in the middle has no other seed. Hits are taken in the order in which they
begin, one without a hole first, then by the place of the hole.

An n-gram that stands in many reference texts (a template of an eval set) is no seed; runs grow over it from
seeds beside it. Every reference text has a seed (see `dataprep/evals/index.py`).

Slow twin: `tests/reference/contamination.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.grams import HOLES, NO_GRAM, filter_shift, grams_of, holed_grams_of
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import longest, pointer, read_only
from dataprep.kernels.word_keys import Keys, keys_of, most_words, word_table

SKIPS = np.array(
    [(1, 1), (1, 0), (0, 1), (2, 1), (1, 2), (2, 2), (2, 0), (0, 2), (3, 1), (1, 3), (3, 2), (2, 3), (3, 3),
     (3, 0), (0, 3)], dtype=np.int64,
)  # fmt: skip
"""Words passed over in the document and in the reference text, in the order in which they are tried."""

CONFIRM = 2
HIT_FIELDS, RUN_FIELDS = 4, 9
Int64s = npt.NDArray[np.int64]


class References(NamedTuple):
    """The reference texts, as words one after the other, and the n-grams in them.

    words           uint64 [w]: keys of words
    word_offsets    int64 [t + 1]: of each text
    needs           int32 [t]: matched words that make a run worth keeping; 0 keeps none
    grams           int32 [w]: number of the n-gram that begins at each word; -1 where none does
    gram_offsets    int64 [g + 1]: where an n-gram's places begin in `places`
    places          int32 [p]: where each n-gram stands in `words`
    seeds           uint8 [g]: whether runs grow from it
    answer_words    uint64 [a], answer_offsets int64 [t + 1]: the answer that goes with a text; may be empty
    keys, slots, filter, coarse: of the n-grams, see `grams.GramTable`
    holed_*         the same arrays of n-grams with a hole, wherever it is; all of them are seeds
    """

    words: Keys
    word_offsets: Offsets
    needs: npt.NDArray[np.int32]
    grams: npt.NDArray[np.int32]
    gram_offsets: Offsets
    places: npt.NDArray[np.int32]
    seeds: npt.NDArray[np.uint8]
    answer_words: Keys
    answer_offsets: Offsets
    keys: Keys
    slots: npt.NDArray[np.int32]
    filter: Keys
    coarse: Keys
    holed_offsets: Offsets
    holed_places: npt.NDArray[np.int32]
    holed_keys: Keys
    holed_slots: npt.NDArray[np.int32]
    holed_filter: Keys
    holed_coarse: Keys


def overlaps(
    data: Bytes, offsets: Offsets, references: References, size: int, manner: int, answer_window: int
) -> tuple[Int64s, Int64s]:
    """(hits int64[h, 4], runs int64[r, 9]), in the order of texts.

    hits  (text, number of the n-gram, first byte, end), bytes counted from where the text begins; in the
          order of the words
    runs  (text, reference text, matched, exact, first word and end in the reference text, first byte and end
          in the text, whether the answer stands within `answer_window` words of the run)
    """
    if longest(offsets) >= 2**31:
        raise ValueError("overlaps are found in texts of less than 2 GiB")
    frozen = References(*(read_only(np.asarray(array)) for array in references))
    return _overlaps(read_only(data), read_only(offsets), *word_table(manner), *frozen, size, answer_window)


@njit(cache=True, nogil=True)
def _with_room(rows, count, more):  # type: ignore[no-untyped-def]
    if count + more <= rows.shape[0]:
        return rows
    larger = np.empty((2 * (count + more), rows.shape[1]), dtype=np.int64)
    larger[:count] = rows[:count]
    return larger


@njit(cache=True, nogil=True)
def _overlaps(  # type: ignore[no-untyped-def]
    data, offsets, pages, cells, sequence_data, sequence_offsets, sequence_alone, manner,
    words, word_offsets, needs, grams, gram_offsets, places, seeds, answer_words, answer_offsets,
    gram_keys, slots, bits, coarse,
    holed_offsets, holed_places, holed_keys, holed_slots, holed_bits, holed_coarse,
    size, answer_window,
):  # fmt: skip
    most = 0
    for index in range(offsets.size - 1):
        most = max(most, offsets[index + 1] - offsets[index])
    room = most_words(most) + 1
    keys, nothing = np.empty(room, dtype=np.uint64), np.empty(0, dtype=np.int64)
    hit_places, numbers = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    holed_room = len(HOLES) * room + 1 if holed_keys.size else 1
    holed_hits, holed_numbers = np.empty(holed_room, dtype=np.int64), np.empty(holed_room, dtype=np.int64)
    starts, ends = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    table = (
        pointer(pages), pointer(cells), pointer(sequence_data), pointer(sequence_offsets),
        pointer(sequence_alone), manner,
    )  # fmt: skip
    whole = (
        pointer(gram_keys), pointer(slots), slots.size - 1,
        pointer(bits), filter_shift(bits.size), pointer(coarse), filter_shift(coarse.size),
    )  # fmt: skip
    holed = (
        pointer(holed_keys), pointer(holed_slots), holed_slots.size - 1,
        pointer(holed_bits), filter_shift(holed_bits.size), pointer(holed_coarse),
        filter_shift(holed_coarse.size),
    )  # fmt: skip
    hits, runs = np.empty((256, HIT_FIELDS), dtype=np.int64), np.empty((64, RUN_FIELDS), dtype=np.int64)
    latest = np.full(needs.size, -1, dtype=np.int64)  # of each reference text its last run
    num_hits, num_runs, hole = 0, 0, 0
    unplaced = pointer(keys), pointer(nothing), pointer(nothing), False
    placed = pointer(keys), pointer(starts), pointer(ends), True
    for index in range(offsets.size - 1):
        begin, stop = offsets[index], offsets[index + 1]
        count = keys_of(pointer(data), begin, stop, table, unplaced, 0)
        found = grams_of(pointer(keys), count, size, whole, pointer(hit_places), pointer(numbers))
        found_holed = 0
        if holed_keys.size:
            found_holed = holed_grams_of(
                pointer(keys), count, size + 1, holed, pointer(holed_hits), pointer(holed_numbers)
            )
        if found + found_holed == 0:
            continue
        keys_of(pointer(data), begin, stop, table, placed, 0)
        hits = _with_room(hits, num_hits, found)
        for hit in range(found):
            place = hit_places[hit]
            hits[num_hits, 0], hits[num_hits, 1] = index, numbers[hit]
            hits[num_hits, 2], hits[num_hits, 3] = starts[place] - begin, ends[place + size - 1] - begin
            num_hits += 1
        first_run, next_hit, next_holed = num_runs, 0, 0
        while next_hit < found or next_holed < found_holed:
            is_whole = next_hit < found and (
                next_holed == found_holed or hit_places[next_hit] <= holed_hits[next_holed] >> 2
            )
            if is_whole:
                number, place = numbers[next_hit], hit_places[next_hit]
                next_hit += 1
                if not seeds[number]:
                    continue
                first, last = gram_offsets[number], gram_offsets[number + 1]
            else:
                number, place = holed_numbers[next_holed], holed_hits[next_holed] >> 2
                hole = HOLES[holed_hits[next_holed] & 3]
                next_holed += 1
                first, last = holed_offsets[number], holed_offsets[number + 1]
            for posting in range(first, last):
                if is_whole:
                    from_place, at = place, np.int64(places[posting])
                    before = grams[at - 1] if place > 0 and at > 0 else NO_GRAM
                    if before != NO_GRAM and seeds[before] and keys[place - 1] == words[at - 1]:
                        continue  # the run was grown from the word before
                else:
                    if keys[place + hole] == words[holed_places[posting] + hole]:
                        continue  # no hole in truth
                    from_place, at = place + hole + 1, np.int64(holed_places[posting]) + hole + 1
                text = np.searchsorted(word_offsets, at, side="right") - 1
                last_run = latest[text]
                if last_run >= first_run and runs[last_run, 6] <= from_place < runs[last_run, 7]:
                    continue
                if needs[text] == 0:
                    continue
                runs = _with_room(runs, num_runs, 1)
                run = runs[num_runs]
                _grow(keys, count, from_place, words, word_offsets[text], word_offsets[text + 1], at, run)
                if run[2] < needs[text]:
                    continue
                if last_run >= first_run and run[6] < runs[last_run, 7]:
                    if run[2] > runs[last_run, 2]:
                        runs[last_run, 2:8] = run[2:8]
                    continue
                run[0], run[1] = index, text
                latest[text] = num_runs
                num_runs += 1
        for number in range(first_run, num_runs):
            run = runs[number]
            text, first, end = run[1], run[6], run[7]
            run[4] -= word_offsets[text]
            run[5] -= word_offsets[text]
            run[6], run[7] = starts[first] - begin, ends[end - 1] - begin
            low, high = answer_offsets[text], answer_offsets[text + 1]
            run[8] = _stands(
                keys, max(0, first - answer_window), min(count, end + answer_window), answer_words, low, high
            )
    return hits[:num_hits].copy(), runs[:num_runs].copy()


@njit(cache=True, nogil=True)
def _stands(keys, first, last, answer, low, high):  # type: ignore[no-untyped-def]
    """Whether answer[low:high] stands in keys[first:last]; an empty answer stands nowhere."""
    if low == high:
        return 0
    for place in range(first, last - (high - low) + 1):
        same = True
        for word in range(high - low):
            if keys[place + word] != answer[low + word]:
                same = False
                break
        if same:
            return 1
    return 0


@njit(cache=True, nogil=True)
def _grow(keys, count, place, words, low, high, at, run):  # type: ignore[no-untyped-def]
    """Fills run[2:8] with what grows from keys[place] == words[at]: matched, exact, first word and end among
    `words`, first word and end in the document."""
    matched, exact, first_stretch = 0, 0, 0
    run[4], run[5], run[6], run[7] = at, at, place, place
    for step in (1, -1):
        if step == 1:
            mine, theirs = place, at
            more, most_theirs = count - place, high - at
        else:
            mine, theirs = place - 1, at - 1
            more, most_theirs = place, at - low
        # From here on counted in words gone, so that one loop serves both ways.
        gone, theirs_gone, straight = 0, 0, 0
        while True:
            while (
                gone < more
                and theirs_gone < most_theirs
                and keys[mine + step * gone] == words[theirs + step * theirs_gone]
            ):
                gone += 1
                theirs_gone += 1
                straight += 1
            matched += straight
            if theirs_gone == straight == gone and step == 1:
                first_stretch = straight
            elif theirs_gone == straight == gone:  # right before it: not when the word before was a seed
                straight += first_stretch
            exact = max(exact, straight)
            if step == 1:
                run[5], run[7] = at + theirs_gone, place + gone
            else:
                run[4], run[6] = at - theirs_gone, place - gone
            straight = 0
            skipped = False
            for way in range(SKIPS.shape[0]):
                new, theirs_new = gone + SKIPS[way, 0], theirs_gone + SKIPS[way, 1]
                wanted = min(CONFIRM, most_theirs - theirs_new)
                if wanted <= 0 or new + wanted > more:
                    continue
                same = True
                for word in range(wanted):
                    if keys[mine + step * (new + word)] != words[theirs + step * (theirs_new + word)]:
                        same = False
                        break
                if same:
                    gone, theirs_gone, skipped = new, theirs_new, True
                    break
            if not skipped:
                break
    run[2], run[3] = matched, exact

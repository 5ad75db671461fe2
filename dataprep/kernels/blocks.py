"""The words of 64 bytes of ASCII at once: the rules of `kernels/words.py` as operations on masks.

What the masks cannot settle (bytes beyond ASCII, full stops inside a chunk, several marks in a row between
letters) is called hard and left to `words.py`, which walks such chunks by character; in English that is one
chunk in a hundred. The block begins with white space or with a chunk, never inside one.

Names: a mark that is a word of its own at the front or the back of a chunk is loose; one between two letters
or digits either cuts them (and is a word) or joins them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dataprep.kernels.masks import (
    EVERY,
    ONE,
    byte_set,
    bytes_of,
    first_bits,
    followed_by,
    lowest,
    preceded_by,
)
from dataprep.kernels.utf8 import leading_zeros

TWO, THREE, FOUR = np.uint64(2), np.uint64(3), np.uint64(4)

capitals, small, figures = byte_set((0x41, 0x5A)), byte_set((0x61, 0x7A)), byte_set((0x30, 0x39))
spaces = byte_set((0x09, 0x0D), (0x1C, 0x20))
marks = byte_set((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))
stiff = bytes_of("$%+-./=@\\^|~")  # not OUTER, QUOTE, APOSTROPHE, COMMA, COLON, ANGLE or STAR
full_stops, commas, apostrophes = bytes_of("."), bytes_of(","), bytes_of("'")
links, hyphens, signs = bytes_of(":<>=/"), bytes_of("-~"), bytes_of("*+^")
percents, dollars = bytes_of("%"), bytes_of("$")
s_d_m, l_l, r_v, e_e, n_n, t_t = (bytes_of(letters) for letters in ("sdmSDM", "lL", "rvRV", "eE", "nN", "tT"))


@njit(cache=True, nogil=True, forceinline=True)
def _contractions(text, at, mids, solid, ends):  # type: ignore[no-untyped-def]
    """(where a contraction begins, what is hard). `ends`: what may follow one: white space, loose marks."""
    found = apostrophes(text, at) & mids
    after_2, after_3 = ends >> TWO, ends >> THREE
    ll, e, t = l_l(text, at) & solid, e_e(text, at) & solid, t_t(text, at) & solid
    one = followed_by(s_d_m(text, at)) & after_2
    two = ((followed_by(ll) & (ll >> TWO)) | (followed_by(r_v(text, at)) & (e >> TWO))) & after_3
    n_t = n_n(text, at) & followed_by(found) & (t >> TWO) & after_3
    # One contraction after another, or one after a mark, changes what stands before it.
    close = (found >> TWO) | (found >> THREE) | (found >> FOUR)
    hard = (found & close) | (n_t & preceded_by(mids))
    return (found & (one | two)) | (n_t & preceded_by(solid)), hard


@njit(cache=True, nogil=True, forceinline=True)
def block_words(text, at, room):  # type: ignore[no-untyped-def]
    """(first bytes, last bytes, letters, letters and digits, covered, hard) of the words in the first
    `room` of the 64 bytes from `at` on; beyond them is white space.

    Words are found in the first `covered` bytes, whole chunks and white space; then comes a chunk that is
    hard (where `hard` is not 0) or not whole.
    """
    inside = first_bits(room)
    space = spaces(text, at) | ~inside
    capital = capitals(text, at) & inside
    letter = (capital | small(text, at)) & inside
    figure = figures(text, at) & inside
    solid = letter | figure
    mark = marks(text, at) & inside
    stop = full_stops(text, at) & inside
    rigid = stiff(text, at) & mark

    # Rule 3: marks between two letters or digits.
    mids = mark & ~stop & preceded_by(solid) & followed_by(solid)
    between_figures = preceded_by(figure) & followed_by(figure)
    cuts = mids & (
        (commas(text, at) & preceded_by(letter) & followed_by(letter))
        | (links(text, at) & followed_by(letter))
        | (hyphens(text, at) & (followed_by(letter) | between_figures))
        | (signs(text, at) & between_figures)
    )
    # Rules 1 and 2: loose marks. A full stop is one after a small letter, a digit, two capitals or another,
    # at the end of a chunk; a block begins with a chunk, so nothing stands before its first byte.
    loose = mark & ~rigid & ~mids
    begins = preceded_by(space) | ONE
    after_word = preceded_by((letter & ~capital) | figure | loose) | (preceded_by(capital) & (capital << TWO))
    loose_stop = stop & followed_by(space | loose) & after_word
    loose |= loose_stop
    loose |= rigid & (
        (begins & followed_by(space))
        | (percents(text, at) & preceded_by(figure) & followed_by(space | loose))
        | (dollars(text, at) & begins & followed_by(solid))
    )
    initial = stop & preceded_by(capital) & ~(capital << TWO) & followed_by(space | loose)
    whole = solid | (mids & ~cuts) | (stop & between_figures) | initial

    hard = ~(whole | cuts | loose | space)
    splits = np.uint64(0)
    if apostrophes(text, at) & mids:
        splits, unclear = _contractions(text, at, mids, solid, space | loose)
        hard |= unclear
    # Loose marks after a word, or with a full stop among them, end their chunk. (The sum carries from where
    # such a run begins to the byte after it.)
    hard |= (loose + ((loose & preceded_by(whole)) | loose_stop)) & ~loose & whole

    covered = 64 - leading_zeros(space)
    hard &= first_bits(covered)
    if hard:
        covered = 64 - leading_zeros(space & (lowest(hard) - ONE))
    kept = first_bits(covered) if covered < 64 else EVERY
    single = cuts | loose
    firsts = (whole & ~preceded_by(whole)) | splits | single
    lasts = (whole & ~followed_by(whole)) | (whole & followed_by(splits)) | single
    return firsts & kept, lasts & kept, letter, solid, covered, hard

"""What becomes of one document. The numbers are kept in columns: they never change their meaning."""

from __future__ import annotations

from enum import IntEnum


class Outcome(IntEnum):
    """OK          the text that was extracted
    NOT_HTML       left as it was: it does not begin like a page
    EMPTY          no text, or white space only
    TOO_LARGE      more bytes than allowed; not tried, as in the two below
    TOO_MANY_TAGS
    TOO_DEEP       nested deeper than allowed, or than the parser can follow
    FAILED         the parser gave up with an exception
    CRASHED        the parser took its process down, twice
    OUT_OF_TIME    it used more CPU time than allowed, twice
    OUT_OF_MEMORY  it used more memory than allowed, twice
    """

    OK = 0
    NOT_HTML = 1
    EMPTY = 2
    TOO_LARGE = 3
    TOO_MANY_TAGS = 4
    TOO_DEEP = 5
    FAILED = 6
    CRASHED = 7
    OUT_OF_TIME = 8
    OUT_OF_MEMORY = 9


DROPPED = tuple(outcome for outcome in Outcome if outcome >= Outcome.EMPTY)

"""Where a phone number, a card number or an IBAN may begin and end."""

from __future__ import annotations

from numba import njit

from dataprep.kernels.spans import ALNUM, ASCII_CELLS, DIGIT, HEX, WORD, is_a, run_end

PLUS, SPACE, HYPHEN, DOT, SLASH, TILDE, COLON = 0x2B, 0x20, 0x2D, 0x2E, 0x2F, 0x7E, 0x3A


@njit(cache=True, nogil=True, forceinline=True)
def digits_end(text, at, stop, most):  # type: ignore[no-untyped-def]
    """Where the digits at `at` end, or `most` + 1 places on if there are more."""
    return run_end(text, at, min(stop, at + most + 1), DIGIT)


@njit(cache=True, nogil=True, forceinline=True)
def ends_here(text, start, end, stop):  # type: ignore[no-untyped-def]
    """Whether a number may end before `end`: it is no part of a word, a file name, a path or a version, and
    no IP address stands there that would be one only without it."""
    if end == stop:
        return True
    byte = text[end]
    if byte in (DOT, HYPHEN, SLASH, PLUS, TILDE):
        return not is_a(text, end + 1, start, stop, ALNUM)
    return not (ASCII_CELLS[byte] & WORD or is_ipv6_tail(text, start, end, stop))


@njit(cache=True, nogil=True, forceinline=True)
def begins_here(text, start, at):  # type: ignore[no-untyped-def]
    """Whether a number may begin at `at`, likewise."""
    if at == start:
        return True
    byte = text[at - 1]
    if byte == COLON:
        group = at - 2
        while group > max(start, at - 6) and ASCII_CELLS[text[group]] & HEX:
            group -= 1
        return group < start or text[group] != COLON
    return not (ASCII_CELLS[byte] & WORD or byte in (DOT, HYPHEN, SLASH, PLUS, TILDE))


@njit(cache=True, nogil=True, forceinline=True)
def is_ipv6_tail(text, start, at, stop):  # type: ignore[no-untyped-def]
    if text[at] != COLON or at + 1 == stop:
        return False
    return text[at + 1] == COLON or is_a(text, at + 1, start, stop, HEX)

"""Where phone numbers, payment cards and IBANs stand in texts; docs/reference/pii.md spells the grammars out.

What can be proven is: a card by its issuer, length and Luhn digit, an IBAN by its country's length and its
check digits. The shapes of phone numbers are in `phones.py`. Slow twin: `tests/reference/pii.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.number_bounds import HYPHEN, PLUS, SPACE, begins_here, digits_end, ends_here
from dataprep.kernels.phones import OPEN, international_end, national_end
from dataprep.kernels.spans import ASCII_CELLS, CAPITAL, DIGIT, WORD, Spans, run_end, with_room
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import pointer, read_only

IBAN_LENGTHS = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28
EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27
JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18
NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28
TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"""
"""Length by country, from the IBAN registry that SWIFT keeps for ISO 13616."""


def _iban_lengths() -> npt.NDArray[np.uint8]:
    """uint8[26 * 26]: by the two letters, 0 for no country."""
    lengths = np.zeros(26 * 26, dtype=np.uint8)
    for entry in IBAN_LENGTHS.split():
        lengths[(ord(entry[0]) - 65) * 26 + ord(entry[1]) - 65] = int(entry[2:])
    return lengths


LENGTHS = _iban_lengths()


def phones(data: Bytes, offsets: Offsets) -> Spans:
    """int64[k, 4]: (text, start, end, 0) of each phone number."""
    return _found(read_only(data), read_only(offsets), 0)


def cards(data: Bytes, offsets: Offsets) -> Spans:
    """int64[k, 4]: (text, start, end, 0) of each card number."""
    return _found(read_only(data), read_only(offsets), 1)


def ibans(data: Bytes, offsets: Offsets) -> Spans:
    """int64[k, 4]: (text, start, end, 0) of each IBAN."""
    return _found(read_only(data), read_only(offsets), 2)


@njit(cache=True, nogil=True)
def _found(data, offsets, what):  # type: ignore[no-untyped-def]
    """Every place where a run of letters and digits, a plus sign or a parenthesis begins is tried once."""
    text = pointer(data)
    spans, count = np.empty((64, 4), dtype=np.int64), 0
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        start = done = at
        while at < stop:
            byte, end = text[at], 0
            cell = ASCII_CELLS[byte]
            if what == 0:
                if byte == PLUS:
                    end = international_end(text, start, at, stop)
                elif byte == OPEN or cell & DIGIT:
                    end = national_end(text, start, done, at, stop)
            elif what == 1:
                if cell & DIGIT:
                    end = _card_end(text, start, at, stop)
            elif cell & CAPITAL:
                end = _iban_end(text, start, at, stop)
            if end:
                spans = with_room(spans, count)
                spans[count, 0], spans[count, 1], spans[count, 2], spans[count, 3] = index, at, end, 0
                count += 1
                at = done = end
            elif cell & WORD:
                at = run_end(text, at, stop, WORD)
            else:
                at += 1
    return spans[:count].copy()


@njit(cache=True, nogil=True, forceinline=True)
def _card_end(text, start, at, stop):  # type: ignore[no-untyped-def]
    """Digits of an issuer and its length, in one piece or as 4-4-4-4, 4-6-5 and 4-6-4 with one separator."""
    if text[at] < 0x32 or text[at] > 0x36 or not begins_here(text, start, at):
        return 0
    end = digits_end(text, at, stop, 19)
    num_digits = end - at
    if num_digits == 4 and end < stop and (text[end] == SPACE or text[end] == HYPHEN):
        separator = text[end]
        second = digits_end(text, end + 1, stop, 6) - end - 1
        if second != 4 and second != 6:
            return 0
        for group in range(1, 4 if second == 4 else 3):
            if end == stop or text[end] != separator:
                return 0
            begin = end + 1
            end = digits_end(text, begin, stop, 6)
            length = end - begin
            if length != second and not (group == 2 and second == 6 and (length == 4 or length == 5)):
                return 0
            num_digits += length
        if num_digits > 16:  # 4-6-6
            return 0
    if num_digits < 13 or not _is_issued(text, at, num_digits):
        return 0
    return end if ends_here(text, start, end, stop) and _passes_luhn(text, at, end) else 0


@njit(cache=True, nogil=True, forceinline=True)
def _is_issued(text, at, num_digits):  # type: ignore[no-untyped-def]
    """Whether cards that begin with these four digits have that many (ISO/IEC 7812, as issuers use it)."""
    first = 0
    for place in range(at, at + 4):
        first = first * 10 + (np.int64(text[place]) - 0x30)
    if 4000 <= first <= 4999:  # Visa
        return num_digits == 13 or num_digits == 16 or num_digits == 19
    if 5100 <= first <= 5599 or 2221 <= first <= 2720 or 3528 <= first <= 3589:  # Mastercard, JCB
        return num_digits == 16
    if 3400 <= first <= 3499 or 3700 <= first <= 3799:  # American Express
        return num_digits == 15
    if (
        3000 <= first <= 3059 or first == 3095 or 3600 <= first <= 3699 or 3800 <= first <= 3999
    ):  # Diners Club
        return num_digits == 14
    if 5000 <= first <= 5099 or 5600 <= first <= 5899 or first >= 6000:  # Maestro, Discover, UnionPay
        return 16 <= num_digits <= 19
    return False


@njit(cache=True, nogil=True, forceinline=True)
def _passes_luhn(text, at, end):  # type: ignore[no-untyped-def]
    """The check digit of ISO/IEC 7812-1."""
    total, double = 0, False
    for place in range(end - 1, at - 1, -1):
        if ASCII_CELLS[text[place]] & DIGIT:
            digit = np.int64(text[place]) - 0x30
            if double:
                digit = digit * 2 - 9 if digit > 4 else digit * 2
            total += digit
            double = not double
    return total % 10 == 0


@njit(cache=True, nogil=True, forceinline=True)
def _iban_end(text, start, at, stop):  # type: ignore[no-untyped-def]
    """Country, two check digits and the rest, in capitals; in one piece or in groups of four with spaces."""
    if (
        at + 15 > stop
        or not ASCII_CELLS[text[at + 1]] & CAPITAL
        or not ASCII_CELLS[text[at + 2]] & DIGIT
        or not ASCII_CELLS[text[at + 3]] & DIGIT
        or not begins_here(text, start, at)
    ):
        return 0
    length = np.int64(LENGTHS[(np.int64(text[at]) - 0x41) * 26 + np.int64(text[at + 1]) - 0x41])
    if length == 0:
        return 0
    step = 1 if text[at + 4] == SPACE else 0
    end = at + length + step * ((length - 1) // 4)
    if end > stop or not ends_here(text, start, end, stop):
        return 0
    remainder, place = 0, at + 4 + step
    for number in range(length):
        if number == length - 4:
            place = at  # country and check digits count as the last four
        elif number and number < length - 4 and number % 4 == 0 and step:
            if text[place] != SPACE:
                return 0
            place += 1
        byte = np.int64(text[place])
        place += 1
        if ASCII_CELLS[byte] & DIGIT:
            remainder = (remainder * 10 + byte - 0x30) % 97
        elif ASCII_CELLS[byte] & CAPITAL:
            remainder = (remainder * 100 + byte - 0x37) % 97
        else:
            return 0
    return end if remainder == 1 else 0

"""Slow twin of `dataprep/steps/normalize.py`, and of the white space of `hash_normalized`."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff]")
WHITE_SPACE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
Form = Literal["NFC", "NFKC", "NFD", "NFKD"]


def normalize(text: str, form: Form | None, newlines: bool, strip_control: bool) -> str:
    if newlines:
        text = re.sub("\r\n?", "\n", text)
    if strip_control:
        text = CONTROL.sub("", text)
    return unicodedata.normalize(form, text) if form else text


def collapse_white_space(text: str) -> str:
    return WHITE_SPACE.sub(" ", text).strip(" ")

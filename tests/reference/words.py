"""Slow twin of `dataprep/kernels/words.py`: its rules as regular expressions over classes."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

LETTERS = {"Lu": "U", "Lt": "U", "Ll": "l", "Lo": "n", "Lm": "n", "Mn": "m", "Mc": "m", "Me": "m", "Nd": "d"}
MARKS = {"Pc": "O", "Pd": "-", "Ps": "O", "Pe": "O", "Pi": "q", "Pf": "q", "Po": "O", "Sc": "$", "So": "i"}
EXCEPTIONS = dict.fromkeys("=/^.+%,:*", "") | {
    "~": "-", "<": "<", ">": "<", "'": "'", "\u2019": "'", '"': "q", "`": "q", "\u00b4": "q", "\u201a": "q",
    "\u201e": "q", "\u2013": "_", "\u2014": "_", "\u2015": "_", "\u2026": "e", "@": "o", "\\": "o",
}  # fmt: skip
SPACELESS_BLOCKS = [
    "\u0e00-\u0eff", "\u1000-\u109f", "\ua9e0-\ua9ff", "\uaa60-\uaa7f", "\u1780-\u17ff", "\u3005-\u3006",
    "\u303b-\u30ff", "\u31f0-\u31ff", "\uff66-\uff9f", "\U0001aff0-\U0001b16f", "\u3105-\u312f",
    "\u31a0-\u31bf", "\u3400-\u4dbf", "\u4e00-\u9fff", "\uf900-\ufaff", "\U00020000-\U0003ffff",
]  # fmt: skip
SPACELESS = re.compile(f"[{''.join(SPACELESS_BLOCKS)}]")

FRONT = re.compile(r"[Oq',:<*_ie$=%]|\+(?!d)|\.{2,}")
BACK = re.compile(r"(?:[Oq',:<*_ie]|\.{2,}|(?<=d)[+$%]|(?<=UU)\.|(?<=[lnmsd\-+%Oq',:<*_ie])\.)$")
CONTRACTION = re.compile(r"(?<=.)(?:['\u2019](?:[sdm]|ll|re|ve)|n['\u2019]t)$", re.IGNORECASE | re.ASCII)
ADDRESS = re.compile(r"(?:[lUdD+.\-]{2,}://)?(?:[^/?#]*@)?(?:[lUdD_\-]+\.)+l{2,}(?::D{2,5})?(?:[/?#].*)?")
CUT = re.compile(
    r"[ie]|\.{2,}|(?<=[lnmsq'])\.(?=[Unsq'])|(?<=[Ulnms]),(?=[Ulnms])"
    r"|(?<=[Ulnmsd])[:<=/](?=[Ulnms])|(?<=d)[\-+*^](?=[d\-])"
)


def class_letter(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Lo", "Lm") and SPACELESS.match(character):
        return "s"
    if character in EXCEPTIONS:
        return EXCEPTIONS[character] or character
    return (LETTERS | MARKS).get(category, "o")


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    return [word for chunk in text.split() for word in words_of_chunk(chunk)]


@lru_cache(maxsize=200_000)  # a chunk's words depend on nothing around it
def words_of_chunk(chunk: str) -> tuple[str, ...]:
    front, middle, back = parts(chunk)
    return (*front, *_words_of_middle(middle, "".join(map(class_letter, middle))), *back)


def parts(chunk: str) -> tuple[list[str], str, list[str]]:
    """The words that rules 1 and 2 cut off the front and the back, in order, and what is left between."""
    codes = "".join(map(class_letter, chunk))
    front, back = [], []
    while match := FRONT.match(codes):
        front.append(chunk[: match.end()])
        chunk, codes = chunk[match.end() :], codes[match.end() :]
    while match := BACK.search(codes) or CONTRACTION.search(chunk):
        back.append(chunk[match.start() :])
        chunk, codes = chunk[: match.start()], codes[: match.start()]
    return front, chunk, back[::-1]


def _words_of_middle(middle: str, codes: str) -> list[str]:
    if _is_address(middle, codes):
        return [middle]
    words, begin, at = [], 0, 0
    while at < len(middle):
        end = _hyphens(middle, codes, at)
        if not end and (match := CUT.match(codes, at)):
            end = match.end()
        if end:
            words += [middle[begin:at], middle[at:end]]
            begin = at = end
        else:
            at += 1
    words.append(middle[begin:])
    pieces = []
    for word in words:
        letters = "".join(map(class_letter, word))
        pieces += [word[match.start() : match.end()] for match in re.finditer(r"sm*|[^s]+", letters)]
    return pieces


def _hyphens(middle: str, codes: str, at: int) -> int:
    """End of the one to three equal hyphens or dashes at `at` that stand between words, or 0."""
    if at == 0 or codes[at] not in "-_" or codes[at - 1] not in "Ulnmsd":
        return 0
    end = at + 1
    while end < min(len(middle), at + 3) and middle[end] == middle[at]:
        end += 1
    return end if end < len(middle) and codes[end] in "Ulnms" else 0


def _is_address(middle: str, codes: str) -> bool:
    def letter(character: str, code: str) -> str:
        if character in "-_.:/?#@+":
            return character
        if code in "lnms":
            return "l"
        return "D" if character in "0123456789" else code if code in "Ud" else "x"

    return ADDRESS.fullmatch("".join(map(letter, middle, codes))) is not None

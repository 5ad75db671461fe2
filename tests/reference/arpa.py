"""A back-off language model from ARPA text, the plain way: dictionaries, one word at a time.

log10 p(word | context) is that of the longest n-gram that the model has; for every longer one that it has
not, the back-off weight of the context is added (0 where the context is unknown). A word that is not in the
model is <unk>. What KenLM does on top: floats are 32 bits wide, and a word ends at a NUL.
"""

from __future__ import annotations

from collections.abc import Sequence

SPACE = " \t\n\r\x0b\x0c"


class ArpaModel:
    def __init__(self, arpa: str) -> None:
        self.probability: dict[tuple[str, ...], float] = {}
        self.back_off: dict[tuple[str, ...], float] = {}
        self.order = 0
        for line in arpa.split("\n"):
            if line.endswith("-grams:"):
                self.order = int(line[1:].partition("-")[0])
            elif self.order and "\t" in line:
                log10, words, *weight = line.split("\t")
                key = tuple(words.split(" "))
                self.probability[key] = float(log10)
                self.back_off[key] = float(weight[0]) if weight else 0.0

    def score(self, line: str) -> float:
        words = "".join(" " if char in SPACE else char for char in line).split(" ")
        context = ["<s>"]
        total = 0.0
        for word in [*(word.partition("\0")[0] for word in words if word), "</s>"]:
            known = word if (word,) in self.probability else "<unk>"
            total += self._log10(context[-(self.order - 1) :] if self.order > 1 else [], known)
            context.append(known)
        return total

    def _log10(self, context: Sequence[str], word: str) -> float:
        if (*context, word) in self.probability:
            return self.probability[(*context, word)]
        return self.back_off.get(tuple(context), 0.0) + self._log10(context[1:], word)

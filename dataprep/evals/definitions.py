"""What counts as contamination: definitions by name, each as its authors have it. They disagree, so a figure
without its definition says nothing.

`longest` is ours, after the finding of Singh et al. 2024 (arXiv:2411.03923, ConTAM) that of the metrics in
use the longest matched run, from n-grams of 8 words counted from the first on, best foretells what a model
gains; larger n miss contamination. The others:

gpt3       13-grams, as Janitor of EleutherAI's lm-evaluation-harness has the rule of Brown et al. 2020
           (arXiv:2005.14165, appendix C): 200 characters around each hit go, a piece of 200 characters or
           less goes too, a document with more than 10 hits goes as a whole
palm       70 % of an example's 8-grams seen anywhere (Chowdhery et al. 2022, arXiv:2204.02311, section 8)
llama3     the share of an example's words in 8-grams seen anywhere, with a threshold of the set's own
           (Grattafiori et al. 2024, arXiv:2407.21783, section 5.1.4)
tulu3      more than half of an example's words in 8-grams seen in one document (Lambert et al. 2024,
           arXiv:2411.15124, section 3.2)
datatrove  any 12-gram, as NGramsDecontFilter of datatrove 0.10.1 by default

docs/concepts/contamination.md says what is the same in ours, and what is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dataprep.kernels.word_keys import JANITOR, PLAIN

Name = Literal["longest", "gpt3", "palm", "llama3", "tulu3", "datatrove"]
Kind = Literal["run", "covered", "seen", "any"]

PPM = 1_000_000


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition.

    kind       run      the longest matched run of one document covers the share of the example
               covered  n-grams of one document cover more than the share of the example's words
               seen     n-grams of all documents together reach the share, of n-grams or of words (`by_words`)
               any      one n-gram is enough
    ngram      words of an n-gram
    manner     how words are normalised (`kernels/word_keys.py`)
    share_ppm  millionths; of `covered` and of `seen` by words it must be exceeded, else reached
    floor      of `run`: matched words that a run needs, unless the example has not as many
    """

    name: Name
    kind: Kind
    ngram: int
    manner: int = PLAIN
    share_ppm: int = 0
    by_words: bool = False
    floor: int = 0


DEFINITIONS: dict[Name, Definition] = {
    "longest": Definition("longest", "run", 8, share_ppm=500_000, floor=10),
    "gpt3": Definition("gpt3", "any", 13, manner=JANITOR),
    "palm": Definition("palm", "seen", 8, share_ppm=700_000),
    "llama3": Definition("llama3", "seen", 8, share_ppm=500_000, by_words=True),
    "tulu3": Definition("tulu3", "covered", 8, share_ppm=500_000, by_words=True),
    "datatrove": Definition("datatrove", "any", 12),
}


def words_needed(num_words: int, num_letters: int, share_ppm: int, definition: Definition) -> int:
    """Matched words that make a run of a text of so many words evidence: the share, rounded up, but not fewer
    than the floor; of a text with fewer words than that, all but one, or all of one n-gram.

    num_letters  how many of the words are letters of scripts without spaces. Two of them count as one word of
                 the floor, so that half a sentence of Thai is no evidence.
    """
    share = -(-num_words * share_ppm // PPM)
    floor = definition.floor + definition.floor * num_letters // max(1, num_words)
    return min(max(num_words - 1, definition.ngram), max(share, floor))

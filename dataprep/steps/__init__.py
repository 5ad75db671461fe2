"""The steps a recipe can name. One file per step family; this table is the only list of them.

A third party's step is named `package.module:function` in the recipe and never appears here (`own.py`).
"""

from __future__ import annotations

from dataprep.steps.base import StepType
from dataprep.steps.boilerplate_lines import BOILERPLATE_LINES
from dataprep.steps.c4 import C4
from dataprep.steps.c4_bad_words import C4_BAD_WORDS
from dataprep.steps.c4_paragraphs import C4_PARAGRAPHS
from dataprep.steps.classifier import CLASSIFIER
from dataprep.steps.code_quality import CODE_QUALITY
from dataprep.steps.datatrove import DATATROVE
from dataprep.steps.decontaminate import DECONTAMINATE
from dataprep.steps.exact_dedup import EXACT_DEDUP
from dataprep.steps.exclude import EXCLUDE
from dataprep.steps.extract_text import EXTRACT_TEXT
from dataprep.steps.fineweb_quality import FINEWEB_QUALITY
from dataprep.steps.ftfy import FTFY
from dataprep.steps.gopher_quality import GOPHER_QUALITY
from dataprep.steps.gopher_repetition import GOPHER_REPETITION
from dataprep.steps.language import LANGUAGE
from dataprep.steps.minhash_dedup import MINHASH_DEDUP
from dataprep.steps.normalize import NORMALIZE
from dataprep.steps.own import own_step
from dataprep.steps.perplexity import PERPLEXITY
from dataprep.steps.pii import PII
from dataprep.steps.substring_dedup import SUBSTRING_DEDUP
from dataprep.steps.unit_dedup import LINE_DEDUP, PARAGRAPH_DEDUP, SENTENCE_DEDUP
from dataprep.steps.url_blocklist import URL_BLOCKLIST
from dataprep.steps.where import WHERE

STEPS: dict[str, StepType] = {
    "where": WHERE,
    "exclude": EXCLUDE,
    "url_blocklist": URL_BLOCKLIST,
    "extract_text": EXTRACT_TEXT,
    "ftfy": FTFY,
    "normalize": NORMALIZE,
    "boilerplate_lines": BOILERPLATE_LINES,
    "language": LANGUAGE,
    "gopher_quality": GOPHER_QUALITY,
    "gopher_repetition": GOPHER_REPETITION,
    "c4": C4,
    "c4_paragraphs": C4_PARAGRAPHS,
    "c4_bad_words": C4_BAD_WORDS,
    "fineweb_quality": FINEWEB_QUALITY,
    "code_quality": CODE_QUALITY,
    "classifier": CLASSIFIER,
    "perplexity": PERPLEXITY,
    "pii": PII,
    "datatrove": DATATROVE,
    "decontaminate": DECONTAMINATE,
    "line_dedup": LINE_DEDUP,
    "paragraph_dedup": PARAGRAPH_DEDUP,
    "sentence_dedup": SENTENCE_DEDUP,
    "substring_dedup": SUBSTRING_DEDUP,
    "exact_dedup": EXACT_DEDUP,
    "minhash_dedup": MINHASH_DEDUP,
}


def find_step(name: str) -> StepType | None:
    """The step that an entry of the recipe names, or None. Imports no code of a third party."""
    return STEPS.get(name) or own_step(name)


def step_of(name: str) -> StepType:
    """The step of a name that is known to be one."""
    step = find_step(name)
    if step is None:
        raise KeyError(name)
    return step

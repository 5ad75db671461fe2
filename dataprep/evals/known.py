"""Ready-made field maps of well-known evaluation sets, by the beginning of the file's name.

A set is published in several layouts (its authors' files, the Hugging Face copy, llm-foundry's re-format), so
a name has several maps; the first that fits the first row is taken. A set that is not here needs `fields:`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dataprep.evals.fields import FieldMap


def _map(question: str, **roles: str) -> FieldMap:
    return FieldMap.model_validate(
        {
            "question": tuple(question.split(",")),
            **{
                role: names if role in ("answer_index", "id") else tuple(names.split(","))
                for role, names in roles.items()
            },
        }
    )


_QUERY = _map("query", choices="choices", answer_index="gold")
_CONTEXT = _map("context", answer="continuation")
_CONTEXT_ANSWER = _map("context", answer="answer")
_OPTIONS = _map("context_options,continuation")
_CHOICES = _map("question", choices="choices.text", answer_index="answerKey", id="id")
_MMLU = _map("question", choices="choices", answer_index="answer")
_QUESTION_ANSWER = _map("question", answer="answer")

KNOWN: dict[str, tuple[FieldMap, ...]] = {
    "agieval": (_map("question", choices="options", answer_index="label"), _QUERY),
    "aqua": (_CONTEXT_ANSWER, _map("question", choices="options", answer_index="correct")),
    "arc": (_QUERY, _CHOICES),
    "bbh": (_map("input", answer="target"),),
    "bigbench": (_QUERY, _CONTEXT, _map("inputs", answer="targets")),
    "boolq": (_QUERY, _map("question", answer="answer", context="passage")),
    "commonsense_qa": (_QUERY, _CHOICES),
    "copa": (_QUERY, _map("premise", choices="choice1,choice2", answer_index="label", id="idx")),
    "drop": (_map("question", answer="answers_spans.spans", context="passage", id="query_id"),),
    "gpqa": (_map("Question", answer="Correct Answer"), _QUESTION_ANSWER),
    "gsm8k": (_QUESTION_ANSWER,),
    "hellaswag": (_map("ctx", choices="endings", answer_index="label"), _QUERY),
    "humaneval": (_map("prompt", answer="canonical_solution", id="task_id"),),
    "ifeval": (_map("prompt", id="key"),),
    "lambada": (_CONTEXT, _map("text")),
    "math_qa": (_QUERY, _map("Problem", choices="options", answer_index="correct")),
    "math": (_map("problem", answer="solution"),),
    "mbpp": (_map("text", answer="code", id="task_id"), _map("prompt", answer="code", id="task_id")),
    "mmlu_pro": (_map("question", choices="options", answer_index="answer_index", id="question_id"),),
    "mmlu": (_MMLU,),
    "nq": (_QUESTION_ANSWER,),
    "openbookqa": (_QUERY, _map("question_stem", choices="choices.text", answer_index="answerKey", id="id")),
    "piqa": (_QUERY, _map("goal", choices="sol1,sol2", answer_index="label")),
    "pubmed_qa": (_CONTEXT, _map("question", answer="long_answer", context="context.contexts", id="pubid")),
    "sciq": (_map("question", answer="correct_answer", context="support"),),
    "siqa": (_map("context,question", choices="answerA,answerB,answerC", answer_index="label"), _QUERY),
    "squad": (_map("question", answer="answers.text", context="context", id="id"), _CONTEXT),
    "svamp": (_CONTEXT_ANSWER, _map("Body,Question", answer="Answer", id="ID")),
    "triviaqa": (_map("question", answer="answer.value", id="question_id"), _CONTEXT_ANSWER),
    "truthfulqa": (_map("Question", answer="Best Answer"), _map("question", answer="best_answer")),
    "winograd": (_OPTIONS, _map("text", choices="options", answer_index="label")),
    "winogrande": (_OPTIONS, _map("sentence", choices="option1,option2")),
    "xcopa": (_map("premise", choices="choice1,choice2", answer_index="label"),),
    "xquad": (_map("question", answer="answers", context="context", id="id"),),
}


def known_maps(name: str) -> tuple[FieldMap, ...]:
    """The maps of the set that a name begins with, of the longest that does; none of an unknown one."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower())
    fitting = [each for each in KNOWN if plain == each or plain.startswith(f"{each}_")]
    return KNOWN[max(fitting, key=len)] if fitting else ()


def known_map(name: str, row: Mapping[str, Any]) -> FieldMap | None:
    """The map that fits a set of this name with such rows."""
    return next((fields for fields in known_maps(name) if fields.fits(row)), None)

"""Words for error messages: what was found, and which valid name was probably meant."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any


def describe(value: Any) -> str:
    """What was found, briefly: `the text "abc"`, `the number 1.5`, `a list of 3`."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        shown = value if len(value) <= 40 else value[:37] + "..."
        return f"the text {json.dumps(shown, ensure_ascii=False)}"
    if isinstance(value, Mapping):
        keys = list(value)
        return (
            f"a mapping with {', '.join(map(str, keys[:5]))}{', ...' if len(keys) > 5 else ''}"
            if keys
            else "{}"
        )
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return type(value).__name__


def nearest(name: str, choices: Sequence[str]) -> str | None:
    """The choice that `name` was most likely meant to be, or None."""
    folded: dict[str, str] = {}
    for choice in choices:
        folded.setdefault(choice.casefold().replace("-", "_"), choice)
    close = difflib.get_close_matches(name.casefold().replace("-", "_"), list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def did_you_mean(name: str, choices: Sequence[str]) -> str:
    """The end of a message about a wrong name: the nearest valid one, and all of them."""
    if not choices:
        return ""
    close = nearest(name, choices)
    guess = f'; did you mean "{close}"?' if close is not None else ";"
    shown = list(choices[:30])
    more = f", and {len(choices) - 30} more" if len(choices) > 30 else ""
    return f"{guess} valid: {', '.join(shown)}{more}"

"""Kinds of text that fields of a recipe hold, with messages that say what was wanted.

The patterns are those of the manifest (`manifests/fields.py`), so what a recipe may say a manifest can hold.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from dataprep.readers.encodings import character_set
from dataprep.readers.fields import template_of
from manifests.fields import NAME_PATTERN, VERSION_PATTERN
from manifests.wording import describe


def _name(value: str) -> str:
    if re.match(NAME_PATTERN, value) is None or value.endswith("\n"):
        want = 'a name of up to 100 letters, digits, "_", "-" and ".", not starting with a sign'
        raise ValueError(f"expected {want}, found {describe(value)}")
    return value


def _version(value: Any) -> str:
    if isinstance(value, str) and re.match(VERSION_PATTERN, value) and not value.endswith("\n"):
        return value
    # A quoted "1.0" would be no version either, so the advice is the third part, which needs no quotes.
    why = " (without quotes, YAML reads it as a number)" if isinstance(value, int | float) else ""
    raise ValueError(f"expected a version of three parts such as 1.0.0, found {describe(value)}{why}")


def _one_or_many(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple):
        return tuple(value)
    raise ValueError(f"expected text or a list of texts, found {describe(value)}")


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("expected text without NUL characters, which no file name or field can hold")
    return value


def _template(value: str) -> str:
    template_of(value)  # raises
    return value


def _each_once(value: tuple[str, ...]) -> tuple[str, ...]:
    twice = next((name for at, name in enumerate(value) if name in value[:at]), None)
    if twice is not None:
        raise ValueError(f'"{twice}" is listed twice')
    return value


Text = Annotated[str, Field(min_length=1), AfterValidator(_without_nul)]
Name = Annotated[str, AfterValidator(_name)]
Version = Annotated[str, BeforeValidator(_version)]
Paths = Annotated[
    tuple[Text, ...],
    BeforeValidator(_one_or_many, json_schema_input_type=str | list[Text]),
    Field(min_length=1),
]
"""One path or pattern, or a list of them."""
TextField = Annotated[Text, AfterValidator(_template)]
"""A field that holds text, or a template over several."""
FieldList = Annotated[tuple[Text, ...], AfterValidator(_each_once)]
Encoding = Annotated[str, AfterValidator(character_set)]
"""A character set, under its one name."""

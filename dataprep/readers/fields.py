r"""What a recipe may write for a field of a record: a name, a path, or, for text, a template.

name      `text`
path      `meta.license`, a key of an object inside the record. At each level a key that is spelled as all
          that is left of the path counts before an object that the path leads into. (CSV has no objects, so
          there a path is a name.)
template  `{title}\n\n{body}`: text with fields in braces; `{{` and `}}` are braces themselves. A field that
          is missing or null leaves the document without text, but for `{title?}`, which then stands for
          nothing. A number is put in as it is written, which text on its own may not be.

Where the values come from is for the readers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from dataprep.readers.records import ReadOptions

_PIECE = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]|[^{}]+")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a document's text.

    optional    where it is missing or null it stands for nothing
    of_numbers  numbers do
    """

    path: str
    optional: bool = False
    of_numbers: bool = False


Template = tuple[str | Field, ...]
"""Literal text and fields, in order. A plain field is a template of its own."""


def template_of(text: str) -> Template:
    """What a recipe says of the text of a document. Raises ValueError where braces make no template."""
    if "{" not in text and "}" not in text:
        return (Field(text),)
    parts: list[str | Field] = []
    for piece in _PIECE.findall(text):
        if piece in ("{{", "}}"):
            parts.append(piece[0])
        elif len(piece) > 1 and piece[0] == "{":
            name = piece[1:-1].removesuffix("?")
            if not name:
                raise ValueError(f'"{piece}" names no field')
            parts.append(Field(name, optional=piece.endswith("?}"), of_numbers=True))
        elif piece in ("{", "}"):
            raise ValueError(
                f'a "{piece}" without the other brace; write "{piece}{piece}" for the brace itself'
            )
        else:
            parts.append(piece)
    if not any(isinstance(part, Field) for part in parts):
        raise ValueError("names no field in braces, so every document would have the same text")
    return tuple(parts)


def fields_in(template: Template) -> list[Field]:
    """Its fields, in order; one may come more than once."""
    return [part for part in template if isinstance(part, Field)]


def filled(template: Template, columns: Mapping[str, pa.LargeStringArray]) -> pa.LargeStringArray:
    """The texts [n] of n documents; `columns` are the values of the fields, by path. A null stands for
    nothing."""
    parts = [
        columns[part.path] if isinstance(part, Field) else pa.scalar(part, pa.large_string())
        for part in template
    ]
    nothing = pa.scalar("", pa.large_string())
    return pc.binary_join_element_wise(*parts, nothing, null_handling="replace", null_replacement="")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A field that a source asks for.

    key          what in the recipe names it: "text", "id" or "carry"
    numbers_too  whether a number will do where text is expected; of a carried field anything will
    """

    key: str
    path: str
    optional: bool = False
    numbers_too: bool = False


def wanted(options: ReadOptions) -> list[Wanted]:
    """Every field that the options name, one as often as it is named."""
    own_id = [] if options.id is None else [Wanted("id", options.id, numbers_too=True)]
    return [
        *(
            Wanted("text", each.path, each.optional, each.of_numbers)
            for each in fields_in(template_of(options.text))
        ),
        *own_id,
        *(Wanted("carry", path) for path in options.carry),
    ]

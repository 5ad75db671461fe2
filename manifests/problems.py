"""What is wrong with a value, as a sentence: pydantic's errors put into the words of a recipe's author.

`problems_of` turns a ValidationError into problems with a location in the author's data (the names of union
branches are taken out); `refusal` is for validators that find problems below their own value. Files and lines
are not known here: `strict.py` adds them.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from manifests.nodes import Loc
from manifests.wording import describe, did_you_mean, nearest

_OURS = "headrace"  # the type of errors that `refusal` makes

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "none_required": "null",
    "dict_type": "a mapping of keys to values",
    "mapping_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "dataclass_type": "a mapping of keys to values",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
}
_BOUNDS = {
    "greater_than": ("gt", "a number above {}"),
    "greater_than_equal": ("ge", "a number of at least {}"),
    "less_than": ("lt", "a number below {}"),
    "less_than_equal": ("le", "a number of at most {}"),
    "string_too_short": ("min_length", "text of at least {} characters"),
    "string_too_long": ("max_length", "text of at most {} characters"),
    "string_pattern_mismatch": ("pattern", "text that matches {}"),
    "too_short": ("min_length", "at least {} entries"),
    "too_long": ("max_length", "at most {} entries"),
    "multiple_of": ("multiple_of", "a multiple of {}"),
}
_YAML_1_1 = {"yes": "true", "on": "true", "no": "false", "off": "false"}


@dataclass(frozen=True, slots=True)
class Problem:
    """`message` says what is wrong with the value at `loc`, a path of keys and indices from the top.

    about_key   the key is wrong, not its value
    quotable    text was wanted and a bare number or true/false was found: quotes around it would do
    """

    loc: Loc
    message: str
    about_key: bool = False
    quotable: bool = False


def refusal(problems: Iterable[Problem]) -> ValidationError:
    """An error that a pydantic validator can raise for values below its own (locs count from there)."""
    details = [
        InitErrorDetails(
            type=PydanticCustomError(
                _OURS,
                "{message}",
                {"message": each.message, "about_key": each.about_key, "quotable": each.quotable},
            ),
            loc=each.loc,
            input=None,
        )
        for each in problems
    ]
    return ValidationError.from_exception_data("refused", details)


@dataclass(slots=True)
class _Mismatch:
    """A value of a wrong type. The branches of a union each wanted something."""

    order: int
    wants: list[str]
    found: Any
    is_branch: bool


def problems_of(error: ValidationError, model: type[BaseModel], data: Any) -> list[Problem]:
    """Every problem of a failed validation of plain `data` by `model`, each field once, in its order."""
    problems: list[tuple[int, Problem]] = []
    mismatches: dict[Loc, _Mismatch] = {}
    too_short: set[int] = set()
    for order, each in enumerate(error.errors(include_url=False)):
        kind, context = str(each["type"]), each.get("ctx", {})
        if kind in _EXPECTED or kind in ("literal_error", "enum"):
            loc = _in_data(each["loc"], data)
            want = _EXPECTED.get(kind) or _one_of(context["expected"])
            mismatch = mismatches.setdefault(loc, _Mismatch(order, [], each["input"], False))
            mismatch.wants += [] if want in mismatch.wants else [want]
            mismatch.is_branch |= len(each["loc"]) > len(loc)
        else:
            too_short |= {order} if kind == "too_short" else set()
            problems.append((order, _problem(kind, context, each, model, data)))
    deeper = [*(problem.loc for _, problem in problems), *mismatches]
    # pydantic counts no entry of which something is wrong, and so finds a list too short because of it.
    problems = [
        (order, each)
        for order, each in problems
        if order not in too_short or not _has_below(each.loc, deeper)
    ]
    for loc, mismatch in mismatches.items():
        # Of a union, the branch that went further in fits better, and the others' complaints only confuse.
        if mismatch.is_branch and _has_below(loc, deeper):
            continue
        problems.append((mismatch.order, _wrong_type(loc, mismatch, names_at(model, loc))))
    return [problem for _, problem in sorted(problems, key=lambda pair: pair[0])]


def _has_below(loc: Loc, others: Iterable[Loc]) -> bool:
    return any(len(other) > len(loc) and other[: len(loc)] == loc for other in others)


def _problem(
    kind: str, context: Mapping[str, Any], error: ErrorDetails, model: type[BaseModel], data: Any
) -> Problem:
    loc = _in_data(error["loc"], data)
    if kind == "missing":
        above = _in_data(error["loc"][:-1], data)
        return Problem(above, f'the key "{error["loc"][-1]}" is missing')
    if kind == "extra_forbidden":
        guess = did_you_mean(str(loc[-1]), names_at(model, loc[:-1]))
        return Problem(loc, f"unknown key{guess}", about_key=True)
    if kind == _OURS:
        # The last parts may name a key that is not there, which is no union branch: keep them all.
        return Problem(error["loc"], context["message"], context["about_key"], context["quotable"])
    about_key = error["loc"][-1:] == ("[key]",)
    return Problem(loc, _sentence(kind, context, error["msg"], error["input"]), about_key)


def _in_data(loc: tuple[int | str, ...], data: Any) -> Loc:
    """`loc` without what pydantic puts in for itself: union branches, "[key]", names of validators."""
    path: list[str | int] = []
    for part in loc:
        is_index = isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)
        if is_index or (isinstance(data, Mapping) and part in data):
            data = data[part]
            path.append(part)
    return tuple(path)


def _one_of(expected: str) -> str:
    names = [each.strip("'") for each in expected.replace(" or ", ", ").split(", ")]
    return names[0] if len(names) == 1 else f"one of {', '.join(names)}"


def _wrong_type(loc: Loc, mismatch: _Mismatch, names: Sequence[str]) -> Problem:
    """`names` are the keys that a mapping would have here, if it is known."""
    wants, found = mismatch.wants, mismatch.found
    if names and wants == [_EXPECTED["model_type"]]:
        wants = [f"a mapping with {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"]
    message = f"expected {' or '.join(wants)}, found {describe(found)}"
    if isinstance(found, str):
        choices = [name for want in wants if want.startswith("one of ") for name in want[7:].split(", ")]
        close = nearest(found, choices)
        if "true or false" in wants and found.casefold() in _YAML_1_1:
            message += f"; write {_YAML_1_1[found.casefold()]}"
        elif ("a whole number" in wants or "a number" in wants) and found.replace("_", "").isdecimal():
            message += f"; write {found.replace('_', '').lstrip('0') or '0'}"
        elif close is not None:
            message += f'; did you mean "{close}"?'
    return Problem(loc, message, quotable="text" in wants and isinstance(found, bool | int | float))


def _sentence(kind: str, context: Mapping[str, Any], message: str, found: Any) -> str:
    if kind in _BOUNDS:
        name, want = _BOUNDS[kind]
        bound = context[name]
        if name == "min_length" and bound == 1:
            return f"expected {'text' if kind == 'string_too_short' else 'at least one entry'}, found none"
        if isinstance(bound, float) and bound.is_integer():
            bound = int(bound)
        return f"expected {want.format(bound)}, found {describe(found)}"
    if kind == "value_error":  # raised by a validator of ours, whose text is the whole message
        return str(context["error"])
    if message.startswith("Input should be "):
        return f"expected {message.removeprefix('Input should be ')}, found {describe(found)}"
    return f"{message[:1].lower()}{message[1:]}, found {describe(found)}"


def names_at(model: type[BaseModel], loc: Loc) -> list[str]:
    """The keys that `model` knows at `loc`; empty where any key may stand (a dict) or none can."""
    kinds: list[Any] = [model]
    for part in loc:
        kinds = [inner for kind in kinds for inner in _below(kind, part)]
    models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
    return list(dict.fromkeys(name for each in models for name in _names(each)))


def _names(model: type[BaseModel]) -> list[str]:
    return [entry.alias or name for name, entry in model.model_fields.items()]


def _below(kind: Any, part: str | int) -> list[Any]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, entry in kind.model_fields.items():
            if (entry.alias or name) == part:
                return _branches(entry.annotation)
        return []
    arguments = get_args(kind)
    if get_origin(kind) is dict and len(arguments) == 2:
        return _branches(arguments[1])
    if get_origin(kind) in (list, tuple) and arguments:
        fixed = get_origin(kind) is tuple and arguments[-1] is not Ellipsis
        index = part if fixed and isinstance(part, int) and part < len(arguments) else 0
        return _branches(arguments[index])
    return []


def _branches(annotation: Any) -> list[Any]:
    """The alternatives of an annotation, without Annotated and Union around them."""
    if get_origin(annotation) is Annotated:
        return _branches(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [inner for each in get_args(annotation) for inner in _branches(each)]
    return [annotation]

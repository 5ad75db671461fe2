"""A small validator of JSON Schema: the keywords that our schemas use, and an error for any other."""

from __future__ import annotations

import operator
import re
from typing import Any

ANNOTATIONS = {"$schema", "$defs", "title", "description", "default", "examples", "discriminator", "format"}
TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
    "null": type(None),
}  # fmt: skip


def errors(value: Any, schema: dict[str, Any], root: dict[str, Any], place: str = "") -> list[str]:
    """What is wrong with a value, one finding a line."""
    found: list[str] = []
    for keyword, wanted in schema.items():
        if keyword in ANNOTATIONS:
            continue
        check = CHECKS.get(keyword)
        assert check is not None, f"the keyword {keyword} is unknown to this validator"
        found += [f"{place or 'top'}: {message}" for message in check(value, wanted, schema, root, place)]
    return found


def _ref(value: Any, wanted: str, schema: Any, root: Any, place: str) -> list[str]:
    return errors(value, root["$defs"][wanted.removeprefix("#/$defs/")], root, place)


def _type(value: Any, wanted: str, *_: Any) -> list[str]:
    right = isinstance(value, TYPES[wanted]) and (not isinstance(value, bool) or wanted == "boolean")
    return [] if right else [f"not a {wanted}"]


def _any_of(value: Any, wanted: list[Any], schema: Any, root: Any, place: str) -> list[str]:
    tried = [errors(value, each, root, place) for each in wanted]
    return [] if any(not each for each in tried) else [f"none of {len(wanted)}: {tried}"]


def _one_of(value: Any, wanted: list[Any], schema: Any, root: Any, place: str) -> list[str]:
    right = sum(not errors(value, each, root, place) for each in wanted)
    return [] if right == 1 else [f"{right} of {len(wanted)} fit"]


def _object(value: Any, wanted: Any, schema: dict[str, Any], root: Any, place: str) -> list[str]:
    """properties, patternProperties and additionalProperties together, since they share the keys."""
    found: list[str] = []
    for key, inner in value.items() if isinstance(value, dict) else ():
        rules = [schema["properties"][key]] if key in schema.get("properties", {}) else []
        patterns = schema.get("patternProperties", {}).items()
        rules += [rule for pattern, rule in patterns if re.search(pattern, key)]
        extra = schema.get("additionalProperties", True)
        if not rules and extra is False:
            found.append(f"unknown key {key}")
        elif not rules and isinstance(extra, dict):
            rules = [extra]
        for rule in rules:
            found += errors(inner, rule, root, f"{place}.{key}")
    return found


def _items(value: Any, wanted: Any, schema: dict[str, Any], root: Any, place: str) -> list[str]:
    first = len(schema.get("prefixItems", ()))
    inner = [errors(each, wanted, root, f"{place}.{at}") for at, each in enumerate(value) if at >= first]
    return [line for lines in inner for line in lines]


def _prefix(value: Any, wanted: list[Any], schema: Any, root: Any, place: str) -> list[str]:
    inner = [errors(each, rule, root, place) for each, rule in zip(value, wanted, strict=False)]
    return [line for lines in inner for line in lines]


def _is(condition: bool, message: str) -> list[str]:
    return [] if condition else [message]


def _bound(kinds: Any, measure: Any, right: Any, message: str) -> Any:
    """A check of values of some types against a limit; other values pass, as JSON Schema has it."""

    def check(value: Any, wanted: Any, *_: Any) -> list[str]:
        of_kind = isinstance(value, kinds) and not isinstance(value, bool)
        return _is(not of_kind or right(measure(value), wanted), f"{message} {wanted}")

    return check


def _plain(value: Any) -> Any:
    return value


def _pattern(value: Any, wanted: str, *_: Any) -> list[str]:
    return _is(not isinstance(value, str) or re.search(wanted, value) is not None, f"not like {wanted}")


def _keys(value: Any, wanted: Any, schema: Any, root: Any, place: str) -> list[str]:
    return [line for key in value for line in errors(key, wanted, root, place)]


NUMBERS = (int, float)
CHECKS: dict[str, Any] = {
    "$ref": _ref,
    "type": _type,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "properties": _object,
    "patternProperties": lambda *rest: [] if "properties" in rest[2] else _object(*rest),
    "additionalProperties": lambda *rest: (
        [] if rest[2].keys() & {"properties", "patternProperties"} else _object(*rest)
    ),
    "propertyNames": _keys,
    "items": lambda value, *rest: _items(value, *rest) if isinstance(value, list) else [],
    "prefixItems": lambda value, *rest: _prefix(value, *rest) if isinstance(value, list) else [],
    "required": lambda value, wanted, *_: (
        [f"{key} is missing" for key in wanted if key not in value] if isinstance(value, dict) else []
    ),
    "enum": lambda value, wanted, *_: _is(value in wanted, f"not one of {wanted}"),
    "const": lambda value, wanted, *_: _is(value == wanted, f"not {wanted}"),
    "pattern": _pattern,
    "minimum": _bound(NUMBERS, _plain, operator.ge, "below"),
    "maximum": _bound(NUMBERS, _plain, operator.le, "above"),
    "exclusiveMinimum": _bound(NUMBERS, _plain, operator.gt, "not above"),
    "exclusiveMaximum": _bound(NUMBERS, _plain, operator.lt, "not below"),
    "minLength": _bound(str, len, operator.ge, "shorter than"),
    "maxLength": _bound(str, len, operator.le, "longer than"),
    "minItems": _bound(list, len, operator.ge, "fewer items than"),
    "maxItems": _bound(list, len, operator.le, "more items than"),
    "minProperties": _bound(dict, len, operator.ge, "fewer keys than"),
    "maxProperties": _bound(dict, len, operator.le, "more keys than"),
}

"""docs/reference lists every field of both schemas, with its default, and no field that is not there."""

from __future__ import annotations

import ast
import json
import re
import types
import typing
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from dataprep.readers import READERS
from dataprep.recipe import Recipe
from dataprep.recipe.step_entry import MAX_REMOVED
from dataprep.steps import STEPS
from dataprep.steps.own_params import OwnParams
from trainer.config import TrainConfig

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
ROW = re.compile(r"^\| `(?P<field>[^`]+)` \| `(?P<default>[^`]+)` \|", re.MULTILINE)
REQUIRED = "required"
OWN = "package.module:function"  # how the page calls a step of somebody's own
READERS_FOLDER = REFERENCE.parents[1] / "dataprep" / "readers"
REFUSALS = {"BadDocument", "BadRecord", "Damage", "DamagedFile"}


def models_in(annotation: Any) -> list[tuple[str, type[BaseModel]]]:
    """The models a field may hold, each with what stands between the field's name and theirs."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [("", annotation)]
    if origin is typing.Annotated:
        return models_in(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return [found for argument in arguments for found in models_in(argument)]
    if origin in (list, tuple) and arguments:
        return [("[]" + between, model) for between, model in models_in(arguments[0])]
    if origin is dict:
        return [(".<name>" + between, model) for between, model in models_in(arguments[1])]
    return []


def fields_of(model: type[BaseModel], prefix: str = "") -> dict[str, str]:
    """Dotted name -> default as YAML flow text, for every leaf; a model inside a model is no row, but a field
    that may hold something else too is."""
    fields: dict[str, str] = {}
    for name, field in model.model_fields.items():
        inner = models_in(field.annotation)
        for between, nested in inner:
            fields |= fields_of(nested, f"{prefix}{field.alias or name}{between}.")
        if not inner or holds_else(field.annotation):
            default = field.get_default(call_default_factory=True, validated_data={})
            fields[prefix + (field.alias or name)] = REQUIRED if field.is_required() else as_text(default)
    return fields


def holds_else(annotation: Any) -> bool:
    """Whether a field that may hold a model may hold something else too, but for null."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (list, tuple) and arguments:
        return holds_else(arguments[0])
    return origin in (typing.Union, types.UnionType) and any(
        argument is not type(None) and not models_in(argument) for argument in arguments
    )


def as_text(default: Any) -> str:
    return json.dumps(
        default, default=lambda value: list(value) if isinstance(value, set | frozenset) else str(value)
    )


def documented(page: str) -> dict[str, str]:
    text = (REFERENCE / page).read_text(encoding="utf-8")
    return {row["field"]: row["default"] for row in ROW.finditer(text)}


@pytest.mark.parametrize(("page", "model"), [("recipe.md", Recipe), ("train.md", TrainConfig)])
def test_every_field_is_listed_with_its_default(page: str, model: type[BaseModel]) -> None:
    assert documented(page) == fields_of(model)


def test_every_step_and_parameter_is_listed() -> None:
    expected = {"only": "null", "except": "null", "max_removed": str(MAX_REMOVED)}
    for name, params in {**{name: step.params for name, step in STEPS.items()}, OWN: OwnParams}.items():
        expected |= fields_of(params, f"{name}.")
    assert documented("steps.md") == expected


def test_every_format_and_reason_is_listed() -> None:
    text = (REFERENCE / "readers.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    assert listed == {*READERS, *reasons_in_the_code()}


def reasons_in_the_code() -> set[str]:
    """Slugs that readers give to what they refuse, and the first halves of (reason, detail) pairs."""
    found: set[str] = set()
    for path in READERS_FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in REFUSALS:
                found |= {word for argument in node.args for word in slugs(argument)}
            elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and not slugs(node.elts[1]):
                found |= slugs(node.elts[0])
    return found


def slugs(node: ast.expr) -> set[str]:
    """The word that a constant is, or the words of a choice between two."""
    if isinstance(node, ast.IfExp):
        return slugs(node.body) | slugs(node.orelse)
    is_word = (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"[a-z0-9_]+", node.value)
    )
    return {str(node.value)} if is_word else set()

"""Evaluation sets and definitions as a command line names them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from pydantic import ValidationError

from dataprep.evals.definitions import DEFINITIONS, Definition
from dataprep.evals.fields import FieldMap
from dataprep.evals.sets import EvalFile, EvalSpec, eval_files
from dataprep.evals.shared import ppm_of
from manifests.errors import UserError

SINGLE = ("answer_index", "id")


def files_named(patterns: Sequence[str], fields: Sequence[str]) -> list[EvalFile]:
    """The files of patterns, all with the map of `ROLE=NAME`s if there are any. Raises UserError."""
    mapped = _map(fields) if fields else None
    return eval_files([EvalSpec(path=each, fields=mapped) for each in patterns], where="--evals")


def _map(fields: Sequence[str]) -> FieldMap:
    roles: dict[str, list[str]] = {}
    for each in fields:
        role, equals, name = each.partition("=")
        if not equals or not name or role not in FieldMap.model_fields:
            hint = f"ROLE=NAME, where ROLE is one of: {', '.join(FieldMap.model_fields)}"
            raise UserError(f'cannot read "{each}"', where="--field", hint=hint)
        roles.setdefault(role, []).append(name)
    try:
        values = {role: names[-1] if role in SINGLE else tuple(names) for role, names in roles.items()}
        return FieldMap.model_validate(values)
    except ValidationError as error:
        raise UserError(error.errors()[0]["msg"], where="--field") from error


def definition_named(name: str, share: float | None, answer_near: bool) -> Definition:
    """A definition, with another share if one is given. Raises UserError."""
    definition = next((each for each in DEFINITIONS.values() if each.name == name), None)
    if definition is None:
        hint = f"one of: {', '.join(DEFINITIONS)}"
        raise UserError(f'there is no definition "{name}"', where="--definition", hint=hint)
    if share is not None and definition.kind == "any":
        raise UserError(f"{name} knows no share: any n-gram is enough", where="--share")
    if answer_near and definition.kind != "run":
        raise UserError(f"{name} knows no answer that is near; that is for longest", where="--answer-near")
    ppm = ppm_of(share)
    return definition if ppm is None else dataclasses.replace(definition, share_ppm=ppm)

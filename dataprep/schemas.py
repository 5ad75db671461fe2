"""JSON Schemas of what people and tools write and read: recipes, manifests, their lists, receipts, names.

Made from the models that check these files, so they say the same; what only code can check (that sources
exist, that counts add up) is not in them. The committed copies are in docs/reference/schemas, and

    python -m dataprep.schemas docs/reference/schemas

writes them again after a change of a model. `dataprep schema recipe` prints one, for an editor that
completes YAML.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, JsonValue

from dataprep.recipe import Recipe
from dataprep.recipe.step_entry import MAX_REMOVED
from dataprep.steps import STEPS
from dataprep.steps.base import Transform
from dataprep.steps.own_params import OwnParams
from manifests.errors import UserError
from manifests.fields import Count, Digest, Record
from manifests.lists import InputFile, Shard, ShardPacking
from manifests.manifest import Manifest
from manifests.object_store import PublishedName

DIALECT = "https://json-schema.org/draft/2020-12/schema"

LIMITS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}

OWN_STEP = r"^[A-Za-z_]\w*(\.\w+)*:[A-Za-z_]\w*$"
"""package.module:function."""

Hex128 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class Receipt(Record):
    """`receipt.json` of a finished task in the work folder; see dataprep/cache.py, which writes and checks
    it."""

    key: Hex128
    stage: str
    components: dict[str, JsonValue]
    """What the key was made of."""
    outputs: dict[str, tuple[Count, Digest]]
    """File name -> bytes, digest."""
    facts: dict[str, JsonValue]
    """What later stages need to know."""
    seconds: float
    digest: Hex128
    """xxh3-128 of the file before this field."""


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a kind of file, by its name in SCHEMAS. Raises UserError."""
    if name not in SCHEMAS:
        raise UserError(f"there is no schema {name}", hint=f"there are {', '.join(SCHEMAS)}")
    model = SCHEMAS[name]
    found = _standard(model.model_json_schema())
    if model is Recipe:
        found["properties"]["steps"]["items"] = _step_schema(found)
    title = f"Headrace {name}"
    return {"$schema": DIALECT, **found, "title": title}


def text_of(name: str) -> str:
    """As it is committed."""
    return json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n"


def _step_schema(recipe: dict[str, Any]) -> dict[str, Any]:
    """One key, which names a step, with its parameters and what every step has. Definitions go to the
    recipe's."""
    definitions = recipe.setdefault("$defs", {})
    named = {}
    for name, step in STEPS.items():
        definitions[f"step.{name}"] = _parameters(step.params, definitions, not isinstance(step, Transform))
        named[name] = {"anyOf": [{"$ref": f"#/$defs/step.{name}"}, {"type": "null"}]}
    definitions["step.own"] = _parameters(OwnParams, definitions, True)
    return {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": named,
        "patternProperties": {OWN_STEP: {"$ref": "#/$defs/step.own"}},
        "additionalProperties": False,
    }


def _parameters(model: type[BaseModel], definitions: dict[str, Any], drops: bool) -> dict[str, Any]:
    found = _standard(model.model_json_schema())
    for name, inner in found.pop("$defs", {}).items():
        if definitions.setdefault(name, inner) != inner:
            raise ValueError(f"two models of the name {name}: their schemas would be one")
    names = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    found.setdefault("properties", {}).update({"only": names, "except": names})
    if drops:
        share = {"type": "number", "minimum": 0, "maximum": 1, "default": MAX_REMOVED}
        found["properties"]["max_removed"] = share
    return found


def _standard(part: Any) -> Any:
    """The schema with the limits of numbers under the names of JSON Schema. pydantic leaves its own where a
    number may also be written as text; they concern numbers alone, and so do the standard ones."""
    if isinstance(part, list):
        return [_standard(each) for each in part]
    if not isinstance(part, dict):
        return part
    renamed = "anyOf" in part
    return {LIMITS.get(name, name) if renamed else name: _standard(inner) for name, inner in part.items()}


SCHEMAS: dict[str, type[BaseModel]] = {
    "recipe": Recipe,
    "manifest": Manifest,
    "shard": Shard,
    "packing": ShardPacking,
    "input": InputFile,
    "receipt": Receipt,
    "published": PublishedName,
}
"""Name -> model. `shard` and `input` are rows of the lists beside a manifest, `published` is the name of a
version in an object store."""


def main(folder: str) -> None:
    for name in SCHEMAS:
        (Path(folder) / f"{name}.json").write_text(text_of(name), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

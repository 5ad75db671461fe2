"""FORMAT.md names everything that is in the files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import manifests
from manifests.fields import Record
from manifests.lists import ShardPacking
from manifests.manifest import (
    FORMAT_VERSION,
    UPGRADES,
    InputFile,
    Lineage,
    Manifest,
    PackedSubset,
    Packings,
    Shard,
    Source,
    StepRecord,
    Subset,
    TokenizerInfo,
)
from manifests.shard import CODES_BY_DTYPE, DTYPES_BY_CODE
from manifests.tables import document_schema

TEXT = (Path(manifests.__file__).parent / "FORMAT.md").read_text(encoding="utf-8")


def is_named(name: str) -> bool:
    return re.search(rf"`(lineage)?\.?{name}[`.]", TEXT) is not None


@pytest.mark.parametrize(
    "model",
    [
        Manifest,
        TokenizerInfo,
        Source,
        Subset,
        Packings,
        PackedSubset,
        Lineage,
        StepRecord,
        Shard,
        ShardPacking,
        InputFile,
    ],
)
def test_fields(model: type[Record]) -> None:
    assert [name for name in model.model_fields if not is_named(name)] == []


def test_columns_of_the_document_table() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", TEXT, re.MULTILINE))
    arrow = {
        "string": "string",
        "string, null": "string",
        "16 bytes": "fixed_size_binary[16]",
        "map of strings, null": "map<string, string>",
    }
    for field in document_schema():
        assert arrow.get(rows[field.name], rows[field.name]) == str(field.type)
        assert field.nullable == ("null" in rows[field.name])


def test_dtype_codes() -> None:
    (line,) = re.findall(r"dtype code: (.*) \|", TEXT)
    said = {int(code): name for code, name in re.findall(r"(\d) (u?int\d+)", line)}
    assert said == {code: dtype.name for code, dtype in DTYPES_BY_CODE.items()}
    written = [int(code) for code in re.findall(r"(\d) u?int", line.partition("(")[0])]
    assert written == sorted(CODES_BY_DTYPE.values())


def test_every_older_version_has_an_upgrade() -> None:
    """A bump of the version without a way from the one before it fails here."""
    assert sorted(UPGRADES) == list(range(1, FORMAT_VERSION))
    assert f"| `format_version` | {FORMAT_VERSION} |" in TEXT

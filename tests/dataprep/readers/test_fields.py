from __future__ import annotations

import csv
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.readers import READERS, ReadOptions
from dataprep.readers.fields import Field, template_of
from dataprep.readers.splits import make_splits
from manifests.errors import UserError
from tests.dataprep.readers.reading import Found, input_file, read_file

RECORDS = [
    {"title": "A", "body": "first", "url": "u1", "meta": {"license": "MIT", "score": "3"}},
    {"title": "B", "body": "second", "url": "u2", "meta": {"license": "CC0-1.0", "score": "5"}},
]


def written(format: str, folder: Path, records: list[dict[str, Any]]) -> Path:
    """Records in one of the formats with fields; CSV gets what is inside an object under dotted names. An
    archive gets a file of JSON lines."""
    path = folder / f"a.{format}"
    if format == "archive":
        lines = written("jsonl", folder, records)
        with tarfile.open(path, "w") as archive:
            archive.add(lines, "a.jsonl")
        return path
    if format == "jsonl":
        path.write_text("\n".join(map(json.dumps, records)))
    elif format == "parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    else:
        flat = [
            {**record, **{f"meta.{name}": value for name, value in record["meta"].items()}}
            for record in records
        ]
        out = io.StringIO()
        writer = csv.DictWriter(out, list(flat[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)
        path.write_text(out.getvalue())
    return path


def read(format: str, folder: Path, options: ReadOptions) -> Found:
    return read_file(format, written(format, folder, RECORDS), options)


OF_A_CRAWL = ("warc", "wet")  # their fields have names of their own
FORMATS = [name for name, reader in READERS.items() if reader.has_fields and name not in OF_A_CRAWL]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_carries_fields(format: str, tmp_path: Path) -> None:
    options = ReadOptions(text="body", id="url", carry=("meta.score", "url", "title"))
    found = read(format, tmp_path, options)
    assert [(own_id, text) for _, own_id, text in found.documents] == [("u1", "first"), ("u2", "second")]
    assert found.carried == [("3", "u1", "A"), ("5", "u2", "B")]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_has_paths_and_templates(format: str, tmp_path: Path) -> None:
    options = ReadOptions(text="{{{title}}}\n\n{body}: {meta.license}{nowhere?}", id="meta.score")
    assert [(own_id, text) for _, own_id, text in read(format, tmp_path, options).documents] == [
        ("3", "{A}\n\nfirst: MIT"),
        ("5", "{B}\n\nsecond: CC0-1.0"),
    ]
    assert read(format, tmp_path, ReadOptions(text="meta.license")).texts == ["MIT", "CC0-1.0"]


@pytest.mark.parametrize("format", [name for name in READERS if name not in (*FORMATS, *OF_A_CRAWL)])
def test_formats_without_fields_carry_none(format: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x = 1\n")
    with pytest.raises(UserError, match=f"format {format} has no field 'url'"):
        make_splits("s", format, [input_file(tmp_path / "a")], ReadOptions(carry=("url",)))


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ReadOptions(text="body", carry=("date",)), "no column 'date'"),
        (ReadOptions(text="{body}{date}"), "no column 'date'"),
        (ReadOptions(text="meta.date"), "no column 'meta.date'"),
        (ReadOptions(text="title.license"), "no column 'title.license'"),
    ],
)
def test_columns_that_are_not_there(format: str, options: ReadOptions, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        read(format, tmp_path, options)


def test_a_key_that_no_parser_looks_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no key of JSON lines"):
        read("jsonl", tmp_path, ReadOptions(text='a"b'))


def test_a_whole_name_counts_before_the_way_into_an_object(tmp_path: Path) -> None:
    records = [{"text": "", "a.b": "whole", "a": {"b": "inside", "b.c": "whole below", "b2": {"c": "x"}}}]
    options = ReadOptions(carry=("a.b", "a.b.c", "a.b2.c"))
    for format in ("jsonl", "parquet"):
        found = read_file(format, written(format, tmp_path, records), options)
        assert found.carried == [("whole", "whole below", "x")]


def test_a_null_under_the_whole_name_counts_too(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text":"","a.b":null,"a":{"b":"inside"}}\n{"text":"","a":{"b":"i"}}')
    options = ReadOptions(carry=("a.b",))
    assert read_file("jsonl", tmp_path / "a.jsonl", options).carried == [(None,), ("i",)]


def test_what_json_values_become(tmp_path: Path) -> None:
    values = ['"\\u00e9\\n"', '""', "null", "1.50", "-0", "true", "[1,  {}]", '{"a" : "b c"}', '"null"']
    lines = [f'{{"text":"x","v":{value}}}' for value in values]
    (tmp_path / "a.jsonl").write_text("\n".join([*lines, '{"text":"x"}']))
    found = read_file("jsonl", tmp_path / "a.jsonl", ReadOptions(carry=("v",)))
    assert [value for (value,) in found.carried] == [
        "\u00e9\n", "", None, "1.50", "-0", "true", "[1,{}]", '{"a":"b c"}', "null", None,
    ]  # fmt: skip


def test_fields_of_bad_records_go_with_them(tmp_path: Path) -> None:
    lines = ['{"text":"a","v":1}', '{"v":2}', "no", '{"text":"b","id":[],"v":3}', '{"text":"c","v":4}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    found = read_file("jsonl", tmp_path / "a.jsonl", ReadOptions(id="id", carry=("v", "text")))
    assert found.carried == [("1", "a"), ("4", "c")]
    assert found.reasons == ["missing_text", "not_json", "bad_id"]


def test_templates_say_which_field_is_wrong(tmp_path: Path) -> None:
    lines = [
        '{"a":"x","n":7}',
        '{"a":"x","n":true}',
        '{"n":1}',
        '{"a":"x","n":null}',
        '{"a":"x","n":"12345"}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    found = read_file("jsonl", tmp_path / "a.jsonl", ReadOptions(text="{a}{a}{a} {n}", max_document_bytes=21))
    assert found.texts == ["xxx 7", "xxx 12345"]
    assert [(bad.reason, bad.detail) for bad in found.bad] == [
        ("text_not_string", "n is true"),
        ("missing_text", "a is missing or null"),
        ("missing_text", "n is missing or null"),
    ]
    options = ReadOptions(text="{a}{a}{a} {n?} and more than that", max_document_bytes=22)
    assert read_file("jsonl", tmp_path / "a.jsonl", options).reasons == [
        "too_long", "text_not_string", "missing_text", "too_long", "too_long",
    ]  # fmt: skip


def test_a_template_in_parquet(tmp_path: Path) -> None:
    columns = {"a": ["x", None, "z", "w" * 30], "n": pa.array([1, 2, None, 4]), "o": [None, "o", None, None]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    options = ReadOptions(text="{a} {n}{o?}", max_document_bytes=20)
    found = read_file("parquet", tmp_path / "a.parquet", options)
    assert found.texts == ["x 1"]
    assert found.reasons == ["missing_text", "missing_text", "too_long"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("text", (Field("text"),)),
        ("a.b", (Field("a.b"),)),
        ("{a}", (Field("a", of_numbers=True),)),
        ("{a?}-{b c}", (Field("a", True, True), "-", Field("b c", False, True))),
        ("{{{a}}}", ("{", Field("a", of_numbers=True), "}")),
        ("{what??}", (Field("what?", True, True),)),
    ],
)
def test_templates(text: str, parts: tuple[str | Field, ...]) -> None:
    assert template_of(text) == parts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "names no field"),
        ("{?}", "names no field"),
        ("a{b", "without the other brace"),
        ("a}b", "without the other brace"),
        ("{a}}", "without the other brace"),
        ("{a{b}}", "without the other brace"),
        ("{{a}}", "the same text"),
    ],
)
def test_what_is_no_template(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        template_of(text)


@given(st.text(alphabet="{}ab?", max_size=8))
def test_a_template_is_refused_or_fills_in_as_format_strings_do(text: str) -> None:
    try:
        parts = template_of(text)
    except ValueError:
        return
    if "{" in text:
        pieces = [f"<{part.path}>" if isinstance(part, Field) else part for part in parts]
        names = {part.path: f"<{part.path}>" for part in parts if isinstance(part, Field)}
        expected = text.replace("{{", "\0").replace("}}", "\1")
        for name, value in names.items():
            expected = expected.replace(f"{{{name}}}", value).replace(f"{{{name}?}}", value)
        assert "".join(pieces) == expected.replace("\0", "{").replace("\1", "}") or "}}}" in text

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.kernels.framing import line_bounds, strip_lines
from dataprep.readers import READERS, Extent, ReadOptions, Split
from dataprep.readers.json_fields import MAX_DEPTH, Layout, parse_line, parse_together
from dataprep.readers.records import BadDocument
from tests.dataprep.kernels.strategies import texts
from tests.dataprep.readers.reading import IDS, Found, input_file, read_extents, read_file, read_ranges
from tests.reference import json_lines as twin

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
records = st.fixed_dictionaries(
    {"text": texts}, optional={"id": texts | st.integers() | st.none(), "meta": json_values}
)
loose = st.fixed_dictionaries({}, optional={"text": json_values, "id": json_values, "meta": json_values})
lines = st.one_of(
    records.map(lambda value: json.dumps(value).encode()),
    records.map(lambda value: json.dumps(value, ensure_ascii=False).encode()),
    loose.map(lambda value: json.dumps(value, separators=(",", ":")).encode()),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.sampled_from(
        [
            b"", b" \t", b"\r", b'{"text":"a"}\r', b' {"text":"a"} ', b'{"text":"a"}{"text":"b"}',
            b'{"text":', b'"a"}', b'{"m":{}', b'{"text":"a"} {"text":', b'{"text":"\\ud800"}',
            b'{"\\ud83d":1,"text":"a"}', b'{"text":"a","m":"\\udc00\\ud800"}', b'{"text":"\\ud83d\\ude00"}',
            b'{"text":"\xff"}', b'{"text":"a","m":"\xed\xa0\x80"}', b'{"text":NaN}', b'{"text":"a\x00"}',
            b'{"text":"a","m":-Infinity}', b'{"text":"a","id":1.50}', b'{"text":"a","id":-0}',
            b'{"text":"a","id":1E400}', b'{"text":"b","text":1}', b'{"text":1,"text":"b","id":[],"id":"c"}',
            b'{"te\\u0078t":"a"}', b'{"text":"a"}\r{"text":"b"}', b"\xef\xbb\xbf",
            b'\xef\xbb\xbf{"text":"a"}',
            b'{"text":"a\xe2\x80\xa8b"}', b'{"text":"a",}', b"{'text':'a'}", b"\x00\x00", b"[" * 500,
            b'{"m":' + b"9" * 5000 + b',"text":"\\ud800"}',
            b'{"text":"' + b"[" * 201 + b'"}', b'{"text":"a","m":' + b"[" * 199 + b"]" * 199 + b"}",
            b'{"text":"a","m":' + b"[" * 200 + b"]" * 200 + b"}",
            b'{"text":"a","id":' + b"9" * 5000 + b"}", b'{"text":"' + b"long " * 60 + b'"}',
        ]
    ),
)  # fmt: skip
keys = st.sampled_from(["a", "b", "a.b", "a.b.c", "c", "meta", "id", "text"])
nested = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), texts, st.just("x")),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
nested_lines = st.tuples(
    st.dictionaries(keys, nested, max_size=5), st.booleans(), st.sampled_from([",", " , "])
).map(lambda each: json.dumps(each[0], ensure_ascii=each[1], separators=(each[2], ": ")).encode())
files = st.tuples(
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(lines, max_size=8).map(b"\n".join),
    st.sampled_from([b"", b"\n"]),
).map(b"".join)


def as_twin(found: Found) -> twin.Found:
    bad = [(bad.position, bad.line, bad.reason) for bad in found.bad]
    return twin.Found(found.documents, [[] for _ in found.documents], bad)


def starts_like_an_array(data: bytes) -> bool:
    return data.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").startswith(b"[")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jsonl") / "a.jsonl"


@given(files, st.sampled_from([300, 100 << 20]))
def test_equals_the_slow_twin(path: Path, data: bytes, limit: int) -> None:
    if starts_like_an_array(data):
        data = b"x" + data
    path.write_bytes(data)
    found = read_file("jsonl", path, ReadOptions(id="id", max_document_bytes=limit))
    assert as_twin(found) == twin.read(data, limit)


@given(
    st.lists(nested_lines | lines, max_size=8).map(b"\n".join),
    st.sampled_from(
        [
            ("text", "text"),
            ("a.b", "a.b"),
            ("meta.a.b.c", "meta.a.b.c"),
            ("{a.b}", [("a.b", False)]),
            ("{{{a?}}}\n{c}{c}", ["{", ("a", True), "}\n", ("c", False), ("c", False)]),
            ("{text?}{a.b.c?}", [("text", True), ("a.b.c", True)]),
        ]
    ),
    st.sampled_from(["id", "a.b"]),
    st.sampled_from([40, 100 << 20]),
)
def test_paths_templates_and_carried_fields_equal_the_slow_twin(
    path: Path, data: bytes, text: tuple[str, str | list[Any]], own_id: str, limit: int
) -> None:
    if starts_like_an_array(data):
        data = b"x" + data
    path.write_bytes(data)
    carry = ("a", "a.b", "a.b.c", "meta.a.b", "text", "nowhere.at.all")
    options = ReadOptions(text=text[0], id=own_id, carry=carry, max_document_bytes=limit)
    found = read_file("jsonl", path, options)
    expected = twin.read(data, limit, text[1], own_id, carry)
    assert as_twin(found).documents == expected.documents
    assert as_twin(found).bad == expected.bad
    rows = zip(found.carried, expected.carried, strict=True)
    carried = [[as_parsed(*pair) for pair in zip(*row, strict=True)] for row in rows]
    assert carried == expected.carried


def as_parsed(carried: str | None, expected: object) -> object:
    """A carried value as the twin has it: what is no string is JSON."""
    if carried is None or (isinstance(expected, str) and not isinstance(expected, twin.Number)):
        return carried
    assert carried == twin.compact(carried)
    return json.loads(carried, parse_int=twin.Number, parse_float=twin.Number)


@given(files, st.integers(0, 2**31), st.binary(min_size=1, max_size=2))
def test_equals_the_slow_twin_on_damaged_bytes(path: Path, data: bytes, place: int, noise: bytes) -> None:
    place %= len(data) + 1
    data = data[:place] + noise + data[place + 1 :]
    if starts_like_an_array(data) or data[:2] in (b"\xff\xfe", b"\xfe\xff") or data[:4] == b"\0\0\xfe\xff":
        data = b"x" + data
    path.write_bytes(data)
    assert as_twin(read_file("jsonl", path)) == twin.read(data)


@settings(max_examples=25)
@given(files, st.sampled_from([1, 2, 7, 64, 1000]), st.sampled_from([300, 100 << 20]))
def test_the_same_records_at_every_split_size(path: Path, data: bytes, size: int, limit: int) -> None:
    path.write_bytes(data)
    options = ReadOptions(id="id", max_document_bytes=limit)
    whole, cut = read_file("jsonl", path, options), read_ranges("jsonl", path, size, options)
    assert cut.documents == whole.documents
    assert [(bad.position, bad.reason) for bad in cut.bad] == [
        (bad.position, bad.reason) for bad in whole.bad
    ]
    assert cut.damages == whole.damages


@given(files)
def test_both_routes_are_equal(data: bytes) -> None:
    array = np.frombuffer(data, dtype=np.uint8)
    inner_starts, inner_ends, plain = strip_lines(array, *line_bounds(array), MAX_DEPTH)
    content = [data[start:end] for start, end in zip(inner_starts, inner_ends, strict=True) if start < end]
    layout = Layout(["text", "id", "meta", "meta.a", "meta.a.b", "a.b"])
    together = parse_together(memoryview(data), len(content), layout) if plain else None
    apart = [parse_line(line, layout) for line in content]
    if together is None:
        return
    fast, slow = layout.columns(together), layout.columns(apart)
    assert {path: list(map(bytes, values)) for path, values in fast.items()} == {
        path: list(map(bytes, values)) for path, values in slow.items()
    }


def test_the_fast_route_is_taken(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(line: bytes, layout: object) -> None:
        raise AssertionError(f"one at a time: {line!r}")

    monkeypatch.setattr("dataprep.readers.jsonl.parse_line", never)
    path.write_bytes(
        b'\xef\xbb\xbf{"text":"a","id":7}\r\n\n {"text":null}\t\n{"text":["\\n"],"m":1}\n'
        b'{"id":"b","text":"\\u00e9"}'
    )
    found = read_file("jsonl", path)
    assert found.documents == [(3, "7", "a"), (63, "b", "\u00e9")]
    assert found.reasons == ["missing_text", "text_not_string"]


@pytest.mark.parametrize(
    "data",
    [
        b'{"text":"a"} {"text":"b"}\n{"text":\n"c"}',
        b'{"text":"a"} {"m":[{},\n{"x":1}],"text":"b"}',  # both lines start like an object
        b'{"m":{}\n,"text":"b"} {"text":"c"}',  # both end like one
        b'{"text":"a"}{"text":"b"}\n{"text":"c"',
    ],
)
def test_as_many_objects_as_lines_are_not_one_on_each(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    found = read_file("jsonl", path)
    assert found.documents == []
    assert found.reasons == ["not_json"] * (data.count(b"\n") + 1)


def test_a_byte_order_mark_belongs_to_the_start_of_a_file_alone(path: Path) -> None:
    path.write_bytes(b'{"text":"a"}\n\xef\xbb\xbf{"text":"b"}\n')
    for found in (read_file("jsonl", path), read_ranges("jsonl", path, 13)):
        assert found.texts == ["a"] and found.reasons == ["not_json"]


def test_lines_are_numbered_where_reading_began_at_byte_0(path: Path) -> None:
    path.write_bytes(b'{"text":"a"}\n\nx\n{"text":"b"}\ny\n')
    assert [bad.line for bad in read_file("jsonl", path).bad] == [3, 5]
    assert [bad.line for bad in read_ranges("jsonl", path, 20).bad] == [3, None]


def test_positions_are_of_the_decompressed_stream(tmp_path: Path) -> None:
    data = b'{"text":"a"}\nx\n{"text":"b"}\n'
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(data))
    found = read_file("jsonl", tmp_path / "a.jsonl.gz")
    assert [position for position, _, _ in found.documents] == [0, 15]
    assert [bad.position for bad in found.bad] == [13]


def test_extents_are_told_apart(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes(f'{{"text":"{name}"}}\nx'.encode())
    files = [input_file(tmp_path / name) for name in "abc"]
    found = read_extents("jsonl", [Extent(file, 0, file.size_bytes) for file in files])
    assert found.extents == [0, 1, 2]
    assert [bad.extent for bad in found.bad] == [0, 1, 2]


def test_fields_are_named_by_the_recipe(path: Path) -> None:
    path.write_bytes(b'{"raw content":"a","text":"no","url":"u","id":"no"}\n{"text":"b"}\n')
    found = read_file("jsonl", path, ReadOptions(text="raw content", id="url"))
    assert found.documents == [(0, "u", "a")]
    assert found.reasons == ["missing_text"]
    assert read_file("jsonl", path, ReadOptions()).documents == [(0, None, "no"), (52, None, "b")]


def test_records_before_damage_are_kept_and_a_cut_line_is_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    records = [
        json.dumps({"text": rng.bytes(30).hex(), "id": str(number)}).encode() for number in range(2000)
    ]
    data = b"\n".join(records)
    stored = gzip.compress(data)
    (tmp_path / "cut.jsonl.gz").write_bytes(stored[: len(stored) // 2])
    found = read_file("jsonl", tmp_path / "cut.jsonl.gz")
    kept = len(found.documents)
    assert 500 < kept < 1500
    assert [own_id for _, own_id, _ in found.documents] == [str(number) for number in range(kept)]
    assert found.bad == []
    (damage,) = found.damage
    assert damage.reason == "truncated"
    assert damage.position == sum(len(record) + 1 for record in records[:kept])


@pytest.mark.parametrize(
    "data", [b"[\n", b"\xef\xbb\xbf \n[ \r\n{}]", '{"text":"a"}\n'.encode("utf-16"), b"\xfe\xff"]
)
def test_other_formats_are_refused_once_at_every_split_size(path: Path, data: bytes) -> None:
    path.write_bytes(data + b'{"text":"a"}\n' * 3)
    for found in (read_file("jsonl", path), *(read_ranges("jsonl", path, size) for size in (1, 7, 64))):
        assert found.documents == [] and found.bad == []
        assert len(found.damage) == 1
        assert found.damage[0].unread_bytes == path.stat().st_size


def test_limits_of_length_and_depth_are_exact(path: Path) -> None:
    line = b'{"text":"' + b"a" * 89 + b'"}'
    assert len(line) == 100
    path.write_bytes(line + b"\n" + line[:-2] + b'a"}\n')
    found = read_file("jsonl", path, ReadOptions(max_document_bytes=100))
    assert len(found.documents) == 1 and found.reasons == ["too_long"]
    deep = [b'{"text":"a","m":' + b"[" * depth + b"]" * depth + b"}" for depth in (MAX_DEPTH - 1, MAX_DEPTH)]
    path.write_bytes(b"\n".join(deep))
    found = read_file("jsonl", path)
    assert len(found.documents) == 1 and found.reasons == ["too_deep"]


@given(st.text(alphabet="\\ud8f0CeE29a", max_size=12))
def test_a_row_never_holds_a_lone_surrogate(piece: str) -> None:
    # the kernel that unescapes relies on the parser for this
    layout = Layout(["text"])
    row = parse_line(f'{{"text":"{piece}"}}'.encode(), layout)
    if isinstance(row, BadDocument):
        return
    (value,) = layout.columns([row])["text"]
    assert not twin.has_surrogate(json.loads(bytes(value)))


def test_many_bad_lines_come_in_many_chunks(path: Path) -> None:
    path.write_bytes(b"x\n" * 100_000)
    split = Split("source", "jsonl", (Extent(input_file(path), 0, 200_000),))
    chunks = list(READERS["jsonl"].read(split, IDS))
    assert sum(len(chunk.bad) for chunk in chunks) == 100_000

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataprep.readers import Extent, ReadOptions
from dataprep.readers.parquet import MAX_BATCH_ROWS
from manifests.errors import UserError
from tests.dataprep.readers.reading import IDS, Found, input_file, read_extents, read_file

TYPES = [
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.large_binary(),
    pa.dictionary(pa.int32(), pa.string()),
]


def written(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path / "a.parquet", **options)
    return path / "a.parquet"


def read(path: Path, columns: dict[str, Any], options: ReadOptions = IDS, **write: Any) -> Found:
    return read_file("parquet", written(path, columns, **write), options)


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("id_type", [*TYPES, pa.int64(), pa.uint8()], ids=str)
def test_types(tmp_path: Path, type_: pa.DataType, id_type: pa.DataType) -> None:
    ids: list[Any] = [7, None, 9] if pa.types.is_integer(id_type) else ["7", None, "9"]
    texts = pa.array(["a", "", "\u00e9"]).cast(pa.large_binary() if "binary" in str(type_) else pa.string())
    id_column = pa.array(ids, type=None if pa.types.is_integer(id_type) else pa.string()).cast(id_type)
    found = read(tmp_path, {"id": id_column, "text": texts.cast(type_)})
    assert found.documents == [(0, "7", "a"), (1, None, ""), (2, "9", "\u00e9")]
    assert found.bad == [] and found.damage == []


def test_without_ids(tmp_path: Path) -> None:
    assert read(tmp_path, {"id": ["x"], "text": ["a"]}, ReadOptions()).documents == [(0, None, "a")]


def test_rows_count_from_the_start_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, {"text": [str(row) for row in range(10)]}, row_group_size=3)
    file = input_file(path)
    found = read_extents(
        "parquet", [Extent(file, 1, 2, "row_groups"), Extent(file, 3, 4, "row_groups")], ReadOptions()
    )
    assert found.documents == [(row, None, str(row)) for row in (3, 4, 5, 9)]
    assert found.extents == [0, 0, 0, 1]


def test_what_is_no_document(tmp_path: Path) -> None:
    texts = pa.array([b"a", None, b"\xff", b"bb", b"b" * 11, b"c"], type=pa.binary())
    ids = pa.array([b"1", b"2", b"3", b"\xff", b"5", b"6"], type=pa.binary())
    found = read(tmp_path, {"id": ids, "text": texts}, ReadOptions(id="id", max_document_bytes=10))
    assert found.documents == [(0, "1", "a"), (5, "6", "c")]
    assert [(bad.position, bad.reason) for bad in found.bad] == [
        (1, "missing_text"), (2, "invalid_utf8"), (3, "bad_id"), (4, "too_long"),
    ]  # fmt: skip
    assert all(bad.line is None and bad.extent == 0 for bad in found.bad)


def test_a_string_column_is_not_believed(tmp_path: Path) -> None:
    lie = pa.StringArray.from_buffers(2, pa.array(["a", "b"]).buffers()[1], pa.py_buffer(b"a\xff"))
    found = read(tmp_path, {"id": ["x", "y"], "text": lie})
    assert found.texts == ["a"] and found.reasons == ["invalid_utf8"]


def test_many_rows_come_in_bounded_chunks(tmp_path: Path) -> None:
    found = read(tmp_path, {"text": ["x" * (row % 7) for row in range(3 * MAX_BATCH_ROWS)]}, ReadOptions())
    assert [position for position, _, _ in found.documents] == list(range(3 * MAX_BATCH_ROWS))


def test_other_columns_and_nested_ones_are_left_alone(tmp_path: Path) -> None:
    columns = {"meta": [{"text": "no"}], "lists": [["x"]], "text": ["a"], "id": ["i"], "text.x": ["no"]}
    assert read(tmp_path, columns).documents == [(0, "i", "a")]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"content": ["a"], "id": ["x"]}, "no column 'text'"),
        ({"text": ["a"]}, "no column 'id'"),
        ({"text": [1], "id": ["x"]}, "column 'text' holds int64"),
        ({"text": ["a"], "id": [1.5]}, "column 'id' holds double"),
        ({"text": [{"a": "b"}], "id": ["x"]}, "column 'text' holds struct"),
    ],
)
def test_columns_that_are_the_users_to_mend(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    path = written(tmp_path, columns)
    for extents in (None, [Extent(input_file(path), 0, 1, "row_groups")]):
        with pytest.raises(UserError, match=message) as error:
            read_file("parquet", path) if extents is None else read_extents("parquet", extents)
        assert error.value.where == str(path)


def test_a_column_twice_is_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays(
        [pa.array(["a"]), pa.array(["b"]), pa.array(["c"])], names=["text", "text", "id"]
    )
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(UserError, match="more than one column 'text'"):
        read_file("parquet", tmp_path / "a.parquet")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"no parquet at all", b"PAR1 and so on PAR1"])
def test_not_parquet_is_damage(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(data)
    found = read_file("parquet", tmp_path / "a.parquet")
    assert found.documents == [] and found.damages == ["corrupt"]
    assert found.damage[0].unread_bytes == len(data)


def test_rows_before_a_broken_page_are_kept(tmp_path: Path) -> None:
    path = written(
        tmp_path, {"text": [f"text {row}" * 20 for row in range(40)]}, row_group_size=10, use_dictionary=False
    )
    data = bytearray(path.read_bytes())
    offset = pq.read_metadata(path).row_group(2).column(0).data_page_offset
    data[offset : offset + 60] = b"\xff" * 60
    path.write_bytes(data)
    found = read_file("parquet", path, ReadOptions())
    assert len(found.documents) == 20
    (damage,) = found.damage
    assert (damage.reason, damage.position, damage.unread_bytes) == ("corrupt", 20, None)


def test_a_machine_fault_is_no_damage(tmp_path: Path) -> None:
    path = written(tmp_path, {"text": ["a"]})
    extent = Extent(input_file(path), 0, 1, "row_groups")
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read_extents("parquet", [extent], ReadOptions())

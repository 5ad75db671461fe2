from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from manifests import tables
from manifests.tables import (
    TableError,
    document_schema,
    first_key,
    read_document_table,
    write_document_table,
)


def documents(count: int, first: int = 0) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "id": [None if number % 2 else f"id {number}" for number in numbers],
            "source": ["web"] * count,
            "path": [f"{number}.jsonl.zst" for number in numbers],
            "position": list(numbers),
            "key": [number.to_bytes(16, "big") for number in numbers],
            "content_hash": [bytes(16)] * count,
            "token_start": [number * 7 for number in numbers],
            "tokens": [7] * count,
            "text_bytes": [2**40] * count,
            "fields": [[("url", f"u{number}")] if number % 2 else None for number in numbers],
            "cluster_size": [1 + number for number in numbers],
        },
        schema=document_schema(),
    )


@pytest.mark.parametrize("count", [0, 1, 5])
def test_round_trip(count: int, tmp_path: Path) -> None:
    write_document_table(tmp_path / "t", documents(count))
    assert read_document_table(tmp_path / "t").to_pylist() == documents(count).to_pylist()
    assert read_document_table(tmp_path / "t", ["tokens", "id"]).column_names == ["tokens", "id"]
    key = (0).to_bytes(16, "big").hex() if count else ""
    assert first_key(tmp_path / "t") == (key, count)


@pytest.mark.parametrize("missing", [["fields", "cluster_size"], ["cluster_size"]])
def test_a_table_from_before_there_were_these_columns(missing: list[str], tmp_path: Path) -> None:
    old = documents(3).drop_columns(missing)
    pq.write_table(old, tmp_path / "t")
    read = read_document_table(tmp_path / "t")
    assert read.drop_columns(missing).to_pylist() == old.to_pylist()
    assert read.column("fields").null_count == (3 if "fields" in missing else 2)
    assert read.column("cluster_size").to_pylist() == [0, 0, 0]
    assert read_document_table(tmp_path / "t", [*missing, "id"]).column_names == [*missing, "id"]
    write_document_table(tmp_path / "again", read)
    assert read_document_table(tmp_path / "again").to_pylist() == read.to_pylist()


@pytest.mark.parametrize("rows_per_group", [4, 1 << 16])
def test_bytes_depend_on_rows_alone(
    rows_per_group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", rows_per_group)
    write_document_table(tmp_path / "whole", documents(9))
    in_chunks = pa.concat_tables([documents(3), documents(5, first=3), documents(1, first=8)])
    in_chunks = in_chunks.replace_schema_metadata({"made by": "somebody"})
    write_document_table(tmp_path / "chunks", in_chunks)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "chunks").read_bytes()


def test_wide_strings_are_narrowed_by_the_caller(tmp_path: Path) -> None:
    table = documents(3)
    wide = table.set_column(0, "id", table.column("id").cast(pa.large_string()))
    with pytest.raises(TableError, match="id is large_string, and should be string"):
        write_document_table(tmp_path / "t", wide)


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        (lambda table: table.drop_columns(["key"]), "id, source, path, position, content_hash"),
        (lambda table: table.append_column("extra", table.column("id")), "extra; wanted are"),
        (lambda table: table.select(table.column_names[::-1]), "text_bytes, tokens"),
    ],
)
def test_other_columns(columns: object, what: str, tmp_path: Path) -> None:
    table = columns(documents(2))  # type: ignore[operator]
    with pytest.raises(TableError, match=what):
        write_document_table(tmp_path / "t", table)
    assert not (tmp_path / "t").exists()
    pq.write_table(table, tmp_path / "t")
    with pytest.raises(TableError, match=what) as caught:
        read_document_table(tmp_path / "t")
    assert caught.value.where == str(tmp_path / "t")


def test_an_unknown_column(tmp_path: Path) -> None:
    pq.write_table(documents(2).drop_columns(["key"]), tmp_path / "t")
    with pytest.raises(TableError, match="key is missing; there are id, source"):
        read_document_table(tmp_path / "t", ["key"])
    with pytest.raises(TableError, match="cannot be read"):
        first_key(tmp_path / "t")


@pytest.mark.parametrize("damage", ["missing", "cut", "text"])
def test_damaged(damage: str, tmp_path: Path) -> None:
    write_document_table(tmp_path / "t", documents(5))
    if damage == "missing":
        (tmp_path / "t").unlink()
    elif damage == "cut":
        (tmp_path / "t").write_bytes((tmp_path / "t").read_bytes()[:-9])
    else:
        (tmp_path / "t").write_text("not Parquet")
    what = "missing" if damage == "missing" else "cannot be read"
    with pytest.raises(TableError, match=what):
        read_document_table(tmp_path / "t")
    with pytest.raises(TableError, match=what):
        first_key(tmp_path / "t")


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted as Linux lists them")
def test_reading_leaves_no_thread_behind(tmp_path: Path) -> None:
    """One that still runs when a short command ends would abort it, whatever its exit code was to be."""
    path = tmp_path / "a.parquet"
    write_document_table(path, documents(3))
    script = (
        "import os, sys\n"
        "import pyarrow.parquet\n"
        "from manifests.tables import first_key, read_document_table\n"
        "before = len(os.listdir('/proc/self/task'))\n"
        "read_document_table(sys.argv[1]), first_key(sys.argv[1])\n"
        "print(len(os.listdir('/proc/self/task')) - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.readers import READERS, Extent, ReadOptions, Split
from manifests.errors import UserError
from tests.dataprep.kernels.strategies import texts
from tests.dataprep.readers.reading import IDS, Found, input_file, read_file

# "\r" alone ends no row, and the csv module refuses it outside quotes; the writer below quotes it
rows = st.lists(st.tuples(texts, texts, texts), max_size=8)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("csv") / "a.csv"


def read(path: Path, data: bytes | str, options: ReadOptions = IDS) -> Found:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_file("csv", path, options)


@given(rows, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_what_is_written_is_read(
    path: Path, values: list[tuple[str, str, str]], ends: str, mark: bool
) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=ends, quoting=csv.QUOTE_ALL)
    writer.writerows([("other", "text", "id"), *values])
    found = read(path, ("\ufeff" if mark else "") + out.getvalue())
    assert found.documents == [(row, own_id, text) for row, (_, text, own_id) in enumerate(values)]
    assert found.bad == []


def test_bad_rows_leave_the_others_alone(path: Path) -> None:
    found = read(
        path,
        b'id,text\n1,"a\nb"\n2\n\n3,c,d\n4,"x"y\n5,\xff\n6,e\n\xfe,f\n8,"open\nuntil the end\n',
        ReadOptions(id="id"),
    )
    assert found.documents == [(0, "1", "a\nb"), (5, "6", "e")]
    assert [(bad.position, bad.line, bad.reason) for bad in found.bad] == [
        (1, 4, "malformed_row"),  # too few
        (2, 6, "malformed_row"),  # too many
        (3, 7, "malformed_row"),  # quotes
        (4, 8, "invalid_utf8"),
        (6, 10, "invalid_utf8"),  # in a field that is no text
        (7, 11, "malformed_row"),  # quotes that never close
    ]


def test_long_rows_are_refused_and_reading_goes_on(path: Path) -> None:
    options = ReadOptions(id="id", max_document_bytes=30)
    long_line = "2," + "x" * 2_000_000
    data = f'id,text\n1,a\n{long_line}\n3,{"y" * 28}\n4,{"z" * 31}\n5,"{"q" * 20}\n{"q" * 20}"\n6,b\n'
    found = read(path, data, options)
    assert [text for text in found.texts if len(text) < 20] == ["a", "b"]
    assert [own_id for _, own_id, _ in found.documents] == ["1", "3", "6"]
    assert set(found.reasons) <= {"too_long", "malformed_row"} and found.reasons.count("too_long") == 3


def test_the_limit_is_in_bytes(path: Path) -> None:
    options = ReadOptions(max_document_bytes=9)
    assert read(
        path, "text\n\u00e9\u00e9\u00e9\u00e9\n\u00e9\u00e9\u00e9\u00e9\u00e9\n", options
    ).reasons == ["too_long"]


def test_fields_of_more_than_the_csv_modules_default(path: Path) -> None:
    assert read(path, "text\n" + "x" * 200_000 + "\n", ReadOptions()).texts == ["x" * 200_000]


@pytest.mark.parametrize("data", ["", "\n\n", "id,text\n", "id,text"])
def test_no_rows(path: Path, data: str) -> None:
    assert read(path, data) == Found()


def test_empty_values_are_values(path: Path) -> None:
    assert read(path, 'id,text\n,\n"",""\n').documents == [(0, "", ""), (1, "", "")]


def test_compressed(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"id,text\n1,a\n2,b\n"))
    assert read_file("csv", tmp_path / "a.csv.gz").documents == [(0, "1", "a"), (1, "2", "b")]


def test_rows_before_damage_are_kept(tmp_path: Path) -> None:
    stored = gzip.compress(
        "".join(["id,text\n", *(f'{row},"text\n{row * 7919}"\n' for row in range(1000))]).encode()
    )
    (tmp_path / "a.csv.gz").write_bytes(stored[: len(stored) // 2])
    found = read_file("csv", tmp_path / "a.csv.gz")
    kept = len(found.documents)
    assert 200 < kept < 800
    assert found.documents == [(row, str(row), f"text\n{row * 7919}") for row in range(kept)]
    (damage,) = found.damage
    assert (damage.reason, damage.position) == ("truncated", kept)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("id,text\n1,a\n".encode("utf-16"), "not_utf8"),
        (b'id,"te"xt\n1,a\n', "bad_header"),
        (b"id,\xe9\n1,a\n", "bad_header"),
    ],
)
def test_files_that_are_refused_as_a_whole(path: Path, data: bytes, reason: str) -> None:
    found = read(path, data)
    assert found.documents == [] and found.bad == [] and found.damages == [reason]


@pytest.mark.parametrize(
    ("header", "message"),
    [("id,content", "no column 'text'"), ("text", "no column 'id'"), ("text,text,id", "more than one")],
)
def test_columns_that_are_the_users_to_mend(path: Path, header: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        read(path, f"{header}\n1,a\n")
    assert error.value.hint is not None and header.replace(",", ", ") in error.value.hint


def test_only_newlines_end_a_row(path: Path) -> None:
    assert read(path, 'id,text\n1,a\u2028b\x0b\x85\n2,"c\rd"\n').texts == ["a\u2028b\x0b\x85", "c\rd"]
    assert read(path, "id,text\n1,a\rb\n2,c\n").texts == ["c"]


@pytest.mark.parametrize("row", ["1,a\n", "1\n"])
def test_tiny_rows_good_or_bad_do_not_pile_up_in_one_chunk(path: Path, row: str) -> None:
    path.write_text("id,text\n" + row * 50_000)
    split = Split("source", "csv", (Extent(input_file(path), 0, path.stat().st_size),))
    sizes = [chunk.records.num_rows or len(chunk.bad) for chunk in READERS["csv"].read(split, IDS)]
    assert len(sizes) > 1 and sum(sizes) == 50_000

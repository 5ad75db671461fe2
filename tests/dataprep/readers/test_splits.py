from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from dataprep.readers import Extent, InputFile, ReadOptions, Split
from dataprep.readers.formats import FORMATS_BY_SUFFIX, format_of
from dataprep.readers.splits import SPLIT_BYTES, identify, make_splits
from manifests.errors import UserError
from tests.dataprep.readers.reading import input_file

TEXT_ONLY = ReadOptions()


def listed(count: int, size_bytes: int = 10, folder: str = "") -> list[InputFile]:
    names = [f"{folder}{number:05d}.txt" for number in range(count)]
    return [InputFile(f"/data/{name}", name, size_bytes, 0) for name in names]


def names(splits: list[Split]) -> list[list[str]]:
    return [[extent.file.name for extent in split.extents] for split in splits]


def parquet(path: Path, rows: int = 12, group: int = 3, text: str = "x", **options: object) -> InputFile:
    table = pa.table({"text": [f"{text}{row}" for row in range(rows)], "other": list(range(rows))})
    pq.write_table(table, path, row_group_size=group, **options)
    return input_file(path)


def test_small_files_are_grouped_and_none_is_lost() -> None:
    files = listed(1000)
    splits = make_splits("s", "text", files[::-1], TEXT_ONLY)
    assert [name for group in names(splits) for name in group] == [file.name for file in files]
    assert 5 < len(splits) < 40
    assert all(extent.is_whole for split in splits for extent in split.extents)


def test_a_group_ends_at_the_size_of_a_split() -> None:
    splits = make_splits("s", "text", listed(50, size_bytes=40), TEXT_ONLY, split_bytes=100)
    assert max(len(split.extents) for split in splits) == 3


@pytest.mark.parametrize("added", ["00123a.txt", "00000.a", "99999.txt"])
def test_one_new_file_changes_one_group(added: str) -> None:
    files = listed(1000)
    before = make_splits("s", "text", files, TEXT_ONLY)
    after = make_splits("s", "text", [*files, InputFile(f"/data/{added}", added, 10, 0)], TEXT_ONLY)
    assert len(set(after) - set(before)) <= 2  # two, where its own name ends a group
    assert len(set(before) - set(after)) == 1 or added == "99999.txt"


def test_a_large_file_does_not_move_the_groups_around_it() -> None:
    files = listed(100)
    large = InputFile("/data/00050a.txt", "00050a.txt", SPLIT_BYTES, 0)
    before = make_splits("s", "text", files, TEXT_ONLY)
    after = make_splits("s", "text", [*files, large], TEXT_ONLY)
    assert set(after) - set(before) == {Split("s", "text", (Extent(large, 0, SPLIT_BYTES),))}


def test_large_plain_lines_are_cut_at_fixed_places(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text":"x"}\n' * 20)
    splits = make_splits("s", "jsonl", [input_file(tmp_path / "a.jsonl")], TEXT_ONLY, split_bytes=100)
    assert [(each.extents[0].start, each.extents[0].end) for each in splits] == [
        (0, 100),
        (100, 200),
        (200, 260),
    ]


def test_compressed_lines_are_not_cut(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(zstandard.compress(b'{"text":"x"}\n' * 20))
    (split,) = make_splits("s", "jsonl", [input_file(tmp_path / "a.jsonl")], TEXT_ONLY, split_bytes=10)
    assert split.extents[0].is_whole


def test_parquet_is_cut_at_row_groups(tmp_path: Path) -> None:
    file = parquet(tmp_path / "a.parquet")
    size = pq.read_metadata(file.path).row_group(0).total_byte_size
    splits = make_splits("s", "parquet", [file], TEXT_ONLY, split_bytes=2 * size)
    assert [(e.start, e.end, e.unit) for split in splits for e in split.extents] == [
        (0, 2, "row_groups"), (2, 4, "row_groups"),
    ]  # fmt: skip
    (whole,) = make_splits("s", "parquet", [file], TEXT_ONLY)
    assert [(e.start, e.end) for e in whole.extents] == [(0, 4)]


def test_an_empty_file_is_in_a_split(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    for format in ("jsonl", "text", "csv", "parquet"):
        (split,) = make_splits("s", format, [input_file(tmp_path / "a")], TEXT_ONLY)
        assert len(split.extents) == 1


def test_no_files_no_splits() -> None:
    assert make_splits("s", "text", [], TEXT_ONLY) == []


def test_splits_travel_as_json(tmp_path: Path) -> None:
    files = [*listed(3), parquet(tmp_path / "a.parquet")]
    for split in make_splits("s", "text", files[:3], TEXT_ONLY) + make_splits(
        "s", "parquet", files[3:], TEXT_ONLY
    ):
        assert Split.from_dict(json.loads(json.dumps(split.to_dict()))) == split


def test_auto_goes_by_suffix(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.JSON", "c.txt.gz", "d.md"):
        (tmp_path / name).write_bytes(b"x")
    files = [input_file(tmp_path / name) for name in ("a.jsonl", "b.JSON", "c.txt.gz", "d.md")]
    splits = make_splits("s", "auto", files, TEXT_ONLY)
    found = {extent.file.name: split.format for split in splits for extent in split.extents}
    assert found == {"a.jsonl": "jsonl", "b.JSON": "jsonl", "c.txt.gz": "text", "d.md": "text"}


def test_auto_refuses_what_it_cannot_tell(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"x")
    with pytest.raises(UserError) as error:
        make_splits("s", "auto", [input_file(tmp_path / "a.bin")], TEXT_ONLY)
    assert error.value.where == str(tmp_path / "a.bin")
    assert error.value.hint is not None and "jsonl" in error.value.hint


def test_an_unknown_format_is_refused_with_the_nearest() -> None:
    with pytest.raises(UserError, match='did you mean "jsonl"'):
        make_splits("s", "json", listed(1), TEXT_ONLY)


def test_a_missing_column_is_refused_before_work_starts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,content\n1,x\n")
    for format, file in (
        ("parquet", parquet(tmp_path / "a.parquet")),
        ("csv", input_file(tmp_path / "a.csv")),
    ):
        with pytest.raises(UserError, match="no column 'body'") as error:
            make_splits("s", format, [file], ReadOptions(text="body"))
        assert error.value.where == file.path
        assert error.value.hint is not None
        assert "text, other" in error.value.hint or "id, content" in error.value.hint


@pytest.mark.parametrize("format", ["text", "metadata", "docstrings"])
def test_a_field_of_a_format_without_fields_is_refused(format: str) -> None:
    with pytest.raises(UserError, match=f"format {format} has no field 'url'") as error:
        make_splits("web", format, listed(1), ReadOptions(id="url"))
    assert error.value.where == "source web"


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.jsonl.zst", "jsonl"),
        ("a/b.txt", "text"),
        ("x.parquet", "parquet"),
        ("x", None),
        ("x.gz", None),
        ("a.csv.bz2", "csv"),
    ],
)
def test_format_of(name: str, format: str | None) -> None:
    assert format_of(name) == format


def test_every_suffix_has_a_reader() -> None:
    from dataprep.readers import READERS

    assert set(FORMATS_BY_SUFFIX.values()) <= set(READERS)


def test_identity_of_a_whole_file_is_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"same")
    (tmp_path / "b").write_bytes(b"same")
    (tmp_path / "c").write_bytes(b"other")
    a, b, c = (
        identify(Extent(input_file(tmp_path / name), 0, size))
        for name, size in (("a", 4), ("b", 4), ("c", 5))
    )
    assert a == b != c
    assert a.startswith("xxh3-128:") and len(a) == 9 + 32


def test_identity_of_a_range_covers_what_its_records_come_from(tmp_path: Path) -> None:
    lines = bytearray(b"".join(b"%09d\n" % number for number in range(30)))
    path = tmp_path / "a"

    def identity(changed_at: int | None) -> str:
        data = bytearray(lines)
        if changed_at is not None:
            data[changed_at] ^= 1
        path.write_bytes(data)
        return identify(Extent(input_file(path), 105, 205))

    same = identity(None)
    # Lines start at every tenth byte; that at 200 ends outside. 104 tells whether a line starts at 105, and
    # the head of the file may refuse all of it.
    for at in (10, 104, 105, 150, 204, 205, 209):
        assert identity(at) != same, at
    for at in (90, 103, 210, 250):
        assert identity(at) == same, at


def test_identity_tells_a_range_from_the_start_from_one_inside(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"aaaa\n")
    file = input_file(tmp_path / "a")
    # both end in the line of bytes 0 to 4; the first holds its start, the second holds no record
    assert identify(Extent(file, 0, 2)) != identify(Extent(file, 1, 3))


def test_identity_of_row_groups(tmp_path: Path) -> None:
    file = parquet(tmp_path / "a.parquet")
    first, second = Extent(file, 0, 2, "row_groups"), Extent(file, 2, 4, "row_groups")
    assert identify(first) != identify(second)
    data = bytearray(Path(file.path).read_bytes())
    offset = pq.read_metadata(file.path).row_group(3).column(1).data_page_offset
    data[offset + 5] ^= 1
    before = identify(first), identify(second)
    Path(file.path).write_bytes(data)
    assert identify(first) == before[0]
    assert identify(second) != before[1]


def test_identity_of_a_broken_parquet_file_is_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 broken")
    (split,) = make_splits("s", "parquet", [input_file(tmp_path / "a.parquet")], TEXT_ONLY)
    before = identify(split.extents[0])
    (tmp_path / "a.parquet").write_bytes(b"PAR1 Broken")
    assert identify(split.extents[0]) != before

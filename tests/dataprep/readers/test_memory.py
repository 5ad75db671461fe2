"""Inputs that would fill memory, each read in a process of its own whose peak is measured."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard

from tests.dataprep.readers.warcs import response

LINE_BYTES = 200_000_000
LIMIT_MB = 450  # the interpreter and its libraries take 150 to 200; a line may be held up to 100 MiB

READ = """
import json, sys
from pathlib import Path
from dataprep.readers import READERS, ReadOptions
from dataprep.readers.splits import make_splits
from dataprep.readers.listing import list_inputs

format, path, split_bytes, limit = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
options = ReadOptions(max_document_bytes=limit)
found = {"documents": [], "bad": [], "damage": []}
for split in make_splits("s", format, list_inputs([path]), options, split_bytes):
    for chunk in READERS[format].read(split, options):
        found["documents"] += chunk.records.column("position").to_pylist()
        found["bad"] += [[bad.position, bad.reason] for bad in chunk.bad]
        found["damage"] += [damage.reason for damage in chunk.damage]
# Not ru_maxrss, which a process inherits from the one that started it.
status = Path("/proc/self/status").read_text()
found["peak_mb"] = int(status.split("VmHWM:")[1].split()[0]) // 1024
print(json.dumps(found))
"""


def read(format: str, path: Path, split_bytes: int = 64 << 20, limit: int = 100 << 20) -> dict[str, object]:
    command = [sys.executable, "-c", READ, format, str(path), str(split_bytes), str(limit)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    peak_mb = found.pop("peak_mb")
    assert 50 < peak_mb < LIMIT_MB
    return dict(found)


@pytest.fixture(scope="module")
def long_line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "long.jsonl"
    with path.open("wb") as file:
        file.write(b'{"text":"first"}\n{"text":"')
        for _ in range(LINE_BYTES // 1_000_000):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n{"text":"last"}\n')
    return path


@pytest.mark.slow
@pytest.mark.parametrize("split_bytes", [64 << 20, 1 << 30])
def test_a_line_of_200_mb(long_line: Path, split_bytes: int) -> None:
    last = 17 + 9 + LINE_BYTES + 3
    assert read("jsonl", long_line, split_bytes) == {
        "documents": [0, last],
        "bad": [[17, "too_long"]],
        "damage": [],
    }


@pytest.mark.slow
@pytest.mark.parametrize("format", ["text", "csv"])
def test_the_same_line_in_other_formats(long_line: Path, tmp_path: Path, format: str) -> None:
    path = long_line
    if format == "csv":
        path = tmp_path / "a.csv"
        path.write_bytes(b"text\na\n" + b"x" * LINE_BYTES + b"\nb\n")
        expected = {"documents": [0, 2], "bad": [[1, "too_long"]], "damage": []}
    else:
        expected = {"documents": [], "bad": [[0, "too_long"]], "damage": []}
    assert read(format, path) == expected


@pytest.mark.slow
@pytest.mark.parametrize("format", ["jsonl", "text", "csv"])
def test_a_bomb(tmp_path: Path, format: str) -> None:
    """2 GB out of 64 KB: blocks that repeat one byte, in one frame."""
    repeat = (131072 << 3 | 1 << 1).to_bytes(3, "little") + b"x"
    header = b"\x28\xb5\x2f\xfd" + bytes([0, (21 - 10) << 3])
    start = b"text\n"
    raw = (len(start) << 3).to_bytes(3, "little") + start
    last = (131072 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"x"
    (tmp_path / "bomb.zst").write_bytes(header + raw + repeat * 16_000 + last)
    bad = [[0, "not_json"], [5, "too_long"]] if format == "jsonl" else [[0, "too_long"]]
    assert read(format, tmp_path / "bomb.zst") == {"documents": [], "bad": bad, "damage": []}


@pytest.mark.slow
def test_many_documents_in_one_stream(tmp_path: Path) -> None:
    record = json.dumps({"text": "word " * 2000}).encode() + b"\n"
    with (tmp_path / "a.zst").open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as writer:
        for _ in range(60_000):
            writer.write(record)
    found = read("jsonl", tmp_path / "a.zst")
    documents = found["documents"]
    assert isinstance(documents, list) and len(documents) == 60_000 and found["bad"] == []


@pytest.mark.slow
def test_a_page_of_200_mb_in_a_crawl(tmp_path: Path) -> None:
    """Plain, and out of a few bytes by its content coding; images of any size are passed over."""
    small = response(number=1)
    plain = response(b"<p>" + b"x" * LINE_BYTES, 2)
    coded = response(zstandard.compress(b"x" * LINE_BYTES), 3, http=["Content-Encoding: zstd"])
    image = response(b"x" * LINE_BYTES, 4, http=["Content-Type: image/png"])
    (tmp_path / "a.warc").write_bytes(small + plain + coded + image + small)
    bad = [[len(small), "too_long"], [len(small) + len(plain), "too_long"]]
    last = len(small) + len(plain) + len(coded) + len(image)
    assert read("warc", tmp_path / "a.warc") == {"documents": [0, last], "bad": bad, "damage": []}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.zip", "a.tar.zst"])
def test_a_bomb_in_an_archive(tmp_path: Path, name: str) -> None:
    """A text and a line of 600 MB each."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for member in ("a.txt", "b.jsonl"):
            with archive.open(member, "w", force_zip64=True) as file:
                for _ in range(600):
                    file.write(b"x" * 1_000_000)
        archive.writestr("c.txt", b"c")
    if name == "a.tar.zst":
        header = tarfile.TarInfo("a.txt")
        header.size = 600_000_000
        with (tmp_path / name).open("wb") as out, zstandard.ZstdCompressor().stream_writer(out) as writer:
            for member in ("a.txt", "b.jsonl"):
                header.name = member
                writer.write(header.tobuf())
                for _ in range(600):
                    writer.write(b"x" * 1_000_000)
            writer.write(tarfile.TarInfo("c.txt").tobuf())
    found = read("archive", tmp_path / name)
    assert [reason for _, reason in found["bad"]] == ["too_long", "too_long"]  # type: ignore[attr-defined]
    assert len(found["documents"]) == 1 and found["damage"] == []  # type: ignore[arg-type]

"""The broken and odd inputs of the data pack: each does what its line in the manifest says.

What extraction makes of the pages under html/ is in tests/dataprep/steps/test_extract_text.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from dataprep.readers import ReadOptions
from dataprep.readers.decompress import compression
from manifests.errors import UserError
from tests.dataprep.readers.reading import Found, input_file, read_file, read_ranges

ROOT = Path(__file__).resolve().parents[3]
MESSY = Path(os.environ.get("HEADRACE_DATA", ROOT.parent / "shared" / "data")) / "messy"
SEVEN_BIT = ("hz", "iso2022_jp")


def manifest() -> list[Any]:
    try:
        lines = (MESSY / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return [pytest.param({}, marks=pytest.mark.skip(reason=f"no data pack at {MESSY}"))]
    cases = [json.loads(line) for line in lines]
    return [pytest.param(case, id=case["file"]) for case in cases]


CASES = manifest()


def of(*folders: str) -> list[Any]:
    return [each for each in CASES if each.values[0].get("file", "").split("/")[0] in folders or not each.id]


def check_documents(case: dict[str, Any], found: Found) -> None:
    """As many documents, and bad lines, as the manifest says."""
    expected = str(case["documents"])
    numbers = [int(number) for number in re.findall(r"\d+", expected)]
    if "to" in expected:
        assert numbers[0] <= len(found.documents) <= numbers[1]
    else:
        assert len(found.documents) in numbers
    if "bad" in case:
        assert [bad.line for bad in found.bad] == case["bad"]


def is_lines(case: dict[str, Any]) -> bool:
    return re.search(r"\.jsonl?(\.|$)", case["file"]) is not None


def test_all_cases_are_here() -> None:
    if CASES[0].id:
        assert len(CASES) == 132
        assert (
            len(of("json", "jsonl", "compressed", "parquet", "encodings", "ftfy", "utf8", "warc", "html"))
            == 132
        )


@pytest.mark.parametrize("case", of("jsonl"))
def test_json_lines(case: dict[str, Any]) -> None:
    path = MESSY / case["file"]
    found = read_file("jsonl", path)
    check_documents(case, found)
    assert not any("\ufeff" in (own_id or "") or "\r" in text for _, own_id, text in found.documents)
    if compression(input_file(path)) != "plain":
        return  # one split, whatever its size
    sizes = [size for size in (1, 7, 64, 1000) if path.stat().st_size / size < 2000]
    assert sizes
    for size in sizes:
        cut = read_ranges("jsonl", path, size)
        assert cut.documents == found.documents, size
        assert [(bad.position, bad.reason) for bad in cut.bad] == [
            (bad.position, bad.reason) for bad in found.bad
        ]
        assert cut.damages == found.damages


@pytest.mark.slow
@pytest.mark.parametrize("case", of("jsonl"))
def test_json_lines_in_splits_of_one_byte(case: dict[str, Any]) -> None:
    path = MESSY / case["file"]
    if compression(input_file(path)) == "plain" and path.stat().st_size < 10_000:
        assert read_ranges("jsonl", path, 1).documents == read_file("jsonl", path).documents


REASONS = {
    "truncated_last_record.jsonl": ["not_json"],
    "cr_only.jsonl": ["not_json"],
    "mixed_bad_lines.jsonl": ["not_json"] * 4 + ["not_object"] * 4,
    "wrong_types.jsonl": ["missing_text", *["text_not_string"] * 3, "missing_text"],
    "lone_surrogates.jsonl": ["lone_surrogate"] * 3,
    "nul_and_controls.jsonl": ["not_json"] * 3,
    "nan_infinity.jsonl": ["not_json"] * 2,
    "concatenated.jsonl": ["not_json"],
    "invalid_utf8.jsonl": ["invalid_utf8"] * 5,
    "deep_nesting.jsonl": ["too_deep"],
}


@pytest.mark.parametrize("case", of("jsonl"))
def test_json_lines_say_why(case: dict[str, Any]) -> None:
    name = case["file"].split("/")[1]
    found = read_file("jsonl", MESSY / case["file"])
    assert found.reasons == REASONS.get(name, [])
    refused = {"pretty_array.json": ["json_array"], "utf16le_bom.jsonl": ["not_utf8"]}
    assert found.damages == refused.get(name, [])


@pytest.mark.parametrize("case", of("jsonl"))
def test_texts_are_what_the_file_says(case: dict[str, Any]) -> None:
    """The policies by example: last key wins, a number becomes a text, an escaped NUL is kept."""
    documents = [document[1:] for document in read_file("jsonl", MESSY / case["file"]).documents]
    match case["file"].split("/")[1]:
        case "duplicate_keys_and_ids.jsonl":
            assert documents == [("a", "second"), ("a", "same id again")]
        case "wrong_types.jsonl":
            assert documents == [
                ("6", ""),
                ("7", "   \n\t "),
                (None, "no id"),
                (None, "id missing"),
                ("8", "ok"),
            ]
        case "lone_surrogates.jsonl":
            assert documents == [("s3", "pair \U0001f600 end")]
        case "nul_and_controls.jsonl":
            assert documents == [("n1", "escaped \0 nul"), ("n4", "esc \x1b[31mred\x1b[0m")]
        case "line_separators.jsonl":
            assert documents == [("u1", "a\u2028b\u2029c\x85d\x0be\x0cf"), ("u2", "second")]
        case "huge_line_32MB.jsonl.zst":
            assert len(documents[0][1]) > 30_000_000
        case "many_tiny.jsonl.gz":
            assert len({text for _, text in documents}) == 7


def test_json_test_suite(tmp_path: Path) -> None:
    """Each text as a field that the recipe does not name: it is checked all the same."""
    if not (MESSY / "json").is_dir():
        pytest.skip(f"no data pack at {MESSY}")
    verdicts: dict[str, int] = {}
    with tarfile.open(MESSY / "json" / "JSONTestSuite_test_parsing.tar.gz") as archive:
        for member in archive:
            if not member.isfile():
                continue
            file = archive.extractfile(member)
            assert file is not None
            content = file.read()
            name = Path(member.name).name
            (tmp_path / "alone.jsonl").write_bytes(content)
            read_file("jsonl", tmp_path / "alone.jsonl")  # not a crash
            # A newline would end the record; between values any other white space does the same.
            line = content.replace(b"\n", b" ") if name.startswith("y_") else content
            (tmp_path / "field.jsonl").write_bytes(b'{"text":"x","field":' + line + b"}")
            found = read_file("jsonl", tmp_path / "field.jsonl")
            if not name.startswith("i_"):
                assert (found.texts == ["x"]) == name.startswith("y_"), name
                assert bool(found.bad) == name.startswith("n_"), name
            verdicts[name[0]] = verdicts.get(name[0], 0) + 1
    assert verdicts == {"y": 95, "n": 188, "i": 35}


@pytest.mark.parametrize("case", of("compressed"))
def test_compressed(case: dict[str, Any]) -> None:
    path = MESSY / case["file"]
    found = read_file("jsonl" if is_lines(case) else "text", path)
    wants_error = (
        "error" in case["expect"] and "raised limit" not in case["expect"] and "sniffed" not in case["expect"]
    )
    wants_error |= path.name == "ok.jsonl.lz4"
    assert bool(found.damage) == wants_error
    if is_lines(case):
        check_documents(case, found)
        if len(found.documents) == 12:
            assert found.documents == read_file("jsonl", MESSY / "jsonl" / "good.jsonl").documents
    else:
        assert len(found.documents) == (0 if wants_error else 1)
    if path.name == "bomb_200MB.jsonl.zst":
        assert found.reasons == ["too_long"]


@pytest.mark.parametrize("case", of("parquet"))
def test_parquet(case: dict[str, Any]) -> None:
    path = MESSY / case["file"]
    if path.name == "no_text_column.parquet":
        with pytest.raises(UserError) as error:
            read_file("parquet", path)
        assert error.value.hint is not None and "id, content" in error.value.hint
        return
    found = read_file("parquet", path)
    check_documents(case, found)
    assert bool(found.damage) == ("names the file" in case["expect"])
    reasons = {"null_texts.parquet": ["missing_text"], "text_is_binary.parquet": ["invalid_utf8"]}
    assert found.reasons == reasons.get(path.name, [])


@pytest.mark.parametrize("case", of("encodings"))
def test_encodings(case: dict[str, Any]) -> None:
    """Text that is not UTF-8 is flagged; 7-bit encodings and mojibake are UTF-8, and only a rule can find
    them."""
    found = read_file("text", MESSY / case["file"], ReadOptions())
    is_utf8 = str(case.get("encoding")).startswith(("utf-8", *SEVEN_BIT)) or "mojibake" in case["file"]
    assert found.reasons == ([] if is_utf8 else ["invalid_utf8"])
    if case.get("encoding") == "utf-8":
        whole = (
            "\ufeff" + found.texts[0]
        )  # the digest counts the byte order mark, which a document is without
        assert hashlib.sha1(whole.encode()).hexdigest() == case["sha1_utf8"]


@pytest.mark.parametrize("case", of("ftfy", "utf8"))
def test_odd_text_passes_unchanged(case: dict[str, Any]) -> None:
    path = MESSY / case["file"]
    found = read_file("text", path, ReadOptions())
    assert [text.encode() for text in found.texts] == [path.read_bytes().removeprefix(b"\xef\xbb\xbf")]


WARCS = {
    # documents, reasons of bad records, reasons of damage
    "bad.arc": (1, ["bad_header"] * 2, []),  # two headers with a length that is no number
    "example-bad-non-chunked.warc.gz": (1, [], []),
    "example-bad.warc.gz.bad": (1, [], []),  # one gzip member around all records
    "example-digest.warc": (0, [], []),  # requests
    "example-iana.org-chunked.warc": (1, [], []),
    "example-resource.warc.gz": (1, [], []),
    "example-space-in-target-uri.warc.gz": (0, [], []),  # an image
    "example-space-in-url.arc": (0, [], ["truncated"]),  # a block that is shorter than its header says
    "example-trunc.warc": (0, ["bad_length"], []),  # a length that is two bytes short
    "example-wget-bad-target-uri.warc.gz": (1, [], []),
    "example-wrong-chunks.warc.gz": (1, [], []),
    "example.arc": (1, [], []),
    "example.arc.gz": (1, [], []),
    "example.warc": (1, [], []),
    "example.warc.gz": (1, [], []),
    "post-test.warc.gz": (0, [], []),  # JSON
    "block-sized-records.warc.gz": (0, [], []),  # records of no known type
    "block-sized-records.warc.lz4": (0, [], ["unsupported_compression"]),
    "pages_cut.warc.gz": (38, [], ["truncated"]),
}


@pytest.mark.parametrize("case", of("warc"))
def test_crawls(case: dict[str, Any]) -> None:
    name = case["file"].split("/")[1]
    found = read_file("warc", MESSY / case["file"], ReadOptions(id="url"))
    assert (len(found.documents), found.reasons, found.damages) == WARCS[name]
    if "example" in name:
        for _, own_id, text in found.documents:
            assert own_id is not None and re.match(r"https?://(www\.)?(example|iana)\.(com|org)", own_id)
            assert re.match(r"\s*<!doctype html", text, re.IGNORECASE)
            assert "</html>" in text


@pytest.mark.parametrize("case", of("html"))
def test_pages(case: dict[str, Any]) -> None:
    path = MESSY / case["file"]
    found = read_file("html", path)
    assert [own_id for _, own_id, _ in found.documents] == [path.name] and not found.bad
    if path.suffix == ".html":
        assert found.texts == [path.read_text("utf-8")]

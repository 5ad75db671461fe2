from __future__ import annotations

from pathlib import Path

import pytest

from dataprep.readers.listing import list_inputs
from dataprep.readers.metadata import long_description
from tests.dataprep.readers.reading import read_file

HEAD = "Metadata-Version: 2.1\nName: a\nSummary: short\nClassifier: x\n"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (f"{HEAD}\n# Title\n\nText: with a colon\n", "# Title\n\nText: with a colon"),
        (f"{HEAD}\n\nText\nmore".replace("\n", "\r\n"), "Text\nmore"),
        (
            f"{HEAD}Description: 1\n        2\n          3\n        \n        4\nLicense: MIT\n",
            "1\n2\n  3\n\n4",
        ),
        (f"{HEAD}Description: 1\n       |2\n       |  3\n       |\n       |4\n", "1\n2\n  3\n\n4"),
        (f"{HEAD}description: lower\n\n", "lower"),
        (f"{HEAD}Description: header\n\nbody\n", "body"),
        (f"{HEAD}Description-Content-Type: text/markdown\n\n\n\nbody", "body"),
        (HEAD, ""),
        (f"{HEAD}\n\n", ""),
        (f"{HEAD}\nUNKNOWN\n", ""),
        (f"{HEAD}Description: UNKNOWN\n", ""),
        ("", ""),
    ],
)
def test_long_description(metadata: str, expected: str) -> None:
    assert long_description(metadata) == expected


def test_a_file_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "METADATA").write_bytes(f"{HEAD}\n\u00e9t\u00e9".encode())
    assert read_file("metadata", tmp_path / "METADATA").documents == [(0, "METADATA", "\u00e9t\u00e9")]
    (tmp_path / "METADATA").write_bytes(f"{HEAD}\n".encode() + b"caf\xe9")
    assert read_file("metadata", tmp_path / "METADATA").reasons == ["invalid_utf8"]


def test_equals_the_standard_library_on_what_is_installed() -> None:
    import email

    for file in list_inputs(["${python:metadata}"])[:40]:
        text = Path(file.path).read_bytes().decode()
        payload = email.message_from_string(text).get_payload()
        assert isinstance(payload, str)
        if payload.strip():
            expected = payload.replace("\r\n", "\n").strip("\n")
            assert long_description(text) == ("" if expected == "UNKNOWN" else expected), file.path

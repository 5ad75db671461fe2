from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dataprep.readers import READERS
from dataprep.readers.docstrings import docstrings
from dataprep.readers.records import BadDocument
from tests.dataprep.readers.reading import read_file

SOURCE = '''
"""Module.

    Indented example.
"""
import os

class A:
    "Class."
    value = 1
    """Not a docstring, for it documents nothing that Python knows."""
    def method(self):
        """Method.

        More.
        """
        async def inner():
            "Inner."
        "no"

    class B:
        def undocumented(self): pass

if True:
    def late():
        r"""Late \\d."""
else:
    try:
        def other(): "Other."
    finally:
        match os:
            case 1:
                def deep(): "Deep."
'''


def test_in_source_order_without_indentation() -> None:
    assert docstrings(SOURCE.encode()) == (
        "Module.\n\nIndented example.\n\nClass.\n\nMethod.\n\nMore.\n\nInner.\n\nLate \\d.\n\nOther.\n\nDeep."
    )


@pytest.mark.parametrize("source", [b"", b"x = 1", b"'text' + 'more'", b"b'bytes'", b"f'{1}'"])
def test_without_docstrings_the_text_is_empty(source: bytes) -> None:
    assert docstrings(source) == ""


def test_the_cookie_decides_the_encoding() -> None:
    assert docstrings(b"# coding: latin-1\n'caf\xe9'") == "caf\u00e9"
    assert docstrings(b"\xef\xbb\xbf'caf\xc3\xa9'") == "caf\u00e9"


def test_warnings_in_sources_are_not_ours() -> None:
    assert docstrings(b"'\\d'\nassert (1, 2)\nx = 0x1for x in 2") in (
        "\\d",
    )  # warnings are errors in this suite


@pytest.mark.parametrize(
    "source",
    [
        b"def", b"print 'python 2'", b"x = 'caf\xe9'", b"\0", b"# coding: nothing\n",
        b"x = " + b"(" * 5000, b"-" * 200_000 + b"1",
    ],
    ids=range(7),
)  # fmt: skip
def test_what_does_not_parse(source: bytes) -> None:
    with pytest.raises(BadDocument) as bad:
        docstrings(source)
    assert bad.value.reason == "unparsable"


def test_a_lone_surrogate_is_no_text() -> None:
    with pytest.raises(BadDocument) as bad:
        docstrings(b"'\\ud800'")
    assert bad.value.reason == "lone_surrogate"


def test_a_file_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('"""Text."""')
    assert read_file("docstrings", tmp_path / "a.py").documents == [(0, "a.py", "Text.")]
    (tmp_path / "a.py").write_text("def")
    assert read_file("docstrings", tmp_path / "a.py").reasons == ["unparsable"]


def test_the_version_of_python_is_named() -> None:
    assert READERS["docstrings"].depends() == {"python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
    assert READERS["jsonl"].depends() == {}

from __future__ import annotations

import sys
import unicodedata
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.kernels.suspects import CLEAN, suspect_lines
from dataprep.kernels.texts import Texts
from dataprep.steps.ftfy import FTFY, FtfyParams, table_of
from manifests.errors import UserError
from tests.dataprep.kernels.strategies import PIECES, sliced, text_lists
from tests.reference.zstd_lines import texts_of

ftfy = pytest.importorskip("ftfy")

DEFAULT = FtfyParams()
BROKEN = [
    "\u00c3\u00a9", "\u00e2\u20ac\u2122", "\u00e2\u20ac", "\u00c3 ", "\u00e2\x9c\x94",
    "\u00d0\u00bf\u00d1\u0080",
    "\u0432\u0402", "\u00f0\u009f\u0098\u0080", "\x85", "\x92", "&amp;", "&#x2019;", "&eacute", "&NTILDE;",
    "& ", "<",
    "<p>", "\x1b[36;44m", "\x1b", "\r", "\r\n", "\n", "\u2028", "\u201cquote\u201d", "it\u2019s", "\ufb01",
    "\uff21",
    "\uff0c", "\u3000", "\uff76\uff9e", "\ufeff", "\ufffd", "\x00", "\x0c", "\ue000", "\u0219", "\u00df",
    "\u00b7",
    "\u20ac", "\u2014", "\u4e2d\u6587", "\u0627", "\u0928\u094d", "\ufb20", "\u1e9b\u0323", "plain ", "a",
    " ",
]  # fmt: skip
broken = st.lists(st.sampled_from(BROKEN + PIECES), max_size=15).map("".join)
string_lists = st.one_of(text_lists, st.lists(broken, max_size=5))
params = st.builds(
    FtfyParams,
    unescape_html=st.sampled_from(["auto", True, False]),
    normalization=st.sampled_from(["NFC", "NFKC", "NFD", None]),
    **{
        name: st.booleans()
        for name in FtfyParams.model_fields
        if name not in ("unescape_html", "normalization")
    },
)


def apply(texts: Texts, how: FtfyParams = DEFAULT) -> list[str]:
    return FTFY.apply(Batch.of(texts), how).to_strings()


@given(string_lists)
@example(["a < b\nx &amp; y", "&amp;\n<\n&amp;", "<&amp;\n", "& &a;\n&\n&"])
@example(["\u00c3\u00a9", "A\u0300\n\u00c3\u00a9\n", "e\u0301", "\u0301"])
def test_texts_are_those_of_fix_text(strings: list[str]) -> None:
    assert apply(sliced(strings)) == [ftfy.fix_text(string) for string in strings]


@given(string_lists, params)
def test_texts_are_those_of_fix_text_with_its_parameters(strings: list[str], how: FtfyParams) -> None:
    config = ftfy.TextFixerConfig(**how.model_dump())
    assert apply(sliced(strings), how) == [ftfy.fix_text(string, config) for string in strings]


def test_long_lines_are_cut_where_ftfy_cuts_them() -> None:
    strings = [
        "a" * 999_999 + "\u00c3\u00a9 b",
        "x" * 1_000_000 + "&amp; < &lt;",
        "&amp;" + "y" * 1_000_000 + "<&amp;",
        "\u00e9" * 1_000_000 + "\u00c3 \u00e9",
    ]
    assert apply(Texts.from_strings(strings)) == [ftfy.fix_text(string) for string in strings]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["NFC", "NFKD", None])
def test_no_character_alone_is_missed(form: Any) -> None:
    """Neither alone nor between letters, for all of Unicode."""
    how = FtfyParams(normalization=form)
    config = ftfy.TextFixerConfig(**how.model_dump())
    for first in range(0, sys.maxunicode + 1, 0x1000):
        if first == 0xD000:
            continue
        characters = [chr(code) for code in range(first, first + 0x1000)]
        if not any(unicodedata.category(character) not in ("Cn", "Co") for character in characters):
            characters = characters[:10]
        strings = [string for character in characters for string in (character, f"a{character}b")]
        texts = Texts.from_strings(strings)
        kinds = suspect_lines(texts.data, texts.offsets, table_of(how), how.unescape_html)
        suspects = set(kinds[:, 0].tolist())
        for row, string in enumerate(strings):
            assert row in suspects or ftfy.fix_text(string, config) == string, ascii(string)


@pytest.mark.slow
@pytest.mark.parametrize(
    "file",
    ["wiki/wiki_en.jsonl.zst", "wiki/wiki_zh.jsonl.zst", "news_ntrex128/ntrex128_a.jsonl.zst",
     "blogs/blogs_18f_rust.jsonl.zst", "books/books_fr_de_hu_uk_el_ja.jsonl.zst",
     "html/html_pages.jsonl.zst"],
)  # fmt: skip
def test_real_documents(file: str, data_pack: Path) -> None:
    strings = texts_of(data_pack / file, 10_000)
    strings = strings[:: max(1, sum(map(len, strings)) // 1_000_000)]
    mixed = [string.encode().decode("cp1252", "ignore") for string in strings[::5]]
    assert apply(Texts.from_strings(strings + mixed)) == [ftfy.fix_text(string) for string in strings + mixed]


def test_clean_texts_are_not_copied() -> None:
    texts = sliced(
        ["plain text & more; 3 < 4\n\tx\x0c", "\u4e2d\u6587 \u0627\u0628", "na\u00efve caf\u00e9", ""]
    )
    assert FTFY.apply(Batch.of(texts), DEFAULT) is texts
    ascii_only = Texts.from_strings(["plain & simple\n< &amp;\n&amp;"])
    assert suspect_lines(ascii_only.data, ascii_only.offsets, table_of(DEFAULT), "auto").size == 0
    assert CLEAN == 0


def test_versions_enter_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FTFY.depends(DEFAULT) == {"unicode": unicodedata.unidata_version, "ftfy": version("ftfy")}
    monkeypatch.setattr("dataprep.steps.ftfy.version", lambda name: version("absent-package"))
    with pytest.raises(UserError) as caught:
        FTFY.depends(DEFAULT)
    assert caught.value.hint == "pip install 'headrace[ftfy]'"


def test_parameters_are_those_of_ftfy() -> None:
    theirs = ftfy.TextFixerConfig()._asdict()
    for name in ("fix_surrogates", "max_decode_length", "explain"):
        theirs.pop(name)
    assert DEFAULT.model_dump() == theirs


@pytest.mark.parametrize(
    "wrong", [{"unescape_html": "yes"}, {"unescape_html": 1}, {"normalization": "nfc"}, {"explain": True}]
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FtfyParams(**wrong)

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.readers.charsets import charset_label, codec_of, declared, decode

JAPANESE = "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("UTF-8", "utf-8"),
        (" utf8 ", "utf-8"),
        ("iso-8859-1", "cp1252"),
        ("US-ASCII", "cp1252"),
        ("gb2312", "gb18030"),
        ("Shift_JIS", "cp932"),
        ("ks_c_5601-1987", "cp949"),
        ("big5", "big5hkscs"),
        ("tis-620", "cp874"),
        ("windows-1251", "cp1251"),
        ("x-user-defined", "cp1252"),
        ("utf-7", None),
        ("rot13", None),
        ("base64", None),
        ("unicode_escape", None),
        ("", None),
        ("nonsense", None),
    ],
)
def test_labels_are_read_as_browsers_read_them(label: str, codec: str | None) -> None:
    assert codec_of(label) == codec


def test_every_codec_is_one_of_python() -> None:
    numbers = [2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16]
    names = (
        "utf-8 ibm866 koi8-r koi8-u macintosh windows-874 x-mac-cyrillic gbk gb18030 big5 euc-jp iso-2022-jp "
        "shift_jis euc-kr utf-16be utf-16le x-user-defined"
    )
    labels = [
        *names.split(),
        *(f"iso-8859-{n}" for n in numbers),
        *(f"windows-{n}" for n in range(1250, 1259)),
    ]
    for label in labels:
        codec = codec_of(label)
        assert codec is not None, label
        assert b"a".decode(codec, "replace") or "utf-16" in codec


def test_the_declarations_that_html5lib_tests(data_pack: Path) -> None:
    """Every case of its encoding/tests1.dat, but the three that a byte order mark decides."""
    content = (data_pack / "messy" / "html" / "encoding_tests1.dat").read_bytes()
    cases = [case.split(b"\n#encoding\n") for case in content.split(b"#data\n")[1:]]
    assert len(cases) > 50
    for data, encoding in cases:
        expected = codec_of(encoding.split(b"\n")[0].decode())
        if data.startswith(b"\xef\xbb\xbf"):
            assert decode(data).charset == expected
        else:
            assert (declared(data) or "cp1252") == expected, data


@pytest.mark.parametrize(
    ("data", "label", "charset", "text"),
    [
        (b"plain", None, "utf-8", "plain"),
        ("\ufeffcaf\xe9".encode(), "latin1", "utf-8", "caf\xe9"),
        ("caf\xe9".encode("utf-16"), "utf-8", "utf-16-le", "caf\xe9"),
        (b"caf\xe9", "latin1", "cp1252", "caf\xe9"),
        (b"\x93quoted\x94 \x81", "iso-8859-1", "cp1252", "\u201cquoted\u201d \x81"),
        ("caf\xe9".encode(), "iso-8859-1", "utf-8", "caf\xe9"),  # a wrong label, and bytes that say so
        (b"<meta charset=koi8-r>\xcb\xcf\xd4", None, "koi8-r", "<meta charset=koi8-r>кот"),
        (b"<meta charset=koi8-r>\xea\xee\xf2", "windows-1251", "cp1251", "<meta charset=koi8-r>кот"),
        (
            b"<?xml version='1.0' encoding='iso-8859-5'?>\xda\xde\xe2",
            None,
            "iso8859-5",
            "<?xml version='1.0' encoding='iso-8859-5'?>кот",
        ),
        (b"<meta charset=utf-16>x", None, "utf-8", "<meta charset=utf-16>x"),
        (JAPANESE.encode("cp932"), "utf-8", "cp932", JAPANESE),
        ("猫が好き".encode("iso2022_jp"), None, "iso2022_jp", "猫が好き"),
    ],
)
def test_what_decides(data: bytes, label: str | None, charset: str, text: str) -> None:
    found = decode(data, label)
    assert (found.charset, found.text, found.replaced) == (charset, text, 0)


def test_text_that_is_no_html_declares_nothing() -> None:
    data = b"<meta charset=koi8-r>\xcb\xcf\xd4"
    assert decode(data, "windows-1252", is_html=False).text.endswith("\xcb\xcf\xd4")


@pytest.mark.parametrize(
    ("data", "label", "replaced"),
    [
        ("кот и ещё кот".encode()[:-1], None, 1),  # cut inside a character, by a crawler's limit
        ("кот и ещё кот".encode()[:-1], "utf-8", 1),
        ("genuine \ufffd, and кот кот кот ".encode() + b"\xff", "utf-8", 1),
        (b"\xff" * 3 + "кот".encode() * 10, "utf-8", 3),
        ("猫".encode("utf-16-le") + b"\x00", None, 0),
        (b"\xff\xfe" + "猫猫".encode("utf-16-le")[:-1], None, 1),
    ],
)
def test_what_cannot_be_decoded_is_replaced_and_counted(
    data: bytes, label: str | None, replaced: int
) -> None:
    found = decode(data, label)
    assert found.replaced == replaced
    assert found.text.encode()  # no lone surrogates


@given(
    st.binary(max_size=60), st.sampled_from([None, "utf-8", "gbk", "sjis", "utf-16le", "koi8-r", "x", "hz"])
)
def test_any_bytes_become_text(data: bytes, label: str | None) -> None:
    found = decode(data, label)
    found.text.encode()
    assert found.replaced >= 0


@given(st.text(max_size=60))
def test_utf8_stays_as_it_is(text: str) -> None:
    found = decode(text.encode(), None, is_html=False)
    if "\x1b$" not in text:
        assert (found.text, found.replaced) == (text.removeprefix("\ufeff"), 0)


@pytest.mark.parametrize(
    ("content_type", "label"),
    [
        ("text/html; charset=utf-8", "utf-8"),
        ('text/html;CHARSET="koi8-r"; x', "koi8-r"),
        ("text/html; charset=", None),
        ("text/html", None),
        ("", None),
    ],
)
def test_the_label_of_a_media_type(content_type: str, label: str | None) -> None:
    assert charset_label(content_type) == label


def test_the_texts_of_the_data_pack(data_pack: Path) -> None:
    """Texts in 20 encodings without any label. HZ looks like ASCII; one file is cut inside a character, and
    one has a byte order mark, which its digest counts."""
    wrong = []
    for line in (data_pack / "messy" / "manifest.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        if case["file"].startswith("encodings/") and case.get("sha1_utf8"):
            text = decode((data_pack / "messy" / case["file"]).read_bytes(), is_html=False).text
            digests = {hashlib.sha1(each.encode()).hexdigest() for each in (text, "\ufeff" + text)}
            if case["sha1_utf8"] not in digests:
                wrong.append(case["file"].removeprefix("encodings/"))
    assert wrong == ["Chinese_Mandarin-HZ.txt", "Hungarian_Magyar-Unicode.txt", "Japanese_Nihongo-JIS.txt"]

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.kernels.texts import Texts
from dataprep.kernels.url_forms import TRACKING, url_forms
from tests.dataprep.kernels.strategies import sliced
from tests.dataprep.kernels.test_urls import PIECES
from tests.reference import urls as slow

MORE = ["http://a.com", "https://", "ftp://", "ftp", ":443", ":", ":080", ":8080", "?", "&", "utm_source=x",
        "UTM_", "gclid=1", "gclids", "fbclid", "ref=1", "#!x", "#/x", "%7E", "%2F", "%c3%a9", "%4", "//",
        ":00000080"]  # fmt: skip
urls = st.one_of(st.lists(st.sampled_from([*PIECES, *MORE]), max_size=10).map("".join), st.text(max_size=20))


def forms(texts: Texts) -> list[str]:
    return Texts(*url_forms(texts.data, texts.offsets)).to_strings()


@given(st.lists(urls, max_size=6))
@example(["http://u:p@WWW.a.com.:80//x//?&a=%7e&utm_x&=1&#!%c3", "a.com.:", "://a", "\\a", "a@", "www.:1"])
def test_forms_are_those_of_the_slow_twin(strings: list[str]) -> None:
    assert forms(sliced(strings)) == [slow.form(string) for string in strings]


SAME = [
    "example.org/a/b",
    "http://example.org/a/b",
    " HTTPS://www.Example.org.:443/a/b/ ",
    "http://example.org:80/a/b#top",
    "//example.org/a/b?utm_source=x&UTM_medium=y&fbclid=z",
    "https://example.org/%61/b/?",
]
OTHERS = [
    "ftp://example.org/a/b",
    "http://example.org:8080/a/b",
    "https://example.org:80/a/b",
    "http://me@example.org/a/b",
    "http://m.example.org/a/b",
    "http://example.org/A/b",
    "http://example.org/a/b?ref=1",
    "http://example.org/a/b?b=1&a=2",
    "http://example.org/a/b?a=2&b=1",
    "http://example.org/a/b#!/c",
    "http://example.org/a%2Fb",
    "http://example.org/a/./b",
]


def test_what_is_one_page() -> None:
    assert set(forms(Texts.from_strings(SAME))) == {"example.org/a/b"}
    assert len(set(forms(Texts.from_strings([*SAME, *OTHERS])))) == 1 + len(OTHERS)


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("http://example.org/", "example.org"),
        ("http://example.org/caf\u00e9/%c3%a9?q=\u4e2d", "example.org/caf%C3%A9/%C3%A9?q=%E4%B8%AD"),
        ("http://example.org/%7Eme%2", "example.org/~me%2"),
        ("/a/b", ""),
        ("http:///a", ""),
        ("#top", ""),
        ("", ""),
        ("urn:isbn:80", "urn:isbn:80"),
        ("mailto:a@example.org", "mailto:a@example.org"),
        ("http://[2001:DB8::1]:80/", "[2001:db8::1]"),
        ("https://example.org?a&&" + "&".join(f"{name}=1" for name in TRACKING), "example.org?a"),
    ],
)
def test_forms_by_example(url: str, form: str) -> None:
    assert forms(Texts.from_strings([url])) == [form]


@given(urls)
def test_a_form_is_its_own_form_where_it_has_no_scheme(url: str) -> None:
    (first,) = forms(Texts.from_strings([url]))
    if "://" not in first and "@" not in first and "//" not in first and not first.startswith("www."):
        assert forms(Texts.from_strings([first])) == [first]

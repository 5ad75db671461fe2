from __future__ import annotations

import ipaddress
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.kernels.addresses import addresses
from dataprep.kernels.emails import emails, word_table
from dataprep.kernels.ip_parts import NOT_PUBLIC_V4, NOT_PUBLIC_V6
from dataprep.kernels.numbers import cards, ibans, phones
from dataprep.kernels.spans import Spans, counts_of, spliced
from dataprep.kernels.texts import Texts
from tests.dataprep.kernels.pii_texts import text_lists
from tests.dataprep.kernels.strategies import sliced
from tests.dataprep.kernels.timing import assert_linear
from tests.reference import pii as slow

Find = Callable[[Texts], Spans]
SlowFind = Callable[[str], list[tuple[int, int, int]]]

FINDERS: dict[str, tuple[Find, SlowFind]] = {
    "emails": (lambda texts: emails(texts.data, texts.offsets, False), slow.emails),
    "their emails": (
        lambda texts: emails(texts.data, texts.offsets, True),
        lambda text: slow.emails(text, "datatrove"),
    ),
    "public addresses": (lambda texts: addresses(texts.data, texts.offsets, False, True), slow.addresses),
    "addresses": (
        lambda texts: addresses(texts.data, texts.offsets, False, False),
        lambda text: slow.addresses(text, public_only=False),
    ),
    "their public addresses": (
        lambda texts: addresses(texts.data, texts.offsets, True, True),
        lambda text: slow.addresses(text, "datatrove"),
    ),
    "their addresses": (
        lambda texts: addresses(texts.data, texts.offsets, True, False),
        lambda text: slow.addresses(text, "datatrove", False),
    ),
    "phones": (lambda texts: phones(texts.data, texts.offsets), slow.phones),
    "cards": (lambda texts: cards(texts.data, texts.offsets), slow.cards),
    "ibans": (lambda texts: ibans(texts.data, texts.offsets), slow.ibans),
}


def found(texts: Texts, find: Find) -> list[list[tuple[str, int]]]:
    """The strings that are found in each text, with their kinds."""
    result: list[list[tuple[str, int]]] = [[] for _ in range(len(texts))]
    for index, start, end, kind in find(texts).tolist():
        assert texts.offsets[index] <= start < end <= texts.offsets[index + 1]
        result[index].append((texts.data[start:end].tobytes().decode(), kind))
    return result


@pytest.mark.parametrize("name", FINDERS)
@given(text_lists)
def test_spans_are_those_of_the_slow_twin(name: str, strings: list[str]) -> None:
    find, slowly = FINDERS[name]
    texts = sliced(strings)
    spans = find(texts)
    wanted = []
    for index, string in enumerate(strings):
        for start, end, kind in slowly(string):
            first = int(texts.offsets[index]) + len(string[:start].encode())
            wanted.append([index, first, first + len(string[start:end].encode()), kind])
    assert spans.tolist() == wanted


ADDRESS_PARTS = st.sampled_from(
    ["", "0", "1", "ff", "ABCD", "2001", "12345", "8.8.8.8", "1.2.3", "01.2.3.4", "256.1.1.1"]
)


@given(st.lists(ADDRESS_PARTS, min_size=2, max_size=10).map(":".join))
@example("1:2:3:4:5:6:7::")
@example("::1:2:3:4:5:6:7")
@example("1:2:3:4:5:6:7:8::")
@example("1::2::3")
@example("::8.8.8.8")
@example("1:2:3:4:5:6:8.8.8.8")
@example(":::")
def test_ipv6_is_what_the_library_reads(string: str) -> None:
    """With a first group that makes every valid address a public one."""
    string = f"2a00:{string}"
    try:
        ipaddress.IPv6Address(string)
        valid = True
    except ValueError:
        valid = False
    texts = Texts.from_strings([string])
    whole = (string, 1) in found(texts, FINDERS["public addresses"][0])[0]
    assert whole == (valid and not string.startswith("2a00::"))


def edges(networks: tuple[str, ...]) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """The first and last address of each network and what is beside it."""
    result = []
    for network in map(ipaddress.ip_network, networks):
        kind = type(network[0])
        for place in (int(network[0]) - 1, int(network[0]), int(network[-1]), int(network[-1]) + 1):
            if 0 <= place < 1 << network.max_prefixlen:
                result.append(kind(place))
    return result


@pytest.mark.parametrize(
    "address", edges((*NOT_PUBLIC_V4, *NOT_PUBLIC_V6, "2000::/3", "64:ff9b::/96")), ids=str
)
def test_public_addresses(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    texts = Texts.from_strings([address.exploded])
    assert bool(found(texts, FINDERS["public addresses"][0])[0]) == slow.is_public(address)


def test_public_is_global_of_the_library() -> None:
    """But for services of 192.0.0.0/24, of which versions of Python think differently."""
    stepping = [ipaddress.IPv4Address(value) for value in range(7, 1 << 32, 999_983)]
    for address in [*edges(NOT_PUBLIC_V4), *stepping]:
        if address not in ipaddress.ip_network("192.0.0.0/24"):
            assert slow.is_public(address) == address.is_global, address


def test_letters_are_those_of_re() -> None:
    import re

    pages, cells = word_table()
    for code in [*range(0x3000), *range(0xA000, 0xAC00), *range(0x10000, 0x1F000), 0x10FFFF]:
        assert bool(cells[int(pages[code >> 8]) * 256 + (code & 255)]) == bool(re.match(r"\w", chr(code)))


@given(text_lists, st.lists(st.sampled_from(["", "X", "\u4e2d" * 20]), min_size=2, max_size=2))
def test_spliced(strings: list[str], names: list[str]) -> None:
    texts = sliced(strings)
    spans = FINDERS["public addresses"][0](texts)
    data, offsets = spliced(texts.data, texts.offsets, spans, Texts.from_strings(names))
    wanted = [slow.replaced(string, slow.addresses(string), dict(enumerate(names))) for string in strings]
    assert Texts(data, offsets).to_strings() == wanted
    assert counts_of(spans, len(texts)).tolist() == [len(slow.addresses(string)) for string in strings]


def test_no_texts_and_many_spans() -> None:
    nothing = Texts.from_strings([])
    many = Texts.from_strings(["a@b.cd " * 1000, "", "8.8.8.8 " * 1000])
    for find, _ in FINDERS.values():
        assert find(nothing).shape == (0, 4)
    assert counts_of(FINDERS["emails"][0](many), 3).tolist() == [1000, 0, 0]
    assert counts_of(FINDERS["addresses"][0](many), 3).tolist() == [0, 0, 1000]


UNITS = [
    "a", "@", "a@", "a.", "@a.", "a@b.", "1.", "1:", "::", "f:", "1.2.3.", "8.8.8.8", "2001:db8::", "-",
    "a-", "@[1.", "1", "+1", "+1 ", "1 ", "01 ", "(0", "4111 ", "GB82", "GB82 AAAA ", " ", "\n", "\u4e2d",
    "a\u4e2d@", "''@", "'@a.b",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_time_is_linear(unit: str) -> None:
    for find, _ in FINDERS.values():
        assert_linear(find, unit)

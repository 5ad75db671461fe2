from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.units import format_bytes, parse_count, parse_percentage, parse_share, parse_size


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        (0, 0), (17, 17), ("17", 17), ("20MB", 20_000_000), ("20mb", 20_000_000), ("1GiB", 2**30),
        ("1.5 GiB", 3 * 2**29),
        ("1_000kB", 1_000_000), ("512B", 512), ("2TB", 2 * 10**12), (1e6, 1_000_000), ("0.001kB", 1),
    ],
)  # fmt: skip
def test_sizes(text: object, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("100M", 100_000_000),
        ("1.5B", 1_500_000_000),
        ("2T", 2 * 10**12),
        ("10k", 10_000),
        ("3G", 3 * 10**9),
        (5, 5),
    ],
)
def test_counts(text: object, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize(
    "text",
    [-1, "-1", 1.5, "1.5", "0.0001kB", "1e6", "MB", "1 M B", "1ZB", "", None, True, [1], "1,5MB", "١MB"],
)
def test_what_is_no_size(text: object) -> None:
    with pytest.raises(ValueError, match="expected a size such as 20MB"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("0.1%", 0.001), (0.001, 0.001), ("100%", 1.0), (1, 1.0), ("0.25", 0.25), ("50 %", 0.5), ("1", 1.0),
        ("33.3%", 0.333),
    ],
)  # fmt: skip
def test_shares(text: object, share: float) -> None:
    assert parse_share(text) == share and isinstance(parse_share(text), float)


@pytest.mark.parametrize("text", [0, "0%", -0.1, 1.1, "101%", float("inf")])
def test_shares_are_of_a_whole(text: object) -> None:
    with pytest.raises(ValueError, match="above 0 and up to 100%"):
        parse_share(text)


@pytest.mark.parametrize("text", ["", "%", "a", "1e-3", "-1%", ".5", None, True, [1], "1,5%", "\u0661%"])
def test_what_is_no_share(text: object) -> None:
    with pytest.raises(ValueError, match=r"expected a share such as 0.1%"):
        parse_share(text)


@given(st.integers(0, 10**18), st.sampled_from(["", "kB", "MB", "GB", "KiB", "MiB", "GiB"]))
def test_whole_numbers_with_a_unit_are_exact(number: int, unit: str) -> None:
    factor = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}[
        unit.removesuffix("B")
    ]
    assert parse_size(f"{number}{unit}") == number * factor


def test_format_bytes() -> None:
    values = [0, 999, 1000, 12_345, 999_499, 999_600, 20_000_000, 1_234_000_000, 5 * 10**12, 2 * 10**18]
    assert [format_bytes(value) for value in values] == [
        "0 B", "999 B", "1 kB", "12.3 kB", "999 kB", "1 MB", "20 MB", "1.23 GB", "5 TB", "2,000 PB",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "number"),
    [("95%", 0.95), (" 0.5 %", 0.005), ("0%", 0.0), ("100%", 1.0), ("101%", 1.01)],
)
def test_percentages_are_numbers(value: str, number: float) -> None:
    assert parse_percentage(value) == number


@pytest.mark.parametrize("value", ["0.95", "x", "-1%", "%", "1%%", 0.95, 1, True, None])
def test_what_is_no_percentage_is_left_to_the_check_of_a_number(value: object) -> None:
    assert parse_percentage(value) is value

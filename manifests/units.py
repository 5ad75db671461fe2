"""Sizes, counts and shares as people write them: 20MB, 1GiB, 100M, 1.5B, 0.1%.

`Size`, `Count`, `Share` and `Ratio` are field types for pydantic models. A value that is not a whole number
of bytes or things is refused, never rounded. Durations and rates are not here.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, Field

from manifests.wording import describe

_BYTES = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "pb": 10**15,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40, "pib": 2**50,
}  # fmt: skip
_THINGS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}

_NUMBER_AND_UNIT = re.compile(r"([0-9][0-9_]{0,30}(?:\.[0-9]{1,30})?) ?([A-Za-z]{0,5})")


def parse_size(value: object) -> int:
    """Bytes: 1000, "20MB" (10^6), "1.5 GiB" (2^30). Raises ValueError."""
    return _parse(value, _BYTES, "a size such as 20MB or 1GiB (B, kB, MB, GB, TB; KiB, MiB, GiB, TiB)")


def parse_count(value: object) -> int:
    """Things: 1000, "100M", "1.5B" (10^9), 1e6. Raises ValueError."""
    return _parse(value, _THINGS, "a count such as 100M or 1.5B (k, M, B or G, T)")


def _parse(value: object, units: dict[str, int], want: str) -> int:
    found = describe(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"expected {want}, found {found}")
    if isinstance(value, str):
        match = _NUMBER_AND_UNIT.fullmatch(value.strip())
        if match is None or match[2].lower() not in units:
            raise ValueError(f"expected {want}, found {found}")
        number = Fraction(match[1].replace("_", "")) * units[match[2].lower()]
    else:
        number = Fraction(repr(value))  # of a float, what was written and not its binary neighbour
    if number < 0 or number.denominator != 1:
        raise ValueError(f"expected {want}, a whole number from 0 on, found {found}")
    return int(number)


_SHARE = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,30})?) ?(%?)")


def parse_share(value: object) -> float:
    """A part of a whole, above 0 and up to 1: 0.001, "0.1%". Raises ValueError."""
    found = describe(value)
    match = _SHARE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is not None:
        share = float(Fraction(match[1]) / (100 if match[2] else 1))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        share = float(value)
    else:
        raise ValueError(f"expected a share such as 0.1% or 0.001, found {found}")
    if not 0 < share <= 1:
        raise ValueError(f"expected a share above 0 and up to 100%, found {found}")
    return share


def parse_percentage(value: object) -> object:
    """ "95%" as 0.95; anything else as it is, for the checks of a number that follow."""
    match = _SHARE.fullmatch(value.strip()) if isinstance(value, str) else None
    return float(Fraction(match[1]) / 100) if match is not None and match[2] else value


def format_bytes(size_bytes: int | float) -> str:
    """Three significant digits and a decimal unit: "512 B", "20 MB", "1.23 GB"."""
    value = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 999.5:
            return f"{value:.0f} {unit}" if unit == "B" or abs(value) >= 100 else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:,.0f} PB"


# The input types are for the JSON Schemas, which say what may be written.
Size = Annotated[int, BeforeValidator(parse_size, json_schema_input_type=int | str)]
Count = Annotated[int, BeforeValidator(parse_count, json_schema_input_type=int | str)]
Share = Annotated[float, BeforeValidator(parse_share, json_schema_input_type=float | str)]
"""A part of a whole, more than nothing."""
Ratio = Annotated[
    float,
    Field(ge=0, le=1, allow_inf_nan=False),
    BeforeValidator(parse_percentage, json_schema_input_type=float | str),
]
"""A limit from 0 to 1: 0.95, or "95%"."""

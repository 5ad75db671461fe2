"""Slow twins of `dataprep/steps/where.py` and of the form of URLs in `dataprep/steps/exclude.py`."""

from __future__ import annotations

import datetime
import json
import re
from typing import Any


def fails(value: str | None, condition: dict[str, Any], missing: str) -> bool:
    """Whether a document with this value is dropped."""
    return any(
        missing == "drop" if held is None else not held
        for held in (holds(value, name, bound) for name, bound in condition.items() if bound is not None)
    )


def holds(value: str | None, name: str, bound: Any) -> bool | None:
    """Whether one condition holds; None where there is no value to look at."""
    if name == "present":
        return (value is not None) == bound
    if value is None:
        return None
    if name in ("in", "not_in"):
        listed = [each if isinstance(each, str) else json.dumps(each) for each in bound]
        return (value in listed) == (name == "in")
    if name == "matches":
        return re.search(bound, value) is not None
    if name in ("min", "max"):
        if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", value, re.ASCII) is None:
            return None
        return float(value) >= bound if name == "min" else float(value) <= bound
    if re.fullmatch(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2}([T ].*)?)?)?", value) is None:
        return None
    date = value[:10] if len(value) >= 10 else value + "-01-01"[len(value) - 10 :]
    try:
        datetime.date.fromisoformat(date)
    except ValueError:
        return None
    return date >= bound if name == "from" else date < bound


def normalized(url: str) -> str:
    url = url.strip(" \t\n\v\f\r")
    for scheme in ("http://", "https://"):
        if url[: len(scheme)].lower() == scheme:
            url = url[len(scheme) :]
            break
    url = url.partition("#")[0]
    at = min((url.index(end) for end in "/?" if end in url), default=len(url))
    host, rest = lower(url[:at]), url[at:]
    for port in (":80", ":443"):
        if host.endswith(port):
            host = host[: -len(port)]
            break
    return host + ("" if rest == "/" else rest)


def lower(text: str) -> str:
    return "".join(each.lower() if each.isascii() else each for each in text)

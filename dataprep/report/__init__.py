"""What a run reports: the funnel, the shards, the quarantine, samples of what was dropped.

`build.py` gathers a report from receipts, as plain JSON values; `funnel.py` gives its rows names and sums;
`terminal.py` draws it and `html.py` makes a page of it. Nothing here reads documents or decides anything, and
nothing holds a time, so the same corpus has the same report.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any

from manifests.files import write_atomic

REPORT_NAME = "report.json"


def encode_report(report: Mapping[str, Any]) -> bytes:
    """The bytes of report.json: in the order of the recipe, for eyes and for `diff`."""
    return (json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def write_report(path: str | PathLike[str], report: Mapping[str, Any]) -> None:
    """Write report.json whole or not at all. Raises OSError, or DiskFull."""
    write_atomic(path, encode_report(report))

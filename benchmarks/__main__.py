"""`python -m benchmarks NAME [--json] [--quick]`: progress on stderr; a table or one JSON object on stdout.

Every throughput (a key that ends in `mb_s`) also comes as a ratio to the zstd yardstick of the same run,
under the same key with `vs_zstd` in place of `mb_s`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import BENCHMARKS
from benchmarks.measure import machine, zstd_mb_s

DATA_PACK = Path(__file__).resolve().parents[2] / "shared" / "data"


def with_yardstick(figures: dict[str, Any], yardstick_mb_s: float) -> dict[str, Any]:
    """The figures, with a ratio to the yardstick after each throughput, in nested dicts too."""
    whole: dict[str, Any] = {}
    for key, value in figures.items():
        if isinstance(value, dict):
            whole[key] = with_yardstick(value, yardstick_mb_s)
            continue
        whole[key] = value
        if key.endswith("mb_s") and isinstance(value, int | float):
            whole[key.removesuffix("mb_s") + "vs_zstd"] = round(value / yardstick_mb_s, 4)
    return whole


def measured(name: str, data_pack: Path, quick: bool) -> dict[str, Any]:
    started = time.monotonic()
    print(f"{name}: {BENCHMARKS[name]}", file=sys.stderr, flush=True)
    module = importlib.import_module(f"benchmarks.{name}")
    before = zstd_mb_s(data_pack)
    figures = module.run(data_pack, quick)
    yardstick = (before + zstd_mb_s(data_pack)) / 2
    print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return {
        "name": name,
        "machine": {**machine(), "zstd_mb_s": round(yardstick, 1)},
        "figures": with_yardstick(figures, yardstick),
    }


def flat(figures: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for key, value in figures.items():
        rows |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return rows


def show(result: dict[str, Any]) -> None:
    table = Table(title=result["name"], title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    for key, value in flat({**result["figures"], "machine": result["machine"]}).items():
        table.add_row(key, f"{value:,.3f}" if isinstance(value, float) else str(value))
    Console().print(table)


def main(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(BENCHMARKS)}, or all.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, last on stdout.")] = False,
    quick: Annotated[bool, typer.Option(help="At most a minute.")] = False,
    data: Annotated[Path | None, typer.Option(help="The data pack; or HEADRACE_DATA.")] = None,
) -> None:
    """Measure one part of Headrace, or all."""
    if name not in (*BENCHMARKS, "all"):
        print(f"error: no benchmark {name!r}\n\nhint: one of {', '.join(BENCHMARKS)}, all", file=sys.stderr)
        raise typer.Exit(2)
    data_pack = data or Path(os.environ.get("HEADRACE_DATA", DATA_PACK))
    if not (data_pack / "README.md").is_file():
        print(f"error: no data pack\n{data_pack}\n\nhint: --data FOLDER, or HEADRACE_DATA", file=sys.stderr)
        raise typer.Exit(2)
    for each in BENCHMARKS if name == "all" else [name]:
        result = measured(each, data_pack, quick)
        if as_json:
            print(json.dumps(result), flush=True)
        else:
            show(result)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(main)
    app()

"""From a crawl to tokens: WARC, pages and archives through extract_text, in whole runs."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataprep.run import run
from tests.dataprep.readers.test_archive import tar
from tests.dataprep.readers.warcs import gzipped, record, response
from tests.e2e.corpora import digests, document, make_recipe

ROOT = Path(__file__).resolve().parents[2]


def page(seed: str) -> str:
    paragraphs = "".join(f"<p>{document(f'{seed}/{n}', 3)}</p>" for n in range(3))
    menu = "<nav><ul><li><a href=/>Home</a><li><a href=/a>About</a></ul></nav>"
    return f"<!DOCTYPE html><html><body>{menu}<article><h1>{seed}</h1>{paragraphs}</article></body></html>"


def write(folder: Path) -> None:
    (folder / "in" / "pages").mkdir(parents=True)
    records = [record("warcinfo", b"software: x\r\n", 0)]
    for n in range(30):
        records += [record("request", b"GET / HTTP/1.1\r\n\r\n", n), response(page(f"web {n}"), n)]
    records += [
        response(page("gone"), 100, status="404 Not Found"),
        response("<html><body></body></html>", 101),
        response("<div>" * 50 + page("deep"), 102),
        response(document("plain", 9), 103, http=["Content-Type: text/plain"]),
        response(page("caf\xe9").encode("latin-1"), 104, http=["Content-Type: text/html; charset=latin1"]),
        response(page("web 3"), 105),  # a copy under another address
    ]
    (folder / "in" / "crawl.warc.gz").write_bytes(gzipped(records))
    for n in range(5):
        (folder / "in" / "pages" / f"{n}.html").write_text(page(f"page {n}"))
    members = {f"m/{n}.html": page(f"member {n}").encode() for n in range(5)}
    (folder / "in" / "more.tar").write_bytes(tar(members))


def recipe(folder: Path, **changes: Any) -> Any:
    start = str(folder / "in")
    sources = {
        "web": {"path": f"{start}/*.warc.gz", "id": "url", "carry": ["date", "status"]},
        "pages": {"path": f"{start}/pages/*.html"},
        "more": {"path": f"{start}/*.tar"},
    }
    steps = [{"extract_text": {"max_depth": 40}}, {"gopher_quality": {"min_words": 20}}, {"exact_dedup": {}}]
    return make_recipe(folder, **{"sources": sources, "steps": steps, **changes})


def test_a_crawl_becomes_tokens(tmp_path: Path) -> None:
    write(tmp_path)
    result = run(recipe(tmp_path), workers=0)
    rows = {(row["source"], row["stage"]): row for row in result.report["funnel"]}
    assert rows["web", "read"]["documents"] == 35
    assert rows["web", "extract_text"]["dropped"] == {"extract_empty": 1, "extract_too_deep": 1}
    manifest = result.published.manifest
    kept = {
        name: sum(subset.documents for subset in source.subsets.values())
        for name, source in manifest.sources.items()
    }
    assert kept == {"web": 32, "pages": 5, "more": 5}  # 35 without the two, and without a copy
    counts = {name: facts["counts"] for name, facts in result.report["quarantine"].items()}
    passed_over = {"passed_over:warcinfo": 1, "passed_over:request": 30, "passed_over:status_4xx": 1}
    assert counts == {"web": passed_over, "pages": {}, "more": {}}
    tables = list((tmp_path / "out").glob("*.documents.parquet"))
    documents = pa.concat_tables(
        [pq.read_table(table, columns=["id", "path"]) for table in tables]
    ).to_pylist()
    assert {"id": "m/3.html", "path": "more.tar"} in documents
    assert {"id": "https://example.org/7", "path": "crawl.warc.gz"} in documents


@pytest.mark.slow
def test_the_same_bytes_from_any_number_of_workers(tmp_path: Path) -> None:
    write(tmp_path)
    found = []
    for workers in (0, 2):
        run(recipe(tmp_path), workers=workers)
        found.append(digests(tmp_path / "out"))
        shutil.rmtree(tmp_path / "out")
        shutil.rmtree(tmp_path / "out.work")
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_changed_threshold_below_extracts_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path)
    work = str(tmp_path / "work")
    run(recipe(tmp_path, work=work), workers=0)

    def never(*_: object) -> None:
        raise AssertionError("a page was extracted again")

    monkeypatch.setattr("dataprep.extraction.client.Client.extract", never)
    steps = [{"extract_text": {"max_depth": 40}}, {"gopher_quality": {"min_words": 21}}, {"exact_dedup": {}}]
    run(recipe(tmp_path, work=work, steps=steps, output=str(tmp_path / "out2")), workers=0)


@pytest.mark.slow
def test_no_process_is_left_behind(tmp_path: Path) -> None:
    write(tmp_path)
    code = (
        "import sys; from pathlib import Path; from dataprep.run import run; "
        "from tests.e2e.test_crawl import recipe; run(recipe(Path(sys.argv[1])), workers=2)"
    )
    environment = {**os.environ, "HEADRACE_MARK": str(tmp_path)}
    command = [sys.executable, "-c", code, str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile, or not ours
            assert str(tmp_path).encode() not in (folder / "environ").read_bytes()

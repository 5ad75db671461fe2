"""`dataprep duplicates`, `dataprep similar` and the part of the report on them, against the verdict table."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from dataprep.cli import app
from dataprep.report.terminal import print_report
from dataprep.run import run
from dataprep.verdict_table import NAME
from dataprep.views import clusters, similar
from dataprep.views.duplicates import find_duplicates, print_duplicates
from dataprep.views.explain import explain_document
from dataprep.views.similar import find_similar
from manifests.errors import UserError
from tests.e2e.corpora import again, books, document, make_recipe, write_recipe
from tests.reference.shingles import shingles


def rows_of(folder: Path, **changes: Any) -> list[dict[str, Any]]:
    run(make_recipe(folder, **changes), workers=0, verdicts=True)
    rows: list[dict[str, Any]] = pq.read_table(folder / "out" / NAME).to_pylist()
    return rows


def place(row: dict[str, Any], prefix: str = "") -> tuple[Any, ...]:
    return tuple(row[f"{prefix}{name}"] for name in ("source", "path", "position"))


def drawn(found: dict[str, Any], width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_duplicates(found, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("at_once", [7, clusters.COUNTED_AT_ONCE])
def test_clusters_are_those_of_the_verdict_table(
    workspace: Path, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(workspace)
    monkeypatch.setattr(clusters, "COUNTED_AT_ONCE", at_once)
    for step in (None, "minhash_dedup", "exact_dedup"):
        for source in (None, "books", "web"):
            mine = [
                row
                for row in rows
                if row["match_path"] is not None
                and step in (None, row["reasons"][0].split(":")[0])
                and source in (None, row["source"])
            ]
            sizes = Counter(place(row, "match_") for row in mine)
            found = find_duplicates(make_recipe(workspace), step, source, top=4)
            assert (found["clusters"], found["copies"]) == (len(sizes), len(mine))
            assert [each["size"] - 1 for each in found["largest"]] == sorted(sizes.values(), reverse=True)[:4]
            for each in found["largest"]:
                assert each["size"] - 1 == sizes[place(each["stays"])] == sum(each["steps"].values())
                assert sum(each["sources"].values()) == each["size"] - 1
                for copy in each["copies"]:
                    (row,) = [row for row in mine if place(row) == place(copy)]
                    assert place(row, "match_") == place(each["stays"])
                    assert row["similarity"] == copy["similarity"]
                    assert f"{copy['step']}: {copy['step']}" == row["reasons"][0]


def test_samples_show_where_texts_differ(workspace: Path) -> None:
    found = find_duplicates(make_recipe(workspace), "minhash_dedup")
    first, second = found["largest"]
    assert first["stays"]["text"] == books()[10][:300] and second["stays"]["text"] == books()[11][:300]
    (copy,) = first["copies"]
    assert copy["text"] == books()[0][:300] and not copy["is_same"] and not copy["more"]
    ((context, more),) = copy["hunks"]
    assert books()[0].endswith(context["both"])
    assert more == {"stays": "At last.", "goes": ""}
    assert second["copies"][0]["hunks"][0][0] == {"stays": "Indeed.", "goes": ""}
    exact = find_duplicates(make_recipe(workspace), "exact_dedup")["largest"]
    assert all(copy["is_same"] and copy["hunks"] == [] for each in exact for copy in each["copies"])


@pytest.mark.parametrize("width", [60, 80, 200])
def test_samples_fit_a_terminal(workspace: Path, width: int) -> None:
    text = drawn(find_duplicates(make_recipe(workspace), "minhash_dedup"), width)
    assert all(len(line) <= width for line in text.splitlines()[:-1])
    assert all(len(block.splitlines()) <= 20 for block in text.split("\n\n"))
    stays = next(line for line in text.splitlines() if "[At last.]" in line)
    goes = text.splitlines()[text.splitlines().index(stays) + 1]
    assert stays.index("[") == goes.index("[") and stays.index("]") == goes.index("]")
    assert "2 documents were removed for 2 that stay" in text


def test_texts_are_shown_as_the_step_saw_them(workspace: Path) -> None:
    """By minhash_dedup, which stands above a step that rewrites, and below one that makes texts equal."""
    notes = workspace / "in" / "notes"
    (notes / "note-00.txt").write_text("\x1b[31m A\u0301 " + document("note 1", 6))
    pii = {"pii": {"only": ["notes"]}}
    again(workspace, steps=[{"normalize": {}}, {"minhash_dedup": {}}, pii])
    recipe = make_recipe(workspace, steps=[{"normalize": {}}, {"minhash_dedup": {}}, pii])
    found = find_duplicates(recipe, source="notes")
    (cluster,) = found["largest"]
    assert "\u00c1" in cluster["stays"]["text"]  # as normalised
    assert "\x1b" not in drawn(found) and "\x1b[" not in drawn(found).replace("\\x1b", "")


def test_long_and_many_copies_are_cut_short(workspace: Path) -> None:
    folder = workspace / "in" / "notes"
    for number in range(9):
        words = document("long", 800).split()
        words[600 * number : 600 * number + 3] = ["\u6c34" * 400]
        (folder / f"long-{number}.txt").write_text(" ".join(words))
    steps = [{"minhash_dedup": {"keep": ["shortest"]}}]
    again(workspace, steps=steps)
    found = find_duplicates(make_recipe(workspace, steps=steps), source="notes")
    (cluster,) = found["largest"]
    assert cluster["size"] == 9 and len(cluster["copies"]) == 3
    similarities = [copy["similarity"] for copy in cluster["copies"]]
    assert similarities == sorted(similarities)
    assert all(copy["more"] for copy in cluster["copies"])  # 9,000 words, of which 1,000 are compared
    text = drawn(found)
    assert len(text.splitlines()) <= 20
    assert len(json.dumps(found)) < 20_000


@pytest.mark.parametrize(
    ("step", "source", "top", "what"),
    [
        ("minhash", None, 1, "no step 'minhash'.*minhash_dedup"),
        (None, "webb", 1, "no source 'webb'.*did you mean"),
        (None, None, 0, "1 to 1,000"),
    ],
)
def test_what_cannot_be_shown(workspace: Path, step: Any, source: Any, top: int, what: str) -> None:
    with pytest.raises(UserError, match=what):
        find_duplicates(make_recipe(workspace), step, source, top)


def test_a_recipe_without_duplicates(workspace: Path) -> None:
    with pytest.raises(UserError, match="no step of this recipe removes duplicates"):
        find_duplicates(make_recipe(workspace, steps=[{"normalize": {}}]))
    steps = [{"line_dedup": {}}, {"exact_dedup": {}}]
    with pytest.raises(UserError, match="line_dedup removes no duplicates of documents"):
        find_duplicates(make_recipe(workspace, steps=steps), "line_dedup")
    with pytest.raises(UserError, match="no minhash_dedup"):
        find_similar(make_recipe(workspace, steps=[{"exact_dedup": {}}]), b"a text")


# --- similar -----------------------------------------------------------------------------------------------


def test_near_duplicates_of_a_text_kept_and_dropped(workspace: Path) -> None:
    rows = rows_of(workspace)
    text = f"{books()[0][:-40]} once upon a time".encode()
    found = find_similar(make_recipe(workspace), text, threshold=0.6)
    verdicts = [each["verdict"] for each in found["documents"]]
    assert sorted(verdicts) == ["dropped", "train"] or sorted(verdicts) == ["dropped", "holdout"]
    assert {each["position"] for each in found["documents"]} == {0, 10}
    assert (found["compared"], found["candidates"], found["checked"]) == (len(rows), 2, 2)
    for each in found["documents"]:
        (row,) = [row for row in rows if place(row) == place(each)]
        assert row["reasons"] == each["reasons"] and row["raw_hash"].hex() == each["raw_hash"]
        other = books()[each["position"]]
        first, second = (set(shingles(one, 5, "words", "plain")) for one in (text.decode(), other))
        exact_ppm = 1_000_000 * len(first & second) // len(first | second)
        assert each["jaccard"] == exact_ppm / 1e6
        assert each["text"] == other[:300] and abs(each["estimate"] - each["jaccard"]) < 0.1
    assert found["documents"][0]["jaccard"] >= found["documents"][1]["jaccard"]
    guessed = find_similar(make_recipe(workspace), text, threshold=0.6, estimate=True)
    assert [each["jaccard"] for each in guessed["documents"]] == [None, None]
    assert find_similar(make_recipe(workspace), text, threshold=0.99)["documents"] == []
    assert len(find_similar(make_recipe(workspace), text, threshold=0.6, top=1)["documents"]) == 1


@pytest.mark.parametrize("held", [1, 3])
def test_candidates_are_those_of_an_index_over_all_documents(
    workspace: Path, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prefilter takes away nothing that datasketch would find, and keeps the best if there are many."""
    from datasketch import MinHash, MinHashLSH

    from dataprep.kernels.minhash import hash32

    recipe = make_recipe(workspace)
    text = document("web 3")
    texts = [document(f"web {number % 55}") for number in range(60)] + books()

    def sketch(text: str) -> MinHash:
        made = MinHash(num_perm=112, hashfunc=hash32)
        made.update_batch(shingles(text, 5, "words", "plain"))
        return made

    index = MinHashLSH(num_perm=112, params=(14, 8))
    for number, each in enumerate(texts):
        index.insert(number, sketch(each))
    found = find_similar(recipe, text.encode())
    assert len(index.query(sketch(text))) + 1 == found["candidates"]  # one more copy among the books
    monkeypatch.setattr(similar, "MAX_HELD", held)
    few = find_similar(recipe, text.encode())
    assert few["candidates"] == found["candidates"] == 3
    assert few["documents"] == found["documents"][:held]


@pytest.mark.parametrize(
    ("text", "what"),
    [(b"\xff", "not UTF-8"), (b" \n", "no words"), ("\u2014!?".encode(), "no words")],
)
def test_texts_that_are_similar_to_nothing(workspace: Path, text: bytes, what: str) -> None:
    with pytest.raises(UserError, match=what):
        find_similar(make_recipe(workspace), text)


def test_a_short_text_is_similar_to_its_equals(workspace: Path) -> None:
    found = find_similar(make_recipe(workspace), b"short")
    assert found["is_short"] and [each["text"] for each in found["documents"]] == ["short"]
    assert found["documents"][0]["verdict"] == "dropped"
    assert find_similar(make_recipe(workspace), b"Short")["documents"] == []


def test_one_band_needs_no_index(workspace: Path) -> None:
    steps = [{"minhash_dedup": {"permutations": 16, "bands": 1, "rows": 1, "threshold": 0.5}}]
    again(workspace, steps=steps)
    found = find_similar(make_recipe(workspace, steps=steps), books()[0].encode())
    assert {each["position"] for each in found["documents"]} == {0, 10}


def test_the_commands(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(write_recipe(workspace))
    app(["duplicates", path, "--step", "minhash_dedup", "--top", "1"], standalone_mode=False)
    assert "2 documents were removed for 2 that stay, 1 more" in capsys.readouterr().out
    app(["duplicates", path, "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out) == find_duplicates(make_recipe(workspace))
    (workspace / "text.txt").write_text(books()[1])
    app(["similar", path, "--text", str(workspace / "text.txt")], standalone_mode=False)
    shown = capsys.readouterr().out
    assert "1.000  books (books.parquet, position 1)" in shown and "a copy of" in shown
    assert "stands for 2 documents" in shown and "2 of 94 documents" in shown
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(books()[1].encode())))
    app(["similar", path, "--text", "-", "--estimate", "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["checked"] == 0


# --- the report --------------------------------------------------------------------------------------------


def test_the_report_counts_what_each_step_did(workspace: Path) -> None:
    result = again(workspace)
    assert result.report["warnings"] == []
    exact, near = result.report["duplicates"]
    rows = rows_of(workspace)
    copies = [row for row in rows if row["reasons"][:1] == ["exact_dedup: exact_dedup"]]
    sizes = Counter(place(row, "match_") for row in copies)
    assert (exact["removed"], exact["clusters"]) == (len(copies), len(sizes))
    assert exact["largest"] == sorted((1 + size for size in sizes.values()), reverse=True)[:5]
    assert (near["step"], near["looked_at"]) == ("minhash_dedup", exact["looked_at"] - exact["removed"])
    assert (near["removed"], near["clusters"], near["largest"]) == (2, 2, [2, 2])
    assert (near["borderline"], near["settled"], near["limited"]) == (0, 0, 0)
    console = Console(file=io.StringIO(), width=80)
    print_report(result.report, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "buckets over the limit" in text and f"{near['looked_at']} documents" in text


def test_pairs_near_the_threshold_are_counted(workspace: Path) -> None:
    result = again(workspace, steps=[{"minhash_dedup": {"threshold": 0.95}}])
    (near,) = result.report["duplicates"]
    assert near["borderline"] >= near["settled"] >= near["removed"] > 0


# --- who stays ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "stays"), [("highest", 11), ("lowest", 1)])
def test_the_copy_with_the_best_signal_stays(workspace: Path, key: str, stays: int) -> None:
    """`Indeed.` before the second book makes a word more."""
    keep = [{key: "gopher_quality.words"}]
    steps = [{"gopher_quality": {}}, {"exact_dedup": {}}, {"minhash_dedup": {"keep": keep}}]
    again(workspace, steps=steps)
    found = find_duplicates(make_recipe(workspace, steps=steps), "minhash_dedup")
    assert stays in [each["stays"]["position"] for each in found["largest"]]
    assert len(found["largest"]) == 2


def test_lines_stay_in_the_document_with_the_best_signal(workspace: Path) -> None:
    line = document("shared", 8)
    for number, more in enumerate(["", "and more words than the others have\n", "few\n"]):
        (workspace / "in" / "notes" / f"line-{number}.txt").write_text(f"{more}{line}\n")
    keep = [{"highest": "gopher_quality.words"}]
    steps = [{"gopher_quality": {}}, {"line_dedup": {"keep": keep}}]
    again(workspace, steps=steps)
    places = ["line-0.txt:0", "line-1.txt:0", "line-2.txt:0"]
    found = [explain_document(make_recipe(workspace, steps=steps), each)["documents"] for each in places]
    assert [each["signals"]["line_dedup"]["removed_units"] for (each,) in found] == [1, 0, 1]

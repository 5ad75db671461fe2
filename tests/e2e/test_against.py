"""A corpus held against an older one: what that has already goes, and names the older document."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from dataprep.older import folder_of, older_of
from dataprep.recipe import Recipe, recipe_of
from dataprep.run import RunResult, run
from dataprep.stages.decisions import decisions_of
from dataprep.views import clusters
from dataprep.views.duplicates import find_duplicates, print_duplicates
from manifests.errors import UserError
from manifests.manifest import load_manifest
from manifests.store import publish
from manifests.verify import verify
from tests.e2e.corpora import digests, document


def write(folder: Path, texts: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"id": name, "text": text, "site": name[:1]}) for name, text in texts.items()]
    (folder / "texts.jsonl").write_text("\n".join(lines) + "\n")


def recipe(folder: Path, name: str, **changes: Any) -> Recipe:
    source = {"path": str(folder / name / "texts.jsonl"), "id": "id", "carry": ["site"]}
    data = {
        "corpus": name,
        "version": "1.0.0",
        "sources": {"web": source},
        "steps": [{"exact_dedup": {}}, {"minhash_dedup": {}}],
        "tokenizer": {"train": {"vocab_size": 400}, "engine": "tokenizers"},
        "holdout": {"documents": 0.1},
        "output": str(folder / name / "out"),
    }
    return recipe_of(data | changes)


OLD = {f"o{number}": document(f"old {number}", 20) for number in range(8)}
NEW = {
    "n0": document("new 0", 20),
    "n1": OLD["o1"],  # the same text
    "n2": OLD["o2"] + " And more of it.",  # nearly, and longer
    "n3": document("new 3", 20),
    "n4": document("new 3", 20),  # a copy of one of ours
    "n5": OLD["o2"] + " And more of it.",
    "n6": document("old 1", 12),  # half of an older one
}


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("against")
    write(folder / "old", OLD)
    write(folder / "new", NEW)
    run(recipe(folder, "old", publish_dedup=True), workers=0)
    return folder


def steps(folder: Path, **changes: Any) -> list[dict[str, Any]]:
    against = {"against": [str(folder / "old" / "out")]}
    return [{"exact_dedup": against}, {"minhash_dedup": {**against, **changes}}]


def verdicts(folder: Path, result: RunResult) -> dict[str, dict[str, Any]]:
    rows = pq.read_table(result.published.folder / "verdicts.parquet").to_pylist()
    return {row["id"]: row for row in rows}


def test_what_the_older_corpus_has_goes_and_names_it(older: Path) -> None:
    result = run(recipe(older, "new", steps=steps(older)), workers=0, verdicts=True)
    rows = verdicts(older, result)
    kept = {name for name, row in rows.items() if row["verdict"] != "dropped"}
    assert kept - {"n3", "n4"} == {"n0", "n6"}
    (ours,) = kept & {"n3", "n4"}  # the same text: a hash of the ids says which stays
    matches = {name: (row["match_corpus"], row["match_id"]) for name, row in rows.items()}
    assert matches["n1"] == ("old@1.0.0", "o1")
    assert matches["n2"] == matches["n5"] == ("old@1.0.0", "o2")
    assert matches[({"n3", "n4"} - {ours}).pop()] == (None, ours)
    assert rows["n1"]["similarity"] == 1.0
    assert 0.75 <= rows["n2"]["similarity"] < 1.0
    first = {rows[name]["reasons"][0] for name in ("n2", "n5")}  # the same text: one is a copy
    assert first == {"exact_dedup: exact_dedup", "minhash_dedup: minhash_dedup"}
    (parent,) = result.published.manifest.lineage.parents
    assert parent == f"old@1.0.0 {load_manifest(older / 'old' / 'out').content_digest}"


def test_the_older_text_is_not_read_again(older: Path, tmp_path: Path) -> None:
    texts = older / "old" / "texts.jsonl"
    held = texts.read_bytes()
    texts.unlink()
    try:
        write(tmp_path / "new", dict(reversed(NEW.items())))
        result = run(recipe(tmp_path, "new", steps=steps(older)), workers=0, verdicts=True)
    finally:
        texts.write_bytes(held)
    kept = {name for name, row in verdicts(tmp_path, result).items() if row["verdict"] != "dropped"}
    assert kept - {"n3", "n4"} == {"n0", "n6"}  # n3 and n4 are the same text
    assert len(kept) == 3


def test_the_part_is_verified_and_is_no_part_of_the_tokens(older: Path, tmp_path: Path) -> None:
    out = older / "old" / "out"
    assert verify(out).problems == ()
    manifest = load_manifest(out)
    assert manifest.dedup is not None
    assert set(manifest.dedup.steps) == {"exact_dedup", "minhash_dedup"}
    assert manifest.dedup.documents == sum(
        subset.documents for subset in manifest.sources["web"].subsets.values()
    )
    write(tmp_path / "old", OLD)
    without = run(recipe(tmp_path, "old"), workers=0)
    assert without.published.manifest.content_digest == manifest.content_digest
    assert without.published.manifest.dedup is None
    again = run(recipe(older, "old", publish_dedup=True), workers=0)
    assert not again.published.is_new
    before = digests(out)
    damaged = out / "dedup-minhash_dedup.arrow"
    held = damaged.read_bytes()
    damaged.unlink()
    damaged.write_bytes(held[:-1] + b"?")
    assert any("dedup-minhash_dedup" in str(problem) for problem in verify(out).problems)
    run(recipe(older, "old", publish_dedup=True), workers=0)
    assert digests(out) == before


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"ngram": 4}, "parameters.ngram: 5 there, 4 here"),
        ({"permutations": 128}, "parameters.permutations: 112 there, 128 here"),
        ({"normalization": "datatrove"}, "plain there, datatrove here"),
    ],
)
def test_other_parameters_are_refused_with_a_diff(
    older: Path, changes: dict[str, Any], complaint: str
) -> None:
    link = decisions_of(recipe(older, "new", steps=steps(older, **changes)))[1]
    with pytest.raises(UserError, match=complaint):
        older_of(link)


def test_a_threshold_may_differ_and_a_corpus_without_the_part_is_refused(older: Path, tmp_path: Path) -> None:
    (found,) = older_of(decisions_of(recipe(older, "new", steps=steps(older, threshold=0.6)))[1])
    assert found.name == "old@1.0.0"
    write(tmp_path / "old", OLD)
    run(recipe(tmp_path, "old"), workers=0)
    against = {"against": [str(tmp_path / "old" / "out")]}
    (link,) = decisions_of(recipe(older, "new", steps=[{"exact_dedup": against}]))
    with pytest.raises(UserError, match=r"old@1\.0\.0 has no dedup part"):
        older_of(link)


def test_a_corpus_twice_and_the_output_itself_are_refused(older: Path, tmp_path: Path) -> None:
    write(tmp_path / "new", NEW)
    old, own = str(older / "old" / "out"), str(tmp_path / "new" / "out")
    for against, complaint in (
        ([old, old + "/"], r"against names old@1\.0\.0 twice"),
        ([own], "against names the output of this recipe"),
    ):
        with pytest.raises(UserError) as caught:
            run(recipe(tmp_path, "new", steps=[{"exact_dedup": {"against": against}}]), workers=0)
        assert re.search(complaint, str(caught.value))


@pytest.mark.parametrize("step", ["exact_dedup", "minhash_dedup"])
def test_a_damaged_part_is_refused(older: Path, tmp_path: Path, step: str) -> None:
    shutil.copytree(older / "old" / "out", tmp_path / "damaged")
    file = tmp_path / "damaged" / f"dedup-{step}.arrow"
    whole = file.read_bytes()
    write(tmp_path / "new", NEW)
    held = recipe(tmp_path, "new", steps=[{step: {"against": [str(tmp_path / "damaged")]}}])
    file.write_bytes(whole[:-600] + bytes([whole[-600] ^ 1]) + whole[-599:])
    with pytest.raises(UserError, match="a file of an older corpus is not what its manifest says") as caught:
        run(held, workers=0)
    assert str(file) in str(caught.value)
    file.write_bytes(whole)
    run(held, workers=0)


def test_within_a_field_the_older_documents_are_grouped_too(older: Path, tmp_path: Path) -> None:
    apart = {"within": {"field": "site"}}
    write(tmp_path / "old", OLD)
    write(tmp_path / "new", {**NEW, "o9": OLD["o3"]})
    run(recipe(tmp_path, "old", publish_dedup=True, steps=[{"exact_dedup": apart}]), workers=0)
    against = {"against": [str(tmp_path / "old" / "out")]}
    result = run(
        recipe(tmp_path, "new", steps=[{"exact_dedup": {**apart, **against}}]), workers=0, verdicts=True
    )
    rows = verdicts(tmp_path, result)
    assert rows["n1"]["verdict"] != "dropped"
    assert (rows["o9"]["match_corpus"], rows["o9"]["match_id"]) == ("old@1.0.0", "o3")


def test_clusters_of_an_older_corpus_and_no_warning_of_what_it_matches(older: Path, tmp_path: Path) -> None:
    texts = {"n1": OLD["o1"], "n2": OLD["o2"] + " And more of it.", "n5": OLD["o2"] + " And more of it."}
    for name, some in (("many", NEW), ("few", texts)):
        write(tmp_path / name, {**some, "n9": document("new 9", 20)})
    made = recipe(tmp_path, "many", steps=steps(older))
    result = run(made, workers=0)
    exact, near = result.report["duplicates"]
    assert result.report["warnings"] == []
    assert (exact["looked_at"], near["looked_at"]) == (len(NEW) + 1, len(NEW) + 1 - exact["removed"])
    found = find_duplicates(made)
    sizes = {(each["stays"]["corpus"], each["stays"]["id"]): each["size"] for each in found["largest"]}
    ours = {key: size for key, size in sizes.items() if key[0] is None}
    assert {key: size for key, size in sizes.items() if key[0]} == {
        ("old@1.0.0", "o1"): 2,
        ("old@1.0.0", "o2"): 3,
    }
    assert list(ours.values()) == [2] and found["copies"] == 4 and found["clusters"] == 3
    (first,) = [each for each in found["largest"] if each["stays"]["id"] == "o2"]
    assert first["stays"]["text"] is None and {copy["is_same"] for copy in first["copies"]} == {None}
    console = Console(file=io.StringIO(), width=100)
    print_duplicates(found, console)
    assert isinstance(console.file, io.StringIO)
    assert "stays  web o2 (texts.jsonl, position" in console.file.getvalue()
    assert ", of old@1.0.0" in console.file.getvalue()
    few = run(recipe(tmp_path, "few", steps=steps(older)), workers=0)
    assert few.report["warnings"] == []


def test_older_corpora_are_read_from_a_disk(older: Path) -> None:
    publish(older / "old" / "out", older / "store")
    assert folder_of(f"file://{older}/store/old@1") == older / "store" / "old" / "1.0.0"
    with pytest.raises(UserError, match="a corpus is read from a disk") as caught:
        folder_of("s3://bucket/store/old@1")
    assert caught.value.hint and "dataprep fetch old@1 s3://bucket/store FOLDER" in caught.value.hint


@pytest.mark.parametrize("at_once", [1, 4])
def test_older_clusters_in_several_passes(older: Path, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = recipe(older, "new", steps=steps(older))
    run(made, workers=0)
    whole = find_duplicates(made, top=2)
    monkeypatch.setattr(clusters, "COUNTED_AT_ONCE", at_once)
    assert find_duplicates(made, top=2) == whole

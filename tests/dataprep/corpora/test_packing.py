"""Plans of packed rows: made by a recipe or for a corpus that is there, kept by combine and publish."""

from __future__ import annotations

import io
import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from dataprep.corpora.combining import combine
from dataprep.corpora.compare import compare, print_difference
from dataprep.corpora.packing import pack_corpus
from manifests.corpus import open_corpus
from manifests.errors import UserError
from manifests.manifest import load_manifest
from manifests.packing import misfits, packing_path
from manifests.seal import seal_corpus
from manifests.shard import bin_path
from manifests.store import publish
from manifests.verify import verify
from tests.dataprep.corpora import tokenfiles as files
from tests.dataprep.corpora.runs import make_run
from tests.dataprep.corpora.test_importing import bring_in
from tests.e2e.corpora import digests

BEST_FIT = {"tokens": 600, "pack": "best_fit", "sequence_lengths": [16, 64]}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("packed"), shards=BEST_FIT)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_recipe_packs_every_shard_for_every_length(packed: Path, made: Path) -> None:
    corpus, plain = open_corpus(packed), open_corpus(made)
    assert corpus.manifest.content_digest == plain.manifest.content_digest
    assert plain.manifest.packings == [] and not any(".packing-" in name for name in names(made))
    assert [part.sequence_length for part in corpus.manifest.packings] == [16, 64]
    for part in corpus.manifest.packings:
        length = part.sequence_length
        for shard in corpus.shards:
            offsets = corpus.reader(shard).offsets
            lengths = np.diff(offsets)
            packing, row = corpus.packing(shard, length), corpus.packings(length)[shard.name]
            assert list(misfits(packing, offsets)) == []
            assert row.documents_cut == sum(count > length + 1 for count in lengths)
            cut = sum((start // length + 1) * length < end - 1 for start, end in pairwise(offsets.tolist()))
            assert row.documents_cut_by_concat == cut
            assert row.targets == shard.tokens - shard.documents
        for source, subsets in part.sources.items():
            for subset, sums in subsets.items():
                rows = [corpus.packings(length)[each.name] for each in corpus.shards_of(source, subset)]
                assert sums.rows == sum(row.rows for row in rows)
                assert sums.documents_cut_by_concat >= sums.documents_cut
    report = verify(packed)
    assert report.ok and not report.warnings, report.problems
    assert report.files == verify(made).files + 2 * len(corpus.shards) + 2


def test_another_length_runs_the_fit_alone_and_removes_what_was(tmp_path: Path) -> None:
    from dataprep.recipe import load_recipe
    from dataprep.run import run

    folder = make_run(tmp_path, shards=BEST_FIT)
    before = digests(folder)
    recipe = load_recipe(tmp_path / "recipe.yaml", ["shards.sequence_lengths=[16, 32]"])
    result = run(recipe, workers=0)
    assert set(result.tasks_run) == {"fit"}
    assert verify(folder).ok and not verify(folder).warnings
    assert not any(name.endswith("-64") or name == "packing-64.parquet" for name in names(folder))
    concat = load_recipe(tmp_path / "recipe.yaml", ["shards.pack=concat", "shards.sequence_lengths=[]"])
    assert not run(concat, workers=0).tasks_run
    assert not any("packing" in name for name in names(folder))
    assert not run(load_recipe(tmp_path / "recipe.yaml", []), workers=0).tasks_run
    assert digests(folder) == before
    assert not run(load_recipe(tmp_path / "recipe.yaml", []), workers=0).published.is_new


def test_a_packing_that_was_touched_is_put_right(tmp_path: Path) -> None:
    from dataprep.recipe import load_recipe
    from dataprep.run import run

    folder = make_run(tmp_path, shards=BEST_FIT)
    before = digests(folder)
    path = folder / "web-train-00000.packing-16"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)  # the same inode as in the work folder
    assert run(load_recipe(tmp_path / "recipe.yaml", []), workers=0).tasks_run == {"fit": 1}
    assert digests(folder) == before


@pytest.mark.parametrize(
    ("shards", "what"),
    [
        ({"pack": "best_fit"}, "best_fit needs sequence_lengths"),
        ({"sequence_lengths": [8]}, "sequence_lengths are for best_fit"),
        ({"pack": "best_fit", "sequence_lengths": [16, 8]}, "must ascend"),
        ({"pack": "best_fit", "sequence_lengths": [8, 8]}, "must ascend"),
        ({"pack": "best_fit", "sequence_lengths": [0]}, "at least 1"),
        ({"pack": "best_fit", "sequence_lengths": [2**31]}, "at most 2147483646"),
        ({"pack": "first_fit"}, "best_fit"),
    ],
)
def test_recipes_that_are_refused(tmp_path: Path, shards: dict[str, Any], what: str) -> None:
    with pytest.raises(UserError, match=what) as caught:
        make_run(tmp_path, shards=shards)
    assert "recipe.yaml" in str(caught.value)


def test_a_corpus_that_is_there_is_packed(made: Path, packed: Path, tmp_path: Path) -> None:
    """As a recipe would have, over second names of the same files; what it has for other lengths stays."""
    pack_corpus(made, tmp_path / "one", [64])
    pack_corpus(tmp_path / "one", tmp_path / "two", [16], "1.0.1", workers=2)
    assert verify(tmp_path / "two").ok and not verify(tmp_path / "two").warnings
    two, wanted = load_manifest(tmp_path / "two"), load_manifest(packed)
    assert two.packings == wanted.packings and two.version == "1.0.1"
    for shard in open_corpus(made).shards:
        for length in (16, 64):
            name = packing_path(shard.name, length)
            assert (tmp_path / "two" / name).read_bytes() == (packed / name).read_bytes()
        assert os.path.samefile(bin_path(made / shard.name), bin_path(tmp_path / "two" / shard.name))
    assert load_manifest(tmp_path / "one").content_digest == load_manifest(made).content_digest


def test_packing_again_for_a_length_gives_the_same(packed: Path, tmp_path: Path) -> None:
    pack_corpus(packed, tmp_path / "again", [16, 64])
    assert load_manifest(tmp_path / "again") == load_manifest(packed)


def test_wrong_calls(made: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no length of row"):
        pack_corpus(made, tmp_path / "out", [])
    with pytest.raises(UserError, match="rows of 0 tokens"):
        pack_corpus(made, tmp_path / "out", [8, 0])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        pack_corpus(made, tmp_path / "out", [8])
    assert names(tmp_path / "out") == ["mine"]


def test_an_imported_corpus_is_packed(tmp_path: Path) -> None:
    imported = bring_in(tmp_path, files.write_megatron(tmp_path / "part", files.encoded()))
    pack_corpus(imported.folder, tmp_path / "packed", [8])
    assert verify(tmp_path / "packed").ok


def test_combined_corpora_keep_what_all_have(packed: Path, made: Path, tmp_path: Path) -> None:
    texts = {"web": [f"Another page, number {number}, of the valley." for number in range(30)]}
    other = make_run(
        tmp_path / "other", "other", texts, seed=6, shards={**BEST_FIT, "sequence_lengths": [64]}
    )
    combined = combine([packed, other], tmp_path / "both", "both", "1.0.0", {"other/web": "pages"})
    assert verify(tmp_path / "both").ok and not verify(tmp_path / "both").warnings
    (part,) = combined.manifest.packings
    assert part.sequence_length == 64 and list(part.sources) == ["web", "code", "pages"]
    assert part.sources["web"] == load_manifest(packed).packings[1].sources["web"]
    assert combined.notes == [
        "not all have packed rows of 16, so the new corpus has none (dataprep pack makes them)"
    ]
    again = combine([made, other], tmp_path / "less", "less", "1.0.0", {"other/web": "pages"})
    assert again.manifest.packings == [] and "of 64" in again.notes[0]


def test_a_published_corpus_has_its_packings(packed: Path, tmp_path: Path) -> None:
    target = Path(publish(packed, tmp_path / "root").place)
    assert verify(target).ok and not verify(target).warnings
    assert (target / "web-train-00000.packing-16").is_file()


def damaged(packed: Path, folder: Path) -> Path:
    shutil.copytree(packed, folder)
    return folder / "web-train-00000.packing-16"


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("quick", [False, True])
def test_verify_names_a_packing_that_is_wrong(packed: Path, tmp_path: Path, quick: bool) -> None:
    path = damaged(packed, tmp_path / "missing")
    path.unlink()
    flip(tmp_path / "missing" / "packing-64.parquet")
    problems = [str(problem) for problem in verify(path.parent, quick=quick).problems]
    assert problems[0] == "packing-64.parquet: the content is not what the manifest says"
    assert "web-train-00000.packing-16: the file is missing" in problems
    path = damaged(packed, tmp_path / "short")
    path.write_bytes(path.read_bytes()[:-4])
    (problem,) = verify(path.parent, quick=quick).problems
    assert problem.file == path.name and "its header says" in problem.what
    path = damaged(packed, tmp_path / "swapped")
    shutil.copyfile(path.parent / "web-train-00000.packing-64", path)
    (problem,) = verify(path.parent, quick=quick).problems
    assert problem.what == "it is not the packing that the list describes"
    path = damaged(packed, tmp_path / "flipped")
    flip(path)
    problems = [str(problem) for problem in verify(path.parent, quick=quick).problems]
    assert problems == ([] if quick else [f"{path.name}: the content is not what the list says"])
    (tmp_path / "extra" / "x").mkdir(parents=True)
    path = damaged(packed, tmp_path / "more")
    shutil.copyfile(path, path.with_name("web-train-00000.packing-99"))
    shutil.copyfile(path, path.with_name("packing-99.parquet"))
    report = verify(path.parent, quick=quick)
    extra = ["packing-99.parquet", "web-train-00000.packing-99"]
    assert report.ok and [warning.file for warning in report.warnings] == extra


def test_verify_knows_a_packing_of_other_documents_under_true_digests(packed: Path, tmp_path: Path) -> None:
    """Whoever seals a packing that cuts at other places gets no corpus that verifies."""
    from manifests.fingerprint import digest_file
    from manifests.lists import read_packing_list
    from manifests.packing import open_packing, write_packing
    from manifests.packings import seal_packings

    path = damaged(packed, tmp_path / "out")
    packing = open_packing(path)
    start = packing.start.copy()
    start[1] += 1
    write_packing(path, type(packing)(16, packing.first_piece, start, packing.length))
    manifest = load_manifest(path.parent)
    rows = read_packing_list(path.parent / "packing-16.parquet")
    rows[0] = rows[0].model_copy(update={"file_sha256": digest_file(path).sha256})
    part = seal_packings(path.parent, manifest.packings[0], rows)
    packings = [part, manifest.packings[1]]
    shards = open_corpus(path.parent).shards
    seal_corpus(path.parent, manifest.model_copy(update={"packings": packings}), shards)
    (problem,) = verify(path.parent).problems
    assert problem.file == path.name and "does not go on where" in problem.what


def test_diff_says_which_packed_rows_differ(packed: Path, made: Path, tmp_path: Path) -> None:
    pack_corpus(packed, tmp_path / "more", [32])
    found = compare(made, tmp_path / "more")
    assert found["identical"] and not compare(packed, packed)["packings"]
    assert [each["field"].partition(".")[0] for each in found["packings"][::2]] == ["16", "32", "64"]
    console = Console(width=200, record=True, file=io.StringIO())
    print_difference(compare(packed, tmp_path / "more"), console)
    assert "packings.32.version: none -> 1" in console.export_text()

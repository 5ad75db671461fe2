"""The verbs that take corpora, through the command line: exit codes, what is on stdout, and --json."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from dataprep import cli
from manifests.corpus import open_corpus
from manifests.journal import Journal, stat_of
from manifests.manifest import load_manifest
from manifests.verify import JOURNAL_NAME, shard_files, verify
from tests.dataprep.corpora import tokenfiles as files
from tests.dataprep.corpora.runs import TEXTS, make_run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("made"))


def call(arguments: Sequence[object], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = cli.call_and_explain(lambda: cli.app([str(each) for each in arguments]))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_import_combine_and_diff(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = files.write_megatron(tmp_path / "a", [files.encoded()[0], [], *files.encoded()[1:]])
    tokenizer = files.write_tokenizer(tmp_path)
    command = ["import", "--output", tmp_path / "there", "--corpus", "there", "--tokenizer", tokenizer]
    command += ["--source", f"old={path}", "--license", "old=MIT", "--workers", 1]
    code, out, err = call(command, capsys)
    assert code == 0 and "old: 26 documents" in out and "there@1.0.0 imported" in out
    assert "note: a.bin: 1 documents without tokens were left out" in err
    assert verify(tmp_path / "there").ok
    code, out, err = call(
        ["combine", made, tmp_path / "there", "--output", tmp_path / "both", "--corpus", "b"], capsys
    )
    assert code == 0 and "b@1.0.0 of web, code, old" in out
    code, out, err = call(["diff", made, tmp_path / "both", "--json"], capsys)
    found = json.loads(out)
    assert code == 1 and found["sources"][-1]["documents"]["added"] == 26
    code, out, err = call(["diff", made, tmp_path / "both"], capsys)
    assert code == 1 and "old train: 0 -> 26 documents" in out and "0 the same, 0 removed, 26 added" in out
    code, out, err = call(["diff", made, made], capsys)
    assert code == 0 and "the same tokens" in out
    code, out, err = call([*command, "--json"], capsys)
    assert code == 2 and "error: the folder is not empty" in err
    code, out, err = call(["combine", made, made, "--output", tmp_path / "x", "--corpus", "b"], capsys)
    assert code == 2 and "a source of the same name" in err


def test_peek_and_lineage(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(["peek", made, "--doc", "web-5"], capsys)
    assert (
        code == 0
        and TEXTS["web"][5] in out
        and "from    web.jsonl, position" in out
        and "url     web-5" in out
    )
    code, out, _ = call(["peek", made, "--token", 10, "--source", "code", "--json"], capsys)
    (found,) = json.loads(out)["documents"]
    assert code == 0 and found["source"] == "code" and found["token"]["in_shard"] == 10
    code, out, _ = call(["peek", made, "--shard", 0, "--row", 1], capsys)
    assert code == 0 and "web-train-00000, row 1" in out
    code, _, err = call(["peek", made], capsys)
    assert code == 2 and "say one of" in err
    code, out, _ = call(["lineage", made, "--shard", "web-train-00001"], capsys)
    assert code == 0 and "exact_dedup 1: 60 -> 60" in out and "web.jsonl: " in out and "code" not in out
    code, out, _ = call(["lineage", made, "--json"], capsys)
    assert code == 0 and json.loads(out)["made_by"] == "run"


def test_export_and_schema(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(["export", made, tmp_path / "hf", "--to", "huggingface", "--json"], capsys)
    assert code == 0 and json.loads(out)["documents"] == 100
    code, out, _ = call(["export", made, tmp_path / "olmo", "--to", "olmo"], capsys)
    assert code == 0 and out.startswith("100 documents, ")
    code, _, err = call(["export", made, tmp_path / "x", "--to", "csv"], capsys)
    assert code == 2 and "hint: there are parquet, huggingface, olmo, datatrove, megatron" in err
    code, out, _ = call(["schema", "recipe"], capsys)
    assert code == 0 and json.loads(out)["title"] == "Headrace recipe"


def test_verify_goes_on(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(made, folder)
    journal = Journal(folder / JOURNAL_NAME, load_manifest(folder).manifest_digest)
    shard = open_corpus(folder).shards[0]
    paths = shard_files(folder, shard)
    journal.add(shard.name, stat_of(paths), paths, "f" * 32)  # so the next shard seems to begin too early
    journal.close()
    code, out, _ = call(["verify", folder, "--resume", "--workers", 1], capsys)
    assert code == 1 and "its first key is below the last key of the shard before" in out
    code, out, _ = call(["verify", folder, "--resume"], capsys)
    assert code == 0 and "0 problems" in out and not (folder / JOURNAL_NAME).exists()


@pytest.mark.parametrize("pair", ["web", "=x", "web="])
def test_a_pair_that_is_none(pair: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = files.write_tokenizer(tmp_path)
    command = [
        "import",
        "--output",
        tmp_path / "o",
        "--corpus",
        "c",
        "--tokenizer",
        tokenizer,
        "--source",
        pair,
    ]
    code, _, err = call(command, capsys)
    assert code == 2 and "is not of the form NAME=VALUE" in err


def test_publish_fetch_and_published(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = f"{load_manifest(made).corpus}@{load_manifest(made).version}"
    for root in (tmp_path / "store", f"memory://{tmp_path}/store"):
        code, out, _ = call(["published", root], capsys)
        assert (code, out) == (0, "")
        code, out, _ = call(["publish", made, root, "--workers", 1], capsys)
        assert code == 0 and out.startswith(f"{name} published: ")
        code, out, _ = call(["publish", made / "manifest.json", root, "--json"], capsys)
        again = json.loads(out)
        assert code == 0 and not again["is_new"] and again["place"].startswith(str(root))
        assert again["content_digest"] == load_manifest(made).content_digest
        code, out, _ = call(["published", root], capsys)
        assert code == 0 and out.startswith(
            f"{name}  {again['size_bytes']:,} bytes  {again['content_digest']}"
        )
        code, out, _ = call(["published", root, "--json"], capsys)
        assert (code, json.loads(out)) == (0, {"published": [again]})
        folder = tmp_path / f"got-{type(root).__name__}"
        code, out, _ = call(["fetch", name.replace("1.0.0", "latest"), root, folder], capsys)
        assert (code, out) == (0, f"{name} fetched: {again['size_bytes']:,} bytes at {folder}\n")
        code, out, _ = call(["fetch", name, root, folder, "--json"], capsys)
        assert (code, json.loads(out)) == (0, {**again, "place": str(folder)})
        assert verify(folder).ok and load_manifest(folder) == load_manifest(made)


def test_what_cannot_be_published_or_fetched(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = f"memory://{tmp_path}/store"
    call(["publish", made, root], capsys)
    corpus = load_manifest(made).corpus
    for command, what, hint in (
        (["publish", tmp_path, root], "there is no manifest here", "dataprep run"),
        (["publish", made, "s4://bucket"], "no storage has URLs that begin with s4://", "s3://"),
        (["fetch", corpus, root, tmp_path / "got"], "is not of the form name@version", f"{corpus}@latest"),
        (
            ["fetch", f"{corpus}@7", root, tmp_path / "got"],
            f"{corpus} has no version 7",
            "published are: 1.0.0",
        ),
        (["fetch", "zebra@7", root, tmp_path / "got"], "no corpus zebra is published", f"are: {corpus}"),
        (["published", root, "zebra"], "no corpus zebra is published", f"are: {corpus}"),
        (
            ["combine", f"{corpus}@1", "--root", root, "--output", tmp_path / "both", "--corpus", "both"],
            "a corpus is read from a disk, and this one is published at a URL",
            f"dataprep fetch {corpus}@1 {root} FOLDER",
        ),
    ):
        code, out, err = call(command, capsys)
        assert (code, out) == (2, "")
        said, _, advice = err.partition("hint: ")
        assert what in said and hint in advice, err
        assert sorted(path.name for path in tmp_path.iterdir()) == []


def test_notes_of_a_root(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(["published", tmp_path / "store"], capsys)
    assert (code, out, err) == (0, "", f"note: nothing is published at {tmp_path / 'store'}\n")
    code, out, err = call(["publish", made, f"memory://{tmp_path}/notes"], capsys)
    assert code == 0 and err.startswith("note: memory:// is the memory of this process")


def test_names_and_versions_that_are_none(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = files.write_megatron(tmp_path / "a", files.encoded())
    tokenizer = files.write_tokenizer(tmp_path)
    out = ["--output", tmp_path / "out"]
    imported = ["import", *out, "--tokenizer", tokenizer, "--source"]
    combined = ["combine", made, made, *out]
    before = sorted(tmp_path.iterdir())
    for command, what, hint in (
        ([*imported, f"a={path}", "--corpus", "a b"], "'a b' is no name of a corpus", "letters, digits"),
        ([*imported, f"a/b={path}", "--corpus", "c"], "'a/b' is no name of a source", "letters, digits"),
        ([*imported, f"a={path}", "--corpus", "c", "--version", "2"], "'2' is no version", "1.0.0"),
        ([*combined, "--corpus", ".c"], "'.c' is no name of a corpus", "beginning with"),
        ([*combined, "--corpus", "c", "--version", "v1.0.0"], "'v1.0.0' is no version", "three numbers"),
        ([*combined, "--corpus", "c", "--rename", "made/web=a b"], "'a b' is no name of a source", "letters"),
        (["pack", made, *out, "--sequence-length", 8, "--version", ""], "'' is no version", "three numbers"),
    ):
        code, printed, err = call(command, capsys)
        said, _, advice = err.partition("hint: ")
        assert (code, printed) == (2, "") and what in said and hint in advice, err
        assert sorted(tmp_path.iterdir()) == before


def test_combine_a_folder_with_what_is_published(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = make_run(tmp_path / "other", "other", {"more": [f"Text {n} of another." for n in range(20)]})
    call(["publish", made, tmp_path / "store"], capsys)
    command = ["combine", "made@latest", other, "--root", tmp_path / "store"]
    code, out, err = call([*command, "--output", tmp_path / "both", "--corpus", "both"], capsys)
    assert code == 0 and out.startswith("both@1.0.0 of web, code, more: "), err
    assert load_manifest(tmp_path / "both").lineage.parents == [
        f"{each.corpus}@{each.version} {each.content_digest}" for each in map(load_manifest, (made, other))
    ]

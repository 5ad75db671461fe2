from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from manifests.fields import Record
from manifests.lists import InputFile, read_input_list, read_shard_list, write_input_list, write_shard_list
from manifests.manifest import (
    Manifest,
    ManifestError,
    content_digest,
    load_manifest,
    parse_manifest,
    write_manifest,
)
from manifests.tables import TableError
from tests.manifests.corpora import make_corpus

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "manifest.json"
GOLDEN_2 = GOLDEN.with_name("manifest-2.json")
GOLDEN_3 = GOLDEN.with_name("manifest-3.json")
GOLDEN_4 = GOLDEN.with_name("manifest-4.json")
Json = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    make_corpus(folder)
    return folder


@pytest.fixture
def data(folder: Path) -> Json:
    return json.loads((folder / "manifest.json").read_text())


def save(path: Path, data: Json) -> Path:
    path.write_text(json.dumps(data))
    return path


# --- text --------------------------------------------------------------------------------------------------


def test_golden_manifest(tmp_path: Path) -> None:
    """Version 4, as it was first written: it loads for ever, and is written the same for as long as 4 is."""
    manifest = load_manifest(GOLDEN_4)
    write_manifest(tmp_path / "manifest.json", manifest)
    assert (tmp_path / "manifest.json").read_bytes() == GOLDEN_4.read_bytes()
    assert manifest.corpus == "golden" and list(manifest.sources) == ["web", "code"]


def test_golden_manifest_of_version_1(tmp_path: Path) -> None:
    """What the first version wrote loads for ever, as what the newest says of the same corpus."""
    manifest = load_manifest(GOLDEN)
    assert json.loads(GOLDEN.read_text())["format_version"] == 1
    assert write_manifest(tmp_path / "manifest.json", manifest) == load_manifest(GOLDEN_4)
    assert {source.order for source in manifest.sources.values()} == {"shuffled"}
    assert {source.content_hash for source in manifest.sources.values()} == {"text"}


def test_golden_manifest_of_version_2(tmp_path: Path) -> None:
    """It did not say which evaluation sets a corpus was checked against."""
    manifest = load_manifest(GOLDEN_2)
    assert json.loads(GOLDEN_2.read_text())["format_version"] == 2
    assert manifest.lineage.evals == []
    assert write_manifest(tmp_path / "manifest.json", manifest) == load_manifest(GOLDEN_4)


def test_golden_manifest_of_version_3(tmp_path: Path) -> None:
    """It knew no begin-of-text token before each document; its content digest stays."""
    manifest = load_manifest(GOLDEN_3)
    assert json.loads(GOLDEN_3.read_text())["format_version"] == 3
    assert manifest.tokenizer.prepend_bos is False
    assert write_manifest(tmp_path / "manifest.json", manifest) == load_manifest(GOLDEN_4)
    assert manifest.content_digest == load_manifest(GOLDEN_4).content_digest


@pytest.mark.parametrize("field", ["sources", "tokenizer", "lineage"])
@pytest.mark.parametrize("value", [None, [], {"web": 1}])
def test_an_upgrade_leaves_faults_to_the_models(field: str, value: Any) -> None:
    old = {**json.loads(GOLDEN.read_text()), field: value}
    with pytest.raises(ManifestError, match="wrong fields"):
        parse_manifest(old, "m.json")


def test_round_trip(folder: Path, tmp_path: Path) -> None:
    manifest = load_manifest(folder)
    assert load_manifest(folder / "manifest.json") == manifest
    assert write_manifest(tmp_path / "m.json", manifest) == manifest
    assert (tmp_path / "m.json").read_bytes() == (folder / "manifest.json").read_bytes()


def test_digest_by_hand(folder: Path) -> None:
    """As the docstring of manifest_digest says: sed and sha256sum are enough."""
    text = (folder / "manifest.json").read_text()
    without = re.sub('"manifest_digest": "[^"]*"', '"manifest_digest": ""', text)
    found = "sha256:" + hashlib.sha256(without.encode()).hexdigest()
    assert found == load_manifest(folder).manifest_digest


def test_unsealed_is_not_written(folder: Path, tmp_path: Path) -> None:
    for field in ("content_digest", "shards_digest"):
        unsealed = load_manifest(folder).model_copy(update={field: ""})
        with pytest.raises(ValueError, match="seal"):
            write_manifest(tmp_path / "m.json", unsealed)
    assert not (tmp_path / "m.json").exists()


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*place, key))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, (*place, index))
    else:
        yield place


def other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return (value or "") + "x" if isinstance(value, str | None) else {"a": 1}


def test_an_edit_of_any_field_is_noticed(data: Json, tmp_path: Path) -> None:
    places = list(leaves(data))
    assert len(places) > 50
    for place in places:
        edited = copy.deepcopy(data)
        inner = edited
        for part in place[:-1]:
            inner = inner[part]
        inner[place[-1]] = other(inner[place[-1]])
        with pytest.raises(ManifestError) as caught:
            load_manifest(save(tmp_path / "m.json", edited))
        if place != ("format",):
            assert "was changed after it was written" in caught.value.what, place


def test_the_order_of_sources_is_part_of_it(data: Json, tmp_path: Path) -> None:
    data["sources"] = dict(reversed(data["sources"].items()))
    with pytest.raises(ManifestError, match="changed after"):
        load_manifest(save(tmp_path / "m.json", data))


def test_white_space_is_not(data: Json, tmp_path: Path) -> None:
    assert load_manifest(save(tmp_path / "m.json", data)).corpus == "tiny"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ('{"format": "headrace-manifest", "a": 1, "a": 2}', "duplicate key 'a'"),
        ('{"format": "headrace-manifest", "a": NaN}', "NaN is not a number of JSON"),
        ('{"format": "headrace-manifest", "a": -Infinity}', "-Infinity is not a number of JSON"),
        ('{"format": "headrace-manifest", "a": 1e400}', "not valid JSON"),
        ('{"format": "headrace-manifest", "a": "\\ud800"}', "not valid JSON"),
        ('{"format": "headrace-manifest", "a": ' + "[" * 1_000_000, "not valid JSON"),
        ("[]", "not a manifest"),
        ('{"format": "other"}', "not a manifest"),
        ('{"format": "headrace-manifest"}', "format version None, which never was"),
        ('{"format": "headrace-manifest", "format_version": "1"}', "format version '1', which never was"),
        ('{"format": "headrace-manifest", "format_version": true}', "format version True, which never was"),
        ('{"format": "headrace-manifest", "format_version": 0}', "format version 0, which never was"),
        ('{"format": "headrace-manifest", "format_version": 5}', "this program knows up to 4"),
    ],
)
def test_what_is_no_manifest(text: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(ManifestError, match=re.escape(what)) as caught:
        load_manifest(tmp_path / "m.json")
    assert caught.value.where == str(tmp_path / "m.json")


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_bytes(b'{"format": "\xff"}')
    with pytest.raises(ManifestError, match="not valid JSON"):
        load_manifest(tmp_path / "m.json")


def test_not_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.json").write_text("{}")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ManifestError, match="the manifest cannot be read: Permission denied"):
        load_manifest(tmp_path / "m.json")


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="there is no manifest here") as caught:
        load_manifest(tmp_path)
    assert caught.value.where == str(tmp_path / "manifest.json")
    assert caught.value.hint


# --- fields ------------------------------------------------------------------------------------------------


def put(place: str, value: Any) -> Callable[[Json], None]:
    def change(data: Json) -> None:
        inner: Any = data
        *parts, last = place.split(".")
        for part in parts:
            inner = inner[int(part) if isinstance(inner, list) else part]
        inner[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (put("unknown", 1), "unknown: Extra inputs are not permitted"),
        (put("tokenizer.unknown", 1), "tokenizer.unknown: Extra inputs"),
        (put("corpus", "../up"), "corpus: String should match pattern"),
        (put("corpus", ""), "corpus: String should match"),
        (put("version", "1.0"), "version: String should match"),
        (put("version", "01.0.0"), "version: String should match"),
        (put("dtype", "uint32"), "dtype: Input should be 'uint16' or 'int32'"),
        (
            put("tokenizer.vocab_size", 65_537),
            "dtype is uint16, which holds ids up to 65,535; the vocabulary goes up to 65,536",
        ),
        (put("tokenizer.vocab_size", 0), "tokenizer.vocab_size"),
        (put("tokenizer.eos_id", 1000), "eos_id 1000 is outside the vocabulary of 1000"),
        (put("tokenizer.eos_id", None), "append_eos is true, but there is no eos_id"),
        (put("tokenizer.bos_id", 1000), "bos_id 1000 is outside the vocabulary of 1000"),
        (put("tokenizer.prepend_bos", True), "prepend_bos is true, but there is no bos_id"),
        (put("tokenizer.digest", "abc"), "tokenizer.digest: String should match"),
        (put("tokenizer.file", "/etc/passwd"), "tokenizer.file: String should match"),
        (put("tokenizer.file", "a/../../b"), "tokenizer.file: String should match"),
        (put("tokenizer.file", ".hidden"), "tokenizer.file: String should match"),
        (put("sources.code.subsets.train.tokens", -1), "sources.code.subsets.train.tokens: Input should be"),
        (put("sources.code.subsets.train.tokens", 1.5), "sources.code.subsets.train.tokens: Input should be"),
        (put("sources.code.subsets.train.tokens", "1"), "sources.code.subsets.train.tokens: Input should be"),
        (put("sources.code.subsets.test", {}), "sources.code.subsets.test"),
        (put("lineage.steps.0.dropped.code.other", 1), "every document is kept or dropped for a reason"),
        (put("lineage.steps.0.documents_in.extra", 1), "source extra: 1 documents in, 0 out and 0 dropped"),
    ],
)
def test_wrong_fields(change: Callable[[Json], None], what: str, data: Json) -> None:
    change(data)
    with pytest.raises(ManifestError, match=re.escape(what)):
        parse_manifest(data, "m.json")


def test_all_wrong_fields_at_once(data: Json) -> None:
    for place in ("corpus", "version", "created_by"):
        data[place] = 7
    with pytest.raises(ManifestError) as caught:
        parse_manifest(data, "m.json")
    assert [line.partition(":")[0] for line in caught.value.what.splitlines()[1:]] == [
        "corpus",
        "version",
        "created_by",
    ]


def test_frozen(folder: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_manifest(folder).corpus = "other"  # type: ignore[misc]


def test_models_take_no_numpy_scalars() -> None:
    import numpy as np

    with pytest.raises(ValueError, match="valid integer"):
        InputFile(source="a", name="b", size_bytes=np.int64(3), digest="sha256:" + "0" * 64)


# --- versions ----------------------------------------------------------------------------------------------


def test_upgrades_run_in_order(data: Json) -> None:
    """A history of the format that never was: 1 named the corpus `name`, 0 had no version."""
    old = {key: value for key, value in data.items() if key not in ("corpus", "version")}
    old |= {"format_version": 0, "name": "tiny"}
    before = copy.deepcopy(old)
    calls = []

    def from_zero(data: Json) -> Json:
        calls.append(0)
        return {**data, "version": "1.0.0", "format_version": 1}

    def from_one(data: Json) -> Json:
        calls.append(1)
        assert data["version"] == "1.0.0"
        kept = {key: value for key, value in data.items() if key != "name"}
        return {**kept, "corpus": data["name"], "format_version": 2}

    upgrades = {
        3: lambda data: {**data, "format_version": 4},
        2: lambda data: {**data, "format_version": 3},
        1: from_one,
        0: from_zero,
    }
    manifest = parse_manifest(old, "m.json", upgrades=upgrades)
    assert calls == [0, 1]
    assert manifest == parse_manifest(data, "m.json")
    assert old == before
    calls.clear()
    parse_manifest({**old, "format_version": 1, "version": "1.0.0"}, "m.json", upgrades=upgrades)
    assert calls == [1]


def test_an_old_version_is_sealed_by_its_own_fields(
    data: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digest is of the file as it was written, so it is checked before the upgrade."""
    from manifests import manifest as module

    old = {**{key: value for key, value in data.items() if key != "corpus"}, "format_version": 0}
    old["name"] = "tiny"
    old["manifest_digest"] = module.manifest_digest(old)

    def upgrade(data: Json) -> Json:
        kept = {key: value for key, value in data.items() if key != "name"}
        return {**kept, "corpus": data["name"], "format_version": 1}

    monkeypatch.setitem(module.UPGRADES, 0, upgrade)
    assert load_manifest(save(tmp_path / "m.json", old)).corpus == "tiny"
    with pytest.raises(ManifestError, match="changed after"):
        load_manifest(save(tmp_path / "m.json", {**old, "name": "other"}))


# --- the content digest ------------------------------------------------------------------------------------


def updated(record: Record, **changes: Any) -> Any:
    return record.model_copy(update=changes)


def test_golden_content_digest(folder: Path) -> None:
    """What it covers and how never changes within version 1: checkpoints hold such digests."""
    manifest, shards = load_manifest(folder), read_shard_list(folder / "shards.parquet")
    defining = (
        '{"corpus":"tiny","dtype":"uint16","shards":['
        + ",".join(
            f'["{shard.source}","{shard.subset}",{shard.index},"{shard.bin_sha256}","{shard.idx_sha256}"]'
            for shard in sorted(shards, key=lambda shard: (shard.source, shard.subset, shard.index))
        )
        + '],"tokenizer":{"append_eos":true,"bos_id":null,"digest":"'
        + manifest.tokenizer.digest
        + '","eos_id":0,"special_tokens":"text"},"version":"1.0.0"}'
    )
    assert manifest.content_digest == "sha256:" + hashlib.sha256(defining.encode()).hexdigest()


def test_golden_content_digest_with_a_begin_of_text_token(tmp_path: Path) -> None:
    """Only then is `prepend_bos` in it, so that older digests stay."""
    manifest = make_corpus(tmp_path, prepend_bos=True)
    shards = sorted(
        [shard.source, shard.subset, shard.index, shard.bin_sha256, shard.idx_sha256]
        for shard in read_shard_list(tmp_path / "shards.parquet")
    )
    defining = (
        '{"corpus":"tiny","dtype":"uint16","shards":'
        + json.dumps(shards, separators=(",", ":"))
        + ',"tokenizer":{"append_eos":true,"bos_id":1,"digest":"'
        + manifest.tokenizer.digest
        + '","eos_id":0,"prepend_bos":true,"special_tokens":"text"},"version":"1.0.0"}'
    )
    assert manifest.content_digest == "sha256:" + hashlib.sha256(defining.encode()).hexdigest()


def test_what_the_content_digest_covers(folder: Path) -> None:
    manifest, shards = load_manifest(folder), read_shard_list(folder / "shards.parquet")
    tokenizer, digest = manifest.tokenizer, content_digest(manifest, shards)
    hexes, other_digest = "0" * 64, "sha256:" + "0" * 64
    for changed in (
        updated(manifest, corpus="other"),
        updated(manifest, version="1.0.1"),
        updated(manifest, dtype="int32"),
        updated(manifest, tokenizer=updated(tokenizer, digest=other_digest)),
        updated(manifest, tokenizer=updated(tokenizer, eos_id=1)),
        updated(manifest, tokenizer=updated(tokenizer, bos_id=1)),
        updated(manifest, tokenizer=updated(tokenizer, append_eos=False)),
        updated(manifest, tokenizer=updated(tokenizer, prepend_bos=True)),
        updated(manifest, tokenizer=updated(tokenizer, special_tokens="parse")),
    ):
        assert content_digest(changed, shards) != digest
    for changes in (
        {"source": "other"},
        {"subset": "holdout"},
        {"index": 7},
        {"bin_sha256": hexes},
        {"idx_sha256": hexes},
    ):
        assert content_digest(manifest, [updated(shards[0], **changes), *shards[1:]]) != digest
    assert content_digest(manifest, shards[1:]) != digest


def test_what_it_does_not_cover(folder: Path) -> None:
    manifest, shards = load_manifest(folder), read_shard_list(folder / "shards.parquet")
    digest = content_digest(manifest, shards)
    code = manifest.sources["code"]
    for changed in (
        updated(manifest, created_by="headrace 9"),
        updated(manifest, content_digest="", manifest_digest="", shards_digest=""),
        updated(manifest, sources={**manifest.sources, "code": updated(code, license=None)}),
        updated(manifest, lineage=updated(manifest.lineage, tools={"python": "3.14"}, steps=[])),
        updated(manifest, tokenizer=updated(manifest.tokenizer, engine="gigatoken", engine_reason="")),
    ):
        assert content_digest(changed, shards) == digest
    moved = [updated(shard, name=f"x/{shard.name}", table_sha256="0" * 64) for shard in shards]
    assert content_digest(manifest, moved[::-1]) == digest


# --- lists -------------------------------------------------------------------------------------------------


def test_lists_round_trip(folder: Path, tmp_path: Path) -> None:
    shards = read_shard_list(folder / "shards.parquet")
    assert [shard.name for shard in shards] == [
        "code/train-00000",
        "code/train-00001",
        "code/holdout-00000",
        "prose/train-00000",
    ]
    write_shard_list(tmp_path / "s", shards)
    assert (tmp_path / "s").read_bytes() == (folder / "shards.parquet").read_bytes()
    inputs = read_input_list(folder / "inputs.parquet")
    write_input_list(tmp_path / "i", inputs)
    assert (tmp_path / "i").read_bytes() == (folder / "inputs.parquet").read_bytes()
    write_shard_list(tmp_path / "none", [])
    assert read_shard_list(tmp_path / "none") == []


def test_rows_are_checked(folder: Path, tmp_path: Path) -> None:
    shards = read_shard_list(folder / "shards.parquet")
    write_shard_list(tmp_path / "s", [*shards, updated(shards[0], name="../outside", tokens=-1)])
    with pytest.raises(TableError, match=r"row 4 is not valid:\nname: String should match.*\ntokens: Input"):
        read_shard_list(tmp_path / "s")
    with pytest.raises(TableError, match="the file has the wrong columns"):
        read_input_list(tmp_path / "s")


def test_a_list_with_a_damaged_text(folder: Path, tmp_path: Path) -> None:
    """Parquet does not check that its texts are UTF-8."""
    data = (folder / "inputs.parquet").read_bytes()
    assert data.count(b"a.txt") > 1
    (tmp_path / "i").write_bytes(data.replace(b"a.txt", b"a\xfftxt"))
    with pytest.raises(TableError, match="a text in the file is damaged"):
        read_input_list(tmp_path / "i")


def test_schema_names_are_pinned() -> None:
    """A renamed field is a new format version."""
    assert list(Manifest.model_fields) == [
        "format",
        "format_version",
        "corpus",
        "version",
        "content_digest",
        "manifest_digest",
        "dtype",
        "tokenizer",
        "sources",
        "shards_file",
        "shards_digest",
        "dedup",
        "packings",
        "created_by",
        "lineage",
    ]

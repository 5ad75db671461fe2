"""Token files of other tools become a corpus that verifies and that a trainer reads, token for token."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.corpora.exporting import export
from dataprep.corpora.importing import Imported, import_corpus
from dataprep.corpora.spec import ImportSpec
from dataprep.kernels.hashing import hash128
from dataprep.kernels.texts import Texts
from dataprep.tokenizers import describe
from manifests.corpus import open_corpus
from manifests.errors import UserError
from manifests.lists import read_input_list
from manifests.shard import bin_path, idx_path, table_path
from manifests.store import publish
from manifests.tables import read_document_table
from manifests.verify import verify
from tests.dataprep.corpora import tokenfiles as files
from trainer.data.source_tokens import SourceTokens

Documents = list[list[int]]


def bring_in(folder: Path, path: Path | str, **options: Any) -> Imported:
    spec = ImportSpec(
        corpus="there",
        version="1.0.0",
        tokenizer=files.write_tokenizer(folder),
        train={"web": [str(path)]},
        **options,
    )
    return import_corpus(spec, folder / "out", workers=options.pop("workers", 2))


def documents_in(folder: Path, source: str = "web", subset: str = "train") -> Documents:
    corpus = open_corpus(folder)
    return [
        corpus.reader(shard).document(row).tolist()
        for shard in corpus.shards_of(source, subset)
        for row in range(shard.documents)
    ]


def cut(tokens: Sequence[int], length: int) -> Documents:
    return [list(tokens[start : start + length]) for start in range(0, len(tokens), length)]


WRITERS: dict[str, Callable[[Path, Documents], Path]] = {
    "megatron uint16": lambda folder, docs: files.write_megatron(folder / "a.b", docs),
    "megatron int32": lambda folder, docs: files.write_megatron(folder / "a", docs, "int32"),
    "megatron int64": lambda folder, docs: files.write_megatron(folder / "a", docs, "int64"),
    "datatrove uint16": lambda folder, docs: files.write_datatrove(folder / "a.ds", docs),
    "datatrove uint32": lambda folder, docs: files.write_datatrove(folder / "a.ds", docs, "uint32"),
    "olmo": lambda folder, docs: files.write_olmo(folder / "a.npy", docs),
    "olmo uint32": lambda folder, docs: files.write_olmo(folder / "a.npy", docs, "uint32"),
    "dolma": lambda folder, docs: files.write_olmo(folder / "a.npy", docs, side=True),
    "real npy": lambda folder, docs: np.save(folder / "a.npy", np.array(files.flat(docs), "uint16"))
    or folder / "a.npy",
    "mds": lambda folder, docs: files.write_mds(folder / "shard.00000.mds", cut(files.flat(docs), 64)),
    "mds bytes": lambda folder, docs: files.write_mds(folder / "a.mds", cut(files.flat(docs), 64), "bytes"),
    "mds fixed": lambda folder, docs: files.write_mds(
        folder / "a.mds", cut([*files.flat(docs), *[files.eos_id()] * (-len(files.flat(docs)) % 16)], 16),
        "ndarray:uint16:16",
    ),
}  # fmt: skip
DTYPES = {"olmo": "uint16", "olmo uint32": "uint32", "dolma": "uint16", "mds bytes": "int64"}
COPIED = {"megatron int64", "real npy", "mds", "mds bytes", "mds fixed"}


@pytest.mark.parametrize("name", WRITERS)
def test_every_layout(name: str, tmp_path: Path) -> None:
    wanted = files.encoded()
    path = WRITERS[name](tmp_path, wanted)
    before = path.read_bytes()
    made = bring_in(tmp_path, path, dtype=DTYPES.get(name))
    found = documents_in(tmp_path / "out")
    extra = len(found) - len(wanted)
    assert found == wanted + [[files.eos_id()]] * extra and (extra == 0 or name == "mds fixed")
    report = verify(tmp_path / "out")
    assert report.ok and not report.warnings, report.problems
    assert path.read_bytes() == before
    linked = os.path.samefile(path, tmp_path / "out" / "web-train-00000.bin")
    assert linked == (name not in COPIED)
    manifest = made.manifest
    assert manifest.tokenizer.append_eos and manifest.tokenizer.special_tokens == "text"
    assert made.reproduced["web"][0] == made.reproduced["web"][1] >= 8
    # What a trainer reads, and the texts' own hashes and sizes.
    tokens = SourceTokens(open_corpus(tmp_path / "out"), "web")
    assert tokens.read(0, tokens.num_tokens).tolist() == files.flat(found)
    table = read_document_table(table_path(tmp_path / "out" / "web-train-00000"))
    texts = Texts.from_strings(files.TEXTS + [""] * extra)
    hashes = hash128(texts.data, texts.offsets).astype(">u8").tobytes()
    assert b"".join(table.column("content_hash").to_pylist()) == hashes
    assert table.column("text_bytes").to_pylist() == texts.lengths.tolist()
    assert manifest.sources["web"].subsets["train"].text_bytes == texts.num_bytes
    if name == "dolma":
        assert table.column("id").to_pylist() == [f"id{number}" for number in range(len(wanted))]
        assert table.column("path")[3].as_py() == "a.jsonl.gz" and table.column("position")[3].as_py() == 4
    else:
        assert table.column("position").to_pylist() == list(range(len(found)))
        assert set(table.column("path").to_pylist()) == {path.name}
    inputs = {entry.name for entry in read_input_list(tmp_path / "out" / "inputs.parquet")}
    assert path.name in inputs


def test_many_files_sources_and_subsets(tmp_path: Path) -> None:
    documents = files.encoded()
    for number, place in enumerate((slice(0, 5), slice(5, 9), slice(9, 26))):
        files.write_megatron(tmp_path / f"web-{number}", documents[place])
    files.write_datatrove(tmp_path / "held.ds", documents[:2])
    files.write_olmo(tmp_path / "empty.npy", [])
    tokenizer = files.write_tokenizer(tmp_path)
    spec = ImportSpec(
        "there",
        "2.0.0",
        tokenizer,
        train={"web": [str(tmp_path / "web-*")], "none": [str(tmp_path / "empty.npy")]},
        holdout={"web": [str(tmp_path / "held.ds")]},
        licenses={"web": "CC0-1.0"},
        dtype=None,
    )
    with pytest.raises(UserError, match="does not say how wide"):
        import_corpus(spec, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    digests = []
    spec = changed(spec, train={"web": spec.train["web"]})
    for workers in (1, 3):
        made = import_corpus(spec, tmp_path / f"out{workers}", workers)
        digests.append(made.manifest.manifest_digest)
    assert digests[0] == digests[1]
    corpus = open_corpus(tmp_path / "out1")
    assert [shard.documents for shard in corpus.shards] == [5, 4, 17, 2]
    assert [shard.first_key for shard in corpus.shards] == [f"{key:032x}" for key in (0, 5, 9, 0)]
    assert corpus.manifest.sources["web"].license == "CC0-1.0"
    assert documents_in(tmp_path / "out1", "web", "holdout") == documents[:2]
    assert verify(tmp_path / "out1", quick=True).ok
    # Published, moved and read by its new name.
    (tmp_path / "store").mkdir()
    assert verify(publish(tmp_path / "out1", tmp_path / "store").place).ok


def changed(spec: ImportSpec, **fields: Any) -> ImportSpec:
    return dataclasses.replace(spec, **fields)


@pytest.mark.parametrize("link", ["hard", "symbolic", "copy"])
def test_links(link: str, tmp_path: Path) -> None:
    path = files.write_megatron(tmp_path / "a", files.encoded())
    bring_in(tmp_path, path, link=link)
    made = tmp_path / "out" / "web-train-00000.bin"
    assert made.is_symlink() == (link == "symbolic")
    assert os.path.samefile(made, path) == (link != "copy")
    assert verify(tmp_path / "out").ok
    path.unlink()
    report = verify(tmp_path / "out", quick=True)
    assert report.ok == (link != "symbolic")
    if link == "symbolic":
        assert "the file is missing" in str(report.problems[0])


def test_a_change_of_the_file_is_found(tmp_path: Path) -> None:
    path = files.write_megatron(tmp_path / "a", files.encoded())
    bring_in(tmp_path, path)
    with open(path, "r+b") as stream:
        stream.write(b"\x01")
    assert "the block is damaged" in str(verify(tmp_path / "out").problems[0])


# --- what users report
# ---------------------------------------------------------------------------------------


def test_sequences_become_documents(tmp_path: Path) -> None:
    documents = files.encoded(files.TEXTS[:4])
    sentences = [
        documents[0][:3],
        documents[0][3:],
        documents[1],
        documents[2],
        documents[3][:9],
        documents[3][9:],
    ]
    path = files.write_megatron(tmp_path / "a", sentences, documents=[0, 2, 3, 4, 6])
    made = bring_in(tmp_path, path)
    assert documents_in(tmp_path / "out") == documents
    assert made.notes == ["a.bin: 6 sequences were joined to the 4 documents that they are of"]


def test_empty_documents_are_left_out(tmp_path: Path) -> None:
    documents = files.encoded(files.TEXTS[:3], eos=False)
    path = files.write_megatron(tmp_path / "a", [documents[0], [], documents[1], documents[2], []])
    made = bring_in(tmp_path, path)
    assert documents_in(tmp_path / "out") == documents
    assert made.notes == ["a.bin: 2 documents without tokens were left out"]
    assert not made.manifest.tokenizer.append_eos


def test_lengths_without_the_end_of_text_token(tmp_path: Path) -> None:
    """Megatron-LM issue 431: lengths counted before the token was appended, so every document began too
    early."""
    documents = files.encoded(files.TEXTS[:5])
    short = [len(document) - 1 for document in documents]
    path = files.write_megatron(tmp_path / "a", documents, lengths=short)
    made = bring_in(tmp_path, path)
    assert documents_in(tmp_path / "out") == documents
    assert "left out the end-of-text token" in made.notes[0]
    without = [[*document[:-1], 7] for document in documents]
    path = files.write_megatron(tmp_path / "a", without, lengths=short)
    with pytest.raises(UserError, match="the index describes"):
        import_corpus(
            ImportSpec("c", "1.0.0", tmp_path / "tokenizer.json", {"web": [str(path)]}), tmp_path / "other"
        )


def test_pointers_that_overflowed(tmp_path: Path) -> None:
    """Megatron-LM pull request 1673: int32 pointers of a merge; the lengths are right."""
    documents = files.encoded(files.TEXTS[:3])
    starts = [0, 2 * len(documents[0]), 2 * (len(documents[0]) + len(documents[1]))]
    path = files.write_megatron(tmp_path / "a", documents, pointers=[0, starts[1] - 2**32, starts[2] - 2**32])
    made = bring_in(tmp_path, path)
    assert documents_in(tmp_path / "out") == documents
    assert "overflowed 32 bits from sequence 1 on" in made.notes[0]
    path = files.write_megatron(tmp_path / "a", documents, pointers=[0, starts[1] + 2, starts[2]])
    with pytest.raises(UserError, match="sequence 1 begins at byte"):
        import_corpus(
            ImportSpec("c", "1.0.0", tmp_path / "tokenizer.json", {"web": [str(path)]}), tmp_path / "other"
        )


@pytest.mark.parametrize(
    ("layout", "index"), [("megatron uint16", "a.idx"), ("datatrove uint16", "a.ds.index")]
)
def test_an_index_without_its_tokens(layout: str, index: str, tmp_path: Path) -> None:
    """Megatron-LM issue 1052: a preprocessing that ended without writing a `.bin`."""
    (tmp_path / "in").mkdir()
    files.write_datatrove(tmp_path / "in" / "other.ds", files.encoded())
    path = WRITERS[layout](tmp_path / "in", files.encoded())
    with pytest.raises(UserError, match="belongs to a token file and holds no tokens"):
        bring_in(tmp_path, tmp_path / "in" / index)
    path.unlink()
    for place in (tmp_path / "in", tmp_path / "in" / "*"):
        with pytest.raises(UserError, match=f"there is an index and no {path.name}") as caught:
            bring_in(tmp_path, place)
        assert caught.value.where == str(tmp_path / "in" / index) and not (tmp_path / "out").exists()


def remove_bytes(path: Path, count: int) -> None:
    os.truncate(path, path.stat().st_size - count)


@pytest.mark.parametrize(
    ("name", "what"),
    [("megatron uint16", "the file has"), ("datatrove uint16", "are not the"), ("olmo", "no whole number")],
)
def test_a_short_file(name: str, what: str, tmp_path: Path) -> None:
    path = WRITERS[name](tmp_path, files.encoded())
    remove_bytes(path, 3)
    with pytest.raises(UserError, match=what) as caught:
        bring_in(tmp_path, path, dtype=DTYPES.get(name))
    assert caught.value.where == str(path) and not (tmp_path / "out").exists()


def test_a_dolma_file_that_was_cut(tmp_path: Path) -> None:
    path = files.write_olmo(tmp_path / "a.npy", files.encoded(), side=True)
    remove_bytes(path, 2)
    with pytest.raises(UserError, match="the documents end at token"):
        bring_in(tmp_path, path, dtype="uint16")


def test_the_wrong_dtype(tmp_path: Path) -> None:
    path = files.write_megatron(tmp_path / "a", files.encoded(), "int32", code=8)
    with pytest.raises(UserError, match="says uint16, but the file has 4 bytes for each"):
        bring_in(tmp_path, path)
    made = bring_in(tmp_path, path, dtype="int32")
    assert made.manifest.dtype == "int32" and documents_in(tmp_path / "out") == files.encoded()


def test_a_dtype_that_reads_as_garbage(tmp_path: Path) -> None:
    """Dolma issue 142, datatrove issue 118: a file without a header, read as another width."""
    path = files.write_olmo(tmp_path / "a.npy", files.encoded(), "uint32")
    with pytest.raises(UserError, match="every second token is 0") as caught:
        bring_in(tmp_path, path, dtype="uint16")
    assert caught.value.hint == "--dtype uint32"
    path = files.write_olmo(tmp_path / "a.npy", files.encoded() * 2)
    with pytest.raises(UserError, match="outside the vocabulary"):
        bring_in(tmp_path, path, dtype="uint32")


@pytest.mark.parametrize(
    ("code", "dtype", "writer"),
    [
        (6, "float64", "Megatron-Core"),
        (6, "float32", "GPT-NeoX"),
        (7, "float32", "Megatron-Core"),
        (7, "float64", "GPT-NeoX"),
    ],
)
def test_both_tables_of_dtype_codes(code: int, dtype: str, writer: str, tmp_path: Path) -> None:
    path = files.write_megatron(tmp_path / "a", files.encoded(), dtype, code=code)
    with pytest.raises(UserError, match=rf"the tokens are {dtype} \(code {code} by the table of {writer}\)"):
        bring_in(tmp_path, path)


def test_another_tokenizer(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    path = files.write_megatron(tmp_path / "a", [generator.integers(0, 256, 200).tolist() for _ in range(12)])
    # Bytes at random: what they spell is encoded with merges, so the ids are others.
    with pytest.raises(UserError, match="these tokens are of another tokenizer"):
        bring_in(tmp_path, path)


def test_an_id_outside_the_vocabulary(tmp_path: Path) -> None:
    path = files.write_megatron(tmp_path / "a", [[1, 2, 60_000]])
    with pytest.raises(UserError, match="the id 60,000 is outside the vocabulary of") as caught:
        bring_in(tmp_path, path)
    assert caught.value.where == str(path)


def test_a_vocabulary_that_uint16_cannot_hold(tmp_path: Path) -> None:
    import json

    from manifests.manifest import MAX_ID

    config = json.loads(files.tokenizer_json())
    for number in range(70_000):
        config["model"]["vocab"].setdefault(f"unused {number}", len(config["model"]["vocab"]) + 1)
    (tmp_path / "wide.json").write_text(json.dumps(config))
    path = files.write_megatron(tmp_path / "a", files.encoded())
    spec = ImportSpec("c", "1.0.0", tmp_path / "wide.json", {"web": [str(path)]})
    assert MAX_ID["uint16"] < 70_000
    with pytest.raises(UserError, match="the tokens are uint16; the tokenizer has ids up to"):
        import_corpus(spec, tmp_path / "out")


def test_special_tokens_and_ends_inside_documents_are_counted(tmp_path: Path) -> None:
    eos = files.eos_id()
    documents = [[eos, 1, 2, eos, 3, eos], [1, 2, 3]]
    made = bring_in(tmp_path, files.write_megatron(tmp_path / "a", documents))
    found = made.facts["web"]
    assert (found.end_with_eos, found.eos_inside, found.special_inside) == (1, 2, 2)
    assert made.manifest.tokenizer.special_tokens == "parse" and not made.manifest.tokenizer.append_eos


def import_begun(folder: Path, documents: Documents, token: str = "<s>", **options: Any) -> Imported:
    """Two files, with a tokenizer that has a begin-of-text token."""
    folder.mkdir()
    (folder / "t.json").write_text(files.with_bos_json(token))
    for number, part in enumerate((documents[:9], documents[9:])):
        files.write_megatron(folder / f"web-{number}", part)
    spec = ImportSpec("c", "1.0.0", folder / "t.json", {"web": [str(folder / "web-*")]}, **options)
    return import_corpus(spec, folder / "out")


@pytest.mark.parametrize("eos", [True, False])
def test_documents_that_all_start_with_the_begin_of_text_token(eos: bool, tmp_path: Path) -> None:
    """Then it is no part of the texts: hashes and exports are those of the same documents without it."""
    plain = files.encoded(eos=eos)
    bos = describe(files.with_bos_json()).bos_id
    assert bos is not None
    made = import_begun(tmp_path / "begun", [[bos, *document] for document in plain])
    info = made.manifest.tokenizer
    assert (info.prepend_bos, info.append_eos, info.special_tokens) == (True, eos, "text")
    assert made.facts["web"].begin_with_bos == len(plain)
    report = verify(tmp_path / "begun" / "out")
    assert report.ok, report.problems
    without = import_begun(tmp_path / "plain", plain)
    assert not without.manifest.tokenizer.prepend_bos
    assert verify(tmp_path / "plain" / "out").ok
    hashes, texts = [], []
    for name in ("begun", "plain"):
        tables = [read_document_table(path) for path in sorted((tmp_path / name / "out").glob("*.parquet"))
                  if path.name.endswith(".documents.parquet")]  # fmt: skip
        hashes.append([table.column("content_hash").to_pylist() for table in tables])
        assert export(tmp_path / name / "out", tmp_path / name / "texts", "parquet").inexact == 0
        texts.append([row["text"] for path in sorted((tmp_path / name / "texts").glob("*.parquet"))
                      for row in pq.read_table(path).to_pylist()])  # fmt: skip
    assert hashes[0] == hashes[1]
    assert texts[0] == texts[1] == files.TEXTS


def test_a_begin_of_text_token_before_some_documents_is_text(tmp_path: Path) -> None:
    """The last document of the last file has none, so nothing is said of any, and texts keep it."""
    plain = files.encoded()
    bos = describe(files.with_bos_json()).bos_id
    assert bos is not None
    made = import_begun(tmp_path / "a", [*([bos, *document] for document in plain[:-1]), plain[-1]])
    assert not made.manifest.tokenizer.prepend_bos
    assert made.facts["web"].begin_with_bos == len(plain) - 1
    assert verify(tmp_path / "a" / "out").ok
    assert export(tmp_path / "a" / "out", tmp_path / "texts", "parquet").inexact == 0
    rows = pq.read_table(tmp_path / "texts" / "web-train-00000.parquet").column("text").to_pylist()
    assert rows == [f"<s>{text}" for text in files.TEXTS[:9]]


def test_a_begin_of_text_token_by_name(tmp_path: Path) -> None:
    plain = files.encoded()
    tokenizer = describe(files.with_bos_json("<open>"), bos="<open>")
    assert tokenizer.bos_id is not None and describe(files.with_bos_json("<open>")).bos_id is None
    begun = [[tokenizer.bos_id, *document] for document in plain]
    assert import_begun(tmp_path / "a", begun, "<open>").manifest.tokenizer.bos_id is None
    info = import_begun(tmp_path / "b", begun, "<open>", bos="<open>").manifest.tokenizer
    assert (info.prepend_bos, info.bos_id) == (True, tokenizer.bos_id)
    with pytest.raises(UserError, match="the begin-of-text token '<shut>' is not in the tokenizer"):
        import_begun(tmp_path / "c", begun, "<open>", bos="<shut>")


def test_one_token_that_begins_and_ends(tmp_path: Path) -> None:
    """A document of that token alone has an end and no beginning; the others have both."""
    eos = files.eos_id()
    begun = [[eos, *document] for document in files.encoded()]
    for name, documents in (("whole", begun), ("bare", [*begun, [eos]])):
        made = import_begun(tmp_path / name, documents, bos="<|endoftext|>")
        info = made.manifest.tokenizer
        assert (info.prepend_bos, info.append_eos) == (name == "whole", True)
        assert info.eos_id == info.bos_id == eos
        assert verify(tmp_path / name / "out").ok
        assert export(tmp_path / name / "out", tmp_path / f"{name}.texts", "parquet").inexact == 0
    rows = pq.read_table(tmp_path / "whole.texts" / "web-train-00001.parquet").column("text").to_pylist()
    assert rows == files.TEXTS[9:]


def test_held_out_documents_that_are_trained_on_are_named(tmp_path: Path) -> None:
    documents = files.encoded()
    files.write_megatron(tmp_path / "a", documents)
    files.write_megatron(tmp_path / "valid", documents[3:5])
    made = bring_in(tmp_path, tmp_path / "a.bin", holdout={"web": [str(tmp_path / "valid.bin")]})
    (note,) = made.notes
    assert "held-out documents are trained on" in note and "a.bin:3, a.bin:4" in note
    recipe: Any = made.manifest.lineage.recipe["import"]
    assert recipe["notes"] == made.notes


def test_a_multimodal_index_is_refused(tmp_path: Path) -> None:
    path = files.write_megatron(tmp_path / "a", files.encoded())
    with open(path.with_suffix(".idx"), "ab") as stream:
        stream.write(bytes(len(files.TEXTS)))
    with pytest.raises(UserError, match="a multimodal index is not read"):
        bring_in(tmp_path, path)


def test_dtypes_are_not_mixed(tmp_path: Path) -> None:
    files.write_megatron(tmp_path / "a", files.encoded())
    files.write_megatron(tmp_path / "b", files.encoded(), "int32")
    with pytest.raises(UserError, match="those of the files before are uint16"):
        bring_in(tmp_path, tmp_path / "*.bin")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"licenses": {"wbe": "MIT"}}, "a licence for wbe"),
        ({"train": {"web": ["nothing/*"]}}, "no token file is here"),
        ({"eos": "<end>"}, "the end-of-text token '<end>' is not in the tokenizer"),
        ({"tokenizer": Path("none.json")}, "cannot read the tokenizer"),
        ({"holdout": {"web": ["a.bin"]}}, "imported twice"),
    ],
)
def test_what_is_refused(
    change: dict[str, Any], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files.write_megatron(tmp_path / "a", files.encoded())
    files.write_tokenizer(tmp_path)
    spec = ImportSpec("c", "1.0.0", Path("tokenizer.json"), {"web": ["a.bin"]})
    with pytest.raises(UserError, match=what):
        import_corpus(changed(spec, **change), tmp_path / "out")
    (tmp_path / "out").mkdir(exist_ok=True)
    (tmp_path / "out" / "x").write_text("")
    with pytest.raises(UserError, match="not empty"):
        import_corpus(spec, tmp_path / "out")


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda path: remove_bytes(path, 1), "the file has"),
        (lambda path: path.write_bytes(b"\x01"), "not a shard of token rows"),
        (lambda path: files.write_mds(path, [[1, 2]], "str"), "encoding str are not read"),
        (
            lambda path: path.write_bytes(path.read_bytes().replace(b'"tokens"', b'"tokenz"')),
            "no column tokens",
        ),
    ],
)
def test_damaged_mds(damage: Callable[[Path], Any], what: str, tmp_path: Path) -> None:
    path = files.write_mds(tmp_path / "a.mds", cut(files.flat(files.encoded()), 64))
    damage(path)
    with pytest.raises(UserError, match=what):
        bring_in(tmp_path, path)


def test_a_document_of_2_31_tokens_is_refused(tmp_path: Path) -> None:
    """By its index alone, in a sparse file."""
    path = tmp_path / "a.ds"
    with open(path, "wb") as stream:
        stream.truncate(2 * 2**31)
    path.with_name("a.ds.index").write_bytes(np.array([2**31], "<u8").tobytes())
    with pytest.raises(
        UserError, match=r"document 0 has 2,147,483,648 tokens; a shard holds documents of 1 to"
    ):
        bring_in(tmp_path, path)


def test_the_index_is_the_same_as_that_of_megatron(tmp_path: Path) -> None:
    path = files.write_megatron(tmp_path / "a", files.encoded())
    bring_in(tmp_path, path)
    made = tmp_path / "out" / "web-train-00000"
    assert idx_path(made).read_bytes() == path.with_suffix(".idx").read_bytes()
    assert bin_path(made).read_bytes() == path.read_bytes()


@settings(max_examples=25)
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=30), min_size=1, max_size=8),
    layout=st.sampled_from(["megatron", "datatrove", "dolma", "mds"]),
    dtype=st.sampled_from(["uint16", "int32"]),
)
def test_any_texts_by_any_layout(
    texts: list[str], layout: str, dtype: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Import and export undo tokenization: the texts come back, whatever the layout."""
    folder = tmp_path_factory.mktemp("any")
    documents = files.encoded(texts)
    if layout == "megatron":
        path = files.write_megatron(folder / "a", documents, dtype)
    elif layout == "datatrove":
        path = files.write_datatrove(folder / "a.ds", documents, dtype.replace("int32", "uint32"))
    elif layout == "dolma":
        path = files.write_olmo(folder / "a.npy", documents, dtype, side=True)
    else:
        path = files.write_mds(folder / "a.mds", cut(files.flat(documents), 5), f"ndarray:{dtype}")
    bring_in(folder, path, dtype=dtype if layout == "dolma" else None)
    assert documents_in(folder / "out") == documents and verify(folder / "out").ok
    export(folder / "out", folder / "texts", "parquet")
    rows = pq.read_table(folder / "texts" / "web-train-00000.parquet").column("text").to_pylist()
    assert rows == texts

"""What is refused before work starts: each kind alone, all kinds at once, each with the recipe's line."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from dataprep.cache import LOCK_NAME, work_lock
from dataprep.preflight import preflight
from dataprep.preflight.folders import Estimate
from dataprep.preflight.peek import MAX_RECORDS, Peek, peek
from dataprep.publish import MARKER
from dataprep.readers.listing import list_inputs
from dataprep.recipe import load_recipe
from dataprep.tokenizers import train_bpe
from manifests.errors import UserError

HEAD = "corpus: demo\nversion: 1.0.0\noutput: out/demo\ntokenizer: {train: {vocab_size: 512}}\nsources:\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder with three good records in data/a.jsonl."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    write_lines("data/a.jsonl", [{"text": f"text {at}", "url": f"u{at}", "n": 3} for at in range(3)])
    return tmp_path


def write_lines(path: str, records: list[Any]) -> None:
    Path(path).write_text("".join(json.dumps(record) + "\n" for record in records))


def check(sources: str, *sets: str, **options: Any) -> Estimate:
    Path("r.yaml").write_text(HEAD + sources)
    return preflight(load_recipe("r.yaml", sets), **options).estimate


def problems(sources: str, *sets: str, **options: Any) -> list[str]:
    """The lines of the refusal, with the current folder taken out."""
    with pytest.raises(UserError) as caught:
        check(sources, *sets, **options)
    assert caught.value.where is not None
    return caught.value.where.replace(f"{os.getcwd()}/", "").splitlines()


def test_a_good_recipe_leaves_nothing_behind(here: Path) -> None:
    before = sorted(path.name for path in here.rglob("*"))
    estimate = check("  web: {path: data/a.jsonl, id: url}\n")
    size = os.path.getsize("data/a.jsonl")
    tokens = size // 4 * 2
    assert estimate == Estimate(size, 2 * tokens + size // 50, 0)
    assert sorted(path.name for path in here.rglob("*")) == sorted([*before, "r.yaml"])


def test_the_files_are_those_of_the_inputs(here: Path) -> None:
    two = "  two:\n    inputs: [{path: data/a.jsonl}, {path: r.yaml, format: text}]\n"
    Path("r.yaml").write_text(HEAD + "  web: {path: 'data/*'}\n" + two)
    files = preflight(load_recipe("r.yaml")).files
    names = {source: [[file.name for file in each] for each in inputs] for source, inputs in files.items()}
    assert names == {"web": [["a.jsonl"]], "two": [["a.jsonl"], ["r.yaml"]]}


@pytest.mark.usefixtures("here")
class TestInputs:
    def test_nothing_matches(self) -> None:
        hint = "check the spelling; a relative path starts at the folder where the command runs"
        other = "  code:\n    inputs:\n    - {path: data/a.jsonl}\n    - path: x.py\n"
        assert problems("  web: {path: 'nope/*.jsonl'}\n" + other) == [
            f"r.yaml:6: sources.web.path: no input matched: nope/*.jsonl; {hint}",
            f"r.yaml:10: sources.code.inputs.1.path: no input matched: x.py; {hint}",
        ]

    def test_every_bad_pattern_of_an_input_is_told(self) -> None:
        paths = "[data/a.jsonl, b, 's3://bucket/c', data, '${env:HR_NOT_SET}', '${pyton:stdlib}']"
        found = problems(f"  web: {{path: {paths}}}\n")
        assert [line.split("path: ")[1].split(";")[0] for line in found] == [
            "no input matched: b",
            "only local files can be read so far: s3://bucket/c",
            "a folder where a file should be: data",
            "the environment variable HR_NOT_SET is not set: ${env:HR_NOT_SET}",
            "no variable ${pyton:stdlib}",
        ]

    def test_exclude_leaves_nothing(self) -> None:
        assert problems("  web: {path: 'data/*', exclude: ['*.jsonl']}\n") == [
            "r.yaml:6: sources.web.path: exclude leaves no input: data/*; exclude less"
        ]
        assert "exclude leaves no input" in problems("  web: {path: 'data/*'}\n", "exclude=[a.jsonl]")[0]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
    def test_a_file_that_cannot_be_read(self) -> None:
        os.chmod("data/a.jsonl", 0)
        assert "no permission to read an input" in problems("  web: {path: data/a.jsonl}\n")[0]

    def test_a_suffix_of_no_format(self) -> None:
        os.rename("data/a.jsonl", "data/a.dat")
        assert problems("  web: {path: data/a.dat}\n") == [
            "r.yaml:6: sources.web.format: the suffix of data/a.dat is none of .jsonl, .ndjson, .json, "
            ".parquet, .csv, .txt, .md, .rst, .html, .htm, .xhtml, .warc, .arc, .wet, .tar, .tgz, .tzst, "
            ".txz, .tbz2, .zip; say which format it has"
        ]
        assert check("  web: {path: data/a.dat, format: jsonl}\n").text_bytes > 0


@pytest.mark.usefixtures("here")
class TestFields:
    def test_json_lines(self) -> None:
        assert problems("  web:\n    path: data/a.jsonl\n    text: txt\n    id: ulr\n") == [
            'r.yaml:8: sources.web.text: no field "txt" in the first 3 records of data/a.jsonl; '
            'did you mean "text"? it has text, url, n',
            'r.yaml:9: sources.web.id: no field "ulr" in the first 3 records of data/a.jsonl; '
            'did you mean "url"? it has url, text, n',
        ]
        assert check("  web: {path: data/a.jsonl, id: n}\n")
        assert problems("  web: {path: data/a.jsonl, text: n}\n") == [
            'r.yaml:6: sources.web.text: the field "n" holds numbers in the first 3 records of data/a.jsonl, '
            "not text"
        ]

    def test_a_default_that_is_not_there_is_told_at_the_source(self) -> None:
        write_lines("data/a.jsonl", [{"content": "x"}])
        assert problems("  other: {path: r.yaml, format: text}\n  web:\n    path: data/a.jsonl\n") == [
            'r.yaml:7: sources.web.text: no field "text" in the first 1 records of data/a.jsonl; '
            "it has content"
        ]

    def test_csv(self) -> None:
        Path("data/a.csv").write_text('\ufeff"title","body, whole"\n1,2\n', encoding="utf-8")
        assert problems("  web: {path: data/a.csv, text: body}\n") == [
            'r.yaml:6: sources.web.text: no field "body" in data/a.csv; it has title, body, whole'
        ]
        assert check('  web: {path: data/a.csv, text: "body, whole", id: title}\n')

    def test_parquet(self) -> None:
        table = pa.table(
            {"text": pa.array(["x"]).dictionary_encode(), "n": [1], "tags": [["a"]], "raw": pa.array([b"x"])}
        )
        pq.write_table(table, "data/a.parquet")
        assert check("  web: {path: data/a.parquet, id: n}\n")
        assert check("  web: {path: data/a.parquet, text: raw}\n")
        assert problems("  web: {path: data/a.parquet, text: tags, id: ulr}\n") == [
            'r.yaml:6: sources.web.text: the field "tags" holds list<element: string> in data/a.parquet, not '
            "text",
            'r.yaml:6: sources.web.id: no field "ulr" in data/a.parquet; it has text, n, tags, raw',
        ]

    def test_paths_templates_and_carried_fields(self) -> None:
        records = [{"title": "a", "year": 2020, "tags": [], "meta": {"license": "MIT"}}, {"title": "b"}]
        write_lines("data/a.jsonl", records)
        pq.write_table(pa.Table.from_pylist(records[:1]), "data/a.parquet")
        good = "text: '{title} {year}{nowhere?}', id: meta.license, carry: [meta.license, year, tags]"
        assert check(f"  web: {{path: data/a.jsonl, {good}}}\n")
        assert check(f"  web: {{path: data/a.parquet, {good}}}\n")
        assert check("  web: {path: data/a.jsonl, text: title, carry: [language]}\n")  # it may come later
        source = "text: '{title}{tags}{ttle}', id: meta, carry: [meta.licence, language]"
        where, among = "in the first 2 records of data/a.jsonl", "title, year, tags, meta, meta.license"
        assert problems(f"  web: {{path: data/a.jsonl, {source}}}\n") == [
            f'r.yaml:6: sources.web.text: the field "tags" holds lists {where}, not numbers or text',
            f'r.yaml:6: sources.web.text: no field "ttle" {where}; did you mean "title"? it has {among}',
            f'r.yaml:6: sources.web.id: the field "meta" holds objects {where}, not numbers or text',
            f'r.yaml:6: sources.web.carry: no field "meta.licence" {where}; did you mean "meta.license"? '
            "it has meta.license, title, year, tags, meta",
        ]
        assert problems("  web: {path: data/a.parquet, text: title, carry: [language]}\n") == [
            f'r.yaml:6: sources.web.carry: no field "language" in data/a.parquet; it has {among}'
        ]

    def test_another_encoding(self) -> None:
        Path("data/a.jsonl").write_bytes('{"caf\u00e9": "x", "text": "y"}\n'.encode("utf-16"))
        assert check("  web: {path: data/a.jsonl, text: caf\u00e9, encoding: utf-16}\n")
        assert problems("  web: {path: data/a.jsonl, text: cafe, encoding: utf-16}\n") == [
            'r.yaml:6: sources.web.text: no field "cafe" in the first 1 records of data/a.jsonl; '
            'did you mean "caf\u00e9"? it has caf\u00e9, text'
        ]

    def test_the_first_file_of_each_format_is_looked_at(self) -> None:
        Path("data/0.jsonl").touch()  # says nothing
        Path("data/b.csv").write_text("body\nx\n")
        write_lines("data/c.jsonl", [{"other": 1}])  # the second of its kind: the readers will tell
        found = problems("  web: {path: 'data/*'}\n")
        assert [line.split(" of ")[-1].split(" in ")[-1] for line in found] == ["data/b.csv; it has body"]

    def test_what_cannot_be_read_is_left_to_the_readers(self) -> None:
        Path("data/a.jsonl").write_bytes(b"\xff\xfe{}\n[1]\nnot json\n" + b"[" * 100_000 + b"\n")
        Path("data/b.jsonl").write_bytes(b"\x1f\x8b\x08 no gzip")
        Path("data/c.parquet").write_bytes(b"PAR1")
        Path("data/d.csv").write_bytes(b"\n\n")
        for name in ("a.jsonl", "b.jsonl", "c.parquet", "d.csv"):
            assert check(f"  web: {{path: data/{name}}}\n")


@pytest.mark.usefixtures("here")
def test_files_that_steps_judge_by() -> None:
    Path("ids.txt").write_text("a\n")
    source = "  web: {path: data/a.jsonl}\n"
    assert check(source, "steps=[{exclude: {ids_file: ids.txt}}]")
    steps = "steps=[{normalize: {}}, {exclude: {ids_file: no.txt}}]"
    assert problems(source, steps) == [
        f"--set {steps}: steps.1.exclude: cannot read a list: no such file or directory: no.txt"
    ]


@pytest.mark.usefixtures("here")
def test_evaluation_sets_can_be_read() -> None:
    source = "  web: {path: data/a.jsonl}\n"
    write_lines("mine.jsonl", [{"q": "what is it?"}])
    Path("broken.json").write_text("[")
    Path("empty.jsonl").write_text("")
    good = "{path: mine.jsonl, fields: {question: q}}, empty.jsonl"
    assert check(source, f"steps=[{{decontaminate: {{evals: [{good}]}}}}]")
    evals = "[mine.jsonl, broken.json, {path: mine.jsonl, name: other, fields: {question: stem}}]"
    first, second, third, fourth = problems(
        source, f"steps=[{{decontaminate: {{evals: {evals}}}}}, {{decontaminate: {{evals: [no*.jsonl]}}}}]"
    )
    assert "steps.0.decontaminate.evals: mine.jsonl: mine is no well-known set (there are: q); give" in first
    assert "steps.0.decontaminate.evals: broken.json: an evaluation set is not json" in second
    assert "steps.0.decontaminate.evals: mine.jsonl: no field stem (there are: q)" in third
    assert "steps.1.decontaminate: no evaluation set at no*.jsonl" in fourth


@pytest.mark.usefixtures("here")
def test_files_that_steps_measure_by() -> None:
    steps = "steps=[{exclude: {ids_file: no.txt}}, {substring_dedup: {tokens: {file: no.json}}}]"
    first, second = problems("  web: {path: data/a.jsonl}\n", steps)
    assert "steps.0.exclude: cannot read a list" in first
    assert "steps.1.substring_dedup: cannot read the file no.json" in second


def test_a_sample_needs_less_room(here: Path) -> None:
    whole = check("  web: {path: data/a.jsonl}\n")
    assert check("  web: {path: data/a.jsonl, sample: 10%}\n").text_bytes == whole.text_bytes // 10


def test_peek_reads_through_compression_and_stops(here: Path) -> None:
    lines = b"".join(b'{"a": "%d"}\n' % number for number in range(MAX_RECORDS)) + b'{"b": 1}\n'
    for data in (lines, gzip.compress(lines), zstandard.compress(lines)):
        Path("data/x.jsonl").write_bytes(data)
        (file,) = list_inputs(["data/x.jsonl"])
        assert peek(file, "jsonl") == Peek({"a": ("text",)}, MAX_RECORDS)
        assert peek(file, "text") is None


def test_peek_drops_a_line_that_its_megabyte_cuts(here: Path) -> None:
    Path("data/x.jsonl").write_bytes(b'{"a": 1}\n{"b": "%s"}\n' % (b"x" * (1 << 20)))
    assert peek(list_inputs(["data/x.jsonl"])[0], "jsonl") == Peek({"a": ("numbers",)}, 1)
    Path("data/x.jsonl").write_bytes(b'{"b": "%s"}\n' % (b"x" * (1 << 20)))
    assert peek(list_inputs(["data/x.jsonl"])[0], "jsonl") is None


@pytest.mark.usefixtures("here")
class TestTokenizer:
    SOURCES = "  web: {path: data/a.jsonl}\n"

    def test_a_good_file(self) -> None:
        Path("t.json").write_text(train_bpe(["some text"] * 3, 300))
        assert check(self.SOURCES, "tokenizer={file: t.json}")

    def test_no_file_and_no_tokenizer(self) -> None:
        at = "--set tokenizer={file: t.json}: tokenizer.file: "
        assert problems(self.SOURCES, "tokenizer={file: t.json}") == [
            f"{at}cannot read t.json: no such file or directory"
        ]
        Path("t.json").write_bytes(b"\xff")
        assert problems(self.SOURCES, "tokenizer={file: t.json}") == [
            f"{at}cannot read t.json: not a UTF-8 text"
        ]
        Path("t.json").write_text("{}")
        assert problems(self.SOURCES, "tokenizer={file: t.json}")[0].startswith(
            f"{at}t.json: this is not a tokenizer.json"
        )

    def test_that_of_a_step(self) -> None:
        """Before anything is measured, with the line of the step."""
        passages = "steps=[{substring_dedup: {tokens: {file: t.json}}}]"
        Path("t.json").write_bytes(b"\xff")
        (problem,) = problems(self.SOURCES, passages)
        assert problem.startswith("--set " + passages)
        assert "cannot read the tokenizer" in problem
        Path("t.json").write_text(train_bpe(["some text"] * 3, 300))
        assert check(self.SOURCES, passages)

    def test_no_end_of_text_token(self) -> None:
        tokenizer = json.loads(train_bpe(["some text"] * 3, 300))
        tokenizer["added_tokens"] = []
        Path("t.json").write_text(json.dumps(tokenizer))
        assert problems(self.SOURCES, "tokenizer={file: t.json}") == [
            "--set tokenizer={file: t.json}: tokenizer.file: t.json has no end-of-text token to append; "
            "say append_eos: false"
        ]
        assert check(self.SOURCES, "tokenizer={file: t.json, append_eos: false}")

    def test_no_begin_of_text_token(self) -> None:
        """None has BPE that is trained here or by `train-tokenizer`; the line of the recipe is named."""
        tokenizer = json.loads(train_bpe(["some text"] * 3, 300))
        Path("t.json").write_text(json.dumps(tokenizer))
        asked = "tokenizer={file: t.json, prepend_bos: true}"
        assert problems(self.SOURCES, asked) == [
            f"--set {asked}: tokenizer.prepend_bos: t.json has no begin-of-text token to prepend; "
            "say prepend_bos: false"
        ]
        (problem,) = problems(self.SOURCES, "tokenizer.prepend_bos=true")
        assert "tokenizer.prepend_bos: what is trained here has no begin-of-text token" in problem
        if importlib.util.find_spec("sentencepiece") is not None:
            unigram = "tokenizer={train: {vocab_size: 400, model: unigram}, prepend_bos: true}"
            assert check(self.SOURCES, unigram)
            (problem,) = problems(self.SOURCES, unigram.replace("400", "259"))
            assert "tokenizer.train.vocab_size: a Unigram vocabulary needs 260 ids" in problem
        bos = tokenizer["added_tokens"][0] | {"id": 299, "content": "<s>"}
        tokenizer["added_tokens"].append(bos)
        Path("t.json").write_text(json.dumps(tokenizer))
        assert check(self.SOURCES, asked)


@pytest.mark.usefixtures("here")
class TestFolders:
    SOURCES = "  web: {path: data/a.jsonl}\n"

    def test_a_file_in_the_way(self) -> None:
        Path("out").touch()
        assert problems(self.SOURCES) == [
            "r.yaml:3: output: 'out/demo' cannot be made: out is a file",
            "r.yaml:3: output: 'out/demo.work' cannot be made: out is a file",
        ]
        assert problems(self.SOURCES, "output=data/a.jsonl", "work=w") == [
            "--set output=data/a.jsonl: output: 'data/a.jsonl' is a file"
        ]

    @pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder that nobody can write")
    def test_a_folder_that_cannot_be_written(self) -> None:
        line = problems(self.SOURCES, "work=/proc/headrace/w")[0]
        assert line.startswith(
            "--set work=/proc/headrace/w: work: '/proc/headrace/w' cannot be written: /proc"
        )

    def test_names_that_no_folder_can_have(self) -> None:
        (line,) = problems(self.SOURCES, f"output={'x' * 300}/demo", "work=w")
        assert line.endswith("/demo' cannot be used: file name too long")
        (line,) = problems(self.SOURCES, 'output="a\\0b"', "work=w")
        assert "output: expected text without NUL characters" in line

    def test_somebodys_documents(self) -> None:
        assert problems(self.SOURCES, "output=data", "work=w") == [
            "--set output=data: output: 'data' holds a.jsonl and is of no earlier run; name another folder, "
            "or empty this one"
        ]

    def test_folders_of_earlier_runs(self) -> None:
        for folder in ("out/demo", "out/demo.work"):
            Path(folder).mkdir(parents=True)
            (Path(folder) / "something").touch()
        assert len(problems(self.SOURCES)) == 2
        (Path("out/demo") / MARKER).touch()
        with work_lock(Path("out/demo.work")):
            assert (Path("out/demo.work") / LOCK_NAME).exists()
        assert check(self.SOURCES)


@pytest.mark.usefixtures("here")
class TestDisk:
    SOURCES = "  web: {path: data/big.txt}\n"

    @pytest.fixture
    def big(self) -> int:
        """A sparse file, so that it takes no room itself."""
        size = 4_000_000_000
        with open("data/big.txt", "wb") as file:
            file.truncate(size)
        return size

    def test_too_little_room(self, big: int) -> None:
        needed = 2 * (big // 4 * 2) + big // 50
        assert check(self.SOURCES, free=lambda folder: needed).work_bytes == needed
        assert problems(self.SOURCES, "work=w", free=lambda folder: needed - 1) == [
            "--set work=w: work: not enough disk space for 'w': about 4.08 GB needed if every document is "
            "kept, 4.08 GB free; free some, name a folder on another disk, or cap sources with max_bytes"
        ]
        assert check(self.SOURCES, needs_room=False, free=lambda folder: 0)

    def test_what_counts(self, big: int) -> None:
        assert check(self.SOURCES.replace("}", ", max_bytes: 1GB}")).text_bytes == 1_000_000_000
        wide = check(self.SOURCES, "tokenizer.train.vocab_size=100k")
        assert wide.work_bytes == 2 * (big // 4 * 4) + big // 50
        os.rename("data/big.txt", "data/big.txt.gz")
        assert check(self.SOURCES.replace(".txt", ".txt.gz")).text_bytes == 3 * big

    def test_what_an_earlier_run_left_is_not_needed_again(self, big: int) -> None:
        before = check(self.SOURCES).work_bytes
        work = Path("out/demo.work")
        with work_lock(work), open(work / "old", "wb") as file:
            file.truncate(1_000_000)
        held = sum(path.stat().st_size for path in work.iterdir())
        assert check(self.SOURCES).work_bytes == before - held

    def test_other_disks_are_asked_on_their_own(self, big: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dataprep.preflight.folders._disk", lambda folder: str(folder))
        asked: list[Path] = []

        def free(folder: Path) -> int:
            asked.append(folder)
            return 10**12

        assert check(self.SOURCES, free=free).output_bytes == big // 4 * 2
        assert asked == [Path.cwd(), Path.cwd()]  # what exists of the two


def test_everything_at_once_in_the_order_of_the_file(here: Path) -> None:
    Path("out").touch()
    sources = "  web: {path: nope}\n  code: {path: data/a.jsonl, text: txt}\n  more: {path: data}\n"
    found = problems(sources, "tokenizer={file: t.json}", "work=data")
    assert [line.removeprefix("--set tokenizer={file: t.json}").split(": ")[1] for line in found] == [
        "output", "sources.web.path", "sources.code.text", "sources.more.path", "tokenizer.file", "work",
    ]  # fmt: skip


def test_values_from_no_file_are_told_by_field(here: Path) -> None:
    from dataprep.recipe import recipe_of

    data = {
        "corpus": "c", "version": "1.0.0", "sources": {"web": {"path": "nope"}}, "output": "o",
        "tokenizer": {"train": {"vocab_size": 300}},
    }  # fmt: skip
    with pytest.raises(UserError, match=r"sources\.web\.path: no input matched: nope"):
        preflight(recipe_of(data))


@pytest.mark.parametrize(
    ("steps", "what"),
    [
        (
            ["exact_dedup: {keep: [{highest: gopher.words}]}", "gopher_quality: {}"],
            'no step "gopher"; did you mean "gopher_quality"?',
        ),
        (
            ["exact_dedup: {keep: [{highest: gopher_quality.wrds}]}", "gopher_quality: {}"],
            'no signal "wrds" of gopher_quality; did you mean "words"?',
        ),
        (
            [
                "gopher_quality: {only: [web]}",
                "minhash_dedup: {keep: [longest, {lowest: gopher_quality.words}]}",
            ],
            "gopher_quality does not run on prose, so its documents have no gopher_quality.words",
        ),
        (
            ["normalize: {}", "exact_dedup: {keep: [{highest: normalize.words}]}"],
            "normalize measures nothing of a document by itself",
        ),
        (
            ["exact_dedup: {keep: [{highest: minhash_dedup.flags}]}", "minhash_dedup: {}"],
            "minhash_dedup measures nothing of a document by itself",
        ),
        (
            ["line_dedup: {keep: [{highest: gopher_quality.words}]}", "gopher_quality: {}"],
            "gopher_quality stands below line_dedup",
        ),
        (
            ["where: {fields: {url: {in: [a]}}}", 'exact_dedup: {keep: [{highest: "where.url"}]}'],
            "where.url is no number",
        ),
    ],
)
def test_signals_to_rank_by(here: Path, steps: list[str], what: str) -> None:
    sources = "  web: {path: data/a.jsonl, carry: [url]}\n  prose: {path: data/a.jsonl, carry: [url]}\n"
    listed = "".join(f"  - {step}\n" for step in steps)
    (line,) = problems(f"{sources}steps:\n{listed}")
    assert what in line and ".keep" in line


def test_a_signal_of_the_sources_that_count(here: Path) -> None:
    sources = "  web: {path: data/a.jsonl}\n  prose: {path: data/a.jsonl}\n"
    keep = "keep: [{highest: gopher_quality.words}]"
    for step in ("exact_dedup", "line_dedup"):
        steps = f"  - gopher_quality: {{only: [web]}}\n  - {step}: {{only: [web], {keep}}}\n"
        check(f"{sources}steps:\n{steps}")

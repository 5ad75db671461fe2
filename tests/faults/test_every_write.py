"""Whatever fails while a corpus is made, and wherever: in its folder is the old corpus, the new one, or none;
and the same command again gives the bytes of a run that nothing disturbed.

Each call that changes a disk (tests/faults/points.py) is made to fail once. The fast tests take a spread of
them, the slow ones take all.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from dataprep.corpora.combining import combine
from dataprep.corpora.exporting import TARGETS, export
from dataprep.corpora.importing import import_corpus
from dataprep.corpora.packing import pack_corpus
from dataprep.corpora.spec import ImportSpec
from dataprep.recipe import load_recipe
from dataprep.run import run
from manifests.errors import UserError
from manifests.files import TEMPORARY_PREFIX, is_temporary
from manifests.manifest import MANIFEST_NAME
from manifests.store import publish
from manifests.verify import verify
from tests.dataprep.corpora import tokenfiles as files
from tests.dataprep.corpora.runs import TEXTS, make_run
from tests.faults.points import BROKEN_DISK, FULL_DISK, Killed, short_writes, watched

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("kill", BROKEN_DISK, FULL_DISK)
SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
SELDOM = {"run", "export to olmo", "export to datatrove", "export to parquet"}
"""Left to the slow tests: the others have the same calls."""
Bytes = dict[str, str]


@dataclass(frozen=True)
class Case:
    """One way in which a corpus, or another folder of results, is made.

    at          the folder of all of it, as `start` says that it begins
    start       how `at` is before
    make        what is done
    out         the folder that it makes
    goes_on     whether the same command may be given again where some of it is done
    before      digests of the files of `out` before it began
    wanted      digests of the files of `out` when nothing disturbs
    """

    at: Path
    start: Path
    make: Callable[[], object]
    out: Path
    goes_on: bool
    before: Bytes
    wanted: Bytes
    calls: int

    def again(self) -> None:
        shutil.rmtree(self.at)
        shutil.copytree(self.start, self.at, copy_function=shutil.copy2)


def digests(folder: Path) -> Bytes:
    """sha256 of every file, by path; of unfinished work nothing."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(is_temporary(part) for part in path.relative_to(folder).parts)
    }


def case_of(at: Path, make: Callable[[], object], out: Path, goes_on: bool = False) -> Case:
    start = at.with_name(f"{at.name}-start")
    shutil.copytree(at, start, copy_function=shutil.copy2)
    before = digests(out) if out.exists() else {}
    assert not before or verify(out).ok
    with watched() as points:
        make()
    if (out / MANIFEST_NAME).exists():
        report = verify(out)
        assert report.ok and not report.warnings, report
    return Case(at, start, make, out, goes_on, before, digests(out), len(points.calls))


# --- what is made ------------------------------------------------------------------------------------------


SHARDS = {"tokens": 2000, "pack": "best_fit", "sequence_lengths": [32]}
"""One for each source and subset: enough for every call there is. With packed rows."""


def run_in(folder: Path) -> object:
    return run(load_recipe(folder / "recipe.yaml", []), workers=0)


def whole_run(folder: Path) -> Case:
    """From the texts on."""
    make_run(folder / "w", shards=SHARDS)
    for name in ("out", "out.work"):
        shutil.rmtree(folder / "w" / name)
    return case_of(folder / "w", partial(run_in, folder / "w"), folder / "w" / "out", goes_on=True)


def last_stages(folder: Path, _: Path) -> Case:
    """Packing and publishing, in the place of an older corpus of the same name with a table of verdicts."""
    at = folder / "w"
    make_run(at, shards=SHARDS, texts={source: [*reversed(texts[5:])] for source, texts in TEXTS.items()})
    run(load_recipe(at / "recipe.yaml", []), workers=0, verdicts=True)
    shutil.move(at / "out", folder / "older")
    make_run(at, shards=SHARDS)
    shutil.rmtree(at / "out")
    shutil.rmtree(at / "out.work" / "pack")
    shutil.move(folder / "older", at / "out")
    return case_of(at, partial(run_in, at), at / "out", goes_on=True)


def importing(folder: Path, dtype: str) -> Case:
    """Of int64 the tokens are written anew."""
    at = folder / "w"
    at.mkdir()
    documents = files.encoded()
    for name, place in (("a", slice(0, 9)), ("b", slice(9, None))):
        files.write_megatron(at / name, documents[place], dtype)
    files.write_megatron(at / "held", documents[:2], dtype)
    spec = ImportSpec(
        "there",
        "1.0.0",
        files.write_tokenizer(at),
        {"web": [str(at / "a.bin"), str(at / "b.bin")]},
        {"web": [str(at / "held.bin")]},
    )
    return case_of(at, lambda: import_corpus(spec, at / "out"), at / "out")


def laid(base: Path, folder: Path) -> Path:
    """A finished corpus, made once."""
    shutil.copytree(base, folder, copy_function=shutil.copy2)
    return folder


def combining(folder: Path, base: Path) -> Case:
    at = folder / "w"
    one, other = laid(base, at / "one"), laid(base, at / "other")

    def make() -> object:
        names = {"made/web": "pages", "made/code": "programs"}
        return combine([one, other], at / "out", "both", "1.0.0", rename=names)

    return case_of(at, make, at / "out")


def packing(folder: Path, base: Path) -> Case:
    """For another length of row."""
    at = folder / "w"
    made = laid(base, at / "one")
    return case_of(at, lambda: pack_corpus(made, at / "out", [16]), at / "out")


def exporting(folder: Path, base: Path, to: str) -> Case:
    at = folder / "w"
    made = laid(base, at / "out")
    return case_of(at, lambda: export(made, at / "texts", to), at / "texts")


def publishing(folder: Path, base: Path) -> Case:
    at = folder / "w"
    made = laid(base, at / "out")
    return case_of(at, lambda: publish(made, at / "store"), at / "store" / "made" / "1.0.0")


CASES: dict[str, Callable[[Path, Path], Case]] = {
    "run": lambda folder, _: whole_run(folder),
    "last stages": last_stages,
    "import": lambda folder, _: importing(folder, "uint16"),
    "import, written anew": lambda folder, _: importing(folder, "int64"),
    "combine": combining,
    "pack": packing,
    "publish": publishing,
    **{f"export to {to}": partial(exporting, to=to) for to in TARGETS},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Case]:
    base = make_run(tmp_path_factory.mktemp("base"), shards=SHARDS)
    cases: dict[str, Case] = {}

    def get(name: str) -> Case:
        if name not in cases:
            cases[name] = CASES[name](tmp_path_factory.mktemp("case"), base)
        return cases[name]

    return get


# --- what must be so ---------------------------------------------------------------------------------------


def check_what_is_there(case: Case) -> None:
    """Nothing that can be read is wrong, whether by its manifest or, as other trainers do, without one."""
    there = digests(case.out) if case.out.exists() else {}
    for name, digest in there.items():
        if not name.startswith("."):
            assert digest in (case.before.get(name), case.wanted.get(name)), name
    pairs = {name.removesuffix(".idx") for name in there if name.endswith(".idx")}
    for pair in pairs:
        both = (f"{pair}.bin", f"{pair}.idx")
        if both[0] in there:
            found = [there[name] for name in both]
            assert found in [[each.get(name) for name in both] for each in (case.before, case.wanted)], pair
    if not case.goes_on:
        assert there in ({}, case.wanted)
    if (case.out / MANIFEST_NAME).exists():
        # All of one corpus, down to what is told of it. What is the same, file by file, was verified once.
        of_older = there[MANIFEST_NAME] == case.before.get(MANIFEST_NAME)
        whole = case.before if of_older else case.wanted
        assert there.items() <= whole.items()
        if there != whole:
            report = verify(case.out)
            assert report.ok, report.problems


def hurt(case: Case, at: int, kind: str | int) -> None:
    case.again()
    inputs = {name: digest for name, digest in digests(case.at).items() if name.endswith((".bin", ".jsonl"))}
    raised: BaseException | None = None
    with watched(at, kind) as points:
        try:
            case.make()
        except (Killed, OSError, UserError) as error:
            raised = error
    if kind == FULL_DISK and raised is not None and points.calls[at - 1] != "mkdir":
        assert isinstance(raised, UserError), raised
    check_after(case, raised)
    if not case.goes_on:
        now = digests(case.at)
        assert {name: now[name] for name in inputs} == inputs


def check_after(case: Case, raised: BaseException | None) -> None:
    """What is there, and then what the same command makes of it."""
    check_what_is_there(case)
    if raised is None or case.goes_on or not case.out.exists():
        if raised is not None:
            case.make()
        found = digests(case.out)
        assert found == case.wanted, sorted(set(found.items()) ^ set(case.wanted.items()))
    if case.goes_on:
        assert not [*case.at.rglob(f"{TEMPORARY_PREFIX}*")]


@pytest.mark.parametrize("name", [name for name in CASES if name not in SELDOM])
def test_some_calls_fail(name: str, made: Callable[[str], Case]) -> None:
    case = made(name)
    for number in range(6):
        hurt(case, 1 + number * (case.calls - 1) // 5, KINDS[number % len(KINDS)])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_every_call_fails(name: str, kind: str | int, made: Callable[[str], Case]) -> None:
    """Most of the calls of a whole run are those of its many tasks, each like the other."""
    case = made(name)
    for at in range(1, case.calls + 1, 1 if SOAK else (7 if name == "run" else 1 if kind == "kill" else 3)):
        hurt(case, at, kind)


DIES = """
from pathlib import Path
from dataprep.recipe import load_recipe
from dataprep.run import run
from tests.faults.points import watched
with watched({at}, "die"):
    run(load_recipe(Path({recipe!r}), []), workers=0)
"""


@pytest.mark.slow
def test_a_real_death_is_no_different(made: Callable[[str], Case]) -> None:
    """SIGKILL, at calls of every kind while an older corpus is being replaced."""
    case = made("last stages")
    for at in range(9, case.calls, case.calls // 8):
        case.again()
        code = DIES.format(at=at, recipe=str(case.at / "recipe.yaml"))
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == -signal.SIGKILL, done.stderr
        check_after(case, Killed())


@pytest.mark.parametrize("name", [name for name in CASES if name not in SELDOM])
def test_short_writes(name: str, made: Callable[[str], Case]) -> None:
    case = made(name)
    case.again()
    with short_writes(97):
        case.make()
    assert digests(case.out) == case.wanted

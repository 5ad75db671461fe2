"""README and docs say what is there: packages, files, links, make targets, verbs and their options."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
FILE = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:/|\.(?:py|md|yaml|toml|txt)))`")
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
WRITTEN_BY_A_RUN = {
    "manifest.json",
    "tokenizer.json",
    "config.yaml",
    "out/",
    "runs/",
    "checkpoints/",
    "attempts/",
}
WRITTEN_BY_THE_USER = {"recipe.yaml", "train.yaml", "mycorpus/steps.py"}


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands(page: Path) -> list[list[str]]:
    """Words of each command line in a `sh` block; continued lines are joined, comments dropped."""
    lines: list[list[str]] = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            words = line.split(" #")[0].split()
            if words:
                lines.append(words)
    return lines


@cache
def help_of(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "200", "TERM": "dumb"},
    )
    return done.stdout


def test_packages_of_the_readme_are_those_of_the_tree() -> None:
    listed = re.findall(r"^(\w+(?:/\w+)*)/ {2,}\S", README.read_text(encoding="utf-8"), re.MULTILINE)
    there = [
        str(path.parent.relative_to(ROOT))
        for top in ("manifests", "dataprep", "trainer", "benchmarks")
        for path in (ROOT / top).rglob("__init__.py")
    ]
    others = ("recipes", "tests", "docs")
    assert sorted(listed) == sorted([*there, *others])


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_and_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    files = [
        name
        for name in FILE.findall(text)
        if "NAME" not in name
        and name not in WRITTEN_BY_A_RUN | WRITTEN_BY_THE_USER
        and not (ROOT / name).exists()
        and not (page.parent / name).exists()
    ]
    assert (links, files) == ([], [])


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for words in commands(page):
        where = f"{page_id(page)}: {' '.join(words)}"
        if words[0] == "make":
            assert words[1] in targets, where
        elif "trainer" in words[:6] or words[0] == "dataprep":
            program = "dataprep" if words[0] == "dataprep" else "trainer"
            rest = words[words.index(program) + 1 :]
            assert re.search(rf"\b{re.escape(rest[0])}\b", help_of(program)), where
            known = help_of(program, rest[0])
            for option in (word.partition("=")[0] for word in rest if word.startswith("--")):
                assert option in known, where


def test_a_readme_shows_its_two_commands() -> None:
    shown = [" ".join(words) for words in commands(README)]
    assert shown[:2] == ["make run", "make test"]

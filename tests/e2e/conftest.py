"""A finished run that tests may change, made once a module and laid anew for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.e2e.corpora import again, write_inputs


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files as they were after one run in `w` beside it: inputs, recipe, output, work folder."""
    folder = tmp_path_factory.mktemp("corpus")
    write_inputs(folder / "w" / "in")
    again(folder / "w")
    shutil.copytree(folder / "w", folder / "snapshot", copy_function=shutil.copy2)
    return folder / "snapshot"


@pytest.fixture
def workspace(snapshot: Path) -> Path:
    """The finished run, at the same path for every test (paths and times are what makes a file known)."""
    folder = snapshot.parent / "w"
    shutil.rmtree(folder)
    shutil.copytree(snapshot, folder, copy_function=shutil.copy2)
    return folder

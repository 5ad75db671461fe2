"""One run of a recipe, for all tests of this folder that only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dataprep.corpora.runs import make_run


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("made"))

"""What every test may ask for: the data pack, and how much hypothesis tries."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA_PACK = Path(os.environ.get("HEADRACE_DATA", ROOT.parent / "shared" / "data"))

hypothesis.settings.register_profile(
    "default",
    max_examples=50,
    deadline=None,  # the machines that run this are shared, so a slow example proves nothing
    derandomize=True,  # a failure is the same failure again; `make soak` looks further
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.register_profile(
    "soak",
    parent=hypothesis.settings.get_profile("default"),
    derandomize=False,
    max_examples=2000,
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session", autouse=True)
def evals_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Indexes of evaluation sets are kept with the tests, also by the processes that they start."""
    os.environ["HEADRACE_EVALS"] = str(tmp_path_factory.mktemp("evals"))


@pytest.fixture(scope="session")
def data_pack() -> Path:
    """The folder of real text that lies beside a checkout, or where HEADRACE_DATA says."""
    if not (DATA_PACK / "README.md").is_file():
        pytest.skip(f"no data pack at {DATA_PACK}: set HEADRACE_DATA")
    return DATA_PACK

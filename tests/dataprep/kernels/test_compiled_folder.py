from __future__ import annotations

from pathlib import Path

import numba
import pytest

from dataprep import kernels


def test_any_changed_source_moves_the_compiled_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of kernels that only call what changed, which numba does not notice."""
    monkeypatch.setattr(kernels, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "caller.py").write_text("a")
    (tmp_path / "helper.py").write_text("b")
    before = kernels._compiled_folder()
    assert kernels._compiled_folder() == before
    assert Path(before).parent == tmp_path / "cache"
    (tmp_path / "helper.py").write_text("c")
    assert kernels._compiled_folder() != before


def test_the_folder_is_in_use() -> None:
    assert Path(numba.config.CACHE_DIR).name.startswith("compiled-")

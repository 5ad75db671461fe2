"""The layers of the house: which part may import which. Reads import statements, runs a few imports for real.

Layers let a data engineer install no torch, an auditor trust a second route to the ledger, and an engine be
swapped without a step noticing.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = ("manifests", "dataprep", "trainer")


@dataclass(frozen=True, slots=True)
class Import:
    module: str  # that imports
    name: str  # that is imported, dotted
    line: int
    lazy: bool  # inside a function or `if TYPE_CHECKING`, so paid for by callers only

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.name}"


@dataclass(frozen=True, slots=True)
class Layer:
    """Modules under `inside`, but for `but`, import of ours at most `ours` and of others at most `packages`.

    `never` bans names wherever they are imported; `lazily` lists packages that functions may import.
    None means no limit.
    """

    inside: tuple[str, ...]
    but: tuple[str, ...] = ()
    ours: tuple[str, ...] | None = None
    packages: tuple[str, ...] | None = None
    lazily: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


LAYERS = {
    "manifests": Layer(
        inside=("manifests",),
        ours=("manifests",),
        packages=("numpy", "pydantic", "pydantic_core"),  # the core holds the error types of pydantic
        lazily=("pyarrow", "fsspec", "yaml"),
    ),
    "kernels": Layer(
        inside=("dataprep.kernels",),
        ours=("dataprep.kernels",),
        packages=("numpy", "numba", "llvmlite"),  # llvmlite is the lower half of numba
    ),
    "columns": Layer(
        inside=("dataprep.columns",),
        ours=("dataprep.kernels",),
        packages=("numpy", "numba", "pyarrow"),
    ),
    "readers, steps, decide": Layer(
        inside=("dataprep.readers", "dataprep.steps", "dataprep.decide"),
        never=("dataprep.run", "dataprep.engines", "dataprep.cli"),
    ),
    "engines": Layer(
        inside=("dataprep.engines",), never=("dataprep.steps", "dataprep.kernels", "dataprep.run")
    ),
    "dataprep": Layer(inside=("dataprep",), ours=("dataprep", "manifests"), never=("torch",)),
    "trainer": Layer(inside=("trainer",), ours=("trainer", "manifests")),
    "torch-free trainer": Layer(
        inside=("trainer.data", "trainer.ledger", "trainer.audit"),
        but=("trainer.data.loader",),
        never=("torch",),
    ),
    "everything": Layer(inside=OURS, never=("pickle", "dill", "cloudpickle")),
}


def under(name: str, parents: tuple[str, ...]) -> bool:
    return any(name == parent or name.startswith(parent + ".") for parent in parents)


def module_files(root: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for package in OURS:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


def imports_of(module: str, path: Path, modules: dict[str, Path]) -> Iterator[Import]:
    """Every import of a file. `from a import b` counts as `a.b` if that is a module of ours, else as `a`."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]

    def visit(node: ast.AST, lazy: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, node.lineno, lazy)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                yield Import(module, whole if whole in modules else base, node.lineno, lazy)
        inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_for_types(node)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside)

    yield from visit(ast.parse(path.read_text(encoding="utf-8"), str(path)), False)


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def breaches(root: Path, layer: Layer) -> list[str]:
    modules = module_files(root)
    found: list[str] = []
    for module, path in modules.items():
        if not under(module, layer.inside) or under(module, layer.but):
            continue
        for line in imports_of(module, path, modules):
            top = line.name.partition(".")[0]
            if under(line.name, layer.never):
                found.append(str(line))
            elif top in OURS:
                if layer.ours is not None and not under(line.name, layer.ours):
                    found.append(str(line))
            elif layer.packages is not None and top not in sys.stdlib_module_names:
                allowed = layer.packages + (layer.lazily if line.lazy else ())
                if top not in allowed:
                    found.append(str(line))
    return found


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str) -> None:
    layer = LAYERS[name]
    assert any(under(module, layer.inside) for module in module_files(ROOT)), f"no module in {layer.inside}"
    assert breaches(ROOT, layer) == []


BREACHES = {
    "manifests": ("manifests/a.py", "import pyarrow\n"),
    "kernels": ("dataprep/kernels/a.py", "from dataprep import columns\n"),
    "columns": ("dataprep/columns.py", "import msgspec\n"),
    "readers, steps, decide": ("dataprep/steps/a.py", "from ..run import run\n"),
    "engines": ("dataprep/engines/a.py", "def f():\n    from dataprep.steps import STEPS\n"),
    "dataprep": ("dataprep/a.py", "import trainer.data\n"),
    "trainer": ("trainer/a.py", "def f():\n    import dataprep\n"),
    "torch-free trainer": ("trainer/data/a.py", "from torch.utils import data\n"),
    "everything": ("trainer/a.py", "import pickle\n"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_breach_is_found(name: str, tmp_path: Path) -> None:
    where, source = BREACHES[name]
    (tmp_path / "dataprep").mkdir()
    (tmp_path / "dataprep" / "columns.py").write_text("")
    (tmp_path / where).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / where).write_text(source)
    assert len(breaches(tmp_path, LAYERS[name])) == 1


def test_lazy_imports_of_the_contract_are_allowed(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    source = "import numpy\ndef f():\n    import pyarrow\nif TYPE_CHECKING:\n    import fsspec\n"
    (tmp_path / "manifests" / "a.py").write_text(source)
    assert breaches(tmp_path, LAYERS["manifests"]) == []


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("manifests.store", ("torch", "numba", "pyarrow", "fsspec", "yaml", "dataprep", "trainer")),
        ("trainer.audit", ("torch", "dataprep")),
        ("trainer.data.rows", ("torch", "dataprep")),
        ("dataprep.cli", ("torch", "trainer")),
    ],
)
def test_import_for_real(module: str, absent: tuple[str, ...]) -> None:
    """What the statements cannot show: what an import brings along through others."""
    code = f"import {module}, sys; print(*[name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

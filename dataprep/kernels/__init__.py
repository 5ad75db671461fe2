"""Compiled functions over `Texts`: numpy and numba only, no Arrow, no files, no recipe. Start with `texts`.

Numba keeps compiled code on disk and compiles a function again when its own file changes, but not when a file
changes from which it calls or inlines a helper; after an update it would run the old helper without a word.
So the code of this package is kept in a folder named by a digest of all its sources.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numba

config: Any = numba.config  # its attributes come from the environment


def _compiled_folder() -> str:
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(here.glob("*.py")):
        digest.update(path.read_bytes())
    return str(Path(config.CACHE_DIR or here / "__pycache__") / f"compiled-{digest.hexdigest()[:16]}")


config.CACHE_DIR = _compiled_folder()

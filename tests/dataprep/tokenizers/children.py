"""Training in a process of its own, so that nothing of this one (hash seed, threads) can matter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def trained_in_a_child(code: str, texts: list[str], **environment: str) -> tuple[str, str]:
    """(what the code printed, what it said) with the texts on its stdin, a NUL between two."""
    child = subprocess.run(
        [sys.executable, "-c", code],
        input="\x00".join(texts),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    return child.stdout.strip(), child.stderr

"""Before a run: what can be known to fail is refused, all of it at once. Start with `checks`.

`folders` looks at the output and the work folder and at the room on their disks, `peek` into the first
records of a file.
"""

from __future__ import annotations

from dataprep.preflight.checks import Preflight, preflight

__all__ = ["Preflight", "preflight"]

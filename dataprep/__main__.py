"""`python -m dataprep` is the same as `dataprep`."""

from __future__ import annotations

from dataprep.cli import main

if __name__ == "__main__":
    main()

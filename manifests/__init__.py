"""The contract between the two halves: what a shard is, what a manifest says, how both are checked.

`dataprep` writes what this package describes and `trainer` reads it; neither imports the other, and this
package imports neither. It needs the standard library, numpy and pydantic; pyarrow, fsspec and yaml are
imported inside the functions that use them.

Read `FORMAT.md` for the bytes, `shard.py` for tokens, `manifest.py` for the description of a corpus,
`store.py` for opening, verifying and publishing one.
"""

from __future__ import annotations

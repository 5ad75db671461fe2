"""A step of one's own that the small recipe names: expensive, and it rewrites."""

from __future__ import annotations


def stamp(text: str) -> str:
    return text.rstrip("\n") + "\nThat is the end of the note.\n"

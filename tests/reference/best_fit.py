"""Best-fit decreasing, size after size over all bins. Slow twin of dataprep/kernels/best_fit.py."""

from __future__ import annotations

from collections.abc import Sequence


def best_fit(sizes: Sequence[int], capacity: int) -> list[int]:
    """The bin of each size: the one with the least room that is enough, of equals the latest to have it."""
    bins = [0] * len(sizes)
    rooms: list[int] = []  # of each bin
    since: list[int] = []  # when it came to that room
    for time, index in enumerate(sorted(range(len(sizes)), key=lambda i: -sizes[i])):
        fits = [number for number, room in enumerate(rooms) if room >= sizes[index]]
        if fits:
            chosen = min(fits, key=lambda number: (rooms[number], -since[number]))
        else:
            chosen = len(rooms)
            rooms.append(capacity)
            since.append(time)
        rooms[chosen] -= sizes[index]
        since[chosen] = time
        bins[index] = chosen
    return bins

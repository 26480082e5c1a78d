"""Queues in which each request is served when those before it are done."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]


def serve(places: Indices, ready: Numbers, service: Numbers, free: Numbers) -> Numbers:
    """When each request is done, each place serving one at a time in the order of readiness (then of the arguments).

    `free` holds when each place is free, and is brought up to date. Times in seconds.
    """
    if len(places) == 0:
        return np.zeros(0)
    order = np.lexsort((ticks(ready), places))
    place, begin = places[order], ready[order]
    length = service[order]
    first = np.flatnonzero(np.r_[True, place[1:] != place[:-1]])
    group = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(place)]))
    total = np.cumsum(length)
    done_before = total - length
    before = done_before - done_before[first][group]  # what the place serves before this one
    waits = np.maximum(begin, free[place]) - before
    spread = float(np.ptp(waits)) + 1.0  # groups apart, so that one running maximum serves all
    latest = np.maximum.accumulate(waits + group * spread) - group * spread
    done = latest + before + length
    free[place[first]] = done[np.r_[first[1:] - 1, len(place) - 1]]
    result = np.empty(len(places))
    result[order] = done
    return result


def ticks(times: Numbers) -> Numbers:
    """Times in whole nanoseconds: what differs by less is simultaneous, and then the order of the arguments decides."""
    return np.asarray(np.rint(times * 1e9))


def shuffled(numbers: Indices, count: int) -> Indices:
    """Numbers dealt in turns to `count` places, each turn beginning elsewhere, so that no stride meets few of them."""
    return (numbers + numbers // count * 37) % count

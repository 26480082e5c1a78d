"""Friends-of-friends groups beside SciPy on the same particles, on one core.

The peer is what one writes in Python without a group finder: `cKDTree`, its `query_pairs`, and `connected_components`
of the pairs. It finds the same groups, but lists all pairs of friends, which dense clumps have many of; a program made
for groups need not. Particles: at random, or 60 % of them in isothermal clumps of 20 to 2000 particles with a mean
density of 200; linking length 0.2 mean separations. CPU time, minimum of the repetitions.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

import sidestream

LINKING_LENGTH = 0.2  # the mean separation is 1


def sample(kind: str, count: int, side: float) -> np.ndarray:
    """Positions in a box in random order."""
    random = np.random.default_rng(1)
    parts = []
    left = 0 if kind == "random" else count * 6 // 10
    while left > 0:
        low, high = 20.0**-0.9, 2000.0**-0.9
        size = min(left, int((low + random.random() * (high - low)) ** (-1 / 0.9)))
        radius = np.cbrt(size / (200 * 4 / 3 * np.pi))
        direction = random.standard_normal((size, 3))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        parts.append(random.random(3) * side + radius * random.random((size, 1)) * direction)
        left -= size
    parts.append(random.random((count - sum(map(len, parts)), 3)) * side)
    positions = np.concatenate(parts) % side
    random.shuffle(positions)
    return positions


def peer(positions: np.ndarray, side: float) -> np.ndarray:
    """The groups by SciPy, with the smallest index in each as its name."""
    pairs = cKDTree(positions, boxsize=side).query_pairs(LINKING_LENGTH, output_type="ndarray")
    ones = np.ones(len(pairs), dtype=np.int8)
    links = coo_matrix((ones, (pairs[:, 0], pairs[:, 1])), shape=(len(positions),) * 2)
    count, component = connected_components(links, directed=False)
    smallest = np.full(count, len(positions))
    np.minimum.at(smallest, component, np.arange(len(positions)))
    return smallest[component]


def microseconds(work: Callable[[], np.ndarray], count: int, repeats: int) -> tuple[float, np.ndarray]:
    """Least CPU time a particle, and the result."""
    times = []
    for _ in range(repeats):
        before = time.process_time()
        result = work()
        times.append(1e6 * (time.process_time() - before) / count)
    return min(times), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--particles", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    count, side = arguments.particles, float(np.cbrt(arguments.particles))
    cases = []
    for kind in ("random", "clumped"):
        positions = sample(kind, count, side)
        ours, groups = microseconds(
            lambda: sidestream.friends_of_friends(positions, side, linking_length=LINKING_LENGTH),  # noqa: B023
            count,
            arguments.repeats,
        )
        scipy, expected = microseconds(lambda: peer(positions, side), count, arguments.repeats)  # noqa: B023
        cases.append(
            {
                "kind": kind,
                "particles": count,
                "groups": len(np.unique(groups)),
                "are_equal": bool(np.array_equal(groups, expected)),
                "sidestream_us_per_particle": ours,
                "scipy_us_per_particle": scipy,
                "ratio": scipy / ours,
            }
        )
    print(json.dumps({"benchmark": "friends_of_friends", "cases": cases}, indent=2))


if __name__ == "__main__":
    main()

"""Friends-of-friends groups of arrays, against SciPy's pairs and connected components."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

import sidestream


def expected_groups(
    positions: np.ndarray, box_size: object, linking_length: float, ids: np.ndarray | None = None
) -> np.ndarray:
    ids = np.arange(len(positions)) if ids is None else ids
    pairs = cKDTree(positions, boxsize=box_size).query_pairs(linking_length, output_type="ndarray")
    links = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(positions),) * 2)
    count, component = connected_components(links, directed=False)
    smallest = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(smallest, component, ids)
    return smallest[component]


def clumped(count: int, box_size: float, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    spread = random.random((count // 2, 3)) * box_size
    centers = random.random((40, 3)) * box_size
    centers[:10, random.integers(3)] = 0.0
    clumps = centers[random.integers(40, size=count - count // 2)]
    clumps = clumps + random.standard_normal(clumps.shape) * 0.02 * box_size * random.random((len(clumps), 1))
    return np.concatenate([spread, clumps]) % box_size


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_groups_are_those_of_scipy(seed: int, periodic: bool) -> None:
    box_size, count = 40.0, 10_000
    positions = clumped(count, box_size, seed) - (0.0 if periodic else 15.0)
    linking_length = 0.2 * box_size / count ** (1 / 3)

    groups = sidestream.friends_of_friends(
        positions, box_size if periodic else None, linking_length=linking_length, periodic=periodic
    )

    np.testing.assert_array_equal(groups, expected_groups(positions, box_size if periodic else None, linking_length))


def test_the_sides_of_the_box_may_differ() -> None:
    sides = (10.0, 20.0, 5.0)
    positions = np.random.default_rng(3).random((3000, 3)) * sides

    groups = sidestream.friends_of_friends(positions, sides, linking_length=0.5)

    np.testing.assert_array_equal(groups, expected_groups(positions, sides, 0.5))


def test_the_order_of_the_particles_does_not_matter() -> None:
    random = np.random.default_rng(5)
    positions, ids = clumped(4000, 10.0, 5), random.permutation(10**6)[:4000]
    order = random.permutation(4000)

    here = sidestream.friends_of_friends(positions, 10.0, linking_length=0.15, ids=ids)
    there = sidestream.friends_of_friends(positions[order], 10.0, linking_length=0.15, ids=ids[order])

    np.testing.assert_array_equal(here[order], there)
    np.testing.assert_array_equal(here, expected_groups(positions, 10.0, 0.15, ids))


def test_positions_are_wrapped_into_a_periodic_box() -> None:
    positions = np.array([[0.1, 5.0, 5.0], [-0.1, 5.0, 15.0], [4.0, 5.0, 5.0], [10.0, 5.0, 5.0]])

    groups = sidestream.friends_of_friends(positions, 10.0, linking_length=0.5)

    assert groups.tolist() == [0, 0, 2, 0]


def test_no_particles_have_no_groups() -> None:
    assert sidestream.friends_of_friends(np.empty((0, 3)), 1.0, linking_length=0.1).tolist() == []
    assert sidestream.friends_of_friends(np.empty((0, 3)), linking_length=0.1, periodic=False).tolist() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"linking_length": 0.0}, "linking length is 0"),
        ({"linking_length": float("nan")}, "`linking_length` is nan"),
        ({"box_size": None}, "box_size"),
        ({"box_size": -1.0}, "box_size"),
        ({"positions": np.zeros((4, 2))}, "shape"),
        ({"positions": np.full((4, 3), np.nan)}, "particle 0 at"),
        ({"ids": np.zeros(3, dtype=int)}, "ids"),
        ({"ids": np.zeros(4)}, "ids"),
        ({"ids": np.full(4, 2**63, dtype=np.uint64)}, "ids"),
    ],
)
def test_bad_input_is_an_error(arguments: dict, message: str) -> None:
    arguments = {"positions": np.zeros((4, 3)), "box_size": 1.0, "linking_length": 0.1} | arguments

    with pytest.raises(sidestream.Error, match=message):
        sidestream.friends_of_friends(**arguments)

"""Files and snapshots that are periodic along some axes: analyses in Python find what the run has found."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

import sidestream as ss

CELLS = 8
CONFIGURATION = """
[output]
plotfile = { format = "nyx", every = 1, variables = ["gas_density"] }

[task.halos]
analysis = "halos"
field = "gas_density"
t_boundary = "6"
t_halo = "6.5"
every = 1

[task.groups]
analysis = "halos"
finder = "fof"
species = "dark_matter"
field = "gas_density"
min_particles = 5
linking_length = 0.3
every = 1

[task.own]
analysis = "python"
file = "own.py"
every = 1
"""
OWN = """
import sidestream

@sidestream.analysis(fields=["gas_density"])
def own(snapshot):
    return {"cells": sorted(snapshot.halos("gas_density", t_boundary=6.0, t_halo=6.5)["cells"].values)}
"""


def written(folder: Path, periodic: tuple[bool, bool, bool]) -> Path:
    """A run with peaks on opposite faces along z, y and x (that along x on both, cut in two) and as many particles."""
    density = np.ones((CELLS,) * 3)
    density[0, 4, 4], density[-1, 4, 4] = 9.0, 8.0
    density[3, 0, 3], density[3, -1, 3] = 7.0, 7.5
    density[5, 2, 0], density[5, 2, -1] = 6.6, 6.8
    rng = np.random.default_rng(5)
    low, high = 0.01 + 1e-4 * rng.random((3, 10, 3)), 0.99 + 1e-4 * rng.random((3, 10, 3))
    points = []
    for axis, (near, far) in enumerate(zip(low, high, strict=True)):
        beside = (axis + 1) % 3
        near[:, beside], far[:, beside] = 0.3 + near[:, beside], far[:, beside] - 0.68
        near[:, (axis + 2) % 3], far[:, (axis + 2) % 3] = 0.2 * axis + 0.3, 0.2 * axis + 0.3
        points += [near, far]
    positions = list(np.concatenate(points).T.copy())
    folder.mkdir()
    (folder / "tasks.toml").write_text(CONFIGURATION)
    (folder / "own.py").write_text(OWN)
    with ss.session(folder / "tasks.toml", folder / "run", quiet=True) as run:
        run.mesh((CELLS,) * 3, lengths=(1.0, 1.0, 1.0), periodic=periodic)
        run.field("gas_density", density, unit="Msun/Mpc^3")
        run.particles("dark_matter", np.arange(60), positions, mass=2.0)
        run.begin()
    return folder / "run"


def components(mask: np.ndarray, periodic: tuple[bool, bool, bool]) -> list[int]:
    """The sizes of those by faces: SciPy's, joined across the faces along periodic axes (z, y, x)."""
    labels, count = ndimage.label(mask)
    names = np.arange(count + 1)
    for axis in np.flatnonzero(periodic):
        for a, b in zip(np.take(labels, 0, axis).ravel(), np.take(labels, -1, axis).ravel(), strict=True):
            if a and b:
                names[names == names[a]] = names[b]
    return sorted(np.unique(names[labels][labels > 0], return_counts=True)[1].tolist())


@pytest.mark.parametrize("periodic", list(itertools.product([False, True], repeat=3)), ids=str)
def test_analyses_of_a_file_are_periodic_as_it_is(periodic: tuple[bool, bool, bool], tmp_path: Path) -> None:
    folder = written(tmp_path / "case", periodic)
    run, file = ss.open(folder), ss.open(folder / "plt00000")

    assert file.periodic == periodic[::-1]
    halos = file.halos("gas_density", t_boundary=6.0, t_halo=6.5, connectivity=6)
    groups = file.friends_of_friends(0.3, "gas_density", min_particles=5)

    of_run = run.result("halos", 0)
    for name in ("id", "cells", "x", "y", "z", "mass"):
        np.testing.assert_array_equal(halos[name], of_run[name], err_msg=name)
    expected = components(file["gas_density"].values >= 6.0, periodic)
    assert sorted(halos["cells"].values.tolist()) == expected
    assert len(expected) == 6 - sum(periodic)
    assert run.result("own", 0)["cells"].values.tolist() == expected
    assert sorted(groups["particles"].values.tolist()) == sorted(run.result("groups", 0)["particles"].values.tolist())
    assert sorted(groups["particles"].values.tolist()) == sorted([20] * sum(periodic) + [10, 10] * (3 - sum(periodic)))


def test_who_says_how_the_box_continues_is_followed(tmp_path: Path) -> None:
    file = ss.open(written(tmp_path / "case", (True, False, True)) / "plt00000")
    options = {"t_boundary": 6.0, "t_halo": 6.5}

    assert [file.halos("gas_density", periodic=word, **options).sizes["halo"] for word in (True, False)] == [3, 6]
    with pytest.raises(ss.Error, match="neither True nor False"):  # nobody says in which order of axes
        file.halos("gas_density", periodic=file.periodic, **options)  # type: ignore[arg-type]

"""Regions of which every cell is known: boxes at the faces, edges and corners of a periodic domain, margins that wrap,
regions that are everything or nothing, ranks without cells; in place and by a stream."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.ndimage

import sidestream
from calls import attached, program
from test_regions import boxes_seen_by_vtk, results

CELLS = (24, 20, 16)  # x, y, z: whole tiles of 8 cells and parts of some
MARGIN = 3
# From, to: one through the corner of the domain, one through an edge, one through a face, one inside.
BOXES = {
    "corner": ((0, 0, 0), (2, 2, 2)),
    "corner_across": ((22, 18, 14), (24, 20, 16)),
    "edge": ((10, 0, 6), (13, 1, 8)),
    "edge_across": ((10, 19, 6), (13, 20, 8)),
    "last_cell": ((23, 9, 4), (24, 10, 5)),
    "inside": ((8, 9, 8), (15, 11, 9)),
}
CONFIG = f"""simulation = "lbm"
[mesh]
cells = {list(CELLS)}
block = 8
[lbm]
viscosity = 0.1
end = 2
[initial]
velocity = [0.05, 0.02, 0.01]
[task.solid]
analysis = "regions"
condition = "barrier > 0"
measure = ["gas_density"]
save = ["velocity_x", "barrier"]
margin = {MARGIN}
connectivity = 26
every = 2
[task.all]
analysis = "regions"
condition = "gas_density > 0"
save = ["velocity_x"]
every = 2
[task.none]
analysis = "regions"
condition = "gas_density > 5"
save = ["velocity_x"]
margin = {MARGIN}
every = 2
[task.plot]
write = "plotfile"
format = "raw"
variables = ["velocity_x"]
precision = "double"
at_end = true
""" + "".join(
    f'[barrier.{name}]\nshape = "box"\nfrom = {[float(n) for n in low]}\nto = {[float(n) for n in high]}\n'
    for name, (low, high) in BOXES.items()
)
TASKS = ("solid", "all", "none")


def run(folder: Path, ranks: int, out: str, *words: object) -> sidestream.Run:
    (folder / "run.toml").write_text(CONFIG, encoding="utf-8")
    done = program(folder, ranks, "run.toml", "--quiet", "--out", out, *words)
    assert done.returncode == 0, done.stderr
    return sidestream.open(folder / out)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edges")
    run(folder, 1, "one")
    return folder


@pytest.fixture(scope="module")
def one(place: Path) -> sidestream.Run:
    return sidestream.open(place / "one")


def solid_cells() -> np.ndarray:
    mask = np.zeros(CELLS[::-1], dtype=bool)
    for low, high in BOXES.values():
        (x, y, z), (to_x, to_y, to_z) = low, high
        mask[z:to_z, y:to_y, x:to_x] = True
    return mask


def test_regions_at_faces_edges_and_corners_are_one_each(one: sidestream.Run) -> None:
    table = one.result("solid", 2)

    # Through the corner two boxes of 8 touch by their corners; through the edge two of 6 by their faces.
    assert sorted(table["cells"].values.tolist()) == [1, 12, 14, 16]
    assert int(table["cells"].sum()) == solid_cells().sum()
    assert np.array_equal(table["gas_density_mean"].values, np.ones(4))


def test_a_margin_wraps_around_all_axes_at_once(place: Path, one: sidestream.Run) -> None:
    solid = solid_cells()
    near = scipy.ndimage.maximum_filter(solid, size=2 * MARGIN + 1, mode="wrap")
    (plot,) = (place / "one" / "plot").glob("plt*")
    velocity = sidestream.open(plot)["velocity_x"].values
    path = one.result_path("solid", 2).with_suffix(".vtkhdf")

    part = sidestream.open(path)

    assert part.is_sparse
    saved = ~np.isnan(part["velocity_x"].values)
    assert np.all(saved[near])
    assert not saved.all()
    assert np.array_equal(part["velocity_x"].values[saved], velocity[saved])
    assert np.array_equal(part["barrier"].values[saved] > 0, solid[saved])
    again = np.zeros_like(saved)
    for (_, x, y, z), cells in boxes_seen_by_vtk(path, "x_velocity").items():
        nz, ny, nx = cells.shape
        assert not again[z : z + nz, y : y + ny, x : x + nx].any()  # no cell twice
        again[z : z + nz, y : y + ny, x : x + nx] = True
        assert np.array_equal(cells, velocity[z : z + nz, y : y + ny, x : x + nx])
    assert np.array_equal(again, saved)


def test_regions_come_as_arrays_in_one_piece(one: sidestream.Run) -> None:
    for region in sidestream.regions(one, "solid", step=2):
        assert region.inside.sum() == region.properties["cells"]
        assert np.all(region["barrier"][region.inside] > 0)
        assert np.all(region["velocity_x"][region.inside] == 0.0)
        inner = np.argwhere(region.inside)
        assert np.array_equal(inner.min(axis=0), [MARGIN] * 3)
        assert np.array_equal(inner.max(axis=0) + 1 + MARGIN, region.shape)


def test_everything_and_nothing(one: sidestream.Run) -> None:
    everything, nothing = one.result("all", 2), one.result("none", 2)

    assert everything["cells"].values.tolist() == [np.prod(CELLS)]
    assert everything.attrs["saved_share"] == 1
    part = sidestream.open(one.result_path("all", 2).with_suffix(".vtkhdf"))
    assert not np.isnan(part["velocity_x"].values).any()
    assert nothing.sizes["region"] == 0
    assert not one.result_path("none", 2).with_suffix(".vtkhdf").exists()


@pytest.mark.parametrize("ranks", [2, 4])  # two tiles: on four ranks two have no cells
def test_ranks_without_cells_change_nothing(ranks: int, place: Path, one: sidestream.Run) -> None:
    other = run(place, ranks, f"on_{ranks}")

    for task in TASKS[:2]:
        assert results(other, task) == results(one, task)
    assert other.result("none", 2).sizes["region"] == 0


@pytest.mark.parametrize(("ranks", "readers"), [(2, 3), pytest.param(3, 1, marks=pytest.mark.slow)])
def test_a_job_that_reads_a_stream_finds_and_saves_the_same(
    ranks: int, readers: int, place: Path, one: sidestream.Run
) -> None:
    name = f"stream-{ranks}"
    words = ("--set", "task.solid.transport=stream", "--set", "stream.wait_for=1")
    with attached(place, name, "solid", readers) as reader:
        other = run(place, ranks, name, *words)
        assert reader.wait(60) == 0, reader.stdout.read()

    assert results(other, "solid") == results(one, "solid")

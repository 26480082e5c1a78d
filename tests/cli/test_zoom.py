"""`sidestream zoom`, with the real program behind it."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tomllib
from numpy.typing import NDArray

import sidestream as ss
import sidestream.launch.zoom as zooms
from calls import program
from configs import dark_matter_to_zoom
from fixtures import CommandLine
from sidestream.files.formats import formats
from sidestream.runs.outputs import CHECKPOINT, outputs_in

BASE = dark_matter_to_zoom(box="128 Mpc", seed=2, largest_expansion=0.1, t_boundary="20 mean", t_halo="50 mean")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("zoom")
    (folder / "base.toml").write_text(BASE)
    done = program(folder, 2, "base.toml", "--quiet", "--out", "base")
    assert done.returncode == 0, done.stderr
    return folder / "base"


def heaviest(base: Path) -> int:
    run = ss.open(base)
    assert isinstance(run, ss.Run)
    return int(run.result("halos", -1, "halo")["id"][0])


def test_a_zoom_runs_and_has_fine_particles_where_the_halo_came_from(
    base: Path, tmp_path: Path, sidestream: CommandLine
) -> None:
    done = sidestream("zoom", base, "--halo", heaviest(base), "--radius", "4 Mpc")

    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"halo {heaviest(base)} at z = 0: ")
    config = tomllib.loads(done.stdout)
    assert config["cosmology"]["seed"] == 2
    assert config["amr"]["max_level"] == config["refine"]["zoom"]["max_level"] == 1
    (tmp_path / "zoom.toml").write_text(done.stdout)
    changes = ("--set", "run.max_steps=1", "--set", "output.plotfile.every=1")
    again = program(tmp_path, 2, "zoom.toml", "--quiet", "--out", "zoomed", *changes)
    assert again.returncode == 0, again.stderr
    run = ss.open(tmp_path / "zoomed")
    assert isinstance(run, ss.Run)
    plot = ss.SnapshotFile(sorted(run.folder.glob("plt*"))[0])
    particles = plot.particles()
    fine = particles["mass"] < 0.5 * particles["mass"].max()
    assert 0 < int(fine.sum()) < particles.sizes["particle"]
    lower, upper = (np.array(config["refine"]["zoom"][side]) for side in ("lower", "upper"))
    cell, box = 4.0, 128.0  # nothing has moved by more than a cell yet
    within = np.ones(particles.sizes["particle"], bool)
    for axis, low, high in zip("xyz", lower + cell, upper - cell, strict=True):
        within &= (particles[axis].values - low) % box < high - low
    assert int(within.sum()) > 100
    assert bool(fine.values[within].all())
    np.testing.assert_allclose(float(particles["mass"].astype(float).sum()), float(_mass_of(base)), rtol=1e-6)


def _mass_of(base: Path) -> float:
    plot = ss.SnapshotFile(sorted(base.glob("plt*"))[-1])
    return float(plot.particles()["mass"].astype(float).sum())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--halo", -5), "there is no halo -5 among the"),
        (("--halo", "HEAVIEST", "--radius", "3 R300x"), "`3 R300x` is no radius"),
        (("--halo", "HEAVIEST", "--radius", "0 Mpc"), "`0 Mpc` is 0 Mpc hint: it is to be above 0"),
        (("--halo", "HEAVIEST", "--radius", "63 Mpc"), "come from all of the box along"),
        (("--halo", "HEAVIEST", "--radius", "4 Mpc/h"), 'takes comoving "2.5 Mpc" or "2500 kpc"'),
        (("--halo", "HEAVIEST", "--levels", 0), "a zoom of 0 levels is none"),
        (("--halo", "HEAVIEST", "--levels", 99), "99 levels are more than a mesh can have"),
        (("--halo", "HEAVIEST", "--task", "holes"), "there is no task `holes`"),
        (("--halo", "HEAVIEST", "--step", 1), "has no result for step 1"),
    ],
)
def test_what_cannot_be_zoomed_is_refused(
    words: tuple[object, ...], message: str, base: Path, sidestream: CommandLine
) -> None:
    named = [heaviest(base) if word == "HEAVIEST" else word for word in words]

    done = sidestream("zoom", base, *named)

    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert done.stdout == ""


def isothermal(count: int, side: float, radius: float) -> zooms._Particles:
    """A sphere of density 1 / r^2 about a point near a corner of the box, and as many particles spread evenly."""
    random = np.random.default_rng(7)
    direction = random.normal(size=(count, 3))
    place = np.array([side - 0.2, 0.3, 5.0])
    away = direction / np.linalg.norm(direction, axis=1)[:, None] * radius * random.uniform(size=(count, 1))
    positions = np.concatenate([place + away, random.uniform(0.0, side, (count, 3))]) % side
    sides, mass = np.full(3, side), np.ones(2 * count)
    peak = (np.floor(place) + 0.5) % side  # to a cell of 1 Mpc
    centre = zooms._centre_of(positions, mass, peak, sides, np.ones(3))
    np.testing.assert_allclose(zooms._nearest_image(centre - place, sides), 0.0, atol=10.0 * radius / count**0.5)
    return zooms._Particles(np.arange(2 * count), centre, zooms._nearest_image(positions - centre, sides), mass)


COSMOLOGY = {"cosmology": {"omega_m": 0.3, "omega_lambda": 0.7}}


@pytest.mark.parametrize(("name", "times", "redshift"), [("r200m", 200.0, 1.0), ("r200c", 200.0 / 0.3, 0.0)])
def test_a_sphere_of_particles_is_as_dense_as_its_name_says(name: str, times: float, redshift: float) -> None:
    side, radius, count = 20.0, 2.0, 40_000
    halo = zooms._Halo(7, 0, redshift, 1.0, np.zeros(3), [name])

    found = zooms._sphere_radius(name, isothermal(count, side, radius), COSMOLOGY, halo, np.full(3, side))

    # count r / radius particles in it, and the mean of the box; r^2 = 3 count / (4 pi radius times mean)
    exact = np.sqrt(3.0 * count / (4.0 * np.pi * radius * times * 2.0 * count / side**3))
    assert found == pytest.approx(exact, rel=0.03)  # 15000 particles and more, and up to 1 % of the even ones


def test_a_sphere_of_too_few_particles_is_refused() -> None:
    halo = zooms._Halo(7, 0, 0.0, 1.0, np.zeros(3), ["r200m"])

    with pytest.raises(ss.Error, match="R200m of halo 7 cannot be told from its particles"):
        zooms._sphere_radius("r200m", isothermal(100, 20.0, 2.0), COSMOLOGY, halo, np.full(3, 20.0))


def test_the_region_reaches_across_the_sides_of_the_box() -> None:
    sides, padding = np.full(3, 10.0), np.full(3, 0.5)
    start = np.array([[9.5, 4.0, 1.0], [0.5, 5.0, 2.0]])
    end = np.array([[9.8, 4.5, 9.5], [0.2, 4.5, 2.0]])

    region = zooms._region_of(start, end, sides, padding)

    np.testing.assert_allclose(region.lower, [9.0, 3.5, 9.0])
    np.testing.assert_allclose(region.upper, [11.0, 5.5, 12.5])


# The particles of its heaviest halo have come from more than a quarter of the box away.
SMALL = """
simulation = "nbody"

[mesh]
cells = [16, 16, 16]
block = 8

[cosmology]
box = "14.2 Mpc"
z_start = 100
z_end = 0
seed = 2
largest_expansion = 0.2

[task.halos]
analysis = "halos"
field = "dark_matter_density"
at_redshift = [0]
t_boundary = "5 mean"
t_halo = "10 mean"

[output]
plotfile = { at_redshift = [0] }
checkpoint = { at_redshift = [0] }
"""
# What stands in where a format has no plot files, and no checkpoints of particles alone.
PLOT_FILES, CHECKPOINTS = {"enzo-hdf5": "enzo"}, {"vtkhdf": "sidestream", "nyx": "sidestream"}
WITHOUT_PARTICLES = "vtkhdf"


def small_run(folder: Path, name: str) -> ss.Run:
    """Leaves a plot file and a checkpoint of that format, both of the step of the catalogue."""
    (folder / "small.toml").write_text(SMALL)
    chosen = [f"output.plotfile.format={PLOT_FILES.get(name, name)}"]
    chosen += [f"output.checkpoint.format={CHECKPOINTS.get(name, name)}"]
    words = [word for key in chosen for word in ("--set", key)]
    done = program(folder, 2, "small.toml", "--quiet", "--out", "small", *words)
    assert done.returncode == 0, done.stderr
    run = ss.open(folder / "small")
    assert isinstance(run, ss.Run)
    return run


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> ss.Run:
    return small_run(tmp_path_factory.mktemp("small"), "nyx")


def zoomed(run: ss.Run) -> zooms.Zoom:
    return zooms.zoom(run, zooms.ZoomRequest(heaviest(run.folder), "1 R200m"))


def corners(zoom: zooms.Zoom) -> list[list[float]]:
    region = tomllib.loads(zoom.config)["refine"]["zoom"]
    return [region["lower"], region["upper"]]


# A file, a folder and one without particles; that all formats are read alike is tested with files.
QUICK = {"sidestream", "nyx", WITHOUT_PARTICLES}


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in formats()]
)
def test_any_format_tells_where_the_particles_are(name: str, small: ss.Run, tmp_path: Path) -> None:
    expected, close = corners(zoomed(small)), {"rtol": 0.0, "atol": 2e-4}  # written with four digits after the point
    run = small_run(tmp_path, name)
    (checkpoint,) = outputs_in(run.folder, CHECKPOINT)

    np.testing.assert_allclose(corners(zoomed(run)), expected, **close)  # a checkpoint comes first
    shutil.rmtree(checkpoint.path) if checkpoint.path.is_dir() else checkpoint.path.unlink()

    if name == WITHOUT_PARTICLES:
        with pytest.raises(ss.Error, match="the file has no particles with ids"):
            zoomed(run)
    else:
        np.testing.assert_allclose(corners(zoomed(run)), expected, **close)


def small_particles(run: ss.Run) -> tuple[zooms._Particles, NDArray[np.float64]]:
    halo = zooms._halo_of(run, zooms.ZoomRequest(heaviest(run.folder), "1 Mpc"))
    sides = zooms._sides(run)
    return zooms._particles_about(run, halo, sides, sides / 16), sides


def test_particles_may_have_come_from_far(small: ss.Run) -> None:
    particles, sides = small_particles(small)
    ids, positions = zooms._within(particles, 0.8, small.folder)
    way = zooms._nearest_image(positions - zooms._start_of(small.config, ids, sides, small.folder), sides)

    zooms._check_ids(particles, small.config, sides, small.folder)

    assert np.sqrt((way**2).sum(axis=1).mean()) > 0.25 * sides[0]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda i, j, k: np.random.default_rng(1).permutation(i + 16 * (j + 16 * k)), id="shuffled"),
        pytest.param(lambda i, j, k: k + 16 * (j + 16 * i), id="z fastest"),
        pytest.param(lambda i, j, k: j + 16 * (i + 16 * k), id="y fastest"),
        pytest.param(lambda i, j, k: (15 - i) + 16 * (j + 16 * k), id="backwards along x"),
        pytest.param(lambda i, j, k: (i + 8) % 16 + 16 * (j + 16 * k), id="half a box away"),
    ],
)
def test_ids_that_tell_nothing_are_refused(other: Callable[..., NDArray[np.int64]], small: ss.Run) -> None:
    particles, sides = small_particles(small)
    ids = other(particles.id % 16, particles.id // 16 % 16, particles.id // 256)

    with pytest.raises(ss.Error, match="the ids do not tell where the particles began"):
        zooms._check_ids(dataclasses.replace(particles, id=ids), small.config, sides, small.folder)

"""Particles and levels: nothing pulls itself where levels meet, and a nested start is what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad, solve_ivp

import nyx_files
import sidestream
from book import Bound, Chapter
from configs import ZONE, dark_matter_to_zoom, universe
from program import Program, plot_files
from universe import GRAVITY, Universe

Array = NDArray[np.float64]
Measured = Callable[[str, Sequence[float] | float], None]

SELF_FORCE = "{}: largest change of momentum in a step, over that which an equal neighbour at one coarse cell makes"
STRAIGHT = "{}: largest distance from the straight path, in coarse cells"
SLOW = ("heart",)
LONE = Chapter(
    title="A lone particle across levels",
    text="A particle of 2e13 Msun alone in a box of 24 Mpc, 24^3 cells, passes through a region of finer cells, "
    "eight coarse ones wide: through its sides, an edge and a corner; and through one of three levels. Its momentum "
    "must not change; what changes it is the force that it exerts on itself by way of the mesh, the largest of all "
    "steps.",
    bounds=tuple(
        bound
        for way in ("face", "edge", "corner", "heart")
        for bound in (
            Bound(
                SELF_FORCE.format(way),
                0.0,
                1e-3,
                "a thousandth of the force of an equal neighbour, G m / H^2, at any place",
                way in SLOW,
            ),
            Bound(
                STRAIGHT.format(way),
                0.0,
                2e-2,
                "twice integrated, the bound above moves the particle by at most 1e-3 G m / H^2 t^2 / 2, which is "
                "0.02 cells",
                way in SLOW,
            ),
        )
    ),
)
PAIR = Chapter(
    title="Two bodies across levels",
    text="Two particles of 5e13 Msun turn about each other, six coarse cells apart, their centre on a side where "
    "levels meet, one in the fine and one in the coarse cells. Compared with the exact equation of motion in the "
    "expanding box. At a distance r along an axis the seven-point Laplacian pulls too much by 3/4 (h/r)^2 and the "
    "central difference by (h/r)^2; clouds change nothing at this order. So the coarse particle is pulled too much by "
    "4.9 %, the fine one by 1.2 %, and the pair by 3 % on average. The bounds of the place and of the momentum were "
    "derived when the figures were known.",
    bounds=(
        Bound("angle that they turn by, in radians", 0.55, 0.65, "that of the exact solution, in which the bounds are"),
        Bound(
            "distance from the exact place, over the distance from the centre",
            0.0,
            0.01,
            "on a circle a force too large by e makes a body fall in by e (1 - cos phi) and lead by "
            "2 e (phi - sin phi) after an angle phi: 0.19 e, 0.6 % for this pair and 0.9 % if both were coarse",
        ),
        Bound(
            "momentum of the pair, over that of one of them",
            0.0,
            0.025,
            "forces of a level on itself are antisymmetric; those between levels differ by 3.7 % here, which sin phi "
            "makes 2.1 % of the momentum, and a fifth more",
        ),
    ),
)
NESTED = Chapter(
    title="Nested starts",
    text="A region refined at the start, gas and dark matter, `amr.buffer` from 0 to 4.",
    bounds=(
        Bound("fields that differ from those without a buffer", 0.0, 0.0, "the region is the same: not a bit differs"),
        Bound(
            "mass of each level's particles over that of its part of the lattice, less 1",
            -2e-6,
            2e-6,
            "a region has the particles of its lattice, an eighth as heavy; files hold masses in single precision, and "
            "G and the units have six digits",
        ),
        Bound(
            "mass of each level's gas over that of a uniform start in the same place, less 1",
            -1e-12,
            1e-12,
            "finer waves move gas within the region alone: round-off",
        ),
        Bound("mass of the gas in each of five steps over that at the start, less 1", -1e-12, 1e-12, "round-off"),
        Bound("particles and their mass in each of five steps less those at the start", 0.0, 0.0, "none is lost"),
        Bound("mass of the gas on all leaves over that of a uniform start, less 1", -1e-12, 1e-12, "round-off"),
        Bound(
            "mass of the particles over the cosmic mean, less 1",
            -2e-6,
            2e-6,
            "files hold it in single precision, and G and the units have six digits",
        ),
    ),
)
ZOOM = Chapter(
    title="Zoom and uniform run",
    text="The heaviest halo of a run of 32^3 particles in 32 Mpc, simulated again by `sidestream zoom --radius "
    '"3 R200m"` and with the fine particles and cells everywhere. Centre (of ever smaller spheres) and M200m are '
    "counted on the particles by NumPy.",
    bounds=(
        Bound(
            "distance of the centres, in fine cells",
            0.0,
            1.0,
            "both have the same waves, and forces that fine cells soften alike: the densest place within that "
            "softening is one place",
        ),
        Bound(
            "M200m of the zoom over that of the uniform run, less 1",
            -0.05,
            0.05,
            "particles within 3 R200m are all fine. Coarser matter beyond pulls with clouds of twice the size, 1 % of "
            "a tide that is a tenth of the halo's own pull; some 10000 particles: three times 1 %; halves of the rest",
        ),
        Bound("coarse particles within R200m of the zoom", 0.0, 0.0, "all that come there were traced back"),
    ),
    is_slow=True,
)
CHAPTERS = (LONE, PAIR, NESTED, ZOOM)

OURS = Universe(omega_m=0.3, omega_b=0.05, hubble=0.7)
CELL = 1.0  # Mpc
OUTPUTS = 12

BODIES = f"""
simulation = "nbody"

[mesh]
cells = [CELLS, CELLS, CELLS]
block = 8

[amr]
max_level = LEVELS
regrid_every = 1

[refine.zone]
criterion = "region"
lower = [8.1, 8.1, 8.1]
upper = [UPPER, UPPER, UPPER]
max_level = 1

[cosmology]
box = "CELLS Mpc"
z_start = 1
z_end = 0
omega_m = {OURS.omega_m}
omega_b = {OURS.omega_b}
hubble = {OURS.hubble}
power = "eisenstein-hu"

[output]
plotfile = {{ format = "nyx", at_redshift = {[round(0.95 - 0.95 * n / (OUTPUTS - 1), 3) for n in range(OUTPUTS)]} }}
"""


HEART = """
[refine.heart]
criterion = "region"
lower = [15.5, 15.5, 15.5]
upper = [16.5, 16.5, 16.5]
max_level = 2
"""


@dataclass(frozen=True)
class Mesh:
    """One fine block of eight coarse cells a side within 24^3; with two levels, two of them within 32^3."""

    levels: int = 1

    @property
    def cells(self) -> int:
        return 24 if self.levels == 1 else 32

    @property
    def upper(self) -> float:
        return self.cells - 8.1

    def config(self) -> str:
        words = {"CELLS": self.cells, "LEVELS": self.levels, "UPPER": self.upper}
        text = BODIES
        for word, value in words.items():
            text = text.replace(word, str(value))
        return text + (HEART if self.levels == 2 else "")


def bodies(
    program: Program, name: str, mesh: Mesh, mass: float, positions: Array, momenta: Array, *words: str
) -> sidestream.Run:
    """A run of a few particles, from z = 1 to today; momenta are a times the peculiar velocity [km/s]."""
    side = mesh.cells * CELL
    state = nyx_files.State(
        scale_factor=0.5,
        box=(side, side, side),
        fields={"phi_grav": np.zeros((mesh.cells, mesh.cells, mesh.cells))},
        positions=positions,
        velocities=momenta / 0.5,
        mass=np.full(len(positions), mass),
    )
    path = nyx_files.write(program.folder / f"{name}_start", state)
    return program.run(name, mesh.config(), "--from", path, *words)


def moments(run: sidestream.Run) -> list[tuple[float, Array, Array]]:
    """Scale factor, positions and momenta of each output, by id."""
    found = []
    for plot in plot_files(run):
        table = plot.particles().sortby("id")
        a = plot.attrs["scale_factor"]
        place = np.stack([table[axis].values for axis in "xyz"], axis=1).astype(float)
        speed = np.stack([table[f"{axis}vel"].values for axis in "xyz"], axis=1).astype(float)
        found.append((a, place, a * speed))
    return found


def integral(power: int, a0: float, a1: float) -> float:
    """Of dt / a^power [Mpc/(km/s)]."""
    return float(quad(lambda a: 1.0 / (a ** (power + 1) * OURS.hubble_rate(a)), a0, a1, epsrel=1e-10)[0])


MASS = 2e13
WAYS = {
    "face": (Mesh(1), np.array([4.3, 12.4, 11.7]), np.array([0.95, 0.0, 0.0])),
    "edge": (Mesh(1), np.array([5.2, 6.1, 11.2]), np.array([0.85, 0.8, 0.1])),
    "corner": (Mesh(1), np.array([5.4, 5.9, 6.2]), np.array([0.8, 0.82, 0.78])),
    "heart": (Mesh(2), np.array([4.4, 11.6, 17.1]), np.array([1.5, 0.6, -0.2])),
}


@pytest.mark.parametrize("way", [pytest.param(way, marks=[pytest.mark.slow] * (way in SLOW)) for way in WAYS])
def test_a_lone_particle_moves_straight(way: str, program: Program, measured: Measured) -> None:
    mesh, start, direction = WAYS[way]
    momentum = direction * 15.0 * CELL / integral(2, 0.5, 1.0)

    run = bodies(program, way, mesh, MASS, start[None], momentum[None], "--set", "output.plotfile.every=1")

    neighbour, side = GRAVITY * MASS / CELL**2, mesh.cells * CELL
    forces, distances = [], []
    last_a, last = 0.5, momentum
    for a, place, now in moments(run):
        off = place[0] - (start + momentum * integral(2, 0.5, a))
        distances.append(float(np.abs(off - side * np.round(off / side)).max() / CELL))
        if a > last_a:
            forces.append(float(np.linalg.norm(now[0] - last) / (neighbour * integral(1, last_a, a))))
        last_a, last = a, now[0]
    assert len(forces) >= run.events.last("run_end")["steps"] > 2 * OUTPUTS
    measured(SELF_FORCE.format(way), max(forces))
    measured(STRAIGHT.format(way), max(distances))


def test_two_bodies_turn_across_levels(program: Program, measured: Measured) -> None:
    mesh, mass, radius = Mesh(1), 5e13, 3.0 * CELL
    centre = np.array([8.0, 12.3, 11.6])
    speed = np.sqrt(0.75 * GRAVITY * mass / (4.0 * radius))  # about that of a circle at a = 0.75
    positions = centre + radius * np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    momenta = speed * np.array([[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])

    found = moments(bodies(program, "pair", mesh, mass, positions, momenta))

    side = mesh.cells * CELL
    last = _half_separation(mass, side, radius, speed, 1.0)
    measured(PAIR.bounds[0].name, float(np.arctan2(last[1], last[0])) % (2.0 * np.pi))
    for a, place, momentum in found:
        exact = _half_separation(mass, side, radius, speed, a)
        off = 0.5 * (place[0] - place[1])
        off -= side / 2 * np.round(off / (side / 2))
        measured(PAIR.bounds[1].name, float(np.linalg.norm(off - exact) / np.linalg.norm(exact)))
        measured(PAIR.bounds[2].name, float(np.linalg.norm(momentum.sum(axis=0)) / np.linalg.norm(momentum[0])))


def _half_separation(mass: float, side: float, radius: float, speed: float, a_end: float) -> Array:
    """Newton's law between two bodies less the mean density of the box, whose images cancel to third order."""
    mean = 2.0 * mass / side**3

    def rate(a: float, y: Array) -> Array:
        x, w = y[:3], y[3:]
        r = np.linalg.norm(x)
        pull = GRAVITY * (-mass * x / (4.0 * r**3) + 4.0 * np.pi / 3.0 * mean * x)
        per_a = 1.0 / (a * OURS.hubble_rate(a))  # dt/da
        return np.concatenate([w / a**2, pull / a]) * per_a

    y = np.array([radius, 0.0, 0.0, 0.0, speed, 0.0])
    if a_end <= 0.5:
        return y[:3]
    return np.asarray(solve_ivp(rate, (0.5, a_end), y, rtol=1e-9, atol=1e-9).y[:3, -1])


UNIFORM = (
    universe(
        steps=1,
        box="16 Mpc",
        z_start=49,
        z_end=45,
        seed=3,
        power="eisenstein-hu",
        omega_m=0.3,
        omega_b=0.05,
        hubble=0.7,
    )
    + """[output]
plotfile = { format = "nyx", at_redshift = [49] }
"""
)
UNIVERSE = UNIFORM + ZONE


def test_a_nested_start_does_not_depend_on_the_buffer(program: Program, measured: Measured) -> None:
    plots = [
        plot_files(program.run(f"buffer{buffer}", UNIVERSE, "--set", f"amr.buffer={buffer}"))[0] for buffer in (0, 2, 4)
    ]

    uniform = plot_files(program.run("uniform", UNIFORM))[0]["density"].values
    first = plots[0]
    assert first.levels == 2
    # The coarsest level has the waves of the uniform start.
    np.testing.assert_allclose(first["density"].values[8:, 8:, :8], uniform[8:, 8:, :8], rtol=1e-12)
    for plot in plots[1:]:
        names = ("density", "particle_mass_density", "Temp", "x_velocity")
        differing = [not np.array_equal(plot.covering_grid(n, 1), first.covering_grid(n, 1)) for n in names]
        differing += [not np.array_equal(plot.boxes(level), first.boxes(level)) for level in range(2)]
        measured(NESTED.bounds[0].name, float(sum(differing)))
    for plot in plots:
        gas = plot.covering_grid("density", 1).values
        measured(
            "mass of the gas on all leaves over that of a uniform start, less 1", gas.mean() / uniform.mean() - 1.0
        )
        check_levels(plot, uniform, measured)
        dark = float(plot.particles()["mass"].values.astype(float).sum()) / 16.0**3
        measured("mass of the particles over the cosmic mean, less 1", dark / (OURS.matter - OURS.gas) - 1.0)


def check_levels(plot: sidestream.SnapshotFile, uniform: Array, measured: Measured) -> None:
    """Level by level: the blocks of level 1 are the region, what is left is of level 0."""
    region = np.zeros(uniform.shape, bool)
    for (x0, y0, z0), (x1, y1, z1) in plot.boxes(1) // 2:
        region[z0:z1, y0:y1, x0:x1] = True
    assert 0 < region.sum() < region.size
    masses = plot.particles()["mass"].values.astype(float)
    fine = masses < 0.5 * masses.max()
    for part, held in ((region, fine), (~region, ~fine)):
        gas = plot["density"].values[part].sum() / uniform[part].sum()
        measured("mass of each level's gas over that of a uniform start in the same place, less 1", gas - 1.0)
        dark = masses[held].sum() / (part.sum() * (OURS.matter - OURS.gas) * CELL**3)
        measured("mass of each level's particles over that of its part of the lattice, less 1", dark - 1.0)
    assert fine.sum() == 8 * region.sum()


def test_nothing_is_lost_from_a_nested_start_later(program: Program, measured: Measured) -> None:
    later = UNIVERSE.replace("max_steps = 1", "max_steps = 5").replace("[49]", "[49], every = 1")

    plots = plot_files(program.run("later", later))

    assert len(plots) == 6
    tables = [np.unique(plot.particles()["mass"].values, return_counts=True) for plot in plots]
    gas = [float(plot.covering_grid("density", 1).values.mean()) for plot in plots]
    for now, table in zip(gas[1:], tables[1:], strict=True):
        measured("mass of the gas in each of five steps over that at the start, less 1", now / gas[0] - 1.0)
        changed = not all(map(np.array_equal, table, tables[0]))
        measured("particles and their mass in each of five steps less those at the start", float(changed))


BASE = dark_matter_to_zoom(box="32 Mpc", seed=4, largest_expansion=0.05, t_boundary="40 mean", t_halo="80 mean")


@pytest.mark.slow
def test_zoom_and_uniform_run_have_the_same_halo(program: Program, measured: Measured) -> None:
    base = program.run("base", BASE)
    target = base.result("halos", -1, "halo").isel(halo=0)
    written = program.call("zoom", base.folder, "--halo", int(target["id"]), "--radius", "3 R200m")
    assert written.returncode == 0, written.stderr
    near = np.array([float(target[f"peak_{axis}" if "peak_x" in target else axis]) for axis in "xyz"])

    zoomed = Ball.of(plot_files(program.run("zoomed", written.stdout))[-1], near)
    everywhere = written.stdout[: written.stdout.index("[refine.zoom]")]
    everywhere += '[refine.all]\ncriterion = "region"\nlower = [0, 0, 0]\nupper = [32, 32, 32]\nmax_level = 1\n'
    uniform = Ball.of(plot_files(program.run("everywhere", everywhere))[-1], near)

    apart = zoomed.centre - uniform.centre
    apart -= 32.0 * np.round(apart / 32.0)
    measured(ZOOM.bounds[0].name, float(np.linalg.norm(apart) / (0.5 * CELL)))
    measured(ZOOM.bounds[1].name, zoomed.mass / uniform.mass - 1.0)
    measured(ZOOM.bounds[2].name, float(zoomed.coarse))


@dataclass(frozen=True)
class Ball:
    """The sphere of 200 times the mean density about the densest place near a given one."""

    centre: Array
    mass: float
    coarse: int  # particles of the larger mass in it

    @staticmethod
    def of(plot: sidestream.SnapshotFile, near: Array) -> Ball:
        table, side = plot.particles(), plot.box_size[0]
        places = np.stack([table[axis].values for axis in "xyz"], axis=1).astype(float)
        mass = table["mass"].values.astype(float)

        def away(centre: Array) -> Array:
            off = places - centre
            return np.asarray(off - side * np.round(off / side))

        centre = near
        for radius in 2.0 * 0.8 ** np.arange(8):
            off = away(centre)
            inside = (off**2).sum(axis=1) < radius**2
            centre = centre + np.average(off[inside], axis=0, weights=mass[inside])
        distance = np.sqrt((away(centre) ** 2).sum(axis=1))
        order = np.argsort(distance)
        density = np.cumsum(mass[order]) / (4.0 / 3.0 * np.pi * distance[order] ** 3)
        last = int(np.flatnonzero(density > 200.0 * mass.sum() / side**3)[-1])
        held = mass[order][: last + 1]
        return Ball(centre, float(held.sum()), int((held > 2.0 * mass.min()).sum()))

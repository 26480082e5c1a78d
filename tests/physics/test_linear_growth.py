"""Waves of gas and dark matter that grow in the linear regime."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray

import sidestream
from book import Bound, Chapter
from nyx_files import State, write
from program import Program, plot_files
from universe import Universe

Array = NDArray[np.float64]

SCHEME = (
    "the growth that the forces and the flux differences of the scheme give is derived mode by mode; what is left are the "
    "steps (2 %, second order) and the lattice of particles, which sees the window of the deposit only on average"
)

CHAPTERS = [
    Chapter(
        "Linear growth of gas and dark matter",
        """64^3 cells and particles in a box of 100 Mpc/h, from z = 49 to 4, with a tenth of the true amplitude (sigma_8 = 0.08), so that waves do not
couple. The power spectra are those of the task `power_spectrum`; bins are as wide as the fundamental mode, 0.063 h/Mpc. The growth of the first is compared with that
of the background, D(z)^2, that of the next with the growth which the mesh gives: its forces are weaker than Newton's by factors that differ between
the species.""",
        [
            Bound(
                "first bin: growth of the dark matter's power over D^2",
                0.99,
                1.01,
                "one cell is 0.1 / k: the force is 0.24 % weaker than Newton's, which costs 0.7 % of the power",
            ),
            Bound(
                "first bin: growth of the gas's power over D^2", 0.99, 1.01, "the same; its own force is 0.1 % weaker"
            ),
            Bound("bins 2 to 4: growth of the dark matter's power over that of the scheme", 0.99, 1.01, SCHEME),
            Bound("bins 2 to 4: growth of the gas's power over that of the scheme", 0.99, 1.01, SCHEME),
            Bound(
                "first bin: amplitude of gas over dark matter, at the end over the start",
                0.997,
                1.003,
                "both feel the same force to 0.3 %, and differences between them decay",
            ),
        ],
        plots=["linear_growth"],
    )
]

CELLS, SIDE, BINS = 64, 100.0, 8  # Mpc/h
Z_START, Z_END = 49.0, 4.0
UNIVERSE = Universe(omega_m=0.30, omega_b=0.05, hubble=0.70)
CONFIG = f"""simulation = "cosmology"

[mesh]
cells = [{CELLS}, {CELLS}, {CELLS}]
block = 32

[cosmology]
box = "{SIDE} Mpc/h"
z_start = {Z_START}
z_end = {Z_END}
omega_m = {UNIVERSE.omega_m}
omega_b = {UNIVERSE.omega_b}
hubble = {UNIVERSE.hubble}
ns = 0.96
sigma8 = 0.8
power = "eisenstein-hu"
seed = 1

[task.spectra]
analysis = "power_spectrum"
at_redshift = [{Z_START}, {Z_END}]

[output]
plotfile = {{ format = "nyx", at_redshift = [{Z_START}, {Z_END}] }}
"""


def sinc(x: Array) -> Array:
    return np.sinc(x / np.pi)


@dataclass(frozen=True)
class Scheme:
    """What the mesh does to a wave with the phases per cell `x` [axis, mode]: docs/concepts/physics_tests.md.

    Forces are along k, over Newton's.
    """

    x: Array

    @cached_property
    def window(self) -> Array:
        """Of the cloud-in-cell deposit, and of the forces gathered with the same weights."""
        return np.prod(sinc(0.5 * self.x) ** 2, axis=0)

    @cached_property
    def force(self) -> Array:
        """Central differences of the potential of the seven-point Laplacian."""
        return np.sum(self.x * np.sin(self.x), axis=0) / np.sum(4.0 * np.sin(0.5 * self.x) ** 2, axis=0)

    @cached_property
    def gas_force(self) -> Array:
        """The same, after the differences of fluxes, whose velocities at faces are cubic through four cells."""
        half = 0.5 * self.x
        faces = sinc(half) * (7.0 * np.cos(half) - np.cos(3.0 * half)) / 6.0
        return np.sum(self.x * faces * np.sin(self.x), axis=0) / np.sum(4.0 * np.sin(half) ** 2, axis=0)

    def matrix(self, mode: int) -> Array:
        """Force on gas and on dark matter (rows) by gas and by dark matter (columns)."""
        window, force, gas_force = self.window[mode], self.force[mode], self.gas_force[mode]
        return np.array([[gas_force, gas_force * window], [force * window, force * window**2]])


@dataclass(frozen=True)
class Modes:
    """The modes of a bin: phases per cell along the axes, and power of each species at the start."""

    phases: Array
    power: Array  # [species, mode]


def modes_of(density: list[Array], number: int) -> Modes:
    """Those with (number - 1/2) <= |n| < (number + 1/2), n in units of the fundamental mode."""
    n = np.stack(np.meshgrid(*3 * [np.fft.fftfreq(CELLS, 1.0 / CELLS)], indexing="ij"))
    length = np.sqrt((n**2).sum(axis=0))
    inside = (length >= number - 0.5) & (length < number + 0.5)
    phases = 2.0 * np.pi / CELLS * n[:, inside]
    power = [np.abs(np.fft.fftn(field / field.mean() - 1.0)[inside]) ** 2 for field in density]
    return Modes(phases, np.array(power))


def growth_of_scheme(modes: Modes, a0: float, a1: float) -> Array:
    """Growth of the power of the bin, of gas and of dark matter: modes weigh with their power at the start."""
    shares = np.array([UNIVERSE.omega_b, UNIVERSE.omega_m - UNIVERSE.omega_b]) / UNIVERSE.omega_m
    scheme, start, speed = Scheme(modes.phases), np.ones(2), np.full(2, UNIVERSE.growth_rate(a0))
    sorted_phases = np.sort(np.abs(modes.phases), axis=0)
    _, first, member = np.unique(np.round(sorted_phases, 9), axis=1, return_index=True, return_inverse=True)
    growth = [UNIVERSE.coupled_growth(scheme.matrix(mode), shares, a0, a1, start, speed) for mode in first]
    squares = np.array(growth).T[:, member.ravel()] ** 2
    return np.sum(squares * modes.power, axis=1) / np.sum(modes.power, axis=1)


@dataclass(frozen=True)
class Growth:
    """Of the power of the first bins, [species, bin]."""

    k: Array
    measured: Array
    scheme: Array
    background: float


def opposite(plot: sidestream.SnapshotFile) -> State:
    """The universe that has a void for each cluster: all displacements, contrasts and velocities with the other sign."""
    box = plot.box_size
    side, size = box[0], box[0] / CELLS
    particles = plot.particles()
    lattice = np.stack([particles["id"].values // CELLS**axis % CELLS for axis in range(3)], axis=1)
    centres = (lattice + 0.5) * size
    positions = np.stack([particles[axis].values for axis in "xyz"], axis=1).astype(float)
    moved = (positions - centres + 0.5 * side) % side - 0.5 * side
    velocities = -np.stack([particles[f"{axis}vel"].values for axis in "xyz"], axis=1)
    rho = plot["density"].values
    mirrored = 2.0 * rho.mean() - rho
    fields = {"density": mirrored} | {name: -plot[name].values / rho * mirrored for name in ("xmom", "ymom", "zmom")}
    fields["rho_e"] = plot["rho_e"].values / rho * mirrored
    mass = particles["mass"].values.astype(float)
    return State(plot.attrs["scale_factor"], box, fields, (centres - moved) % side, velocities, mass)


@pytest.fixture(scope="module")
def growth(program: Program) -> Growth:
    run = program.run("growth", CONFIG)
    start = plot_files(run)[0]
    pair = [run, program.run("opposite", CONFIG, "--from", write(program.folder / "start", opposite(start)))]
    density = [start[name].values for name in ("density", "particle_mass_density")]
    a0, a1 = 1.0 / (1.0 + Z_START), 1.0 / (1.0 + Z_END)
    scheme = np.array([growth_of_scheme(modes_of(density, number), a0, a1) for number in range(1, BINS + 1)]).T
    first, last = (np.sum([powers(one, step) for one in pair], axis=0) for step in (0, -1))
    k = run.result("spectra", -1)["k"].values[:BINS]
    return Growth(k, last / first, scheme, (UNIVERSE.growth(a1) / UNIVERSE.growth(a0)) ** 2)


def powers(run: sidestream.Run, number: int) -> Array:
    """Of gas and dark matter in the first bins, of one of the results."""
    spectra = run.result("spectra", run.steps("spectra")[number])
    return np.array([spectra[f"{name}_power"].values[:BINS] for name in ("gas_density", "dark_matter_density")])


def test_waves_grow_as_theory_and_the_forces_of_the_mesh_say(growth: Growth, measured, picture) -> None:
    for species, name in enumerate(("gas", "dark matter")):
        measured(f"first bin: growth of the {name}'s power over D^2", growth.measured[species, 0] / growth.background)
        over_scheme = growth.measured[species, 1:4] / growth.scheme[species, 1:4]
        measured(f"bins 2 to 4: growth of the {name}'s power over that of the scheme", list(over_scheme))
    ratio = np.sqrt(growth.measured[0, 0] / growth.measured[1, 0])
    measured("first bin: amplitude of gas over dark matter, at the end over the start", ratio)
    picture("linear_growth", draw(growth))


def draw(growth: Growth) -> Figure:
    figure = Figure(figsize=(7.5, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for species, (name, colour) in enumerate((("gas", "C0"), ("dark matter", "C3"))):
        axes.plot(growth.k, growth.measured[species] / growth.background, "o", color=colour, label=name)
        axes.plot(growth.k, growth.scheme[species] / growth.background, color=colour, label=f"{name}, scheme")
    axes.axhline(1.0, color="grey", lw=0.8)
    axes.set(xlabel="k [h/Mpc]", ylabel="growth of the power over D^2")
    axes.legend()
    return figure

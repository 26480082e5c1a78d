"""A plane wave of gas and dark matter that collapses: Zel'dovich's pancake, and its energy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray

import sidestream
from book import Bound, Chapter
from lagrangian import Pancake
from nyx_files import write
from program import Program, last_event, plot_files
from universe import NEUTRAL, PROTON_OVER_BOLTZMANN, Universe

Array = NDArray[np.float64]

INDEPENDENT = "1.5 times the error of a particle mesh of the same scheme that was written independently"
ADIABATIC = (
    "no streams cross and cells resolve the flow: what the gas holds beside the motion of cells and its adiabat, or "
    "was given, is an error of the scheme, and may not be larger than that which an independent particle mesh leaves"
)
CENTRE = "outside the 4 cells in the middle, where the density is not resolved"

CHAPTERS = [
    Chapter(
        "Zel'dovich's pancake",
        """A plane wave of gas and dark matter (Omega_m = 1, Omega_b = 0.16, 64 Mpc) falls together along x and
crosses at a = 0.5. It begins at a = 0.02 from a plot file with the exact solution, the gas at 100 K
where its density is the mean, with one particle a cell (for the gas four, which still sample the void
at the end), 64 and 128 cells a wave, and is compared at a = 0.45: x = q - D(a)/D(0.5) sin(kq)/k,
density 1/(1 - D(a)/D(0.5) cos kq), temperature on the adiabat. Errors of position and velocity are root
mean squares over the amplitude.""",
        [
            Bound("particles, 64 cells: position", 0.0, 1.5e-2, f"{INDEPENDENT}: 1.0e-2"),
            Bound("particles, 64 cells: velocity", 0.0, 1.95e-2, f"{INDEPENDENT}: 1.3e-2"),
            Bound("particles, 128 cells: position", 0.0, 5.6e-3, f"{INDEPENDENT}: 3.7e-3"),
            Bound("particles, 128 cells: velocity", 0.0, 7.1e-3, f"{INDEPENDENT}: 4.7e-3"),
            Bound(
                "particles: order of the error in position",
                1.2,
                2.6,
                "second order in smooth flow; the crossing is near, and the independent code has 1.4",
            ),
            Bound("gas, 128 cells: largest error of the density", 0.0, 0.05, f"5 %, {CENTRE}"),
            Bound("gas, 128 cells: largest error of the velocity over its amplitude", 0.0, 0.05, f"5 %, {CENTRE}"),
            Bound("gas, 128 cells: largest error of the temperature", 0.0, 0.05, f"5 %, {CENTRE}"),
            Bound(
                "gas: order of the mean error of the density",
                1.2,
                2.6,
                "second order in smooth flow; the peak of the density is hardly resolved",
            ),
            Bound(
                "energy, 64 cells: residual over kinetic energy",
                -2e-2,
                2e-2,
                "the equation of Layzer and Irvine; twice what the independent particle mesh leaves: 1e-2",
            ),
            Bound("energy, 128 cells: residual over kinetic energy", -5e-3, 5e-3, "the same: 2.5e-3"),
            *(
                Bound(
                    f"energy, {cells} cells: booked and unresolved over kinetic energy",
                    -largest,
                    largest,
                    f"{ADIABATIC}: {largest:g}",
                )
                for cells, largest in ((64, 1e-2), (128, 2.5e-3))
            ),
        ],
        plots=["pancake"],
    )
]

A_START, A_END, WARM_K = 0.02, 0.45, 100.0
WARMTH = WARM_K / (PROTON_OVER_BOLTZMANN * NEUTRAL * (5.0 / 3.0 - 1.0))  # (km/s)^2
PANCAKE = Pancake(Universe(omega_m=1.0, omega_b=0.16, hubble=0.7), 64.0, 0.5, WARMTH, A_START)
WIDTH = 8  # cells across
CONFIG = """simulation = "cosmology"

[mesh]
cells = [{cells}, 8, 8]
block = 8

[cosmology]
box = "64 Mpc"
z_start = 49
z_end = {z_end!r}
omega_m = 1.0
omega_b = 0.16
hubble = 0.7
power = "eisenstein-hu"

[output]
plotfile = {{ format = "nyx", at_redshift = [{z_end!r}] }}
"""


class Fallen(NamedTuple):
    """A run and its last plot file."""

    run: sidestream.Run
    plot: sidestream.SnapshotFile
    cells: int

    def particle_errors(self) -> tuple[float, float]:
        """Root mean square errors of position and velocity over their amplitudes."""
        particles = self.plot.particles()
        q = (particles["id"].values % self.cells + 0.5) * PANCAKE.side / self.cells
        away = particles["x"].values - PANCAKE.position(q, A_END)
        away -= PANCAKE.side * np.round(away / PANCAKE.side)
        slower = particles["xvel"].values - PANCAKE.velocity(q, A_END)
        fastest = np.abs(PANCAKE.velocity(np.linspace(0.0, PANCAKE.side, 1001), A_END)).max()
        return rms(away) / (PANCAKE.height(A_END) / PANCAKE.k), rms(slower) / fastest

    def gas_errors(self) -> dict[str, Array]:
        """Along x: relative errors of density and temperature, and that of the velocity over its amplitude."""
        density, velocity, energy = PANCAKE.cell_means(self.cells, A_END)
        rho = self.plot["density"].values
        return {
            "density": rho[0, 0] / PANCAKE.universe.gas / density - 1.0,
            "velocity": (self.plot["xmom"].values / rho)[0, 0] / np.abs(velocity).max()
            - velocity / abs(velocity).max(),
            "temperature": (self.plot["rho_e"].values / rho)[0, 0] / energy - 1.0,
        }


def rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


@pytest.fixture(scope="module")
def fallen(program: Program) -> Callable[[int, int], Fallen]:
    @cache
    def fall(cells: int, particles: int) -> Fallen:
        name = f"pancake{cells}_{particles}"
        start = write(program.folder / f"{name}_start", PANCAKE.state(cells, WIDTH, particles))
        config = CONFIG.format(cells=cells, z_end=1.0 / A_END - 1.0)
        run = program.run(name, config, "--from", start)
        return Fallen(run, plot_files(run)[-1], cells)

    return fall


def test_particles_follow_the_exact_solution(fallen: Callable[[int, int], Fallen], measured) -> None:
    errors = {cells: fallen(cells, 1).particle_errors() for cells in (64, 128)}
    for cells, (position, velocity) in errors.items():
        measured(f"particles, {cells} cells: position", position)
        measured(f"particles, {cells} cells: velocity", velocity)
    measured("particles: order of the error in position", np.log2(errors[64][0] / errors[128][0]))


def test_gas_follows_the_exact_solution(fallen: Callable[[int, int], Fallen], measured, picture) -> None:
    errors = {cells: fallen(cells, 4).gas_errors() for cells in (64, 128)}
    for name, text in (("density", ""), ("velocity", " over its amplitude"), ("temperature", "")):
        measured(f"gas, 128 cells: largest error of the {name}{text}", np.abs(errors[128][name][2:-2]).max())
    mean = {cells: np.abs(errors[cells]["density"][cells // 32 : -cells // 32]).mean() for cells in errors}
    measured("gas: order of the mean error of the density", np.log2(mean[64] / mean[128]))
    picture("pancake", draw(fallen(128, 4)))


@pytest.mark.parametrize("cells", [64, 128])
def test_energy_obeys_the_equation_of_layzer_and_irvine(
    cells: int, fallen: Callable[[int, int], Fallen], measured
) -> None:
    energy = last_event(fallen(cells, 1).run)["energy"]

    kinetic = energy["kinetic_gas"] + energy["kinetic_dark_matter"]
    assert kinetic == pytest.approx(exact_kinetic(cells), rel=0.05)
    measured(f"energy, {cells} cells: residual over kinetic energy", energy["residual"] / kinetic)
    measured(
        f"energy, {cells} cells: booked and unresolved over kinetic energy",
        (energy["booked"] + energy["unresolved"]) / kinetic,
    )


def exact_kinetic(cells: int) -> float:
    """Of both species at the end [Msun (km/s)^2]."""
    q = (np.arange(4096) + 0.5) * PANCAKE.side / 4096
    volume = PANCAKE.side * (WIDTH * PANCAKE.side / cells) ** 2
    return 0.5 * PANCAKE.universe.matter * volume * float(np.mean(PANCAKE.velocity(q, A_END) ** 2))


def draw(fallen: Fallen) -> Figure:
    figure = Figure(figsize=(7.5, 5.5), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    x = (np.arange(fallen.cells) + 0.5) * PANCAKE.side / fallen.cells
    x = np.where(x > PANCAKE.side / 2, x - PANCAKE.side, x)
    order = np.argsort(x)
    density, velocity, energy = PANCAKE.cell_means(fallen.cells, A_END)
    rho = fallen.plot["density"].values[0, 0]
    kelvin = WARM_K / WARMTH
    shown = (
        (rho / PANCAKE.universe.gas, density, "density / mean"),
        (fallen.plot["xmom"].values[0, 0] / rho, velocity, "velocity [km/s]"),
        (kelvin * fallen.plot["rho_e"].values[0, 0] / rho, kelvin * energy, "temperature [K]"),
    )
    for axes, (found, exact, label) in zip(panels, shown, strict=True):
        axes.plot(x[order], found[order], ".", label="gas, 128 cells")
        axes.plot(x[order], exact[order], lw=1.0, label="exact")
        axes.set(ylabel=label)
    for axes in (panels[0], panels[2]):
        axes.set_yscale("log")
    panels[0].legend()
    panels[-1].set(xlabel="x [Mpc]")
    return figure

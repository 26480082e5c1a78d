"""Nyx's own Lyman-alpha case, adiabatic, against what Nyx made of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import sidestream
from book import Bound, Chapter
from program import Program, plot_files

Array = NDArray[np.float64]

DATA = Path(__file__).parent.parent / "data" / "nyx_lya32"
CELLS, SIDE = 32, 8.0  # comoving Mpc
Z_START, T_START = 100.0, 214.0
REDSHIFTS = (4, 3, 2)
HOT = {4: 0.090, 3: 0.175, 2: 0.326}  # mass above 1e4 K in Nyx
EDGES = np.array([0.5, 1.5, 2.5, 3.5, 5.5, 7.5, 11.5, 15.5])  # of the bins of |k| L / 2 pi

TWO_CODES = "two Godunov codes with one set of initial conditions; the heat of resolved shocks is that of the fall"
ADIABAT = "nothing heats the voids; a fifth for what the mesh mixes"

CHAPTERS = [
    Chapter(
        "Nyx's Lyman-alpha case, adiabatic",
        """The initial conditions that Nyx ships for its Lyman-alpha test, 32^3 particles and cells in 8 Mpc, from
z = 100 to 2 (Omega_m = 0.27, Omega_b = 0.045, h = 0.71, 214 K at the start), against what Nyx itself made
of them without heating and cooling. Fractions are by mass. Voids: cells below half the mean density,
against the adiabat from the start. Powers of gas and dark matter are divided by the windows of a cell
(gas) and of the cloud in a cell (dark matter), mode by mode. What remains: gas feels the force in its
cell and dark matter one averaged over eight, which slows the dark matter on small scales
(docs/concepts/physics_tests.md), and pressure smooths the gas.""",
        [
            *(Bound(f"mass above 1e4 K over that of Nyx, z = {z}", 0.9, 1.1, TWO_CODES) for z in REDSHIFTS),
            Bound("median temperature of voids over the adiabat, z = 2", 0.8, 1.25, ADIABAT),
            *(
                Bound(f"power of gas over that of dark matter, all bins, z = {z}", 0.0, 1.1, "pressure only smooths")
                for z in (4, 2)
            ),
            *(
                Bound(
                    f"dark matter: power over that of Nyx, three lowest bins, z = {z}",
                    0.99,
                    1.01,
                    "particle meshes of the same order; their gas differs",
                )
                for z in (4, 2)
            ),
            Bound("floored cells", 0, 0, "floors are for runs that are ill"),
        ],
    )
]

CONFIG = f"""simulation = "cosmology"

[mesh]
cells = [{CELLS}, {CELLS}, {CELLS}]
block = 16

[cosmology]
box = "{SIDE} Mpc"
z_start = {Z_START}
z_end = 2
omega_m = 0.27
omega_b = 0.045
hubble = 0.71
initial_conditions = "{DATA / "32.nyx"}"
temperature_start = "{T_START} K"

[output]
plotfile = {{ format = "nyx", at_redshift = [4, 3, 2] }}
"""


def modes() -> tuple[Array, Array]:
    """|k| L / 2 pi and prod sinc(k_i dx / 2) of all modes."""
    k = np.fft.fftfreq(CELLS) * CELLS
    window = np.sinc(k / CELLS)
    return (
        np.sqrt(k[:, None, None] ** 2 + k[:, None] ** 2 + k**2),
        window[:, None, None] * window[:, None] * window,
    )


def power(density: Array, cell_windows: int) -> Array:
    """In bins of k, each mode divided by so many windows of a cell."""
    size, window = modes()
    delta = np.fft.fftn(density / density.mean() - 1.0) / CELLS**3
    squares = np.abs(delta) ** 2 * SIDE**3 / window ** (2 * cell_windows)
    return np.array(
        [squares[(size >= low) & (size < high)].mean() for low, high in zip(EDGES, EDGES[1:], strict=False)]
    )


@pytest.fixture(scope="module")
def run(program: Program) -> Callable[[], sidestream.Run]:
    return cache(lambda: program.run("nyx_case", CONFIG))


@pytest.mark.parametrize("z", REDSHIFTS)
def test_shocks_heat_as_much_gas_as_in_nyx(z: int, run: Callable[[], sidestream.Run], measured) -> None:
    plot = plot_files(run())[REDSHIFTS.index(z)]
    density = plot["density"].values

    hot = density[plot["Temp"].values > 1e4].sum() / density.sum()

    measured(f"mass above 1e4 K over that of Nyx, z = {z}", hot / HOT[z])


def test_voids_stay_on_their_adiabat(run: Callable[[], sidestream.Run], measured) -> None:
    plot = plot_files(run())[REDSHIFTS.index(2)]
    overdensity = plot["density"].values / plot["density"].values.mean()
    adiabat = T_START * (3.0 / (1.0 + Z_START)) ** 2 * overdensity ** (2.0 / 3.0)

    ratio = (plot["Temp"].values / adiabat)[overdensity < 0.5]

    measured("median temperature of voids over the adiabat, z = 2", float(np.median(ratio)))
    measured("floored cells", run().events.last("run_end")["floored_cells"])


@pytest.mark.parametrize("z", [4, 2])
def test_gas_and_dark_matter_cluster_alike(z: int, run: Callable[[], sidestream.Run], measured) -> None:
    plot = plot_files(run())[REDSHIFTS.index(z)]
    gas, dark = plot["density"].values, plot["particle_mass_density"].values
    statistics = json.loads((DATA / "statistics.json").read_text(encoding="utf-8"))
    nyx = next(row for row in statistics if row["run"] == "adiabatic" and round(row["z"]) == z)

    measured(f"power of gas over that of dark matter, all bins, z = {z}", list(power(gas, 1) / power(dark, 2)))
    ratio = power(dark, 0)[:3] / np.array(nyx["P_dm"])[:3]
    measured(f"dark matter: power over that of Nyx, three lowest bins, z = {z}", list(ratio))

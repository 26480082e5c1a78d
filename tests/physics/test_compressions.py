"""Cold gas in compressions of few cells: on its adiabat until streams cross, hot after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray

from book import Bound, Chapter
from lagrangian import Pancake
from nyx_files import State, write
from program import Program, plot_files
from universe import NEUTRAL, PROTON_OVER_BOLTZMANN, Universe

Array = NDArray[np.float64]

WAVES = (8, 12, 16)  # cells a wave
SHEETS = (16, 32, 64)
SPEEDS = (1500, 3000)  # km/s at the end
CARRIED = 32  # cells of the waves that are carried through the mesh
ADIABAT = "5 %, as for the pancake above; nothing but the mesh can warm the gas"
NO_STREAMS = "no streams cross: the least eigenvalue of dx/dq is near a half; nothing but the mesh can warm the gas"

CHAPTERS = [
    Chapter(
        "Compressions of few cells",
        """Plane waves of 8, 12 and 16 cells (64 Mpc, Omega_m = 1, 100 K at a = 0.02) at a fifth of their crossing
time: the temperature of every cell over that of the exact solution. Random fields of which hardly a
wave is resolved: the gas above ten times its adiabat by mass. And sheets of 16, 32 and 64 cells
that crossed at a = 0.5: their heat at a = 1, and at a = 0.45, where the exact solution is cold, but
two cells fall upon each other. A wave and a sheet of 32 cells in boxes of 64 and 8 Mpc (the gas falls at 126 km/s) that
move through the mesh at 1000, and at 1500 and 3000 km/s at the end.""",
        [
            *(
                Bound(f"wave of {n} cells: {end} temperature over the adiabat", 0.95, 1.05, ADIABAT)
                for n in WAVES
                for end in ("highest", "lowest")
            ),
            Bound("16^3 cells of 50 Mpc/h, z = 4: gas above ten adiabats", 0.0, 0.05, NO_STREAMS),
            Bound("32^3 cells of 1 Gpc/h, z = 0: gas above ten adiabats", 0.0, 0.05, NO_STREAMS),
            *(
                Bound(
                    f"sheet of {n} cells: heat over that of 64 cells, a = 1",
                    0.75,
                    1.25,
                    "first order in the cell at the sheet, which is two cells wide",
                )
                for n in SHEETS[:-1]
            ),
            Bound(
                "sheet of 64 cells: heat at a = 0.45 over that at a = 1",
                0.0,
                0.03,
                "the mass that is in the two cells by then with the speed that it has there",
            ),
            *(
                Bound(f"wave carried at 1000 km/s: {end} temperature over the adiabat", 0.95, 1.05, ADIABAT)
                for end in ("highest", "lowest")
            ),
            *(
                Bound(
                    f"sheet carried at {speed} km/s: heat over that at rest",
                    0.75,
                    1.25,
                    "first order, as for the sheets: advection spreads it over some cells more",
                    is_slow=speed > SPEEDS[0],
                )
                for speed in SPEEDS
            ),
        ],
        plots=["compressions"],
    )
]

A_START, WARM_K = 0.02, 100.0
WARMTH = WARM_K / (PROTON_OVER_BOLTZMANN * NEUTRAL * (5.0 / 3.0 - 1.0))  # (km/s)^2
UNIVERSE = Universe(omega_m=1.0, omega_b=0.16, hubble=0.7)
WAVE = """simulation = "cosmology"

[mesh]
cells = [{cells}, {width}, {width}]
block = {width}

[cosmology]
box = "{side} Mpc"
z_start = 49
z_end = {last!r}
omega_m = 1.0
omega_b = 0.16
hubble = 0.7
power = "eisenstein-hu"

[output]
plotfile = {{ format = "nyx", at_redshift = {redshifts!r} }}
"""
FIELD = """simulation = "cosmology"

[mesh]
cells = [{cells}, {cells}, {cells}]
block = 16

[cosmology]
box = "{box}"
z_start = {z_start}
z_end = {z_end}
power = "eisenstein-hu"
{universe}

[output]
plotfile = {{ format = "nyx", at_redshift = [{z_end}] }}
"""


def along_x(
    program: Program, cells: int, crossing: float, ends: tuple[float, ...], side: float = 64.0, speed: float = 0.0
) -> list[tuple[Array, Array]]:
    """Density over the mean and specific internal energy [(km/s)^2] of a plane wave of `side` [Mpc] at scale factors
    `ends`, carried through the mesh at `speed` [km/s] at the last of them."""
    width = 8 if cells % 8 == 0 else cells
    wave = Pancake(UNIVERSE, side, crossing, WARMTH, A_START)
    name = f"wave{cells}_{side:g}_{crossing}_{speed:g}"
    start = write(program.folder / f"{name}_start", carried(wave.state(cells, width, 4), speed * ends[-1] / A_START))
    redshifts = [1.0 / a - 1.0 for a in ends]
    config = WAVE.format(cells=cells, width=width, side=side, last=redshifts[-1], redshifts=redshifts)
    plots = plot_files(program.run(name, config, "--from", start, ranks=1))[-len(ends) :]
    return [((rho := p["density"].values[0, 0]) / rho.mean(), p["rho_e"].values[0, 0] / rho) for p in plots]


def carried(state: State, speed: float) -> State:
    """The same with `speed` [km/s] along x on top."""
    momentum = state.fields["xmom"] + speed * state.fields["density"]
    return replace(state, fields=state.fields | {"xmom": momentum}, velocities=state.velocities + [speed, 0.0, 0.0])


@pytest.fixture(scope="module")
def warmth(program: Program) -> Callable[[int], Array]:
    """Temperature over that of the exact solution in a wave of so many cells."""

    @cache
    def of(cells: int) -> Array:
        crossing, a = 2.0, 0.4
        found = along_x(program, cells, crossing, (a,))[0][1]
        return found / Pancake(UNIVERSE, 64.0, crossing, WARMTH, A_START).cell_means(cells, a)[2]

    return of


@pytest.mark.parametrize("cells", WAVES)
def test_smooth_waves_of_few_cells_stay_on_the_adiabat(cells: int, warmth: Callable[[int], Array], measured) -> None:
    measured(f"wave of {cells} cells: highest temperature over the adiabat", warmth(cells).max())
    measured(f"wave of {cells} cells: lowest temperature over the adiabat", warmth(cells).min())


@pytest.mark.parametrize(
    ("name", "config"),
    [
        (
            "16^3 cells of 50 Mpc/h, z = 4",
            {"cells": 16, "box": "50 Mpc/h", "z_start": 200, "z_end": 4}
            | {"universe": "omega_m = 1.0\nomega_b = 0.05\nsigma8 = 0.5"},
        ),
        (
            "32^3 cells of 1 Gpc/h, z = 0",
            {"cells": 32, "box": "1000 Mpc/h", "z_start": 49, "z_end": 0, "universe": ""},
        ),
    ],
)
def test_gas_whose_streams_do_not_cross_stays_cold(
    name: str, config: dict[str, object], program: Program, measured
) -> None:
    run = program.run(f"field{config['cells']}", FIELD.format(**config))

    plot = plot_files(run)[-1]
    density = plot["density"].values
    warmth = plot["Temp"].values / (density / density.mean()) ** (2.0 / 3.0)
    adiabat = np.median(warmth)
    assert np.percentile(warmth, 5) > 0.9 * adiabat  # the median is the adiabat: nothing is below it
    measured(f"{name}: gas above ten adiabats", density[warmth > 10.0 * adiabat].sum() / density.sum())


def test_sheets_are_heated_when_streams_cross(
    program: Program, warmth: Callable[[int], Array], measured, picture
) -> None:
    sheets = {n: along_x(program, n, 0.5, (0.45, 1.0)) for n in SHEETS}

    heat = {n: [float((rho * e).mean()) for rho, e in at] for n, at in sheets.items()}
    for n in SHEETS[:-1]:
        measured(f"sheet of {n} cells: heat over that of 64 cells, a = 1", heat[n][1] / heat[64][1])
    measured("sheet of 64 cells: heat at a = 0.45 over that at a = 1", heat[64][0] / heat[64][1])
    picture("compressions", draw({n: warmth(n) for n in WAVES}, {n: at[1][1] for n, at in sheets.items()}))


def test_smooth_waves_stay_on_the_adiabat_when_carried(program: Program, measured) -> None:
    crossing, a = 2.0, 0.4

    found = along_x(program, CARRIED, crossing, (a,), speed=1000.0)[0]

    # How far the wave was carried is not asked: the adiabat of the density in each cell.
    start = Pancake(UNIVERSE, 64.0, crossing, WARMTH, A_START)
    ratio = found[1] / (
        start.energy(np.array(0.0), a) * (found[0] / start.compression(np.array(0.0), a)) ** (2.0 / 3.0)
    )
    measured("wave carried at 1000 km/s: highest temperature over the adiabat", ratio.max())
    measured("wave carried at 1000 km/s: lowest temperature over the adiabat", ratio.min())


@pytest.mark.parametrize("speed", [SPEEDS[0], pytest.param(SPEEDS[1], marks=pytest.mark.slow)])
def test_sheets_are_heated_when_carried(speed: int, program: Program, measured) -> None:
    heat = {}
    for carried_at in (0, speed):
        rho, energy = along_x(program, CARRIED, 0.5, (1.0,), side=8.0, speed=carried_at)[0]
        heat[carried_at] = (rho * energy).mean()

    measured(f"sheet carried at {speed} km/s: heat over that at rest", heat[speed] / heat[0])


def draw(waves: dict[int, Array], sheets: dict[int, Array]) -> Figure:
    figure = Figure(figsize=(7.5, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for n, ratio in waves.items():
        left.plot((np.arange(n) + 0.5) / n, ratio, ".-", lw=0.8, label=f"{n} cells")
    left.set(xlabel="x / wavelength", ylabel="temperature / exact", ylim=(0.9, 1.1), title="before crossing")
    for n, energy in sheets.items():
        right.plot((np.arange(n) + 0.5) / n, WARM_K / WARMTH * energy, ".-", lw=0.8, label=f"{n} cells")
    right.set(xlabel="x / wavelength", ylabel="temperature [K]", yscale="log", title="after crossing, a = 1")
    for axes in (left, right):
        axes.legend()
    return figure

"""Gas that is heated by ultraviolet light and cools, in an expanding universe."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from book import Bound, Chapter
from nyx_files import State, write
from program import Program, plot_files
from universe import PROTON_OVER_BOLTZMANN, Universe

Array = NDArray[np.float64]

UNIVERSE = Universe(omega_m=0.275, omega_b=0.046, hubble=0.702)

# Gas at the mean density under `onorbe17_middle` from 10 K at z = 20 on, by an integration of one zone with LSODA.
ONE_ZONE = {6: 7772.0, 5: 7773.0, 4: 8999.0, 3: 11880.0, 2: 9987.0}  # [K]
NEUTRAL_AT_3 = 5.80e-6
SUDDEN = {5.3: 3148.0, 5.4: 3661.0}  # [K] at z = 5, hydrogen reionised at once at these redshifts

ZONE = "3 %: what one zone with the same rates may differ by, T0 of a fit over densities against that of the mean"
SECOND_ORDER = "4 for a method of second order and 2 for one of first; between the first steps and the limit of steps"

CHAPTERS = [
    Chapter(
        "Uniform gas is heated as one zone is",
        """A box of 16 x 8 x 8 cells, uniform gas at rest at 10 K and z = 20, heated by the background
`onorbe17_middle` with the rates of Lukic et al. as published, to z = 2 (Omega_m = 0.275, Omega_b = 0.046, h =
0.702). Temperatures against an integration of one zone with LSODA.""",
        [
            *(Bound(f"temperature over that of one zone, z = {z}", 0.97, 1.03, ZONE) for z in ONE_ZONE),
            Bound("neutral hydrogen over that of one zone, z = 3", 0.95, 1.05, f"as T^-0.7 and the electrons; {ZONE}"),
            *(Bound(f"light from z = {z} on: temperature over one zone, z = 5", 0.97, 1.03, ZONE) for z in SUDDEN),
            Bound("cells that differ from each other", 0, 0, "each is treated as if it were alone"),
            Bound("floored cells", 0, 0, "floors are for runs that are ill"),
        ],
    ),
    Chapter(
        "Heating and hydrodynamics are coupled to second order",
        """A wave of gas, overdensities 0.5 cos(2 pi x / 8 Mpc) at 5000 K in a box of 64 x 8 x 8 cells, from z = 4
to 3 under a background that does not change (that of `onorbe17_middle` at z = 3, from a table), in steps of 8, 4,
2 and 1 % of the scale factor. The largest difference between runs with one step and half of it, over that between
half and a quarter. (Under `onorbe17_middle` itself, whose rates for He II rise by half in this time, temperatures
differ by 4e-4 between steps of 2, the default, and 1 %.)""",
        [
            Bound("internal energy", 3.0, 5.5, SECOND_ORDER),
            Bound("velocity", 3.0, 5.5, SECOND_ORDER),
            Bound(
                "largest difference of energies between steps of 2 and 1 %, over the largest",
                0.0,
                3e-4,
                "a method of second order with the error of one ODE step, 1.5e-4 at most",
            ),
        ],
    ),
]

COSMOLOGY = f"""omega_m = {UNIVERSE.omega_m}
omega_b = {UNIVERSE.omega_b}
hubble = {UNIVERSE.hubble}
t_cmb = 2.725
power = "eisenstein-hu"
"""

UNIFORM = f"""simulation = "cosmology"

[mesh]
cells = [16, 8, 8]
block = 8

[cosmology]
box = "8 Mpc"
z_start = 20
z_end = 2
{COSMOLOGY}
[heating]
uv_background = "onorbe17_middle"
rates = "lukic2015-as-published"

[output]
plotfile = {{ format = "nyx", at_redshift = {list(ONE_ZONE)}, variables = ["density", "Temp", "neutral_hydrogen"] }}
"""

WAVE = f"""simulation = "cosmology"

[mesh]
cells = [64, 8, 8]
block = 8

[cosmology]
box = "8 Mpc"
z_start = 4
z_end = 3
{COSMOLOGY}
[heating]
uv_background = "steady.txt"

[output]
plotfile = {{ format = "nyx", at_redshift = [3] }}
"""


def gas_at_rest(a: float, sides: tuple[float, float, float], density: Array, energy: float) -> State:
    """Gas of comoving `density` (z, y, x) and one specific internal `energy` [(km/s)^2] over uniform dark matter."""
    zero = np.zeros_like(density)
    fields = {"density": density, "xmom": zero, "ymom": zero, "zmom": zero, "rho_e": density * energy}
    k, j, i = np.indices(density.shape).reshape(3, -1)
    width = sides[0] / density.shape[2]
    positions = (np.stack([i, j, k], axis=1) + 0.5) * width
    mass = np.full(density.size, (UNIVERSE.matter - UNIVERSE.gas) * width**3)
    return State(a, sides, fields, positions, np.zeros_like(positions), mass)


def specific_energy(kelvin: float, weight: float) -> float:
    return 1.5 * kelvin / (weight * PROTON_OVER_BOLTZMANN)


def test_uniform_gas_is_heated_as_one_zone_is(program: Program, measured) -> None:
    density = np.full((8, 8, 16), UNIVERSE.gas)
    start = write(
        program.folder / "cold_start", gas_at_rest(1.0 / 21.0, (8.0, 4.0, 4.0), density, specific_energy(10.0, 1.2195))
    )

    run = program.run("heated_uniform", UNIFORM, "--from", start)

    plots = dict(zip(ONE_ZONE, plot_files(run), strict=True))
    for z, expected in ONE_ZONE.items():
        measured(f"temperature over that of one zone, z = {z}", float(plots[z]["Temp"].values.mean()) / expected)
    hydrogen = 0.76 * UNIVERSE.gas * 6.7679e-41 / 1.67262e-24 * 4.0**3  # [1/cm^3]
    neutral = float(plots[3]["neutral_hydrogen"].values.mean()) / hydrogen
    measured("neutral hydrogen over that of one zone, z = 3", neutral / NEUTRAL_AT_3)
    temperatures = plots[2]["Temp"].values
    measured("cells that differ from each other", int(np.count_nonzero(temperatures != temperatures.flat[0])))
    measured("floored cells", run.events.last("run_end")["floored_cells"])


@pytest.mark.parametrize("z", SUDDEN)
def test_sudden_reionisation_comes_when_it_is_said(z: float, program: Program, measured) -> None:
    density = np.full((8, 8, 16), UNIVERSE.gas)
    state = gas_at_rest(1.0 / 21.0, (8.0, 4.0, 4.0), density, specific_energy(10.0, 1.2195))
    start = write(program.folder / f"cold_start_{z}", state)
    words = ("--set", f"heating.hydrogen_reionization={z}", "--set", "cosmology.z_end=5")

    run = program.run(f"sudden_{z}", UNIFORM.replace(str(list(ONE_ZONE)), "[5]"), "--from", start, *words)

    temperature = float(plot_files(run)[-1]["Temp"].values.mean())
    measured(f"light from z = {z} on: temperature over one zone, z = 5", temperature / SUDDEN[z])


def test_the_coupling_is_of_second_order(program: Program, measured) -> None:
    rates = "9.1431e-13 5.29603e-13 2.23012e-15 5.79191e-24 6.00671e-24 7.77342e-26"
    (program.folder / "steady.txt").write_text(f"0.0 {rates}\n1.2 {rates}\n", encoding="utf-8")
    x = (np.arange(64) + 0.5) / 64
    density = UNIVERSE.gas * (1.0 + 0.5 * np.cos(2.0 * np.pi * x)) * np.ones((8, 8, 1))
    state = gas_at_rest(0.2, (8.0, 1.0, 1.0), density, specific_energy(5000.0, 0.59))
    start = write(program.folder / "wave_start", state)
    fields: dict[str, list[Array]] = {"rho_e": [], "x_velocity": []}
    for halvings in range(4):
        step = 0.08 / 2**halvings
        run = program.run(
            f"wave_{halvings}", WAVE, "--from", start, "--set", f"cosmology.largest_expansion={step!r}", ranks=1
        )
        for name, values in fields.items():
            values.append(plot_files(run)[-1][name].values)

    for what, name in (("internal energy", "rho_e"), ("velocity", "x_velocity")):
        between = [float(np.abs(a - b).max()) for a, b in zip(fields[name], fields[name][1:], strict=False)]
        measured(what, [coarse / fine for coarse, fine in zip(between, between[1:], strict=False)])
        if name == "rho_e":
            share = between[2] / float(fields[name][3].max())
            measured("largest difference of energies between steps of 2 and 1 %, over the largest", share)

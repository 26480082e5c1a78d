"""The floor of the gas's temperature: never reached in a healthy run, and told where it is."""

from __future__ import annotations

from pathlib import Path

from book import Bound, Chapter
from program import Program, last_event, plot_files
from universe import NEUTRAL, PROTON_OVER_BOLTZMANN, Universe

HEALTHY = "the floor is a thousandth of the coldest adiabat: it acts in runs that are ill"
TOLD = "every cell in each step since a_f = a_end / sqrt(2), where the adiabat meets the floor: 17.5 steps of 2 %"
GIVEN = (
    "to hold e at the floor against its fall as a^-2 takes 2 e dln a: ln 2; steps of 2 % book 2 % less, the first 2 %"
)

CHAPTERS = [
    Chapter(
        "The floor of the temperature",
        """The demo, `examples/cosmology.toml`, on 32^3 cells to z = 0; temperatures are those of its plot files.
Then nearly uniform gas (sigma_8 = 0.001) on 16^3 cells to z = 9 with a floor,
`hydro.temperature_floor`, that is twice what the adiabat ends at.""",
        [
            Bound("demo: lowest temperature over the floor", 1.0, float("inf"), "no gas is below the floor"),
            Bound("demo: floored cells", 0, 0, HEALTHY),
            Bound("demo: energy given by the floor", 0, 0, "the same"),
            Bound("raised floor: lowest temperature over it", 1.0 - 1e-12, float("inf"), "round-off of units"),
            Bound("raised floor: floored cells a cell", 17, 19, TOLD),
            Bound("raised floor: energy given by it over the heat of gas at the floor", 0.66, 0.72, GIVEN),
        ],
    )
]

DEMO = (Path(__file__).parents[2] / "examples" / "cosmology.toml").read_text(encoding="utf-8")
CELLS, SIDE = 16, 64  # Mpc
UNIVERSE = Universe(omega_m=0.3, omega_b=0.05, hubble=0.7)
Z_START, Z_END, WARM_K = 49.0, 9.0, 50.0
FLOOR_K = 2.0 * WARM_K * ((1.0 + Z_END) / (1.0 + Z_START)) ** 2
COLD = f"""simulation = "cosmology"

[mesh]
cells = [{CELLS}, {CELLS}, {CELLS}]
block = 8

[cosmology]
box = "{SIDE} Mpc"
z_start = {Z_START}
z_end = {Z_END}
omega_m = {UNIVERSE.omega_m}
omega_b = {UNIVERSE.omega_b}
hubble = {UNIVERSE.hubble}
sigma8 = 0.001
power = "eisenstein-hu"
temperature_start = "{WARM_K} K"

[hydro]
temperature_floor = "{FLOOR_K!r} K"

[output]
plotfile = {{ format = "nyx", at_redshift = [{Z_END}] }}
"""


def test_the_demo_never_reaches_the_floor(program: Program, measured) -> None:
    run = program.run("demo", DEMO, "--set", "mesh.cells=[32, 32, 32]", "--set", "mesh.block=16", ranks=2)

    floor = kelvin(run.config["hydro"]["temperature_floor"])
    lowest = min(float(plot["Temp"].values.min()) for plot in plot_files(run))
    end = last_event(run)
    measured("demo: lowest temperature over the floor", lowest / floor)
    measured("demo: floored cells", end["floored_cells"])
    measured("demo: energy given by the floor", end["booked"]["floor_energy"])


def test_a_floor_that_acts_is_told_and_booked(program: Program, measured) -> None:
    run = program.run("cold", COLD)

    end = last_event(run)
    lowest = float(plot_files(run)[-1]["Temp"].values.min())
    measured("raised floor: lowest temperature over it", lowest / FLOOR_K)
    measured("raised floor: floored cells a cell", end["floored_cells"] / CELLS**3)
    heat = UNIVERSE.gas * SIDE**3 * FLOOR_K / (PROTON_OVER_BOLTZMANN * NEUTRAL * (5.0 / 3.0 - 1.0))
    measured("raised floor: energy given by it over the heat of gas at the floor", end["booked"]["floor_energy"] / heat)


def kelvin(quantity: str) -> float:
    number, unit = quantity.split()
    assert unit == "K"
    return float(number)

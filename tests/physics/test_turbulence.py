"""Incompressible flow: exact solutions, references, and a plain solver in NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sidestream
from book import Bound, Chapter
from flows import VELOCITY, at, config, fields, modes
from program import Program
from spectral_twin import Scalar, Twin

REFERENCE = Path(__file__).parent.parent / "data" / "taylor_green_1600.csv"
ROUND_OFF = "sums of rounding errors of 10^-16 over hundreds of steps"
SPECTRAL = "E(0.1) of spectralDNS, all its twelve digits"
BRACHET = "a run with the same waves by another program, all its digits but the last"
BUDGET = "the energy that is lost is integrated with the error of the step, of fourth order"

CHAPTERS = [
    Chapter(
        "The Taylor-Green vortex",
        """sin x cos y cos z, -cos x sin y cos z, 0 in a box of side 2 pi with 64^3 cells, classical RK4 and waves
below a third of the cells. At Re = 1600 beside the run of 512^3 cells of the workshop on high-order methods (its
spectral code); at Re = 100, which 64^3 cells resolve, beside a plain program with FFTW.""",
        [
            Bound("Re = 1600: energy at t = 0.1, less 0.124953117517", -6e-13, 6e-13, SPECTRAL),
            Bound("Re = 1600: energy at t = 4 less the reference's", -1e-4, 1e-4, "waves up to 21 of some 200", True),
            Bound("Re = 100: energy at t = 1, 2 less the table's", -2e-7, 2e-7, BRACHET),
            Bound("Re = 100: dissipation at t = 1, 2 less the table's", -2e-7, 2e-7, BRACHET),
            Bound("energy left over by its balance", -1e-6, 1e-6, BUDGET),
        ],
    ),
    Chapter(
        "Exact flows",
        """Flows whose nonlinear term is a gradient: vortices of Taylor and Green in a plane, ABC flow, one helical
wave in a rotating frame, whose phase runs ahead by 2 Omega k_z / k. The viscous term and rotation are solved exactly,
so only rounding is left. Carried by a mean flow, the vortices and the ABC flow show the order of the steps: errors with
20 and 40 steps over a turn of 0.4.""",
        [
            Bound("vortices in a plane: energy over exp(-4 nu t), less 1", -1e-12, 1e-12, ROUND_OFF),
            Bound("ABC flow: energy over exp(-2 nu t), less 1", -1e-12, 1e-12, ROUND_OFF),
            Bound("inertial wave: frequency over 2 Omega k_z / k, less 1", -1e-6, 1e-6, "exact but for rounding"),
            Bound("scalar wave: amplitude over exp(-D k^2 t), less 1", -1e-12, 1e-12, ROUND_OFF),
            Bound("RK4: order", 3.8, 4.2, "of fourth order"),
            Bound("RK2: order", 1.9, 2.1, "of second order"),
        ],
    ),
    Chapter(
        "Beside a plain solver",
        """Fifty steps of RK4 and the same by a few lines of NumPy: random waves in 16^3 cells, and in a cuboid of odd
sides that rotates random waves, a mean flow, a dye with a mean gradient along all axes and salt that begins with one
wave.""",
        [
            Bound("random waves: largest difference of an amplitude", 0.0, 1e-12, "fifty steps of rounding"),
            Bound("everything: largest difference of an amplitude", 0.0, 1e-12, "fifty steps of rounding"),
            Bound("scalars: variance, dissipation and production over NumPy's, less 1", -1e-9, 1e-9, ROUND_OFF),
            Bound("cells crossed in the first step over NumPy's, less 1", -1e-12, 1e-12, ROUND_OFF),
        ],
    ),
    Chapter(
        "The Taylor-Green vortex, longer and finer",
        """At Re = 1600 with 128^3 cells beside the run of 512^3; at Re = 100 with 64^3 cells until t = 10.""",
        [
            Bound("Re = 1600, 128^3: energy at t = 4 less the reference's", -1e-5, 1e-5, "waves up to 42 of some 200"),
            Bound(
                "Re = 1600, 128^3: largest dissipation over the reference's, less 1",
                -0.08,
                0.08,
                "a plain program with these waves: 6.8 %",
            ),
            Bound("Re = 100: energy at t = 1, 2, 4, 5, 6, 8, 10 less the table's", -2e-7, 2e-7, BRACHET),
            Bound("Re = 100: dissipation at t = 1, 2, 4, 5, 6, 8, 10 less the table's", -2e-7, 2e-7, BRACHET),
        ],
        is_slow=True,
    ),
]
# Of a plain program in C++ with FFTW: 64^3 cells, steps of 0.01.
TABLE_100 = {
    1.0: (0.1174809, 0.0077686),
    2.0: (0.1090476, 0.0092658),
    4.0: (0.0868188, 0.0125755),
    5.0: (0.0739629, 0.0129686),
    6.0: (0.0612381, 0.0122987),
    8.0: (0.0399741, 0.0087076),
    10.0: (0.0261997, 0.0052848),
}


def test_the_taylor_green_vortex_at_1600(program: Program, measured) -> None:
    run = program.run("tg1600", config("taylor-green", 64, 1.0 / 1600.0, 0.1, more="dt = 0.02"))

    measured("Re = 1600: energy at t = 0.1, less 0.124953117517", at(run, 0.1)["energy"] - 0.124953117517)


@pytest.mark.slow
def test_the_taylor_green_vortex_at_1600_for_longer(program: Program, measured) -> None:
    run = program.run("tg1600_long", config("taylor-green", 64, 1.0 / 1600.0, 4.0, more="dt = 0.02"))

    rows = np.genfromtxt(REFERENCE, delimiter=",", names=True)
    expected = float(np.interp(4.0, rows["time"], rows["energy"]))
    measured("Re = 1600: energy at t = 4 less the reference's", at(run, 4.0)["energy"] - expected)
    measured("energy left over by its balance", run.events.last("run_end")["energy_balance"])


def test_the_taylor_green_vortex_at_100(program: Program, measured) -> None:
    run = program.run("tg100", config("taylor-green", 64, 0.01, 2.0, more="dt = 0.02"))

    energies, losses = beside_table(run, 2.0)
    measured("Re = 100: energy at t = 1, 2 less the table's", energies)
    measured("Re = 100: dissipation at t = 1, 2 less the table's", losses)
    measured("energy left over by its balance", run.events.last("run_end")["energy_balance"])


@pytest.mark.slow
def test_the_taylor_green_vortex_for_longer(program: Program, measured) -> None:
    run = program.run("tg100_long", config("taylor-green", 64, 0.01, 10.0, more="dt = 0.02"))

    energies, losses = beside_table(run, 10.0)
    measured("Re = 100: energy at t = 1, 2, 4, 5, 6, 8, 10 less the table's", energies)
    measured("Re = 100: dissipation at t = 1, 2, 4, 5, 6, 8, 10 less the table's", losses)


@pytest.mark.slow
def test_the_taylor_green_vortex_with_more_cells(program: Program, measured) -> None:
    run = program.run("tg1600_fine", config("taylor-green", 128, 1.0 / 1600.0, 10.0, more="courant = 1.0"))

    rows = np.genfromtxt(REFERENCE, delimiter=",", names=True)
    steps = [event for event in run.events if event["event"] == "step"]
    near = at(run, 4.0)
    # From the end of the step to t = 4: the energy is smooth.
    energy = near["energy"] + (near["time"] - 4.0) * near["dissipation"]
    expected = float(np.interp(4.0, rows["time"], rows["energy"]))
    measured("Re = 1600, 128^3: energy at t = 4 less the reference's", energy - expected)
    peak = max(event["dissipation"] for event in steps)
    name = "Re = 1600, 128^3: largest dissipation over the reference's, less 1"
    measured(name, peak / float(rows["dissipation"].max()) - 1.0)


def beside_table(run: sidestream.Run, end: float) -> tuple[list[float], list[float]]:
    """Energies and dissipations less those of the table, until `end`."""
    rows = [(at(run, time), values) for time, values in TABLE_100.items() if time <= end]
    return (
        [float(event["energy"] - values[0]) for event, values in rows],
        [float(event["dissipation"] - values[1]) for event, values in rows],
    )


def test_flows_that_only_decay(program: Program, measured) -> None:
    flat = program.run("flat", config("taylor-green-2d", 32, 0.05, 2.0, more="dt = 0.02", shape=[32, 32, 1]))
    abc = program.run("abc", config("abc", 16, 0.05, 2.0, more="dt = 0.02"))

    measured(
        "vortices in a plane: energy over exp(-4 nu t), less 1",
        flat.events.last("run_end")["energy"] / (0.25 * np.exp(-0.4)) - 1.0,
    )
    measured(
        "ABC flow: energy over exp(-2 nu t), less 1",
        abc.events.last("run_end")["energy"] / (1.5 * np.exp(-0.2)) - 1.0,
    )


def test_an_inertial_wave_turns_at_its_frequency(program: Program, measured) -> None:
    words = {"initial": "wave = [1, 2, 2]", "every": 10, "more": "dt = 0.01\nrotation = 3.0"}
    run = program.run("inertial", config("helical-wave", 16, 0.01, 0.2, **words))

    before, after = (modes(run, "velocity_x", which)[2, 2, 1] for which in (0, 1))
    turned = np.angle(after / before) / 0.1
    measured("inertial wave: frequency over 2 Omega k_z / k, less 1", turned / (2.0 * 3.0 * 2.0 / 3.0) - 1.0)


def test_a_wave_of_a_scalar_decays(program: Program, measured) -> None:
    table = "[scalar.dye]\nschmidt = 0.5\namplitude = 1.0\nwave = [2, 1, 0]\n"
    run = program.run("scalar", config("rest", 16, 0.05, 1.0, more="dt = 0.05", tables=table))

    amplitude = 2.0 * modes(run, "dye")[0, 1, 2].real
    measured("scalar wave: amplitude over exp(-D k^2 t), less 1", amplitude / np.exp(-0.1 * 5.0) - 1.0)


# The amplitude at t = 0.4 of a wave (z, y, x) of velocity_x, carried by a mean flow of (1, 0.5, 0 or 2).
CARRIED = {
    "taylor-green-2d": ((0, 1, 1), -0.25j * np.exp(-0.4 * (2.0 * 0.05 + 1.5j))),
    "abc": ((1, 0, 0), -0.5j * np.exp(-0.4 * (0.05 + 2.0j))),
}


@pytest.mark.parametrize("flow", CARRIED)
@pytest.mark.parametrize("scheme", ["rk4", "rk2"])
def test_the_order_of_the_steps(scheme: str, flow: str, program: Program, measured) -> None:
    wave, exact = CARRIED[flow]
    errors = []
    for steps in (20, 40):
        words = {
            "more": f'dt = {0.4 / steps}\nscheme = "{scheme}"',
            "initial": f"mean = [1.0, 0.5, {2.0 * wave[0]}]",
            "shape": [16, 16, 1 if wave[0] == 0 else 16],
        }
        run = program.run(f"{flow}_{scheme}_{steps}", config(flow, 16, 0.05, 0.4, **words))
        errors.append(abs(modes(run, "velocity_x")[wave] - exact))
    measured(f"{scheme.upper()}: order", float(np.log2(errors[0] / errors[1])))


def test_a_plain_solver_gives_the_same(program: Program, measured) -> None:
    words = {"initial": "peak = 3.0", "more": "dt = 0.02", "every": 50}
    run = program.run("twin", config("random", 16, 0.02, 1.0, **words))

    twin = Twin((16, 16, 16), 0.02)
    expected = twin.advance(fields(run, twin, 0), 0.02, 50)
    assert at(run, 1.0)["step"] == 50
    difference = abs(fields(run, twin) - expected).max()
    measured("random waves: largest difference of an amplitude", float(difference))


CUBOID = Twin((9, 18, 27), 0.02, (6.0, 5.0, 4.0), 0.7, [Scalar(0.02 / 0.7, (0.3, -0.5, 1.0)), Scalar(0.01)])
NAMES = (*VELOCITY, "dye", "salt")
SCALARS = """[scalar.dye]
schmidt = 0.7
mean_gradient = [0.3, -0.5, 1.0]
[scalar.salt]
schmidt = 2.0
amplitude = 1.0
wave = [1, -1, 0]
"""


@pytest.fixture(scope="module")
def everything(program: Program) -> sidestream.Run:
    """Fifty steps in the cuboid."""
    words = {
        "more": "length = [6.0, 5.0, 4.0]\nrotation = 0.7\ndt = 0.02",
        "initial": "peak = 2.0\nmean = [0.3, -0.2, 0.1]",
        "tables": SCALARS,
        "shape": list(CUBOID.cells),
    }
    return program.run("everything", config("random", 9, 0.02, 1.0, **words))


def test_a_plain_solver_gives_the_same_of_everything(everything: sidestream.Run, measured) -> None:
    expected = CUBOID.advance(fields(everything, CUBOID, 0, NAMES), 0.02, 50)

    difference = abs(fields(everything, CUBOID, -1, NAMES) - expected).max()
    measured("everything: largest difference of an amplitude", float(difference))


def test_scalars_tell_their_budgets(everything: sidestream.Run, measured) -> None:
    end, told = fields(everything, CUBOID, -1, NAMES), everything.events.last("step")["scalars"]

    for name, scalar, c in zip(NAMES[3:], CUBOID.scalars, end[3:], strict=True):
        made = np.einsum("i,izyx->zyx", np.array(scalar.gradient), end[:3])
        exact = {
            "variance": CUBOID.mean(abs(c) ** 2),
            "dissipation": 2.0 * scalar.diffusivity * CUBOID.mean((CUBOID.waves() ** 2).sum(axis=0) * abs(c) ** 2),
            "production": -2.0 * CUBOID.mean((c.conj() * made).real),
        }
        ratios = [told[name][of] / value - 1.0 for of, value in exact.items() if value != 0.0]
        assert len(ratios) == (3 if any(scalar.gradient) else 2)
        measured("scalars: variance, dissipation and production over NumPy's, less 1", ratios)


def test_the_first_step_crosses_as_many_cells_as_numpy_finds(everything: sidestream.Run, measured) -> None:
    speed = abs(CUBOID.in_space(fields(everything, CUBOID, 0)))
    per_cell = np.array(CUBOID.cells) / np.array(CUBOID.length)
    crossed = 0.02 * np.einsum("i,izyx->zyx", per_cell, speed).max()

    measured("cells crossed in the first step over NumPy's, less 1", at(everything, 0.02)["courant"] / crossed - 1.0)

"""Waves of flows: what they begin with, what forcing holds, what displaced grids do to them, and their vorticity."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import sidestream
from book import Bound, Chapter
from flows import at, config, fields
from program import Program
from spectral_twin import Twin

Array = NDArray[np.float64]

ROUND_OFF = "rounding errors of 10^-16 in sums and transforms"

CHAPTERS = [
    Chapter(
        "What flows begin with",
        """Energies of shells of random waves, of E(k) ~ k^4 exp(-2 (k/2)^2) with a speed of 0.7 and of a table, and of
the vortices of Taylor and Green with a speed of 3. Of two opposite waves that are both stored one is the conjugate of
the other.""",
        [
            Bound("random waves: energy over 3/2 speed^2, less 1", -1e-12, 1e-12, ROUND_OFF),
            Bound("random waves: share of each shell over that asked for, less 1", -1e-12, 1e-12, ROUND_OFF),
            Bound("random waves: largest difference of opposite ones", 0.0, 0.0, "the same random numbers"),
            Bound("table: energy of each shell over that asked for, less 1", -1e-12, 1e-12, ROUND_OFF),
            Bound("vortices: energy over speed^2 / 8, less 1", -1e-12, 1e-12, ROUND_OFF),
        ],
    ),
    Chapter(
        "Frozen forcing",
        """Random waves, of which those up to k = 2 are held for 25 steps, shell by shell; without forcing they lose
more than a hundredth.""",
        [
            Bound("held: energy of shells at the end over that at the start, less 1", -1e-12, 1e-12, ROUND_OFF),
            Bound("not held: the same", -1.0, -0.01, "two viscous losses of nu k^2 t: 0.05 at the least"),
        ],
    ),
    Chapter(
        "Displaced grids",
        """The vortex of Taylor and Green at Re = 10, which 32^3 cells resolve, on displaced grids and with waves below
a third of the cells. Random waves up to the shortest without viscosity: what aliases change of the energy is of the
order of the step where those of the two stages cancel, and does not depend on it where they do not.""",
        [
            Bound("energy over that of two-thirds, less 1", -1e-8, 1e-8, "waves that one of both does not have"),
            Bound(
                "aliases: energy lost with steps of 0.004 over that of 0.001",
                3.0,
                float("inf"),
                "of first order 4, of the steps themselves 16; aliases that stay: 1",
            ),
        ],
    ),
    Chapter(
        "Vorticity",
        """Of ABC flow, which is its own.""",
        [Bound("vorticity less velocity, largest", 0.0, 1e-13, ROUND_OFF)],
    ),
]
CUBE = Twin((16, 16, 16), 0.05)
SHELLS = np.rint(np.sqrt((CUBE.waves() ** 2).sum(axis=0))).astype(int)


def shells(run: sidestream.Run, which: int, highest: float = 9.0) -> Array:
    """The energies of shells 1, 2, ... of the waves up to the highest."""
    power = 0.5 * (abs(fields(run, CUBE, which)) ** 2).sum(axis=0)
    power[..., 1:] *= 2.0
    power[(CUBE.waves() ** 2).sum(axis=0) > highest**2] = 0.0
    return np.bincount(SHELLS.ravel(), power.ravel())[1 : round(highest) + 1]


def beginning(program: Program, name: str, flow: str, initial: str) -> sidestream.Run:
    return program.run(name, config(flow, 16, 0.05, 0.001, more="dt = 0.001", initial=initial))


def test_random_waves_have_the_spectrum_asked_for(program: Program, measured) -> None:
    run = beginning(program, "random", "random", "peak = 2.0\nspeed = 0.7")

    energy, k = shells(run, 0), np.arange(1.0, 10.0)
    wanted = k**4 * np.exp(-2.0 * (k / 2.0) ** 2)
    measured("random waves: energy over 3/2 speed^2, less 1", energy.sum() / (1.5 * 0.7**2) - 1.0)
    name = "random waves: share of each shell over that asked for, less 1"
    measured(name, list(energy / energy.sum() / (wanted / wanted.sum()) - 1.0))
    plane = fields(run, CUBE, 0)[..., 0]
    opposite = np.roll(plane[:, ::-1, ::-1], 1, axis=(1, 2)).conj()
    measured("random waves: largest difference of opposite ones", float(abs(plane - opposite).max()))


def test_a_table_is_the_spectrum(program: Program, measured) -> None:
    (program.folder / "spectrum.txt").write_text("1 0.4\n3 0.2\n9 0.1\n", encoding="utf-8")
    run = beginning(program, "table", "random", 'table = "spectrum.txt"')

    wanted = np.interp(np.arange(1.0, 10.0), [1.0, 3.0, 9.0], [0.4, 0.2, 0.1])
    measured("table: energy of each shell over that asked for, less 1", list(shells(run, 0) / wanted - 1.0))


def test_a_speed_multiplies_a_flow(program: Program, measured) -> None:
    run = beginning(program, "fast", "taylor-green", "speed = 3.0")

    measured("vortices: energy over speed^2 / 8, less 1", shells(run, 0).sum() / (9.0 / 8.0) - 1.0)


@pytest.mark.parametrize(("name", "kind"), [("held", "frozen"), ("not held", "none")])
def test_frozen_forcing_holds_its_shells(name: str, kind: str, program: Program, measured) -> None:
    tables = '[forcing]\nkind = "frozen"\nhighest = 2.0\n' if kind == "frozen" else ""
    words = {"more": "dt = 0.02", "initial": "peak = 2.0", "tables": tables}
    run = program.run(f"forcing_{kind}", config("random", 16, 0.05, 0.5, **words))

    changes = list(shells(run, -1, 2.0) / shells(run, 0, 2.0) - 1.0)
    of = "energy of shells at the end over that at the start, less 1" if kind == "frozen" else "the same"
    measured(f"{name}: {of}", changes)


def test_displaced_grids_give_what_truncation_gives(program: Program, measured) -> None:
    energies = []
    for way in ("phase-shift", "two-thirds"):
        more = f'dt = 0.02\ndealiasing = "{way}"'
        energies.append(at(program.run(way, config("taylor-green", 32, 0.1, 0.2, more=more)), 0.2)["energy"])
    measured("energy over that of two-thirds, less 1", energies[0] / energies[1] - 1.0)


def test_aliases_of_two_stages_cancel(program: Program, measured) -> None:
    lost = []
    for dt in (0.004, 0.001):
        words = {"more": f'dt = {dt}\ndealiasing = "phase-shift"\nscheme = "rk2"', "initial": "peak = 5.0"}
        run = program.run(f"aliases_{dt}", config("random", 16, 0.0, 0.04, **words))
        lost.append(run.events.last("run_end")["energy_balance"])
    measured("aliases: energy lost with steps of 0.004 over that of 0.001", lost[0] / lost[1])


def test_abc_flow_is_its_own_vorticity(program: Program, measured) -> None:
    text = config("abc", 16, 0.05, 0.001, more="dt = 0.001")
    names = [f"{of}_{axis}" for of in ("velocity", "vorticity") for axis in "xyz"]
    plot = f'[output]\nplotfile = {{ format = "raw", grid = "space", at_start = true, variables = {names} }}\n'
    run = program.run("curl", text[: text.index("[output]")] + plot.replace("'", '"'))

    file = sidestream.SnapshotFile(min(run.folder.glob("plt*")))
    velocity, vorticity = (
        np.array([file[f"{of}_{axis}"].values for axis in "xyz"]) for of in ("velocity", "vorticity")
    )
    assert abs(velocity).max() > 1.0
    measured("vorticity less velocity, largest", float(abs(vorticity - velocity).max()))

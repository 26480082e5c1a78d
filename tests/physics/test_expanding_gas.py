"""Uniform gas in an expanding universe."""

from __future__ import annotations

import numpy as np
import pytest

from book import Bound, Chapter
from nyx_files import State, write
from program import Program, plot_files
from universe import Universe

GAMMAS = {"5/3": 5.0 / 3.0, "1.4": 1.4, "1.1": 1.1}

COOLING = (
    "the term of expansion is integrated exactly, for both energies; what is left is round-off over some 200 steps"
)

LEVEL_GAMMA = 1.1
KICK = ((5.0 - 3.0 * LEVEL_GAMMA) * 0.02) ** 2 / (32.0 * LEVEL_GAMMA)
MOTION = "largest velocity over the speed of sound"
LEVEL_DENSITY = "largest difference of density from the mean, over it"

CHAPTERS = [
    Chapter(
        "Uniform gas cools as the universe expands",
        """A box of 8^3 cells, uniform gas and particles at rest to each other, the gas streaming at 20 km/s, from
z = 99 to 0 in a flat universe with Omega_m = 0.3. The specific internal energy falls as a^(-3 (gamma -
1)), the velocity as 1/a, and the comoving density stays.""",
        [
            *(
                Bound(f"internal energy over the exact one, less 1, gamma = {gamma}", -1e-6, 1e-6, COOLING)
                for gamma in GAMMAS
            ),
            *(
                Bound(
                    f"total less kinetic energy over the exact one, less 1, gamma = {gamma}",
                    -1e-6,
                    1e-6,
                    "the same, by the other energy; round-off of a kinetic energy up to a million times the heat, 1e-9",
                )
                for gamma in GAMMAS
            ),
            Bound("velocity over the exact one, less 1", -1e-9, 1e-9, "supercomoving momenta are constant: round-off"),
            Bound("density over the mean, less 1", -1e-9, 1e-9, "round-off"),
        ],
    ),
    Chapter(
        "Uniform gas expands across levels",
        """A box of 24^3 cells, a region in its middle refined, uniform warm gas with gamma = 1.1 at rest, from z = 9 to
3 in default steps. A level of finer cells takes two steps for one. The pressure on a side where levels meet is that of
the middle of the coarse step for one of them, and the mean of two moments for the other. Where the internal energy
grows as exp(s t / dt), these differ by s^2 / 32 of the pressure, and a wave begins there with s^2 / (32 gamma) of
the speed of sound by the time it has left a cell; s = (5 - 3 gamma) 0.02. With steps of one length on all levels there
is no difference.""",
        [
            Bound(MOTION, 0.0, 2.0 * KICK, "waves from two sides meet"),
            Bound(LEVEL_DENSITY, 0.0, 6.0 * KICK, "those of two sides along each axis"),
            Bound(f"{MOTION}, equal steps", 0.0, 1e-12, "round-off over 70 steps"),
            Bound(f"{LEVEL_DENSITY}, equal steps", 0.0, 1e-12, "the same"),
        ],
    ),
]

A0, SPEED, WARMTH = 0.01, 20.0, 4.0  # scale factor, km/s, (km/s)^2
UNIVERSE = Universe(omega_m=0.3, omega_b=0.05, hubble=0.7)
CONFIG = """simulation = "cosmology"

[mesh]
cells = [8, 8, 8]
block = 8

[cosmology]
box = "8 Mpc"
z_start = 99
z_end = 0
omega_m = 0.3
omega_b = 0.05
hubble = 0.7
power = "eisenstein-hu"

[output]
plotfile = { format = "nyx", at_redshift = [0] }
"""


LEVELS = """simulation = "cosmology"

[mesh]
cells = [24, 24, 24]
block = 8

[amr]
max_level = 1

[refine.middle]
criterion = "region"
lower = [2.1, 2.1, 2.1]
upper = [3.9, 3.9, 3.9]
max_level = 1

[cosmology]
box = "6 Mpc"
z_start = 9
z_end = 3
omega_m = 0.3
omega_b = 0.05
hubble = 0.7
power = "eisenstein-hu"

[output]
plotfile = { format = "nyx", at_redshift = [3] }
"""


def uniform_state(cells: int, side: float, a: float = A0, speed: float = SPEED, warmth: float = WARMTH) -> State:
    ones = np.ones((cells, cells, cells))
    k, j, i = np.indices(ones.shape).reshape(3, -1)
    mass = (UNIVERSE.matter - UNIVERSE.gas) * (side / cells) ** 3
    fields = {
        "density": UNIVERSE.gas * ones,
        "xmom": UNIVERSE.gas * speed * ones,
        "ymom": 0.0 * ones,
        "zmom": 0.0 * ones,
        "rho_e": UNIVERSE.gas * warmth * ones,
    }
    positions = (np.stack([i, j, k], axis=1) + 0.5) * side / cells
    return State(a, (side,) * 3, fields, positions, np.zeros_like(positions), np.full(ones.size, mass))


@pytest.mark.parametrize("gamma", GAMMAS)
def test_uniform_gas_cools_as_its_gamma_says(gamma: str, program: Program, measured) -> None:
    name = gamma.replace("/", "_")
    start = write(program.folder / f"start_{name}", uniform_state(8, 8.0))

    run = program.run(name, CONFIG, "--from", start, "--set", f"hydro.gamma={GAMMAS[gamma]!r}", ranks=1)

    plot = plot_files(run)[-1]
    density = plot["density"].values
    energy = plot["rho_e"].values / density / (WARMTH * A0 ** (3.0 * (GAMMAS[gamma] - 1.0)))
    motion = sum(plot[f"{axis}mom"].values ** 2 for axis in "xyz") / (2.0 * density)
    difference = (plot["rho_E"].values - motion) / density / (WARMTH * A0 ** (3.0 * (GAMMAS[gamma] - 1.0)))
    velocity = plot["xmom"].values / density / (SPEED * A0)
    measured(f"internal energy over the exact one, less 1, gamma = {gamma}", largest(energy - 1.0))
    measured(f"total less kinetic energy over the exact one, less 1, gamma = {gamma}", largest(difference - 1.0))
    measured("velocity over the exact one, less 1", largest(velocity - 1.0))
    measured("density over the mean, less 1", largest(density / UNIVERSE.gas - 1.0))


@pytest.mark.parametrize("steps", ["", ", equal steps"])
def test_uniform_gas_stays_uniform_where_levels_meet(steps: str, program: Program, measured) -> None:
    warmth = 1e4
    start = write(program.folder / f"levels{len(steps)}_start", uniform_state(24, 6.0, 0.1, 0.0, warmth))

    run = program.run(
        f"levels{len(steps)}",
        LEVELS.replace("max_level = 1", f"max_level = 1\nsubcycle = {'false' if steps else 'true'}", 1),
        *("--from", start, "--set", f"hydro.gamma={LEVEL_GAMMA}"),
    )

    plot = plot_files(run)[-1]
    assert plot.levels == 2
    density = plot.covering_grid("density", 1).values
    energy = warmth * 0.1 ** (3.0 * (LEVEL_GAMMA - 1.0)) * 0.25 ** (-3.0 * (LEVEL_GAMMA - 1.0))
    sound = np.sqrt(LEVEL_GAMMA * (LEVEL_GAMMA - 1.0) * energy)
    velocity = [np.abs(plot.covering_grid(f"{axis}mom", 1).values / density).max() for axis in "xyz"]
    measured(MOTION + steps, float(max(velocity) / sound))
    measured(LEVEL_DENSITY + steps, float(np.abs(density / UNIVERSE.gas - 1.0).max()))


def largest(values: np.ndarray) -> float:
    return float(values.flat[np.argmax(np.abs(values))])

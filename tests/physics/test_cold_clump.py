"""A clump of cold gas that flies at a thousand times its speed of sound."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from book import Bound, Chapter
from program import Program, plot_files

Array = NDArray[np.float64]

FIVE_PERCENT = "what cosmological gas is held to; a scheme that took heat from the total energy would be off by orders"
SECOND_LAW = (
    "gas that mixes at one pressure keeps it, so no cell may have less entropy than gas of its density had at the "
    "start; round-off of a kinetic energy a million times the heat, 1e-8"
)
WAYS = {
    "uniform": ((64, 64, 1), 8, False, 1.0),
    "refined": ((64, 64, 1), 8, True, 1.0),
    "uniform, 3-D, 48^3": ((48, 48, 48), 16, False, 0.25),
    "refined, 3-D, 48^3": ((48, 48, 48), 8, True, 0.25),
    "uniform, 3-D": ((64, 64, 64), 16, False, 1.0),
    "refined, 3-D": ((64, 64, 64), 8, True, 0.5),
}
SLOW = ("uniform, 3-D", "refined, 3-D")
ERROR = "{}: largest error of the temperature"
ENTROPY = "{}: least entropy of a cell over that of gas of its density at the start"

CHAPTERS = [
    Chapter(
        "A cold clump at Mach 1000",
        """`cold_clump`: a bell of ten times the density in gas of its pressure and velocity crosses a periodic
square of 64 x 64 cells once along x and half of it along y, at a thousand times the speed of sound of its
middle; then a box of 64^3 cells, and a quarter of it along z; with 48^3 cells a quarter of the way.
The kinetic energy is a million times the heat.
On a uniform mesh, and through the sides of a region with cells of half the size (in three dimensions half the
way, out of the region). Temperature: where the density is above half of its height.""",
        [
            *(Bound(ERROR.format(name), 0.0, 0.05, FIVE_PERCENT, is_slow=name in SLOW) for name in WAYS),
            *(Bound(ENTROPY.format(name), 1.0 - 1e-8, 1e9, SECOND_LAW, is_slow=name in SLOW) for name in WAYS),
        ],
    )
]

CONFIG = """simulation = "cold_clump"

[mesh]
cells = {cells}
block = {block}

[cold_clump]
rounds = {rounds}

[output]
plotfile = {{ format = "nyx", every = 8, variables = ["density", "pressure"] }}
"""
REFINED = """
[amr]
max_level = 1

[refine.wall]
criterion = "region"
lower = [0.4, 0.0, 0.0]
upper = [0.6, 0.5, {}]
max_level = 1
"""
RADIUS, CONTRAST, PRESSURE = 0.125, 10.0, 0.6  # defaults of the problem; gamma = 5/3


@pytest.mark.parametrize("name", [pytest.param(way, marks=[pytest.mark.slow] * (way in SLOW)) for way in WAYS])
def test_a_cold_clump_keeps_its_temperature(name: str, program: Program, measured) -> None:
    cells, block, is_refined, rounds = WAYS[name]
    config = CONFIG.format(cells=list(cells), block=block, rounds=rounds)
    config += REFINED.format(1.0 if cells[2] == 1 else 0.5) if is_refined else ""

    run = program.run(name.replace(", ", "_"), config)

    plot = plot_files(run)[-1]
    assert plot.levels == (2 if is_refined else 1)
    density, pressure = (plot.covering_grid(field, 0).values for field in ("density", "pressure"))
    crossed = plot.attrs["time"] * 1000.0 / np.sqrt(CONTRAST)  # sides of the box along x
    assert 0.85 * rounds < crossed <= rounds
    exact = clump(density.shape, plot.box_size[2], crossed)
    inside = exact > 0.5 * (CONTRAST + 1.0)
    error = float(np.abs(pressure / density * exact / PRESSURE - 1.0)[inside].max())
    measured(ERROR.format(name), error)
    measured(ENTROPY.format(name), float(plot.covering_grid("pressure", plot.levels - 1).min() / PRESSURE))
    end = run.events.last("run_end")  # by the program, at the end
    measured(ERROR.format(name), end["temperature_error"])
    measured(ENTROPY.format(name), end["least_entropy"])


def clump(shape: tuple[int, ...], depth: float, rounds: float) -> Array:
    """The exact density in the middle of the cells (z, y, x), when the clump has crossed the box so often."""
    squares: Array = np.zeros(shape)
    for axis, n in enumerate(reversed(shape)):  # x, y, z
        side = depth if axis == 2 else 1.0
        if axis == 2 and shape[0] <= 2:  # flat
            continue
        away = (np.arange(n) + 0.5) * side / n - 0.5 * side - rounds / 2**axis
        away -= side * np.round(away / side)
        squares += (away**2).reshape([-1 if 2 - axis == place else 1 for place in range(3)])
    return 1.0 + (CONTRAST - 1.0) * np.exp(-0.5 * squares / RADIUS**2)

"""A clump of cold gas that flies at a thousand times its speed of sound."""

from __future__ import annotations

import pytest

from book import Bound, Chapter
from program import Program

FIVE_PERCENT = "what cosmological gas is held to; a scheme that took heat from the total energy would be off by orders"
SECOND_LAW = (
    "nothing heats the gas and nothing may cool it; round-off of a kinetic energy a million times the heat, 1e-8"
)

CHAPTERS = [
    Chapter(
        "A cold clump at Mach 1000",
        """`cold_clump`: a bell of ten times the density in gas of its pressure and velocity crosses a periodic
square of 64 x 64 cells once along x and half of it along y, at a thousand times the speed of sound of its
middle. The kinetic energy is a million times the heat. Once on a uniform mesh, once through the sides of
a region with cells of half the size. Temperature: where the density is above half of its height.""",
        [
            Bound("uniform: largest error of the temperature", 0.0, 0.05, FIVE_PERCENT),
            Bound("refined: largest error of the temperature", 0.0, 0.05, FIVE_PERCENT),
            Bound("uniform: least entropy over that at the start", 1.0 - 1e-8, 1e9, SECOND_LAW),
            Bound("refined: least entropy over that at the start", 1.0 - 1e-8, 1e9, SECOND_LAW),
        ],
    )
]

CONFIG = """simulation = "cold_clump"

[mesh]
cells = [64, 64, 1]
block = 8
"""
REFINED = """
[amr]
max_level = 1

[refine.wall]
criterion = "region"
lower = [0.4, 0.0, 0.0]
upper = [0.6, 0.5, 1.0]
max_level = 1
"""


@pytest.mark.parametrize(("name", "more"), [("uniform", ""), ("refined", REFINED)])
def test_a_cold_clump_keeps_its_temperature(name: str, more: str, program: Program, measured) -> None:
    run = program.run(name, CONFIG + more)

    end = run.events.last("run_end")
    measured(f"{name}: largest error of the temperature", end["temperature_error"])
    measured(f"{name}: least entropy over that at the start", end["least_entropy"])

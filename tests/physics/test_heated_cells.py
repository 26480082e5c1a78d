"""Heated gas in cells of several sizes, by two rules of flattening."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import sidestream
from book import Bound, Chapter
from program import Program

Array = NDArray[np.float64]

REDSHIFTS = (4, 2)
WAVES = slice(2, 5)  # shells of 3 to 5 waves a box: 6 to 11 of the 32 cells
KEPT = "cells may damp waves of six to eleven cells, but by less than a half"

CHAPTERS = [
    Chapter(
        "Heated gas and the size of cells",
        """A random field in the box and the universe of Nyx's Lyman-alpha case (8 Mpc, z = 100 to 2, heated by
`onorbe17_middle`), with 32^3 and 128^3 cells and particles from the same random numbers (`random_lattice`). The rule
of Nyx, `hydro.flattening = "compressions"`, stands beside the default, `"shocks"`; the fine run has the default. Shells
of power: 3, 4 and 5 waves a box. Of what 32^3 cells lose the rule of Nyx loses more, in temperature and in waves: where
the gas of the default has more power than that of Nyx in Nyx's own case, it is on the side of finer cells. The bounds
were set after a first run.""",
        [
            *(Bound(f"T0 over that of 128^3, default, z = {z}", 0.95, 1.05, "cells hardly matter") for z in REDSHIFTS),
            Bound("T0 over that of 128^3, rule of Nyx, z = 2", 1.05, 1.3, "it heats cold gas that falls together"),
            *(Bound(f"power of gas over that of 128^3, default, z = {z}", 0.5, 1.05, KEPT) for z in REDSHIFTS),
            *(
                Bound(f"power of gas, rule of Nyx over the default, z = {z}", 0.0, 0.95, "flattened waves are damped")
                for z in REDSHIFTS
            ),
        ],
        is_slow=True,
    )
]

BOX = """simulation = "cosmology"

[mesh]
cells = [{cells}, {cells}, {cells}]
block = 16

[cosmology]
box = "8 Mpc"
z_start = 100
z_end = 2
omega_m = 0.27
omega_b = 0.045
hubble = 0.71
power = "eisenstein-hu"
temperature_start = "214 K"
seed = 5
random_lattice = [32, 32, 32]

[hydro]
flattening = "{flattening}"

[heating]
uv_background = "onorbe17_middle"

[task.waves]
analysis = "power_spectrum"
fields = ["gas_density"]
at_redshift = [4, 2]

[task.gas]
analysis = "phase"
at_redshift = [4, 2]
"""


def states(run: sidestream.Run) -> list[tuple[float, Array]]:
    """T0 [K] and powers of the gas, at both redshifts."""
    return [
        (
            run.result("gas", gas).attrs["mean_density_temperature"],
            np.asarray(run.result("waves", waves)["gas_density_power"])[WAVES],
        )
        for gas, waves in zip(run.steps("gas"), run.steps("waves"), strict=True)
    ]


@pytest.mark.slow
def test_the_default_is_nearer_to_finer_cells_than_the_rule_of_nyx(program: Program, measured) -> None:
    fine, default, of_nyx = (
        states(program.run(f"{flattening}{cells}", BOX.format(cells=cells, flattening=flattening), minutes=60))
        for cells, flattening in ((128, "shocks"), (32, "shocks"), (32, "compressions"))
    )

    for z, (t0, power), (own_t0, own_power), (_, nyx_power) in zip(REDSHIFTS, fine, default, of_nyx, strict=True):
        measured(f"T0 over that of 128^3, default, z = {z}", own_t0 / t0)
        measured(f"power of gas over that of 128^3, default, z = {z}", list(own_power / power))
        measured(f"power of gas, rule of Nyx over the default, z = {z}", list(nyx_power / own_power))
    measured("T0 over that of 128^3, rule of Nyx, z = 2", of_nyx[-1][0] / fine[-1][0])

"""Runs of several resolutions that begin with the same waves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from book import Bound, Chapter
from program import Program, plot_files

Array = NDArray[np.float64]

COARSE, FINE = 16, (32, 64)
WAVES = np.array([-2, -1, 0, 1, 2])  # along an axis of the box
SAME = (
    "a coarse number is the mean of eight, so that a wave keeps cos(pi n / 32) of itself an axis in 32^3, and cos(pi n "
    "/ 64) of that in 64^3: 0.94 and 0.93 for the shortest, two along all axes"
)

CHAPTERS = [
    Chapter(
        "The same waves with finer cells",
        f"""A box of 20 Mpc with {COARSE}^3, {FINE[0]}^3 and {FINE[1]}^3 cells and {COARSE}^3 points of the
`random_lattice`, at z = 50. Correlation of the Fourier modes of the gas with those of the coarsest run, of at most two
waves along each axis, the phases counted from the middle of a cell.""",
        [
            *(Bound(f"correlation with the waves of {COARSE}^3, {cells}^3", 0.93, 1.0, SAME) for cells in FINE),
            Bound("correlation without `random_lattice`, 32^3", -0.3, 0.3, "124 modes that know nothing of each other"),
        ],
    )
]

BOX = """simulation = "cosmology"

[mesh]
cells = [{cells}, {cells}, {cells}]
block = 8

[cosmology]
box = "20 Mpc"
z_start = 50
z_end = 49
random_lattice = [{random}, {random}, {random}]

[output]
plotfile = {{ format = "nyx", at_redshift = [50] }}
"""


def modes(program: Program, cells: int, random: int) -> Array:
    """Long waves of the gas at the start; the mean of all of it left out."""
    run = program.run(f"{cells}_{random}", BOX.format(cells=cells, random=random))
    density = plot_files(run)[0].covering_grid("density", 0).values
    found = np.fft.fftn(density / density.mean() - 1.0)[np.ix_(WAVES, WAVES, WAVES)]
    middle = np.exp(-1j * np.pi * WAVES / cells)  # of the first cell
    return np.delete((found * middle[:, None, None] * middle[:, None] * middle).ravel(), len(WAVES) ** 3 // 2)


def correlation(a: Array, b: Array) -> float:
    return float((a @ b.conj()).real / np.sqrt((a @ a.conj()).real * (b @ b.conj()).real))


def test_finer_runs_begin_with_the_waves_of_a_coarser_one(program: Program, measured) -> None:
    coarse = modes(program, COARSE, COARSE)
    for cells in FINE:
        measured(
            f"correlation with the waves of {COARSE}^3, {cells}^3", correlation(coarse, modes(program, cells, COARSE))
        )
    measured("correlation without `random_lattice`, 32^3", correlation(coarse, modes(program, 32, 0)))

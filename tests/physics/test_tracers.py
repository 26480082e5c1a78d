"""Tracers on the exact paths of ABC flow."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import sidestream
from book import Bound, Chapter
from flows import config
from program import Program

Array = NDArray[np.float64]

BOX = 2.0 * np.pi
VISCOSITY = 0.05
END = 2.0
STRAIN = 2.0  # at most: each row of the gradient has two numbers of at most 1


def spline_error(cells: int) -> float:
    """What a cubic spline can miss of the longest waves: (k h)^4 / 384 of each, of two in a component."""
    return 2.0 * (BOX / cells) ** 4 / 384.0


def farthest(cells: int) -> float:
    """Errors grow no faster than exp(STRAIN t) (Groenwall)."""
    return float(np.sqrt(3.0) * spline_error(cells) * (np.exp(STRAIN * END) - 1.0) / STRAIN)


SHORT, LONG = 16, 32  # cells, beside twice as many


def path_bounds(cells: int) -> list[Bound]:
    is_slow = cells == LONG
    return [
        Bound(
            f"{cells}^3 cells: largest distance from the path",
            0.0,
            farthest(cells),
            "what splines miss, times exp(2 t)",
            is_slow,
        ),
        Bound(
            f"{cells}^3 to {2 * cells}^3 cells: order of the distances",
            3.8,
            4.2,
            "cubic splines are of fourth order",
            is_slow,
        ),
        Bound(
            f"{cells}^3 cells: largest error of a velocity",
            0.0,
            farthest(cells) * STRAIN + spline_error(cells),
            "of the place, and what splines miss there",
            is_slow,
        ),
        Bound(
            f"{cells}^3 cells, phase-shift: largest distance over that without",
            0.9,
            1.1,
            "the flow is the same but for rounding",
            is_slow,
        ),
    ]


CHAPTERS = [
    Chapter(
        "Tracers in ABC flow",
        """The flow decays by exp(-nu t) and keeps its shape, so a path is one of the steady flow in the
time (1 - exp(-nu t)) / nu, which SciPy follows to 1e-12. 200 tracers until t = 2, nu = 0.05: with 16^3, 32^3 and
64^3 cells and 100 steps of RK4, where splines between the cells limit them; and with 16^3 cells and 40, 80 and
160 steps, beside each other, where the steps do.""",
        [
            *path_bounds(SHORT),
            *path_bounds(LONG),
            Bound("RK4: order of the distances", 3.8, 4.2, "that of the flow"),
            Bound("RK2: order of the distances", 1.8, 2.2, "that of the flow"),
        ],
    )
]


def velocity(at: Array) -> Array:
    """Of ABC flow, (3, ...)."""
    x, y, z = at
    return np.array([np.sin(z) + np.cos(y), np.sin(x) + np.cos(z), np.sin(y) + np.cos(x)])


def tracers(run: sidestream.Run, which: int) -> tuple[Array, Array]:
    """Places and velocities (3, tracers) in a checkpoint, by id."""
    file = sidestream.SnapshotFile(sorted(run.folder.glob("chk*"))[which])
    dust = file.particles("dust").sortby("id")
    return (
        np.array([dust[axis].values for axis in "xyz"]),
        np.array([dust[f"velocity_{axis}"].values for axis in "xyz"]),
    )


def exact(start: Array) -> Array:
    """Where the flow carries points until `END`."""
    time = -np.expm1(-VISCOSITY * END) / VISCOSITY
    path = solve_ivp(
        lambda _, y: velocity(y.reshape(3, -1)).ravel(), (0.0, time), start.ravel(), "DOP853", rtol=1e-12, atol=1e-12
    )
    return np.asarray(path.y[:, -1]).reshape(3, -1)


def distances(found: Array, expected: Array) -> Array:
    """Of points in the periodic box."""
    apart = (found - expected + 0.5 * BOX) % BOX - 0.5 * BOX
    return np.asarray(np.sqrt(np.sum(apart**2, axis=0)))


def carried(program: Program, cells: int, steps: int, more: str = "") -> sidestream.Run:
    words = {"more": f"dt = {END / steps}\n{more}", "tables": "[tracers.dust]\ncount = 200\n"}
    name = f"abc_{cells}_{steps}_{more.replace(chr(34), '').replace(' ', '')}"
    return program.run(name, config("abc", cells, VISCOSITY, END, **words))


@pytest.mark.parametrize("cells", [SHORT, pytest.param(LONG, marks=pytest.mark.slow)])
def test_tracers_follow_the_paths_of_abc_flow(cells: int, program: Program, measured) -> None:
    runs = [carried(program, n, 100) for n in (cells, 2 * cells)]
    start, ends = tracers(runs[0], 0)[0], [tracers(run, -1) for run in runs]

    errors = [distances(end[0], exact(start)) for end in ends]
    measured(f"{cells}^3 cells: largest distance from the path", errors[0].max())
    error = ends[0][1] - np.exp(-VISCOSITY * END) * velocity(exact(start))
    measured(f"{cells}^3 cells: largest error of a velocity", np.abs(error).max())
    rms = [np.sqrt(np.mean(error**2)) for error in errors]
    measured(f"{cells}^3 to {2 * cells}^3 cells: order of the distances", float(np.log2(rms[0] / rms[1])))
    shifted = carried(program, cells, 100, 'dealiasing = "phase-shift"')
    assert np.array_equal(tracers(shifted, 0)[0], start)
    largest = distances(tracers(shifted, -1)[0], exact(start)).max()
    measured(f"{cells}^3 cells, phase-shift: largest distance over that without", largest / errors[0].max())


@pytest.mark.parametrize("scheme", ["rk4", "rk2"])
def test_tracers_have_the_order_of_the_steps(scheme: str, program: Program, measured) -> None:
    steps = (40, 80, 160)
    ends = [tracers(carried(program, 16, n, f'scheme = "{scheme}"'), -1)[0] for n in steps]
    rms = [float(np.sqrt(np.mean(distances(a, b) ** 2))) for a, b in zip(ends, ends[1:], strict=False)]
    measured(f"{scheme.upper()}: order of the distances", float(np.log2(rms[0] / rms[1])))

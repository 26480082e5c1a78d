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


# Errors grow no faster than exp(STRAIN t) (Groenwall).
FARTHEST = np.sqrt(3.0) * spline_error(32) * (np.exp(STRAIN * END) - 1.0) / STRAIN

CHAPTERS = [
    Chapter(
        "Tracers in ABC flow",
        """The flow decays by exp(-nu t) and keeps its shape, so a path is one of the steady flow in the
time (1 - exp(-nu t)) / nu, which SciPy follows to 1e-12. 200 tracers until t = 2, nu = 0.05: with 32^3 and 64^3 cells
and 100 steps of RK4, where splines between the cells limit them; and with 16^3 cells and 40, 80 and 160 steps, beside
each other, where the steps do.""",
        [
            Bound(
                "32^3 cells: largest distance from the path", 0.0, float(FARTHEST), "what splines miss, times exp(2 t)"
            ),
            Bound("32^3 to 64^3 cells: order of the distances", 3.8, 4.2, "cubic splines are of fourth order"),
            Bound(
                "32^3 cells: largest error of a velocity",
                0.0,
                float(FARTHEST * STRAIN + spline_error(32)),
                "of the place, and what splines miss there",
            ),
            Bound("RK4: order of the distances", 3.8, 4.2, "that of the flow"),
            Bound("RK2: order of the distances", 1.8, 2.2, "that of the flow"),
            Bound("phase-shift: largest distance over that without", 0.9, 1.1, "the flow is the same but for rounding"),
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


def test_tracers_follow_the_paths_of_abc_flow(program: Program, measured) -> None:
    errors = []
    for cells in (32, 64):
        run = carried(program, cells, 100)
        start, end = tracers(run, 0)[0], tracers(run, -1)
        errors.append(distances(end[0], exact(start)))
        if cells == 32:
            measured("32^3 cells: largest distance from the path", errors[0].max())
            slower = np.exp(-VISCOSITY * END)
            error = end[1] - slower * velocity(exact(start))
            measured("32^3 cells: largest error of a velocity", np.abs(error).max())
    rms = [np.sqrt(np.mean(error**2)) for error in errors]
    measured("32^3 to 64^3 cells: order of the distances", float(np.log2(rms[0] / rms[1])))

    shifted = carried(program, 32, 100, 'dealiasing = "phase-shift"')
    assert np.array_equal(tracers(shifted, 0)[0], start)
    largest = distances(tracers(shifted, -1)[0], exact(start)).max()
    measured("phase-shift: largest distance over that without", largest / errors[0].max())


@pytest.mark.parametrize("scheme", ["rk4", "rk2"])
def test_tracers_have_the_order_of_the_steps(scheme: str, program: Program, measured) -> None:
    steps = (40, 80, 160)
    ends = [tracers(carried(program, 16, n, f'scheme = "{scheme}"'), -1)[0] for n in steps]
    rms = [float(np.sqrt(np.mean(distances(a, b) ** 2))) for a, b in zip(ends, ends[1:], strict=False)]
    measured(f"{scheme.upper()}: order of the distances", float(np.log2(rms[0] / rms[1])))

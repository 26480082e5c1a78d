"""What a flow in a rotating frame does as a whole, its pressure, and the power that holds its shells."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import sidestream
from book import Bound, Chapter
from flows import config
from program import Program

Array = NDArray[np.float64]

ROUND_OFF = "rounding errors of 10^-16 in sums and transforms"

CHAPTERS = [
    Chapter(
        "Mean flow and pressure",
        """A uniform flow in a rotating frame: what it has across the axis turns by 2 Omega t, what it has along the
axis stays. Pressure of vortices in a plane that rotates, (cos 2x + cos 2y) / 4 - 2 Omega sin x sin y, and of random
waves in a cuboid of odd sides beside products in NumPy on twice as many cells.""",
        [
            Bound("mean flow: largest difference", 0.0, 1e-12, ROUND_OFF),
            Bound("pressure of rotating vortices: largest difference over the largest", 0.0, 1e-12, ROUND_OFF),
            Bound("pressure of random waves, two-thirds: the same", 0.0, 1e-12, ROUND_OFF),
            Bound("pressure of random waves, phase-shift: the same", 0.0, 1e-12, ROUND_OFF),
            Bound("frozen forcing: power over what its waves lose, less 1", -1e-10, 1e-10, ROUND_OFF),
        ],
    )
]
PLOT = """
[output]
plotfile = { format = "raw", grid = "space", at_end = true, variables = [
    "velocity_x", "velocity_y", "velocity_z", "pressure"] }
"""


def at_end(run: sidestream.Run) -> dict[str, Array]:
    file = sidestream.SnapshotFile(sorted(run.folder.glob("plt*"))[-1])
    return {name: file[name].values for name in ("velocity_x", "velocity_y", "velocity_z", "pressure")}


def settings(flow: str, cells: list[int], block: int, *, more: str, initial: str = "", tables: str = "") -> str:
    head = config(flow, 16, 0.05, 0.5, shape=cells, more=more, initial=initial)
    return head[: head.index("[output]")].replace("block = 16", f"block = {block}") + PLOT + tables


@pytest.mark.parametrize("scheme", ["rk4", "rk2"])
def test_a_mean_flow_turns_about_the_axis(scheme: str, program: Program, measured) -> None:
    more, mean = f'dt = 0.05\nrotation = 1.0\nscheme = "{scheme}"', "mean = [0.5, -0.25, 2.0]"
    run = program.run(f"mean_{scheme}", settings("rest", [8, 8, 8], 8, more=more, initial=mean))

    fields, (cos, sin) = at_end(run), (np.cos(1.0), np.sin(1.0))
    exact = {"velocity_x": 0.5 * cos - 0.25 * sin, "velocity_y": -0.25 * cos - 0.5 * sin, "velocity_z": 2.0}
    measured("mean flow: largest difference", max(float(abs(fields[name] - exact[name]).max()) for name in exact))


@pytest.mark.parametrize("dealiasing", ["two-thirds", "phase-shift"])
def test_pressure_holds_rotating_vortices(dealiasing: str, program: Program, measured) -> None:
    more = f'dt = 0.05\nrotation = 10.0\ndealiasing = "{dealiasing}"'
    run = program.run(f"vortices_{dealiasing}", settings("taylor-green-2d", [16, 16, 1], 16, more=more))

    x = 2.0 * np.pi * np.arange(16) / 16
    x, y, decay = x[None, None, :], x[None, :, None], np.exp(-2.0 * 0.05 * 0.5)
    exact = decay**2 * (np.cos(2.0 * x) + np.cos(2.0 * y)) / 4.0 - 20.0 * decay * np.sin(x) * np.sin(y)
    error = abs(at_end(run)["pressure"] - exact).max() / abs(exact).max()
    measured("pressure of rotating vortices: largest difference over the largest", float(error))


@pytest.mark.parametrize("dealiasing", ["two-thirds", "phase-shift"])
def test_pressure_has_no_aliasing(dealiasing: str, program: Program, measured) -> None:
    more = f'length = [1.0, 1.2, 1.4]\ndt = 0.005\nrotation = 1.7\ndealiasing = "{dealiasing}"'
    run = program.run(
        f"random_{dealiasing}", settings("random", [15, 18, 21], 3, more=more, initial="peak = 4.0"), ranks=2
    )

    fields = at_end(run)
    exact = pressure([fields[f"velocity_{axis}"] for axis in "xyz"], (1.0, 1.2, 1.4), 1.7, dealiasing)
    error = abs(fields["pressure"] - exact).max() / abs(exact).max()
    measured(f"pressure of random waves, {dealiasing}: the same", float(error))


def pressure(velocity: list[Array], length: tuple[float, float, float], rotation: float, dealiasing: str) -> Array:
    """Of exact products, of which the waves that the flow keeps are taken."""
    shape = np.array(velocity[0].shape)
    modes = [np.fft.fftn(u) / u.size for u in velocity]
    finer = [np.fft.ifftn(resized(u, 2 * shape)).real * (2 * shape).prod() for u in modes]
    whole = np.array(np.meshgrid(*[np.fft.fftfreq(n, 1.0 / n) for n in shape], indexing="ij"))
    k = (2.0 * np.pi / np.array(length[::-1])[:, None, None, None] * whole)[::-1]
    squared = (k**2).sum(axis=0)
    right = 2.0 * rotation * 1j * (k[0] * modes[1] - k[1] * modes[0])
    for a in range(3):
        for b in range(3):
            product = resized(np.fft.fftn(finer[a] * finer[b]) / finer[a].size, shape)
            right = right + k[a] * k[b] * product
    cells = shape[:, None, None, None]
    kept = (3 * abs(whole) < cells).all(axis=0)
    if dealiasing == "phase-shift":
        kept = ((whole / cells) ** 2).sum(axis=0) <= 2.0 / 9.0
    return (np.fft.ifftn(np.where(kept, -right / np.where(squared > 0.0, squared, np.inf), 0.0)) * shape.prod()).real


def resized(modes: NDArray[np.complex128], shape: NDArray[np.int64]) -> NDArray[np.complex128]:
    """The waves that both grids have below their shortest; others are zero."""
    result = np.zeros(shape, dtype=complex)
    few = np.minimum(modes.shape, shape)
    where = [np.fft.fftfreq(n, 1.0 / n).astype(int)[abs(np.fft.fftfreq(n, 1.0 / n)) < n / 2] for n in few]
    result[np.ix_(*where)] = modes[np.ix_(*where)]
    return result


def test_frozen_forcing_tells_its_power(program: Program, measured) -> None:
    tables = '[forcing]\nkind = "frozen"\nhighest = 1.5\n'
    run = program.run("frozen", settings("abc", [16, 16, 16], 16, more="dt = 0.1", tables=tables))

    last = [event for event in run.events if event["event"] == "step"][-1]
    lost = last["energy"] * (1.0 - np.exp(-2.0 * 0.05 * 0.1)) / 0.1
    measured("frozen forcing: power over what its waves lose, less 1", last["power"] / lost - 1.0)

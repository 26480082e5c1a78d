"""A sphere of isothermal gas that rests in its own gravity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import sidestream
from book import Bound, Chapter
from program import Program, plot_files

Array = NDArray[np.float64]

RADIUS, SIDE, END = 3.0, 12.0, 6.0  # the problem's defaults: one crossing at the isothermal speed of sound
CORE = 0.8 * RADIUS  # what is measured: waves from the envelope are not the sphere's own
SHORT, LONG = (24, 32), (32, 48)  # cells a side of the coarse and of the fine run
HALVED = 32  # those where levels meet in the middle
SOON = END / 3.0  # a sound crossing from the middle to the side of the sphere is END / 2

TEXT = """`hydrostatic_sphere`: isothermal gas, gamma = 5/3, in empty space, held by its gravity and the pressure
of gas that is thirty times as warm, for one sound crossing (2 R at the isothermal speed of sound). R =
3 in units of c / sqrt(4 pi G rho_c): the density falls to a third. Errors are those within 0.8 R
against the isothermal sphere of Emden by SciPy, the largest of all plot files."""
HALVES = """with one half of the sphere refined, `amr.buffer` as it is by default: the levels meet in its middle, and
what is measured has cells of both; errors are those of coarse cells, where refined ones are averaged."""


def bounds(coarse: int, fine: int) -> list[Bound]:
    """Of runs on so many cells a side."""
    least = 5e-3 * (48 / fine) ** 2
    return [
        Bound(
            f"{fine}^3: root mean square error of the density over the central one",
            0.0,
            least,
            f"second differences of gravity and pressure leave (dx / scale height)^2 / 12 = {0.1 * least:.2g} of the "
            "force, and the gas swings about the balance of the mesh; ten times that",
        ),
        Bound(f"{fine}^3: root mean square speed over the isothermal one of sound", 0.0, least, "the same, as a wave"),
        Bound(f"{coarse}^3 to {fine}^3: order of the error of the density", 1.6, 3.0, "second order"),
        Bound(f"{coarse}^3 to {fine}^3: order of the speed", 1.6, 3.0, "second order"),
        Bound(
            f"{fine}^3: central density over that at the start, less 1",
            -4.0 * least,
            4.0 * least,
            "four times the mean error",
        ),
    ]


def halved(what: str, end: float) -> str:
    return f"one half refined, until {end:g}: {what} over that of {HALVED}^3"


def halved_bounds(end: float) -> list[Bound]:
    why = (
        "half of the cells err as those, the others a quarter as much; the second order of the side between levels "
        "adds half as much again"
    )
    return [
        Bound(halved("error of the density", end), 0.0, 1.5, why),
        Bound(halved("speed", end), 0.0, 1.5, "the same"),
    ]


CHAPTERS = [
    Chapter(
        "A sphere at rest in its own gravity",
        f"""{TEXT} On {SHORT[0]}^3 and {SHORT[1]}^3 cells, and, for a while, on {HALVED}^3 {HALVES}""",
        [*bounds(*SHORT), *halved_bounds(SOON)],
    ),
    Chapter(
        "A sphere at rest in its own gravity, with more cells",
        f"""The same on {LONG[0]}^3 cells, {LONG[1]}^3, and {LONG[0]}^3 refined once within a cube that just holds the
sphere. Then {HALVED}^3 with one half refined.""",
        [
            *bounds(*LONG),
            *halved_bounds(END),
            Bound(
                f"refined: error of the density over that of {LONG[1]}^3",
                0.0,
                1.2,
                "the cells are 0.75 as large: 0.56; of the side between levels at most as much comes again",
            ),
            Bound(f"refined: speed over that of {LONG[1]}^3", 0.0, 1.2, "the same"),
        ],
        plots=["hydrostatic_sphere"],
        is_slow=True,
    ),
]

CONFIG = """simulation = "hydrostatic_sphere"

[hydrostatic_sphere]
end = {end}

[mesh]
cells = [{cells}, {cells}, {cells}]
block = 8

[output]
plotfile = {{ format = "nyx", every = 20, at_end = true, variables = [
  "density", "x_velocity", "y_velocity", "z_velocity"] }}
"""
REFINED = """
[amr]
max_level = 1

buffer = 0

[refine.sphere]
criterion = "region"
lower = [3.1, 3.1, 3.1]
upper = [8.9, 8.9, 8.9]
max_level = 1
"""
HALF = """
[amr]
max_level = 1

[refine.half]
criterion = "region"
lower = [6.8, 3.8, 3.8]
upper = [8.9, 8.9, 8.9]
max_level = 1
"""


@cache
def emden() -> tuple[Array, Array]:
    """Radii and the density over the central one: (r^2 psi')' = r^2 exp(-psi)."""

    def slopes(x: float, y: Array) -> list[float]:
        return [y[1] / x**2 if x > 0.0 else 0.0, x**2 * np.exp(-y[0])]

    r = np.linspace(0.0, RADIUS, 20001)
    return r, np.exp(-solve_ivp(slopes, (0.0, RADIUS), [0.0, 0.0], rtol=1e-10, atol=1e-14, t_eval=r).y[0])


def distance(z: Array, y: Array, x: Array) -> Array:
    return np.asarray(np.sqrt(z[:, None, None] ** 2 + y[:, None] ** 2 + x**2))


def means(centres: Array, size: float) -> Array:
    """Of the density in cells, where they are within the sphere: by two Gaussian points an axis."""
    nodes = [centres - 0.5 * size / np.sqrt(3.0), centres + 0.5 * size / np.sqrt(3.0)]
    radii = [np.minimum(distance(z, y, x), RADIUS) for z in nodes for y in nodes for x in nodes]
    return np.mean([np.interp(r, *emden()) for r in radii], axis=0)


@dataclass(frozen=True)
class Rest:
    """How far from rest a run is within `CORE`, at each of its plot files."""

    time: Array
    density: Array  # root mean square error over the central density
    speed: Array  # root mean square
    centre: Array  # density over that at the start

    def worst(self, end: float = END) -> tuple[float, float]:
        """Until a time."""
        before = self.time <= end
        return float(self.density[before].max()), float(self.speed[before].max())


def rest_of(run: sidestream.Run, level: int, end: float) -> Rest:
    plots = plot_files(run)
    (n, _, _) = plots[0].cells(level)
    if level < plots[0].levels - 1:  # levels meet within what is measured
        blocks = np.array([side for box in plots[0].boxes(level + 1) for side in box[:, 0]]) * SIDE / n / 2 - SIDE / 2
        assert np.any(np.abs(blocks) < 0.5 * CORE)
    x = (np.arange(n) + 0.5) * SIDE / n - 0.5 * SIDE
    inside = distance(x, x, x) < CORE
    exact = means(x, SIDE / n)[inside]
    rows = []
    for plot in plots:
        density = plot.covering_grid("density", level).values
        squares = [plot.covering_grid(f"{axis}_velocity", level).values[inside] ** 2 for axis in "xyz"]
        error = np.sqrt(np.mean((density[inside] - exact) ** 2))
        middle = density[n // 2 - 1 : n // 2 + 1, n // 2 - 1 : n // 2 + 1, n // 2 - 1 : n // 2 + 1].mean()
        rows.append((plot.attrs["time"], error, np.sqrt(np.mean(sum(squares))), middle))
    time, error, speed, middle = np.array(rows).T
    assert time[-1] > 0.9 * end
    return Rest(time, error, speed, middle / middle[0])


@pytest.fixture(scope="module")
def rest(program: Program) -> Callable[..., Rest]:
    """What is left of a run on so many cells a side, with more keys, measured on a level."""

    @cache
    def rests(cells: int, more: str = "", level: int = 0, end: float = END) -> Rest:
        name = f"cells{cells}_until{end:g}" + {"": "", REFINED: "_refined", HALF: "_half"}[more]
        config = CONFIG.format(cells=cells, end=end) + more
        return rest_of(program.run(name, config), level, end)

    return rests


SIZES = [SHORT, pytest.param(LONG, marks=pytest.mark.slow)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_sphere_stays_to_second_order(sizes: tuple[int, int], rest: Callable[..., Rest], measured) -> None:
    coarse, fine = sizes
    (coarse_error, coarse_speed), (error, speed) = rest(coarse).worst(), rest(fine).worst()
    measured(f"{fine}^3: root mean square error of the density over the central one", error)
    measured(f"{fine}^3: root mean square speed over the isothermal one of sound", speed)
    order = f"{coarse}^3 to {fine}^3: order of the"
    measured(f"{order} error of the density", np.log(coarse_error / error) / np.log(fine / coarse))
    measured(f"{order} speed", np.log(coarse_speed / speed) / np.log(fine / coarse))
    measured(f"{fine}^3: central density over that at the start, less 1", rest(fine).centre.min() - 1.0)


@pytest.mark.slow
def test_a_refined_sphere_stays_as_well(rest: Callable[..., Rest], measured, picture) -> None:
    coarse, fine = LONG
    (error, speed), (fine_error, fine_speed) = rest(coarse, REFINED, 1).worst(), rest(fine).worst()
    measured(f"refined: error of the density over that of {fine}^3", error / fine_error)
    measured(f"refined: speed over that of {fine}^3", speed / fine_speed)
    runs = {"coarse": rest(coarse), "fine": rest(fine), "refined": rest(coarse, REFINED, 1)}
    picture("hydrostatic_sphere", draw(runs))


@pytest.mark.parametrize("end", [SOON, pytest.param(END, marks=pytest.mark.slow)])
def test_a_sphere_stays_where_levels_meet_in_its_middle(end: float, rest: Callable[..., Rest], measured) -> None:
    (error, speed), (coarse_error, coarse_speed) = rest(HALVED, HALF, 0, end).worst(), rest(HALVED).worst(end)
    measured(halved("error of the density", end), error / coarse_error)
    measured(halved("speed", end), speed / coarse_speed)


def draw(runs: dict[str, Rest]) -> Figure:
    figure = Figure(figsize=(7.5, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, rest in runs.items():
        left.plot(rest.time[1:], rest.density[1:], label=name)  # at the start there is no error
        right.plot(rest.time[1:], rest.speed[1:], label=name)
    time = "time [1 / sqrt(4 pi G rho_c)]"
    left.set(xlabel=time, ylabel="error of the density / rho_c", yscale="log")
    right.set(xlabel=time, ylabel="speed / isothermal speed of sound", yscale="log")
    left.legend()
    return figure

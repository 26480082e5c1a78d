"""Flows by the lattice Boltzmann method beside exact solutions, a plain lattice in NumPy and themselves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import sidestream
from book import Bound, Chapter
from lattice import WEIGHTS, Array, PlainLattice, config, field, populations, relative_error
from program import Program, last_event

ROUND_OFF = "rounding errors of 10^-16 in sums of nine numbers, over the steps"
SLIP = "walls that are not half-way: (F / 2 nu) (4 magic / 3 - 1/4), magic = (3 nu)^2 of one relaxation time"
ORDER = "of second order in space where speeds fall with the cell: 4, less what is of higher order"
MEASURED = 1.3  # times what another code has measured

# Cells a side: relative error of the velocity and of the rate of decay, one relaxation time and two with magic 1/4.
DECAY = {
    "bgk": {16: (1.40e-3, None), 32: (2.76e-4, 8.8e-4), 64: (6.5e-5, 1.8e-4)},
    "trt": {16: (1.07e-2, None), 32: (2.74e-3, 1.06e-2), 64: (6.92e-4, 2.7e-3)},
}

CHAPTERS = [
    Chapter(
        "Lattice Boltzmann: channels",
        """Flow between two walls at rest, driven by a force, until it is steady (Poiseuille): with two relaxation
times and the magic number 3/16 walls are exactly half-way between cells; with one they slip by a known amount, which
the profile must have. Flow between a wall and one that moves (Couette). A force that oscillates (Womersley number 4, of
half of the width).""",
        [
            Bound("Poiseuille, exact: relative error", 0.0, 1e-9, ROUND_OFF),
            Bound("Poiseuille, one relaxation time: error over that of the slip", 0.98, 1.02, SLIP),
            Bound("Couette: largest error over the speed", 0.0, 1e-10, ROUND_OFF),
            Bound("Womersley, 32 cells: relative error", 0.0, 0.01, "resolved: a layer of 8 cells"),
            Bound("Womersley: error of 16 cells over that of 32", 3.2, 5.0, ORDER),
        ],
    ),
    Chapter(
        "Lattice Boltzmann: vortices of Taylor and Green",
        """They decay to 1/e, with viscosity 0.05 and a speed of 0.02 at 32 cells that falls with the cell; errors of
the velocity beside those that another code had with the same collisions (times 1.3). And carried by a mean flow.""",
        [
            Bound("error over that of another code", 0.0, MEASURED, "the same algorithm"),
            Bound("error of 32 cells over that of 64", 3.2, 5.0, ORDER),
            Bound("rate of decay: error over that of another code", 0.0, MEASURED, "the same algorithm"),
            Bound("carried by 0.05: error of the rate of decay", -0.01, 0.01, "Galilean invariance up to Mach^2"),
        ],
    ),
    Chapter(
        "Lattice Boltzmann: what must be exact",
        """A plain lattice in NumPy over 100 steps with random barriers: with one relaxation time; with two and a
force that oscillates; and in a box of walls of which three move. Uniform flow; what mass becomes among random
barriers; collisions that are the same; a flow around a barrier in the middle; single precision.""",
        [
            Bound("a plain lattice: largest difference", 0.0, 1e-13, ROUND_OFF),
            Bound("force on barriers: largest difference", 0.0, 1e-11, "the same, in sums over some 800 links"),
            Bound("uniform flow: largest change", 0.0, 1e-14, ROUND_OFF),
            Bound("mass among barriers: relative error", 0.0, 1e-12, ROUND_OFF),
            Bound("two relaxation times that are one: largest difference", 0.0, 1e-13, ROUND_OFF),
            Bound(
                "regularised beside one relaxation time: relative difference", 0.0, 2e-3, "of third order in the speed"
            ),
            Bound("a symmetric flow: largest asymmetry", 0.0, 1e-12, ROUND_OFF),
            Bound("a symmetric flow: lift", 0.0, 1e-10, ROUND_OFF),
            Bound(
                "single precision: relative difference", 0.0, 1e-5, "deviations of 10^-7 of their size, over the steps"
            ),
        ],
    ),
]
WALLS = {"bottom": "wall", "top": "wall"}


def profile(run: sidestream.Run) -> Array:
    """The velocity along a channel."""
    return field(run, "velocity_x")[0, :, 0]


def channel(program: Program, name: str, height: int, viscosity: float, more: str) -> float:
    """The relative error of a steady flow between walls."""
    force = 8.0 * viscosity * 0.02 / height**2
    steps = int(40.0 * height**2 / (np.pi**2 * viscosity)) + 100
    run = program.run(
        name, config([4, height, 1], viscosity, steps, lbm=f"force = [{force!r}, 0.0, 0.0]\n{more}", edges=WALLS)
    )
    y = np.arange(height) + 0.5
    return relative_error(profile(run), force / (2.0 * viscosity) * y * (height - y))


def test_a_channel_is_exact_where_walls_are(program: Program, measured) -> None:
    for height, viscosity in ((8, 0.1), (13, 0.5)):
        error = channel(program, f"exact_{height}", height, viscosity, "")
        measured("Poiseuille, exact: relative error", error)


def test_walls_slip_as_they_must_with_one_relaxation_time(program: Program, measured) -> None:
    for height, viscosity in ((8, 0.1), (16, 0.1), (16, 0.5)):
        error = channel(program, f"slip_{height}_{viscosity}", height, viscosity, 'collision = "bgk"')
        # that of the profile: root of the mean of (y (H - y))^2 over H^2 / 4, for the cells that there are
        y = np.arange(height) + 0.5
        slip = abs(4.0 / 3.0 * (3.0 * viscosity) ** 2 - 0.25) / np.sqrt(np.mean((y * (height - y)) ** 2))
        measured("Poiseuille, one relaxation time: error over that of the slip", error / slip)


@pytest.mark.parametrize("collision", ["trt", "bgk", "regularised"])
def test_a_wall_drags_the_fluid_along(collision: str, program: Program, measured) -> None:
    edges = {"bottom": "wall", "top": 'kind = "wall"\nvelocity = [0.05, 0.0, 0.0]'}
    run = program.run(
        f"couette_{collision}", config([4, 10, 1], 0.2, 2000, lbm=f'collision = "{collision}"', edges=edges)
    )

    exact = 0.05 * (np.arange(10) + 0.5) / 10.0
    measured("Couette: largest error over the speed", float(abs(profile(run) - exact).max() / 0.05))


def womersley(program: Program, height: int) -> float:
    """The relative error of the velocity at four moments of a period."""
    period = 1000 * height**2 // 32**2
    omega, number = 2.0 * np.pi / period, 4.0
    viscosity = omega * (height / 2.0) ** 2 / number**2
    force, errors, sizes = 0.02 * omega, 0.0, 0.0
    y = np.arange(height) + 0.5 - height / 2.0
    root = np.sqrt(1j * omega / viscosity)
    shape = force / (1j * omega) * (1.0 - np.cosh(root * y) / np.cosh(root * height / 2.0))
    text = config(
        [4, height, 1],
        viscosity,
        12 * period,
        edges=WALLS,
        lbm=f"oscillation = [{force!r}, 0.0, 0.0]\nperiod = {float(period)}",
    ).replace("at_end = true, variables", f"every = {period // 4}, variables")
    run = program.run(f"womersley_{height}", text)
    for quarter in range(45, 49):
        found = field(run, "velocity_x", quarter * (period // 4))[0, :, 0]
        exact = (shape * np.exp(1j * omega * quarter * (period // 4))).real
        errors += float(((found - exact) ** 2).sum())
        sizes += float((exact**2).sum())
    return float(np.sqrt(errors / sizes))


def test_a_force_that_oscillates_moves_layers(program: Program, measured) -> None:
    coarse, fine = womersley(program, 16), womersley(program, 32)

    measured("Womersley, 32 cells: relative error", fine)
    measured("Womersley: error of 16 cells over that of 32", coarse / fine)


def vortices(program: Program, name: str, cells: int, more: str, mean: float = 0.0) -> tuple[Array, Array, float]:
    """The velocity along x of decayed vortices, what it should be, and the error of the rate of decay."""
    viscosity, speed, k = 0.05, 0.02 * 32 / cells, 2.0 * np.pi / cells
    steps = round(1.0 / (2.0 * viscosity * k**2))
    initial = f'flow = "taylor-green"\nspeed = {speed!r}\nvelocity = [{mean}, 0.0, 0.0]'
    run = program.run(name, config([cells, cells, 1], viscosity, steps, lbm=more, initial=initial, block=cells))
    at = (np.arange(cells) + 0.5) * k
    decay = np.exp(-2.0 * viscosity * k**2 * steps)
    exact = -speed * decay * np.cos(at - mean * k * steps)[None, :] * np.sin(at)[:, None]
    found = field(run, "velocity_x")[0] - mean
    left = np.sqrt((found**2).sum() / (exact**2).sum()) * decay
    return found, exact, float(-np.log(left) / (2.0 * viscosity * k**2 * steps) - 1.0)


@pytest.mark.parametrize("collision", ["bgk", "trt"])
def test_vortices_decay_as_fast_as_viscosity_says(collision: str, program: Program, measured) -> None:
    more = f'collision = "{collision}"\n' + "magic = 0.25\n" * (collision == "trt")
    errors = {}
    for cells, (expected, expected_rate) in DECAY[collision].items():
        found, exact, rate = vortices(program, f"vortices_{collision}_{cells}", cells, more)
        errors[cells] = relative_error(found, exact)
        measured("error over that of another code", errors[cells] / expected)
        if expected_rate is not None:
            measured("rate of decay: error over that of another code", abs(rate) / expected_rate)

    measured("error of 32 cells over that of 64", errors[32] / errors[64])


@pytest.mark.parametrize("collision", ["bgk", "trt", "regularised"])
def test_vortices_decay_as_fast_while_they_are_carried(collision: str, program: Program, measured) -> None:
    _, _, rate = vortices(program, f"carried_{collision}", 32, f'collision = "{collision}"', mean=0.05)

    measured("carried by 0.05: error of the rate of decay", rate)


def draw(path: object, solid: NDArray[np.bool_]) -> None:
    """A picture of barriers, the lowest row that of y = 0."""
    from matplotlib.image import imsave

    imsave(path, np.repeat(np.where(solid[::-1], 0, 255).astype(np.uint8)[:, :, None], 3, axis=2))  # type: ignore[arg-type]


def random_barriers(program: Program, shape: tuple[int, int]) -> NDArray[np.bool_]:
    solid = np.random.default_rng(1).random(shape) < 0.1
    draw(program.folder / "barriers.png", solid)
    return solid


STEPS, PERIOD = 100, 37.0


def oscillating(t: int) -> list[float]:
    return [1e-4 + 3e-4 * np.cos(2 * np.pi * (t + 1) / PERIOD), 2e-4]


PLAIN = {  # lines of `[lbm]`, the faces that are walls, and the same for the plain lattice
    "bgk": ('collision = "bgk"', {}, {}),
    "trt": (
        f"magic = 0.25\nforce = [1e-4, 2e-4, 0.0]\noscillation = [3e-4, 0.0, 0.0]\nperiod = {PERIOD}",
        {},
        {"magic": 0.25, "force": oscillating},
    ),
    "closed": (
        "",
        {"left": [0.0, 0.0, 0.0], "right": [0.0, -0.05, 0.0], "bottom": [0.02, 0.0, 0.0], "top": [0.1, 0.0, 0.0]},
        {
            "magic": 0.1875,
            "walls": {(0, False): (0, 0), (0, True): (0, -0.05), (1, False): (0.02, 0), (1, True): (0.1, 0)},
        },
    ),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_lattice_has_the_same_populations(name: str, program: Program, measured) -> None:
    lines, walls, options = PLAIN[name]
    solid = random_barriers(program, (29, 37))
    edges = {face: f'kind = "wall"\nvelocity = {velocity}' for face, velocity in walls.items()}
    more = f'{lines}\nbarrier = "{program.folder / "barriers.png"}"'
    initial = "velocity = [0.08, 0.03, 0.0]"
    run = program.run(name, config([37, 29, 1], 0.03, STEPS, lbm=more, initial=initial, edges=edges, block=1))

    plane = PlainLattice(solid, 0.03, **options)
    weights = WEIGHTS[:, None, None]
    plain = plane.steps(populations(run, 0)[:, 0] + weights, STEPS)
    measured("a plain lattice: largest difference", float(abs(plain - weights - populations(run)[:, 0]).max()))
    assert abs(plain - weights).max() > 1e-3
    measured("mass among barriers: relative error", float(last_event(run)["mass_error"]))  # type: ignore[arg-type]
    if walls:  # populations that turn back where barriers and walls meet belong to either
        return
    force, exact = run.events.last("step")["forces"]["picture"][:2], plane.force_on_barriers(plain)
    measured("force on barriers: largest difference", float(abs(force - exact).max()))
    assert abs(exact).max() > 1e-3


@pytest.mark.parametrize("collision", ["trt", "bgk", "regularised"])
@pytest.mark.parametrize("cells", [[12, 9, 1], [9, 8, 7]])
def test_uniform_flow_stays_as_it_is(cells: list[int], collision: str, program: Program, measured) -> None:
    along_z = 0.0 if cells[2] == 1 else -0.02
    initial = f"velocity = [0.1, 0.05, {along_z}]"
    more = f'collision = "{collision}"'
    run = program.run(f"uniform_{collision}_{cells[2]}", config(cells, 0.01, 200, lbm=more, initial=initial))

    count = 9 if cells[2] == 1 else 19
    change = abs(populations(run, count=count) - populations(run, 0, count=count)).max()
    # What regularisation adds to the equilibrium of second order that the flow begins with comes in the first step.
    assert collision != "regularised" or change < 1e-3
    if collision != "regularised":
        measured("uniform flow: largest change", float(change))
    else:
        velocity = field(run, "velocity_x")
        measured("uniform flow: largest change", float(abs(velocity - 0.1).max()))


def test_collisions_agree_where_they_must(program: Program, measured) -> None:
    def end(name: str, more: str) -> Array:
        found, _, _ = vortices(program, name, 24, more)
        return found

    one = end("one_time", 'collision = "bgk"')
    two = end("two_times", f'collision = "trt"\nmagic = {(3.0 * 0.05) ** 2!r}')
    measured("two relaxation times that are one: largest difference", float(abs(one - two).max()))
    regularised = end("regularised", 'collision = "regularised"')
    measured("regularised beside one relaxation time: relative difference", relative_error(regularised, one))
    single = end("single", 'collision = "bgk"\nprecision = "single"')
    measured("single precision: relative difference", relative_error(single, one))


def test_a_symmetric_flow_stays_so(program: Program, measured) -> None:
    edges = {
        "left": 'kind = "inflow"\nvelocity = [0.05, 0.0, 0.0]\nprofile = "parabolic"',
        "right": 'kind = "outflow"\ndensity = 1.0',
        **WALLS,
    }
    barrier = '[barrier.cylinder]\nshape = "cylinder"\ncenter = [20.0, 16.0]\nradius = 4.2\n'
    run = program.run("symmetric", config([80, 32, 1], 0.02, 1500, edges=edges, tables=barrier))

    u, v = field(run, "velocity_x")[0], field(run, "velocity_y")[0]
    measured("a symmetric flow: largest asymmetry", float(max(abs(u - u[::-1]).max(), abs(v + v[::-1]).max())))
    force = last_event(run)["forces"]["cylinder"]  # type: ignore[index]
    measured("a symmetric flow: lift", abs(float(force[1])))
    assert force[0] > 0.01

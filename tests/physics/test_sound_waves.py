"""Sound waves in gas that flows: they must not carry mass of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad

from book import Bound, Chapter
from nyx_files import State, write
from program import Program, plot_files
from universe import Universe

Array = NDArray[np.float64]

CARRIED = (
    "gas carries what its momentum says; the oscillation of waves is 5 % of a sixteenth of a box over 2 pi, 0.03 % of "
    "the way; a limiter or a flattening that acts in waves carries percents more"
)

CHAPTERS = [
    Chapter(
        "Sound waves in a uniform flow",
        """Gas that flows along x at three times its speed of sound through a box of 64 x 8 x 8 cells, twice, with
sound waves of 8 and 16 cells in it, 5 % of the density each, one with the flow and one against it, and a
wave of entropy (1 %) that is as long as the box. The box is a megaparsec and the gas so warm that gravity
is a ten-thousandth of its pressure. Entropy rests in the gas: how far its wave moves is what the mass flux through
the faces of cells carries.""",
        [Bound("way of the entropy over that of the mean flow", 0.997, 1.003, CARRIED)],
    )
]

CELLS, WIDTH, SIDE = 64, 8, 1.0  # comoving Mpc
SOUND, MACH, BOXES = 700.0, 3.0, 2.0  # km/s
GAMMA = 5.0 / 3.0
A_START = 0.5
UNIVERSE = Universe(omega_m=0.3, omega_b=0.05, hubble=0.7)
CONFIG = """simulation = "cosmology"

[mesh]
cells = [64, 8, 8]
block = 8

[cosmology]
box = "1 Mpc"
z_start = 1
z_end = {z_end!r}
omega_m = 0.3
omega_b = 0.05
hubble = 0.7
power = "eisenstein-hu"

[output]
plotfile = {{ format = "nyx", at_redshift = [{z_end!r}] }}
"""


def drift(a: float) -> float:
    """How far gas has moved that streams with the mean flow [Mpc]: its velocity falls as 1/a."""
    speed = MACH * SOUND * A_START
    return speed * quad(lambda x: 1.0 / (x**3 * UNIVERSE.hubble_rate(x)), A_START, a, epsrel=1e-10)[0]


def a_after(way: float) -> float:
    low, high = A_START, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if drift(middle) < way else (low, middle)
    return low


def start() -> State:
    """Simple waves on an adiabat that varies slowly."""
    x = (np.arange(CELLS) + 0.5) / CELLS
    along, against = (0.05 * np.sin(2.0 * np.pi * n * x + phase) for n, phase in ((8, 0.4), (4, 1.9)))
    contrast = 1.0 + along + against
    entropy = 1.0 + 0.01 * np.cos(2.0 * np.pi * x)
    density = UNIVERSE.gas * contrast / contrast.mean() * entropy ** (-1.0 / GAMMA)
    density *= UNIVERSE.gas / density.mean()
    heat = SOUND**2 / (GAMMA * (GAMMA - 1.0)) * entropy * (density / UNIVERSE.gas) ** (GAMMA - 1.0)
    momentum = density * SOUND * (along - against)
    momentum += density * MACH * SOUND - momentum.sum() / density.sum() * density
    shape = (WIDTH, WIDTH, CELLS)
    fields = {"density": density, "xmom": momentum, "ymom": 0.0 * x, "zmom": 0.0 * x, "rho_e": density * heat}
    k, j, i = np.indices(shape).reshape(3, -1)
    size = SIDE / CELLS
    positions = (np.stack([i, j, k], axis=1) + 0.5) * size
    mass = np.full(i.size, (UNIVERSE.matter - UNIVERSE.gas) * size**3)
    box = (SIDE, WIDTH * size, WIDTH * size)
    gas = {name: np.broadcast_to(values, shape) for name, values in fields.items()}
    return State(A_START, box, gas, positions, np.zeros_like(positions), mass)


def phase_of_entropy(density: Array, heat_density: Array) -> float:
    """Where along x the entropy is highest, by its longest wave [boxes]."""
    entropy = heat_density / density**GAMMA
    return float(-np.angle(np.fft.fft(entropy)[1]) / (2.0 * np.pi))


def test_sound_waves_do_not_speed_up_the_flow(program: Program, measured) -> None:
    state = start()
    a_end = a_after(BOXES * SIDE)

    run = program.run(
        "waves", CONFIG.format(z_end=1.0 / a_end - 1.0), "--from", write(program.folder / "start", state), ranks=1
    )

    plot = plot_files(run)[-1]
    before = phase_of_entropy(state.fields["density"][0, 0], state.fields["rho_e"][0, 0])
    after = phase_of_entropy(plot["density"].values[0, 0], plot["rho_e"].values[0, 0])
    beyond = (after - before - BOXES + 0.5) % 1.0 - 0.5
    measured("way of the entropy over that of the mean flow", 1.0 + beyond / BOXES)

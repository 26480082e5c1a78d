"""Turbulence that decays, is forced and mixes: budgets, skewness, dissipation, two ways of dealiasing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import simpson

import sidestream
from book import Bound, Chapter
from flows import config
from program import Program

Array = NDArray[np.float64]

# eps L / u'^3 = FAR + SLOPE / R_L of forced turbulence (McComb et al. 2015, Phys. Rev. E 91, 043013).
FAR, SLOPE = 0.468, 18.9
SKEWNESS = "developed turbulence: 0.5, with the spread of a few of the largest vortices"
BALANCE = "nothing but viscosity takes energy; steps of fourth order"
SCATTER = "ways of forcing differ, and ten turnovers are a few samples: a fifth"

CHAPTERS = [
    Chapter(
        "Decaying turbulence",
        """Random waves with E(k) ~ k^4 exp(-2 (k/2)^2) that become turbulence and decay, in 64^3 cells with steps of
one length. Skewness of the longitudinal gradients, of three components, at moments after the largest dissipation,
at R_lambda of 17 to 23.""",
        [
            Bound("64^3: kmax eta, least", 1.5, 10.0, "resolved gradients"),
            Bound("64^3: skewness", -0.55, -0.4, SKEWNESS),
            Bound(
                "64^3: dE/dt over -2 nu Omega, less 1", -1e-6, 1e-6, "differences of steps, of eighth order; " + BALANCE
            ),
            Bound("64^3: energy left over by its balance", -1e-6, 1e-6, BALANCE),
        ],
    ),
    Chapter(
        "Two ways of dealiasing",
        """The same decay with 64^3 cells and waves below a third of them, and with 45^3 cells on displaced grids (2.9
times fewer), both with waves up to 21 in all directions.""",
        [
            Bound("energy at the end over that of two-thirds, less 1", -1e-3, 1e-3, "the corners of a cube of waves"),
            Bound("dissipation at the end over that of two-thirds, less 1", -1e-2, 1e-2, "their k^2 times more"),
        ],
    ),
    Chapter(
        "Forced turbulence",
        """A box of 48^3 cells that forces along the velocity keep going, with constant power, over ten turnovers
L/u' after it has lost its start, at R_lambda = 24. The dissipation is compared with that of other forced
simulations.""",
        [
            Bound("mean input over mean dissipation, less 1", -0.02, 0.02, "ten turnovers of a stationary flow"),
            Bound(
                "input less dissipation and the change of energy, over the input", -1e-5, 1e-5, "the order of the steps"
            ),
            Bound("eps L / u'^3 over 0.468 + 18.9 / R_L, less 1", -0.2, 0.2, SCATTER),
        ],
    ),
    Chapter(
        "A scalar with a mean gradient",
        """Carried by forced turbulence, from nothing on; Sc = 1. The flux goes down the gradient, and what it produces
of variance is lost by diffusion or stays.""",
        [
            Bound("flux along the gradient over u' c'", -1.0, -0.1, "mixing: down the gradient"),
            Bound(
                "change of variance less production and dissipation, over the production",
                -1e-5,
                1e-5,
                "Simpson's rule over the steps",
            ),
        ],
    ),
    Chapter(
        "Decaying turbulence with more cells",
        """The same in 128^3 cells, at R_lambda of 30 to 60 while it is developed.""",
        [
            Bound("128^3: kmax eta, least", 1.5, 10.0, "resolved gradients"),
            Bound("128^3: R_lambda", 30.0, 60.0, "as chosen"),
            Bound("128^3: skewness", -0.55, -0.4, SKEWNESS),
            Bound(
                "128^3: dE/dt over -2 nu Omega, less 1",
                -1e-6,
                1e-6,
                "differences of steps, of eighth order; " + BALANCE,
            ),
            Bound("128^3: energy left over by its balance", -1e-6, 1e-6, BALANCE),
        ],
        is_slow=True,
    ),
]


@dataclass
class Steps:
    """What events of steps told, against time."""

    events: list[dict[str, float]]

    def __getitem__(self, name: str) -> Array:
        return np.array([event[name] for event in self.events])

    def of_scalar(self, scalar: str, name: str) -> Array:
        return np.array([event["scalars"][scalar][name] for event in self.events])  # type: ignore[index]


def steps_of(run: sidestream.Run) -> Steps:
    return Steps([event for event in run.events if event["event"] == "step"])


def statistics(every: int, scalars: str = "[]") -> str:
    return f'[task.flow]\nanalysis = "turbulence"\ngrid = "space"\nevery = {every}\nscalars = {scalars}\n'


def rates(values: Array, dt: float) -> Array:
    """Time derivatives by central differences of eighth order, of all but four values at either end."""
    weights = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
    return np.convolve(values, weights[::-1], "valid") / dt


def decay(program: Program, cells: int, viscosity: float, end: float, dt: float, more: str = "") -> sidestream.Run:
    words = {"initial": "peak = 2.0", "more": f"dt = {dt}\n{more}", "tables": statistics(round(0.25 / dt))}
    return program.run(f"decay{cells}", config("random", cells, viscosity, end, **words))


def skewness(run: sidestream.Run, step: int) -> float:
    """Of the longitudinal gradients, over the components."""
    return float(np.trace(np.asarray(run.result("flow", step)["gradient_skewness"]))) / 3.0


def measure_decay(name: str, run: sidestream.Run, dt: float, measured) -> list[int]:
    """The steps at which the turbulence is developed."""
    events = steps_of(run)
    loss = events["dissipation"]
    measured(f"{name}: kmax eta, least", run.events.last("run_end")["least_kmax_eta"])
    measured(f"{name}: dE/dt over -2 nu Omega, less 1", list(-rates(events["energy"], dt) / loss[4:-4] - 1.0)[::20])
    measured(f"{name}: energy left over by its balance", run.events.last("run_end")["energy_balance"])
    peak = float(events["time"][int(np.argmax(loss))])
    developed = [step for step in run.steps("flow") if step * dt >= peak]
    assert developed
    measured(f"{name}: skewness", [skewness(run, step) for step in developed])
    return developed


@pytest.fixture(scope="module")
def decaying(program: Program) -> sidestream.Run:
    """With waves below a third of 64^3 cells."""
    return decay(program, 64, 0.025, 2.0, 0.0125)


def test_decaying_turbulence(decaying: sidestream.Run, measured) -> None:
    measure_decay("64^3", decaying, 0.0125, measured)


def test_displaced_grids_need_fewer_cells(decaying: sidestream.Run, program: Program, measured) -> None:
    shifted = decay(program, 45, 0.025, 2.0, 0.0125, 'dealiasing = "phase-shift"')

    assert shifted.events.last("run_start")["kmax"] // 1 == decaying.events.last("run_start")["kmax"] == 21
    for name in ("energy", "dissipation"):
        one, other = (float(run.events.last("run_end")[name]) for run in (decaying, shifted))
        measured(f"{name} at the end over that of two-thirds, less 1", other / one - 1.0)


@pytest.mark.slow
def test_decaying_turbulence_with_more_cells(program: Program, measured) -> None:
    run = decay(program, 128, 0.0105, 1.75, 0.00625)

    developed = measure_decay("128^3", run, 0.00625, measured)
    numbers = [float(run.result("flow", step).attrs["taylor_reynolds_number"]) for step in developed]
    measured("128^3: R_lambda", numbers)


FORCED_STEP, SPIN_UP, TURNOVERS = 0.02, 9.0, 10.0
FORCED = """[forcing]
kind = "power"
power = 0.5
highest = 2.83
[scalar.dye]
mean_gradient = [0.0, 0.0, 1.0]
"""


@pytest.fixture(scope="module")
def forced(program: Program) -> sidestream.Run:
    """Ten turnovers and more after the start is lost, with a dye."""
    words = {"initial": "peak = 2.5", "more": f"dt = {FORCED_STEP}", "tables": FORCED + statistics(20)}
    return program.run("forced", config("random", 48, 0.035, 26.0, **words))


def test_forced_turbulence_gets_what_it_loses(forced: sidestream.Run, measured) -> None:
    steps = steps_of(forced)
    first = int(np.searchsorted(steps["time"], SPIN_UP))
    flows = [forced.result("flow", step) for step in forced.steps("flow") if step > first]
    speed = float(np.sqrt(np.mean([flow.attrs["rms_velocity"] ** 2 for flow in flows])))
    scale = float(np.mean([flow.attrs["integral_scale"] for flow in flows]))
    last = int(np.searchsorted(steps["time"], SPIN_UP + TURNOVERS * scale / speed))
    assert last < len(steps.events), "the run is shorter than its turnovers"

    taken, lost, change = (
        steps[name][last] - steps[name][first] for name in ("energy_injected", "energy_dissipated", "energy")
    )
    measured("mean input over mean dissipation, less 1", taken / lost - 1.0)
    measured("input less dissipation and the change of energy, over the input", (taken - lost - change) / taken)
    loss = lost / (steps["time"][last] - steps["time"][first])
    viscosity = float(flows[0].attrs["viscosity"])
    wanted = FAR + SLOPE * viscosity / (speed * scale)
    measured("eps L / u'^3 over 0.468 + 18.9 / R_L, less 1", loss * scale / speed**3 / wanted - 1.0)


def test_a_scalar_flows_down_its_mean_gradient(forced: sidestream.Run, measured) -> None:
    steps = steps_of(forced)
    variance, made, lost = (steps.of_scalar("dye", name) for name in ("variance", "production", "dissipation"))
    mixed = steps["time"] > SPIN_UP
    speed = np.sqrt(2.0 / 3.0 * steps["energy"][mixed])

    flux = -0.5 * made[mixed] / (speed * np.sqrt(variance[mixed]))
    measured("flux along the gradient over u' c'", list(flux[::200]))
    kept = simpson(made - lost, dx=FORCED_STEP)
    name = "change of variance less production and dissipation, over the production"
    change = variance[-1] - variance[0]
    measured(name, (change - kept) / simpson(made, dx=FORCED_STEP))

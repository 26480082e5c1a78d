"""Turbulence that decays, is forced and mixes: budgets, skewness, dissipation, two ways of dealiasing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

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


@dataclass(frozen=True)
class Decay:
    """Cells a side, viscosity, the step and the time of the end."""

    cells: int
    viscosity: float
    step: float
    end: float = 2.0


@dataclass(frozen=True)
class Forced:
    """Cells a side, viscosity, the step, and the times at which the start is lost and the run ends."""

    cells: int
    viscosity: float
    step: float
    spin_up: float
    end: float


DECAYS = {
    "64^3": Decay(64, 0.025, 0.0125),
    "128^3": Decay(128, 0.0105, 0.00625, end=1.75),
}
SHIFTED = {"64^3": 45}  # of a decay: cells of displaced grids with as many waves
FORCINGS = {"24^3 cells": Forced(24, 0.08, 0.02, 4.0, 8.0), "48^3 cells": Forced(48, 0.035, 0.02, 9.0, 26.0)}
SLOW = ("128^3", "48^3 cells")


def tiers(names: Iterable[str]) -> list[object]:
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in names]


def decay_bounds(name: str) -> list[Bound]:
    most = "differences of steps, of eighth order; " + BALANCE
    bounds = [
        Bound(f"{name}: kmax eta, least", 1.5, 10.0, "resolved gradients", name in SLOW),
        Bound(f"{name}: skewness", -0.55, -0.4, SKEWNESS, name in SLOW),
        Bound(f"{name}: dE/dt over -2 nu Omega, less 1", -1e-6, 1e-6, most, name in SLOW),
        Bound(f"{name}: energy left over by its balance", -1e-6, 1e-6, BALANCE, name in SLOW),
    ]
    return bounds + [Bound(f"{name}: R_lambda", 30.0, 60.0, "as chosen", True)] * (name == "128^3")


CHAPTERS = [
    Chapter(
        "Decaying turbulence",
        """Random waves with E(k) ~ k^4 exp(-2 (k/2)^2) that become turbulence and decay, in 64^3 and 128^3 cells with
steps of one length. Skewness of the longitudinal gradients, of three components, at moments after the largest
dissipation. R_lambda is 17 to 23 with 64^3 cells, and 30 to 60 while it is developed with 128^3.""",
        [bound for name in DECAYS for bound in decay_bounds(name)],
    ),
    Chapter(
        "Two ways of dealiasing",
        """The same decay with 64^3 cells and waves below a third of them, and with 45^3 cells on displaced grids (2.9
times fewer), both with waves up to 21 in all directions.""",
        [
            Bound(f"{name}: {what} at the end over that of two-thirds, less 1", -most, most, why, name in SLOW)
            for name in SHIFTED
            for what, most, why in (
                ("energy", 1e-3, "the corners of a cube of waves"),
                ("dissipation", 1e-2, "their k^2 times more"),
            )
        ],
    ),
    Chapter(
        "Forced turbulence",
        """A box of 48^3 cells that forces along the velocity keep going, with constant power, over ten turnovers
L/u' after it has lost its start, at R_lambda = 24. The dissipation is compared with that of other forced
simulations. The balance of a few turnovers, in 24^3 cells too.""",
        [
            Bound("mean input over mean dissipation, less 1", -0.02, 0.02, "ten turnovers of a stationary flow", True),
            *(
                Bound(
                    f"{name}: input less dissipation and the change of energy, over the input",
                    -1e-5,
                    1e-5,
                    "the order of the steps",
                    name in SLOW,
                )
                for name in FORCINGS
            ),
            Bound("eps L / u'^3 over 0.468 + 18.9 / R_L, less 1", -0.2, 0.2, SCATTER, True),
        ],
    ),
    Chapter(
        "A scalar with a mean gradient",
        """Carried by forced turbulence, from nothing on; Sc = 1. The flux goes down the gradient, and what it produces
of variance is lost by diffusion or stays.""",
        [
            bound
            for name in FORCINGS
            for bound in (
                Bound(
                    f"{name}: flux along the gradient over u' c'", -1.0, -0.1, "mixing: down the gradient", name in SLOW
                ),
                Bound(
                    f"{name}: change of variance less production and dissipation, over the production",
                    -1e-5,
                    1e-5,
                    "Simpson's rule over the steps",
                    name in SLOW,
                ),
            )
        ],
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


def decay(program: Program, cells: int, of: Decay, more: str = "") -> sidestream.Run:
    words = {"initial": "peak = 2.0", "more": f"dt = {of.step}\n{more}", "tables": statistics(round(0.25 / of.step))}
    return program.run(f"decay{cells}", config("random", cells, of.viscosity, of.end, **words))


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
def decaying(program: Program) -> Callable[[str], sidestream.Run]:
    """With waves below a third of the cells."""
    return cache(lambda name: decay(program, DECAYS[name].cells, DECAYS[name]))


@pytest.mark.parametrize("name", tiers(DECAYS))
def test_decaying_turbulence(name: str, decaying: Callable[[str], sidestream.Run], measured) -> None:
    run = decaying(name)

    developed = measure_decay(name, run, DECAYS[name].step, measured)

    if name == "128^3":
        numbers = [float(run.result("flow", step).attrs["taylor_reynolds_number"]) for step in developed]
        measured("128^3: R_lambda", numbers)


@pytest.mark.parametrize("name", tiers(SHIFTED))
def test_displaced_grids_need_fewer_cells(
    name: str, decaying: Callable[[str], sidestream.Run], program: Program, measured
) -> None:
    shifted = decay(program, SHIFTED[name], DECAYS[name], 'dealiasing = "phase-shift"')

    highest = (DECAYS[name].cells - 1) // 3
    assert shifted.events.last("run_start")["kmax"] // 1 == decaying(name).events.last("run_start")["kmax"] == highest
    for what in ("energy", "dissipation"):
        one, other = (float(run.events.last("run_end")[what]) for run in (decaying(name), shifted))
        measured(f"{name}: {what} at the end over that of two-thirds, less 1", other / one - 1.0)


FORCED = """[forcing]
kind = "power"
power = 0.5
highest = 2.83
[scalar.dye]
mean_gradient = [0.0, 0.0, 1.0]
"""
TURNOVERS = 10.0


@pytest.fixture(scope="module")
def forced(program: Program) -> Callable[[str], sidestream.Run]:
    """Forced flows with a dye."""

    @cache
    def run(name: str) -> sidestream.Run:
        of = FORCINGS[name]
        words = {"initial": "peak = 2.5", "more": f"dt = {of.step}", "tables": FORCED + statistics(20)}
        return program.run(f"forced{of.cells}", config("random", of.cells, of.viscosity, of.end, **words))

    return run


def gains(steps: Steps, first: int, last: int) -> list[float]:
    """What was put in, what was lost, and the change of energy."""
    return [steps[name][last] - steps[name][first] for name in ("energy_injected", "energy_dissipated", "energy")]


@pytest.mark.parametrize("name", tiers(FORCINGS))
def test_forced_turbulence_keeps_what_it_gets_or_loses_it(
    name: str, forced: Callable[[str], sidestream.Run], measured
) -> None:
    steps = steps_of(forced(name))

    taken, lost, change = gains(steps, int(np.searchsorted(steps["time"], FORCINGS[name].spin_up)), -1)

    balance = (taken - lost - change) / taken
    measured(f"{name}: input less dissipation and the change of energy, over the input", balance)


@pytest.mark.slow
def test_forced_turbulence_gets_what_it_loses(forced: Callable[[str], sidestream.Run], measured) -> None:
    run, spin_up = forced("48^3 cells"), FORCINGS["48^3 cells"].spin_up
    steps = steps_of(run)
    first = int(np.searchsorted(steps["time"], spin_up))
    flows = [run.result("flow", step) for step in run.steps("flow") if step > first]
    speed = float(np.sqrt(np.mean([flow.attrs["rms_velocity"] ** 2 for flow in flows])))
    scale = float(np.mean([flow.attrs["integral_scale"] for flow in flows]))
    last = int(np.searchsorted(steps["time"], spin_up + TURNOVERS * scale / speed))
    assert last < len(steps.events), "the run is shorter than its turnovers"

    taken, lost, _ = gains(steps, first, last)
    measured("mean input over mean dissipation, less 1", taken / lost - 1.0)
    loss = lost / (steps["time"][last] - steps["time"][first])
    viscosity = float(flows[0].attrs["viscosity"])
    wanted = FAR + SLOPE * viscosity / (speed * scale)
    measured("eps L / u'^3 over 0.468 + 18.9 / R_L, less 1", loss * scale / speed**3 / wanted - 1.0)


@pytest.mark.parametrize("name", tiers(FORCINGS))
def test_a_scalar_flows_down_its_mean_gradient(name: str, forced: Callable[[str], sidestream.Run], measured) -> None:
    steps = steps_of(forced(name))
    variance, made, lost = (steps.of_scalar("dye", what) for what in ("variance", "production", "dissipation"))
    mixed = steps["time"] > FORCINGS[name].spin_up
    speed = np.sqrt(2.0 / 3.0 * steps["energy"][mixed])

    flux = -0.5 * made[mixed] / (speed * np.sqrt(variance[mixed]))
    measured(f"{name}: flux along the gradient over u' c'", list(flux[::200]))
    kept = simpson(made - lost, dx=FORCINGS[name].step)
    change = variance[-1] - variance[0]
    what = "change of variance less production and dissipation, over the production"
    measured(f"{name}: {what}", (change - kept) / simpson(made, dx=FORCINGS[name].step))

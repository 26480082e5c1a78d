"""The energy of the demo, a box in which gas and dark matter cluster to today."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

import sidestream
from book import Bound, Chapter
from program import Program, last_event

HELD = "residual of the equation of Layzer and Irvine over the kinetic energy, the demo"
HALVED = "the same with cells and steps halved, over that of the demo"

CHAPTERS = [
    Chapter(
        "Energy of the demo",
        """`examples/cosmology.toml` (64^3, 14.2 Mpc, to z = 0, adiabatic), and the same with 128^3 cells and
particles and half the largest expansion a step; Courant numbers halve the other limits with the cells.
The residual counts all energy that the gas books as discarded or given by floors.""",
        [
            Bound(
                HELD,
                -0.10,
                0.10,
                "an independent particle mesh leaves 6 % at 64 Mpc/h and 256^3, most of it from the softened force",
            ),
            Bound(
                HALVED,
                -0.6,
                0.6,
                "errors of first order in the cell halve; the halos that the finer mesh adds have more motion",
            ),
        ],
        plots=["demo_energy"],
        is_slow=True,
    )
]

DEMO = (Path(__file__).parents[2] / "examples" / "cosmology.toml").read_text(encoding="utf-8")
FINER = ("mesh.cells=[128, 128, 128]", "cosmology.largest_expansion=0.01")


def balances(run: sidestream.Run) -> list[dict[str, float]]:
    return [event["energy"] for event in run.events.of("step") if "energy" in event]


def share(energy: dict[str, float]) -> float:
    return energy["residual"] / (energy["kinetic_dark_matter"] + energy["kinetic_gas"])


@pytest.mark.slow
def test_the_energy_of_the_demo_is_held(program: Program, measured, picture) -> None:
    demo = program.run("demo", DEMO)
    finer = program.run("finer", DEMO, *(word for setting in FINER for word in ("--set", setting)), minutes=180)

    residuals = {name: share(last_event(run)["energy"]) for name, run in (("demo", demo), ("finer", finer))}
    measured(HELD, residuals["demo"])
    measured(HALVED, residuals["finer"] / residuals["demo"])
    picture("demo_energy", draw({"demo, 64^3": demo, "128^3, half the steps": finer}))


def draw(runs: dict[str, sidestream.Run]) -> Figure:
    figure = Figure(figsize=(7.5, 3.5), layout="constrained")
    axes = figure.add_subplot()
    for name, run in runs.items():
        axes.plot([1.0 / e["scale_factor"] for e in balances(run)], [100 * share(e) for e in balances(run)], label=name)
    axes.axhline(0.0, color="grey", lw=0.8)
    axes.set(xscale="log", xlabel="1 + z", ylabel="residual / kinetic energy [%]")
    axes.invert_xaxis()
    axes.legend()
    return figure

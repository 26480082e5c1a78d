"""The energies of a universe, and what the equation of Layzer and Irvine leaves over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from .picture import Picture, look

if TYPE_CHECKING:
    from ..runs.events import Event, Events
    from ..runs.run import Run

KINDS = {
    "kinetic_dark_matter": "motion of the dark matter",
    "kinetic_gas": "motion of the gas",
    "thermal": "heat",
    "potential": "gravity (bound)",
}


def energies(events: Events) -> list[Event]:
    """The energies that a run measured, in the order of time [Msun (km/s)^2]; restarts may repeat some."""
    measured = {}
    for event in events.of("step", "run_end"):
        energy = event.get("energy")
        if isinstance(energy, dict):
            measured[float(energy["scale_factor"])] = energy
    return [measured[a] for a in sorted(measured)]


def residual_share(energy: dict[str, Any]) -> float:
    """The residual of the equation of Layzer and Irvine over the kinetic energy."""
    kinetic = float(energy["kinetic_dark_matter"]) + float(energy["kinetic_gas"])
    return float(energy["residual"]) / kinetic if kinetic > 0.0 else 0.0


def pictures(run: Run) -> Iterator[Picture]:
    """The energies against redshift, where a run measured them more than once."""
    measured = energies(run.events)
    if len(measured) < 2:
        return
    growth = np.array([1.0 / energy["scale_factor"] for energy in measured])  # 1 + z
    with look():
        figure = Figure(figsize=(6.4, 5.0))
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        for name, label in KINDS.items():
            values = np.array([abs(float(energy[name])) for energy in measured])
            if np.any(values > 0.0):
                above.plot(growth, np.where(values > 0.0, values, np.nan), label=label)
        above.set(xscale="log", yscale="log", ylabel="energy [Msun (km/s)²]")
        above.legend()
        below.plot(growth, [100.0 * residual_share(energy) for energy in measured])
        below.axhline(0.0, lw=0.8)
        below.set(xlabel="1 + z", ylabel="residual [%]")
        below.invert_xaxis()
    caption = (
        "The energies of peculiar motion, heat and gravity, and what the equation of Layzer and Irvine leaves over, "
        "as a share of the energy of motion."
    )
    yield Picture("energies", "Energies", caption, figure)

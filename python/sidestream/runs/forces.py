"""What a flow does to its barriers: coefficients of drag and lift over the steps of a run, and the Strouhal number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..error import Error

if TYPE_CHECKING:
    import xarray as xr

    from .events import Events

SHEDDING = 1e-3  # of the amplitude of a lift that swings
LEAST_PERIODS = 2  # that tell a frequency


def barriers(events: Events) -> list[str]:
    """The barriers of which the events of a run tell forces, those first that the configuration has."""
    known = list(events.last("run_start").get("barriers", {}))
    told = events.where(lambda event: event["event"] == "step" and "forces" in event)
    return [*known, *sorted({name for event in told for name in event["forces"]} - set(known))]


def forces(events: Events, barrier: str, since: float = 0.5) -> xr.Dataset:
    """Coefficients of drag (along x) and lift (along y, and z) of a barrier, of each step.

    `since` is the share of the steps that means leave out. Attributes: `drag` and `lift`, means; `drag_max`,
    `lift_max`; `lift_amplitude`, half of what it swings; `strouhal`, the frequency of the lift times `length` over
    `speed`, NaN where it does not swing twice; `length`, `area` and `speed` of which the coefficients are made. Forces
    of a barrier that was painted while the run went on have a length and an area of 1.
    """
    import xarray as xr

    start = events.last("run_start")
    steps = {event["step"]: event for event in events.of("step") if barrier in event.get("forces", {})}
    if not steps:
        known = ", ".join(f"`{name}`" for name in barriers(events)) or "none"
        raise Error(f"the run tells no forces on a barrier `{barrier}`", "events.jsonl", f"barriers: {known}")
    size = start.get("barriers", {}).get(barrier, {"length": 1.0, "area": 1.0})
    speed = float(start["speed"])
    order = sorted(steps)
    time = np.array([steps[step]["time"] for step in order], dtype=float)
    force = np.array([steps[step]["forces"][barrier] for step in order], dtype=float)
    pressure = 0.5 * speed**2 * float(size["area"])  # of the stream, on the barrier
    drag, lift, across = (force / pressure).T if pressure > 0.0 else np.full_like(force, math.nan).T
    table = xr.Dataset(
        {name: ("step", values) for name, values in (("drag", drag), ("lift", lift), ("lift_z", across))},
        coords={"step": order, "time": ("step", time)},
    )
    late = time >= time[0] + since * (time[-1] - time[0])
    table.attrs |= {
        "drag": float(drag[late].mean()),
        "drag_max": float(drag[late].max()),
        "lift": float(lift[late].mean()),
        "lift_max": float(lift[late].max()),
        "lift_amplitude": float(np.ptp(lift[late]) / 2.0),
        "strouhal": _frequency(time[late], lift[late]) * float(size["length"]) / speed if speed > 0.0 else math.nan,
        "length": float(size["length"]),
        "area": float(size["area"]),
        "speed": speed,
    }
    return table


def _frequency(time: np.ndarray, values: np.ndarray) -> float:
    """That at which values rise through their mean; NaN where they do so fewer than three times, or hardly swing."""
    beside = values - values.mean()
    rises = np.flatnonzero((beside[:-1] < 0.0) & (beside[1:] >= 0.0))
    if len(rises) <= LEAST_PERIODS or np.ptp(values) < SHEDDING:
        return math.nan
    before, after = beside[rises], beside[rises + 1]
    moments = time[rises] - before * (time[rises + 1] - time[rises]) / (after - before)
    return float((len(moments) - 1) / (moments[-1] - moments[0]))

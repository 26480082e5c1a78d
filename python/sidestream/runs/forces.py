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
FINER = 16  # places of the spectrum in a bin of it


def barriers(events: Events) -> list[str]:
    """The barriers of which the events of a run tell forces, those first that the configuration has."""
    known = list(events.last("run_start").get("barriers", {}))
    told = events.where(lambda event: event["event"] == "step" and "forces" in event)
    return [*known, *sorted({name for event in told for name in event["forces"]} - set(known))]


def forces(events: Events, barrier: str, since: float = 0.5) -> xr.Dataset:
    """Coefficients of drag (along x) and lift (along y, and z) of a barrier, of each step.

    `since` is the share of the steps that means leave out. Attributes: `drag` and `lift`, means; `drag_max`,
    `lift_max`; `lift_amplitude`, half of what it swings; `strouhal`, the frequency at the peak of the lift's spectrum
    times `length` over `speed`, NaN where it does not swing twice, and `strouhal_error`, half of the difference between
    the two halves of these steps, or half of a bin of the spectrum where a half does not swing twice; `length`, `area`
    and `speed` of which the coefficients are made. Coefficients have no unit, times are steps. Forces of a barrier that
    was painted while the run went on have a length and an area of 1.
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
    frequency, error = _frequency(time[late], lift[late])
    shedding = float(size["length"]) / speed if speed > 0.0 else math.nan
    table.attrs |= {
        "drag": float(drag[late].mean()),
        "drag_max": float(drag[late].max()),
        "lift": float(lift[late].mean()),
        "lift_max": float(lift[late].max()),
        "lift_amplitude": float(np.ptp(lift[late]) / 2.0),
        "strouhal": frequency * shedding,
        "strouhal_error": error * shedding,
        "length": float(size["length"]),
        "area": float(size["area"]),
        "speed": speed,
    }
    return table


def strouhal_numbers(table: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The Strouhal number of each period of the lift in a table of `forces`, and the times of their ends.

    A period goes from where the lift rises through its mean to where it does so again. Both are empty where it hardly
    swings.
    """
    rises = _rises(table["time"].values, table["lift"].values)
    return table.attrs["length"] / (np.diff(rises) * table.attrs["speed"]), rises[1:]


def _rises(time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The times at which values rise through their mean; none where they hardly swing."""
    beside = values - values.mean()
    at = np.flatnonzero((beside[:-1] < 0.0) & (beside[1:] >= 0.0))
    if not np.isfinite(beside).all() or np.ptp(values) < SHEDDING:
        return np.empty(0)
    before, after = beside[at], beside[at + 1]
    return np.asarray(time[at] - before * (time[at + 1] - time[at]) / (after - before))


def _frequency(time: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """The frequency at which values swing and its uncertainty; NaN where they do not swing twice."""
    if len(_rises(time, values)) <= LEAST_PERIODS:
        return math.nan, math.nan
    half = len(time) // 2
    halves = [(time[part], values[part]) for part in (slice(None, half), slice(half, None))]
    if any(len(_rises(*part)) <= LEAST_PERIODS for part in halves):
        return _peak(time, values), 0.5 / float(time[-1] - time[0])
    first, last = (_peak(*part) for part in halves)
    return _peak(time, values), 0.5 * abs(first - last)


def _peak(time: np.ndarray, values: np.ndarray) -> float:
    """The frequency of the peak of the spectrum, between its places by a parabola through the logarithms beside it."""
    even = np.linspace(time[0], time[-1], len(time))  # steps may be missing
    window = np.hanning(len(time) + 2)[1:-1]
    swings = np.interp(even, time, values)
    swings = window * (swings - np.average(swings, weights=window))
    spectrum = np.abs(np.fft.rfft(swings, FINER * len(swings)))
    top = int(np.clip(spectrum[1:-1].argmax() + 1, 1, len(spectrum) - 2))
    low, middle, high = np.log(spectrum[top - 1 : top + 2])
    beside = 0.5 * (low - high) / (low - 2.0 * middle + high)
    return float((top + beside) / (FINER * len(swings) * (even[1] - even[0])))

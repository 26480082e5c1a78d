"""Pictures of the thermal history: temperature at the mean density, and the slope, against redshift."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from .. import measurements
from .measured import draw_measured, redshift_window, since_reionization
from .picture import BLUE, Picture, legend_outside, look

if TYPE_CHECKING:
    from ..runs.run import Run

TEMPERATURE, SLOPE = "mean_density_temperature", "temperature_slope"  # attributes of results with a fit


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """T0 and gamma at all moments with a fit, beside what was measured."""
    stated = [run.result(task, step).attrs for step in run.steps(task)]
    history = np.array([[float(of[name]) for name in ("redshift", TEMPERATURE, SLOPE)] for of in stated if SLOPE in of])
    if not len(history):
        return
    history = history[since_reionization(history[:, 0])]
    with look():
        figure = Figure(figsize=(8.8, 4.2))
        temperature, slope = figure.subplots(1, 2)
        for axes, column in ((temperature, 1), (slope, 2)):
            axes.plot(history[:, 0], history[:, column], "o-", color=BLUE, ms=4.5, label="simulation", zorder=3)
        low, high = redshift_window(history[:, 0])
        _draw_measured(temperature, slope, low, high)
        temperature.set(ylim=(0, None), ylabel=r"temperature at the mean density $T_0$ [K]")
        slope.set(ylabel=r"slope $\gamma$")
        for axes in (temperature, slope):
            axes.set(xlim=(low, high), xlabel="redshift")
        handles, labels = temperature.get_legend_handles_labels()
        legend_outside(figure, handles, labels, above=False, columns=4)
    caption = "The power law T = T0 (density / mean)^(gamma - 1) of gas near the mean density, and measurements of it."
    yield Picture(f"{task}-thermal-history", "Thermal history", caption, figure, wide=True)


def _draw_measured(temperature: Any, slope: Any, low: float, high: float) -> None:
    for number, state in enumerate(measurements.thermal_state().values()):
        shown = (state.redshift >= low) & (state.redshift <= high)
        if not shown.any():
            continue
        z, error = state.redshift[shown], state.temperature_error[:, shown]
        draw_measured(temperature, number, state.label, z, state.temperature[shown], error)
        draw_measured(slope, number, state.label, z, state.gamma[shown], state.gamma_error[shown])

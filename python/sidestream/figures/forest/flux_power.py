"""Pictures of the power of the Lyman-alpha flux along lines of sight, beside measurements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ... import measurements
from ..measured import draw_measured
from ..picture import BLUE, GRID, Picture, legend_outside, look, mean_flux_of, moment, spread

if TYPE_CHECKING:
    import xarray as xr

    from ...runs.run import Run

_PANELS = 4
_RESOLVED_CELLS = 8  # of the shortest wave that the mesh follows
_DECADES = 3.0  # of power that are shown below the highest


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """The power along each axis and its mean at a few redshifts, each beside what was measured there."""
    redshifts = {step: float(run.result(task, step, "axis").attrs.get("redshift", 0.0)) for step in run.steps(task)}
    chosen = _chosen(redshifts)
    tables = [run.result(task, step) for step in chosen]
    rows = (len(tables) + 1) // 2
    with look():
        figure = Figure(figsize=(8.8, 1.0 + 3.4 * rows))
        panels = figure.subplots(rows, min(len(tables), 2), squeeze=False).ravel()
        for axes, table in zip(panels, tables, strict=False):
            _draw(axes, table)
        for axes in panels[len(tables) :]:
            axes.set_axis_off()
        labelled = [axes.get_legend_handles_labels() for axes in panels]
        handles = {f"along {', '.join(_axes_of(tables[0]))}": panels[0].lines[0]}  # one for all of them
        handles |= {label: handle for pair in labelled for handle, label in zip(*pair, strict=True)}
        legend_outside(figure, [*handles.values()], [*handles], above=False, columns=min(len(handles), 3))
    caption = (
        "Power of the flux along lines of sight in the direction of each axis, and points measured at the nearest "
        f"redshift. Shaded: waves longer than the box and shorter than {_RESOLVED_CELLS} cells."
        + _left_out([z for step, z in redshifts.items() if step not in chosen])
    )
    yield Picture(f"{task}-flux-power", "Power of the flux", caption, figure, wide=True)


def _chosen(redshifts: dict[int, float]) -> list[int]:
    """At most four steps, of those beside which something was measured if there are such."""
    powers = measurements.flux_power().values()
    measured = [step for step, z in redshifts.items() if any(power.near(z) is not None for power in powers)]
    return spread(measured or list(redshifts), _PANELS)


def _left_out(redshifts: list[float]) -> str:
    """A sentence on the moments that have no panel."""
    if not redshifts:
        return ""
    if len(redshifts) == 1:
        return f" The moment z = {redshifts[0]:.3g} has no panel."
    return f" {len(redshifts)} moments from z = {max(redshifts):.3g} to {min(redshifts):.3g} have no panel."


def _axes_of(table: xr.Dataset) -> list[str]:
    return ["xyz"[int(axis)] for axis in np.asarray(table["axis"])]


def _draw(axes: Any, table: xr.Dataset) -> None:
    k = np.asarray(table["k_velocity"])
    kp = np.asarray(table["dimensionless_power"])
    for row, name in enumerate(_axes_of(table)):
        shown = kp[row] > 0
        axes.plot(k[row][shown], kp[row][shown], color=BLUE, lw=0.9, alpha=0.6, label=f"_along {name}")
    if "mean_dimensionless_power" in table and len(k) > 1:
        mean = np.asarray(table["mean_dimensionless_power"])
        axes.plot(k[0][mean > 0], mean[mean > 0], color=BLUE, lw=2.2, label="mean of the axes")
    first, last = k[k > 0].min(), k.max()
    low, high = 0.6 * first, 1.2 * last
    if table.attrs.get("ion", "H I") == "H I":
        _draw_measured(axes, float(table.attrs.get("redshift", 0.0)), low, high)
    axes.axvspan(low, first, color=GRID, zorder=0)
    axes.axvspan(2 * last / _RESOLVED_CELLS, high, color=GRID, zorder=0)
    axes.set(xscale="log", yscale="log", xlim=(low, high), xlabel="wave number k [s/km]", ylabel=r"$k\,P(k)/\pi$")
    axes.set_ylim(bottom=max(axes.get_ylim()[0], 10**-_DECADES * kp.max()))
    axes.set_title(f"{moment(table)}, mean flux {mean_flux_of(table)}")


def _draw_measured(axes: Any, redshift: float, low: float, high: float) -> None:
    for number, power in enumerate(measurements.flux_power().values()):
        near = power.near(redshift)
        if near is None:
            continue
        shown = (near.k > low) & (near.k < high) & (near.power > 0)
        k, scale = near.k[shown], near.k[shown] / np.pi
        if k.size:
            draw_measured(axes, number, power.label, k, scale * near.power[shown], scale * near.error[shown])

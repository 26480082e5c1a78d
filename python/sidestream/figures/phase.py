"""Pictures of the temperature-density diagram."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from . import thermal_history
from .picture import RED, Picture, look, unit_label

if TYPE_CHECKING:
    import xarray as xr

    from ..runs.run import Run


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """The diagram of the last step, and the power laws of all that were fitted."""
    yield from _diagram(run, task)
    yield from thermal_history.pictures(run, task)


def _diagram(run: Run, task: str) -> Iterator[Picture]:
    table = run.result(task, -1)
    needed = {"count", "density_low", "density_high", "temperature_low", "temperature_high"}
    if not needed <= set(map(str, table.variables)):
        return
    count = np.asarray(table["count"].transpose("temperature_bin", "density_bin"), dtype=float)
    with look():
        figure = Figure(figsize=(5.9, 4.6))
        axes = figure.add_subplot(xscale="log", yscale="log")
        axes.grid(False)
        norm = LogNorm(1, max(count.max(), 10))
        mesh = axes.pcolormesh(
            _edges(table, "density"),
            _edges(table, "temperature"),
            np.where(count > 0, count, np.nan),
            norm=norm,
            cmap="YlGnBu",
            rasterized=True,  # else edges of bins show
        )
        _zoom(axes, table, count)
        _draw_fit(axes, table)
        figure.colorbar(mesh, ax=axes, label="cells")
        axes.set_xlabel(f"gas density{unit_label(table, 'density_low') or ' / mean'}")
        axes.set_ylabel(f"temperature{unit_label(table, 'temperature_low')}")
        axes.set_title(f"Gas at z = {float(table.attrs.get('redshift', 0.0)):.3g}")
    yield Picture(f"{task}-phase", "Phase diagram", "Cells of gas by density and temperature.", figure)


def _edges(table: xr.Dataset, name: str) -> np.ndarray:
    low, high = np.asarray(table[f"{name}_low"], dtype=float), np.asarray(table[f"{name}_high"], dtype=float)
    edges = np.append(low, high[-1])
    if edges[0] <= 0:  # an open first bin cannot be drawn on a logarithmic axis
        edges[0] = edges[1] ** 2 / edges[2]
    return edges


def _draw_fit(axes: Any, table: xr.Dataset) -> None:
    """The power law through the gas near the mean density, where the result states one."""
    if thermal_history.SLOPE not in table.attrs:
        return
    temperature, slope = (float(table.attrs[name]) for name in (thermal_history.TEMPERATURE, thermal_history.SLOPE))
    density = np.array([0.1, 10.0])
    label = rf"$T_0$ = {temperature:.0f} K, $\gamma$ = {slope:.3f}"
    axes.plot(density, temperature * density ** (slope - 1), color=RED, lw=1.4, label=label)
    axes.legend(loc="lower right")


def _zoom(axes: Any, table: xr.Dataset, count: np.ndarray) -> None:
    """Shows the bins that hold something, and one more on each side."""
    for name, along, setter in (("density", 0, axes.set_xlim), ("temperature", 1, axes.set_ylim)):
        filled = np.flatnonzero(count.sum(axis=along))
        if filled.size:
            edges = _edges(table, name)
            setter(edges[max(filled[0] - 1, 0)], edges[min(filled[-1] + 2, edges.size - 1)])

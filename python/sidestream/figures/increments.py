"""Pictures of structure functions: moments and histograms of velocity increments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from .picture import AMBER, BLUE, MUTED, Picture, look, moment, redshift_colours, spread, unit_label
from .turbulence import draw_normal, number, show_densities

if TYPE_CHECKING:
    import xarray as xr

    from ..runs.run import Run

_PDFS = 5


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """The structure functions and the histograms of the last moment."""
    step = run.steps(task)[-1]
    table = run.result(task, step)
    orders = sorted(int(str(name).removeprefix("longitudinal_")) for name in table.data_vars if _is_moment(str(name)))
    with look():
        figure = Figure(figsize=(9.6, 4.2))
        even, third = figure.subplots(1, 2)
        _draw_even(even, table, [order for order in orders if order % 2 == 0])
        _draw_third(third, table, _dissipation(run, step))
        figure.suptitle(moment(table), fontsize=10)
    caption = (
        "Means of powers of velocity differences over a separation along the axes, of the velocity along it and "
        "across it. On the right the third power over the separation and the dissipation: 4/5 in the inertial range."
    )
    yield Picture(f"{task}-structure-functions", "Structure functions", caption, figure, wide=True)
    if "longitudinal_pdf" in table:
        yield _histograms(task, table)


def _is_moment(name: str) -> bool:
    return name.startswith("longitudinal_") and name.removeprefix("longitudinal_").isdigit()


def _over_axes(table: xr.Dataset, name: str) -> np.ndarray:
    return np.asarray(table[name].mean("axis"), dtype=float)


def _show_separations(axes: Any, r: np.ndarray, table: xr.Dataset) -> None:
    axes.set(xscale="log", xlabel=f"separation r{unit_label(table, 'separation')}")
    shown = spread(range(len(r)), 8)
    axes.set_xticks(r[shown], [f"{value:.2g}" for value in r[shown]])
    axes.minorticks_off()


def _draw_even(axes: Any, table: xr.Dataset, orders: list[int]) -> None:
    r = _over_axes(table, "separation")
    for order, mark in zip(orders, "os^Dv", strict=False):
        for kind, colour in (("longitudinal", BLUE), ("transverse", AMBER)):
            axes.plot(
                r, _over_axes(table, f"{kind}_{order}"), f"{mark}-", color=colour, ms=3.5, label=f"{kind}, {order}"
            )
    _show_separations(axes, r, table)
    axes.set(yscale="log", ylabel=r"$\langle \delta u^p\rangle$")
    axes.set_title("even orders p")
    axes.legend()


def _draw_third(axes: Any, table: xr.Dataset, dissipation: float) -> None:
    axes.set_title("third order")
    r = _over_axes(table, "separation")
    _show_separations(axes, r, table)
    if "longitudinal_3" not in table:
        axes.text(0.5, 0.5, "order 3 was not measured", transform=axes.transAxes, ha="center", color=MUTED)
        return
    third = _over_axes(table, "longitudinal_3")
    scale = dissipation if np.isfinite(dissipation) else 1.0
    axes.plot(r, -third / (scale * r), "o-", color=BLUE, ms=3.5)
    if np.isfinite(dissipation):
        axes.axhline(0.8, ls="--", lw=1.1, color=MUTED, label="4/5")
        axes.legend()
    axes.set_ylabel(
        r"$-\langle\delta u_\parallel^3\rangle/" + (r"(\epsilon r)$" if np.isfinite(dissipation) else r"r$")
    )


def _dissipation(run: Run, step: int) -> float:
    """That of a task `turbulence` at the same step; NaN where none has it."""
    for task in run.tasks:
        if run.analysis(task) == "turbulence" and step in run.steps(task):
            found = number(run.result(task, step), "dissipation")
            if found > 0:
                return found
    return np.nan


def _histograms(task: str, table: xr.Dataset) -> Picture:
    separations = _over_axes(table, "separation")
    chosen = spread(range(len(separations)), _PDFS)
    with look():
        figure = Figure(figsize=(9.6, 4.2))
        panels = figure.subplots(1, 2, sharey=True)
        for axes, kind in zip(panels, ("longitudinal", "transverse"), strict=True):
            for row, colour in zip(chosen, redshift_colours([0.0] * len(chosen)), strict=True):
                density = np.asarray(table[f"{kind}_pdf"][row], dtype=float)
                label = f"r = {separations[row]:.3g}"
                axes.plot(table["deviation"], np.where(density > 0, density, np.nan), color=colour, label=label)
            draw_normal(axes, np.asarray(table["deviation"]))
            show_densities(axes)
            axes.set_title(f"{kind}, {moment(table)}")
        panels[0].set_ylabel("probability density")
        panels[0].legend()
    caption = f"How often velocity differences over separations r{unit_label(table, 'separation')} are how large."
    return Picture(f"{task}-increments", f"Velocity increments, {moment(table)}", caption, figure, wide=True)

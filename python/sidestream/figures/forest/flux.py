"""Pictures of the Lyman-alpha forest: how much light comes through, and how it varies along lines of sight."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ... import measurements
from ..measured import redshift_window, since_reionization
from ..picture import BLUE, GREY, Picture, look, mean_flux_of, moment, redshift_colours, spread
from . import flux_power, flux_space

if TYPE_CHECKING:
    import xarray as xr

    from ...runs.run import Run

HYDROGEN = "H I"
_STYLES = ("-", "--", ":")


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """The distribution of the flux and its mean, and its power along lines of sight."""
    with look():
        figure = Figure(figsize=(8.8, 4.2))
        pdf, mean = figure.subplots(1, 2)
        _draw_pdf(pdf, [run.result(task, step) for step in spread(run.steps(task), 5)])
        last = _draw_mean(mean, [run.result(task, step, "axis") for step in run.steps(task)])
    ion = str(last.attrs.get("ion", HYDROGEN))
    caption = f"Light that comes through in Lyman alpha of {ion}: its distribution, and its mean along each axis."
    if "wanted_mean_flux" in last.attrs:
        caption += " The optical depths are multiplied so that the mean is the one that was asked for."
    yield Picture(f"{task}-flux", "Lyman-alpha forest", caption, figure, wide=True)
    yield from flux_power.pictures(run, task)
    yield from flux_space.pictures(run.result(task, -1), task)


def _draw_pdf(axes: Any, tables: list[xr.Dataset]) -> None:
    """Of all axes together, at a few redshifts."""
    redshifts = [float(table.attrs.get("redshift", 0.0)) for table in tables]
    for table, colour in zip(tables, redshift_colours(redshifts), strict=True):
        label = f"{moment(table)}, mean {mean_flux_of(table)}"
        axes.plot(table["flux"], table["flux_pdf"].mean("axis"), color=colour, drawstyle="steps-mid", label=label)
    axes.set(yscale="log", xlabel="flux", ylabel="share of the pixels per unit of flux")
    axes.legend()


def _draw_mean(axes: Any, tables: list[xr.Dataset]) -> xr.Dataset:
    """Along each axis at all redshifts, beside fits to what is observed; returns the last table."""
    redshifts = np.array([float(table.attrs.get("redshift", 0.0)) for table in tables])
    fluxes = np.array([np.asarray(table["mean_flux"]) for table in tables])
    shown = since_reionization(redshifts)
    redshifts, fluxes = redshifts[shown], fluxes[shown]
    for axis, values in zip(np.asarray(tables[-1]["axis"]), fluxes.T, strict=True):
        axes.plot(redshifts, values, ".", color=BLUE, ms=4, alpha=0.5, label=f"_along {'xyz'[int(axis)]}")
    label = "mean of the axes" + (", rescaled" if "wanted_mean_flux" in tables[-1].attrs else "")
    axes.plot(redshifts, fluxes.mean(axis=1), "o-", color=BLUE, ms=4.5, lw=1.0, label=label)
    low, high = redshift_window(redshifts)
    if tables[-1].attrs.get("ion", HYDROGEN) == HYDROGEN:
        for fit, style in zip(measurements.mean_flux().values(), _STYLES, strict=True):
            z = np.linspace(max(low, fit.first_redshift), min(high, fit.last_redshift), 100)
            if z[0] < z[-1]:
                axes.plot(z, fit(z), style, color=GREY, lw=1.3, label=fit.label)
    axes.set(xlim=(low, high), xlabel="redshift", ylabel="mean flux")
    axes.legend()
    return tables[-1]

"""Pictures of power spectra: a panel a field, a line a redshift."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from .cosmology import Theory
from .picture import MUTED, Picture, few_moments, field_name, look, moment, redshift_colours, unit_label

if TYPE_CHECKING:
    import xarray as xr

    from ..runs.run import Run

SUFFIX = "_power"


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """The spectra of every field at a few redshifts, with linear theory at the first and the last."""
    tables, fields = few_moments(run, task, SUFFIX)
    if not fields:
        return
    theory = Theory.of(tables[-1].attrs, run.config)
    with look():
        figure = Figure(figsize=(max(6.4, 4.0 * len(fields)), 4.4))
        panels = figure.subplots(1, len(fields), sharey=True, squeeze=False)[0]
        for axes, field in zip(panels, fields, strict=True):
            _panel(axes, tables, field, theory)
        panels[0].set_ylabel(f"power P(k){unit_label(tables[-1], fields[0])}")
        panels[0].legend()
    caption = "Power of the relative fluctuation. Dashed: linear theory at the first and the last redshift shown."
    yield Picture(f"{task}-spectra", "Power spectra", caption, figure, wide=len(fields) > 1)


def _panel(axes: Any, tables: list[xr.Dataset], field: str, theory: Theory | None) -> None:
    redshifts = [float(table.attrs.get("redshift", 0.0)) for table in tables]
    colours = redshift_colours(redshifts)
    for index, (table, redshift, colour) in enumerate(zip(tables, redshifts, colours, strict=True)):
        k, power = np.asarray(table["k"]), np.asarray(table[field])
        shown = (k > 0) & (power > 0)
        if not shown.any():
            continue
        axes.plot(k[shown], power[shown], color=colour, label=moment(table))
        if theory is not None and index in (0, len(tables) - 1):
            linear = theory.linear_power(k[shown], redshift)
            axes.plot(k[shown], linear, "--", color=colour, lw=1.1, label=f"_linear, {moment(table)}")
    if theory is not None:
        axes.plot([], [], "--", color=MUTED, lw=1.1, label=f"linear{theory.assumed}")
    axes.set(xscale="log", yscale="log", xlabel=f"wave number k{unit_label(tables[-1], 'k')}")
    axes.set_title(field_name(field.removesuffix(SUFFIX)))

"""Pictures of PDFs: a panel a field, a line a moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from .picture import Picture, few_moments, field_name, look, moment, redshift_colours, unit_label

if TYPE_CHECKING:
    from ..runs.run import Run

SUFFIX = "_pdf"


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """The PDFs of every field at a few moments."""
    tables, fields = few_moments(run, task, SUFFIX)
    if not fields:
        return
    in_means = "overdensity" in tables[-1]
    value = "overdensity" if in_means else "value"
    unit = unit_label(tables[-1], value)
    redshifts = [float(table.attrs.get("redshift", 0.0)) for table in tables]
    densities = all("density" in field for field in fields)
    weight = str(tables[-1].attrs.get("weight", "volume"))
    if weight == "mass" and not densities:
        weight = "volume times the field"
    with look():
        figure = Figure(figsize=(max(6.4, 4.0 * len(fields)), 4.2))
        panels = figure.subplots(1, len(fields), sharey=True, sharex=True, squeeze=False)[0]
        for axes, field in zip(panels, fields, strict=True):
            quantity = field.removesuffix(SUFFIX)
            for table, colour in zip(tables, redshift_colours(redshifts), strict=True):
                pdf = np.asarray(table[field], dtype=float)
                axes.plot(table[value], np.where(pdf > 0, pdf, np.nan), color=colour, label=moment(table))
            axes.set(
                xscale="log",
                yscale="log",
                xlabel=_over_mean(quantity) if in_means else f"{quantity.replace('_', ' ')}{unit}",
            )
            axes.set_title(field_name(quantity))
        per = "dex" if "log10" in str(tables[-1][fields[0]].attrs.get("long_name", "")) else "unit"
        panels[0].set_ylabel(f"fraction of the {weight} per {per}")
        panels[0].legend()
    is_of_density = in_means and densities
    caption = f"How much of the {weight} has which {'density' if is_of_density else 'value'}."
    title = "Density distribution" if is_of_density else "Distribution"
    yield Picture(f"{task}-pdf", title, caption, figure, wide=len(fields) > 1)


def _over_mean(quantity: str) -> str:
    return f"{'density' if quantity.endswith('density') else quantity.replace('_', ' ')} / mean"

"""Pictures of the Lyman-alpha forest: how much light comes through, and how it varies along lines of sight."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from .picture import Picture, look, moment, redshift_colours, spread

if TYPE_CHECKING:
    from ..runs.run import Run


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """PDF (of all axes together) and power (along each axis) of the flux at a few redshifts."""
    tables = [run.result(task, step) for step in spread(run.steps(task), 5)]
    redshifts = [float(table.attrs.get("redshift", 0.0)) for table in tables]
    with look():
        figure = Figure(figsize=(8.8, 4.2))
        pdf, power = figure.subplots(1, 2)
        for table, colour in zip(tables, redshift_colours(redshifts), strict=True):
            mean_flux = float(table["mean_flux"].mean())
            label = f"{moment(table)}, mean {mean_flux:.3f}"
            pdf.plot(table["flux"], table["flux_pdf"].mean("axis"), color=colour, drawstyle="steps-mid", label=label)
            for row in range(table.sizes["axis"]):
                k = np.asarray(table["k_velocity"][row])
                kp = np.asarray(table["dimensionless_power"][row])
                shown = (k > 0) & (kp > 0)
                power.plot(k[shown], kp[shown], color=colour, lw=1.1)
        pdf.set(yscale="log", xlabel="flux", ylabel="share of the pixels per unit of flux")
        pdf.legend()
        power.set(xscale="log", yscale="log", xlabel="wave number k (s/km)", ylabel="k P(k) / pi")
    ion = str(tables[-1].attrs.get("ion", "H I"))
    caption = f"Light that comes through in Lyman alpha of {ion}: its distribution, and its power along each axis."
    yield Picture(f"{task}-flux", "Lyman-alpha forest", caption, figure, wide=True)

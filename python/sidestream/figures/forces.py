"""Drag, lift and Strouhal number of the barriers in a flow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ..runs.forces import barriers, forces, strouhal_numbers
from .picture import AMBER, BLUE, TEAL, Picture, look

if TYPE_CHECKING:
    import xarray as xr

    from ..runs.run import Run

HEAD = ("barrier", "drag, mean", "drag, largest", "lift, mean", "lift, amplitude", "Strouhal number", "+-")
FACTS = ("drag", "drag_max", "lift", "lift_amplitude", "strouhal", "strouhal_error")
EARLY = 10  # the share of the steps that does not choose the limits: a flow that begins at once pushes hard


def pictures(run: Run) -> Iterator[Picture]:
    """Coefficients of drag and lift and the Strouhal number against time, one picture a barrier, with its numbers."""
    events = run.events
    for barrier in barriers(events):
        table = forces(events, barrier)
        if len(table["step"]) < 2:
            continue
        facts = [table.attrs[name] for name in FACTS]
        row = [barrier, *("-" if math.isnan(fact) else f"{fact:.4g}" for fact in facts[:-1])]
        row.append("-" if math.isnan(facts[-1]) else f"{facts[-1]:.1g}")
        caption = (
            f"Force over half of density times speed² times area ({table.attrs['area']:.4g}), at the speed "
            f"{table.attrs['speed']:.4g}. Means are those of the second half of the steps. The Strouhal number, "
            f"frequency times length ({table.attrs['length']:.4g}) over speed, is that of each period of the lift; in "
            f"the table that of the peak of its spectrum, with half of what the halves of these steps differ by."
        )
        columns = {"step": table["step"].values.tolist(), "time [steps]": table["time"].values.tolist()}
        columns |= {f"{name} coefficient": table[name].values.tolist() for name in ("drag", "lift", "lift_z")}
        yield Picture(
            f"forces-{barrier}",
            f"Drag, lift and Strouhal number of `{barrier}`",
            caption,
            _figure(table),
            numbers=[HEAD, row],
            columns=columns,
        )


def _figure(table: xr.Dataset) -> Figure:
    numbers, ends = strouhal_numbers(table)
    with look():
        figure = Figure(figsize=(6.4, 4.8 if len(numbers) else 3.6))
        axes, *below = figure.subplots(
            2 if len(numbers) else 1, sharex=True, squeeze=False, height_ratios=[3, 1] if len(numbers) else None
        )[:, 0]
        axes.plot(table["time"], table["drag"], color=BLUE, label="drag")
        axes.plot(table["time"], table["lift"], color=AMBER, label="lift")
        late = table["drag"][len(table["step"]) // EARLY :]
        span = float(max(abs(late).max(), abs(table["lift"]).max()))
        if math.isfinite(span) and span > 0.0:
            axes.set_ylim(min(-0.1 * span, 1.2 * float(table["lift"].min())), 1.3 * span)
        axes.set(ylabel="coefficient")
        axes.legend()
        for panel in below:
            panel.plot(ends, numbers, color=TEAL, marker="o", markersize=3)
            settled = numbers[ends >= table["time"].values[[0, -1]].mean()]  # the flow begins with any periods
            panel.set(ylabel="Strouhal number", ylim=(0.0, 1.5 * max(settled if len(settled) else numbers)))
        figure.axes[-1].set(xlabel="time [steps]")
    return figure

"""Drag and lift of the barriers in a flow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ..runs.forces import barriers, forces
from .picture import AMBER, BLUE, Picture, look

if TYPE_CHECKING:
    from ..runs.run import Run

HEAD = ("barrier", "drag, mean", "drag, largest", "lift, mean", "lift, amplitude", "Strouhal number")


def pictures(run: Run) -> Iterator[Picture]:
    """Coefficients of drag and lift over the steps, one picture a barrier, with their means in a table."""
    events = run.events
    for barrier in barriers(events):
        table = forces(events, barrier)
        if len(table["step"]) < 2:
            continue
        with look():
            figure = Figure(figsize=(6.4, 3.6))
            axes = figure.add_subplot()
            axes.plot(table["time"], table["drag"], color=BLUE, label="drag")
            axes.plot(table["time"], table["lift"], color=AMBER, label="lift")
            late = table["drag"][len(table["step"]) // 10 :]
            span = float(max(abs(late).max(), abs(table["lift"]).max()))
            if math.isfinite(span) and span > 0.0:
                axes.set_ylim(min(-0.1 * span, 1.2 * float(table["lift"].min())), 1.3 * span)
            axes.set(xlabel="step", ylabel="coefficient")
            axes.legend()
        facts = [table.attrs[name] for name in ("drag", "drag_max", "lift", "lift_amplitude", "strouhal")]
        row = [barrier, *("-" if math.isnan(fact) else f"{fact:.4g}" for fact in facts)]
        caption = (
            f"Force over half of density times speed² times area ({table.attrs['area']:.4g}), at the speed "
            f"{table.attrs['speed']:.4g}. Means are those of the second half of the steps."
        )
        yield Picture(f"forces-{barrier}", f"Drag and lift of `{barrier}`", caption, figure, numbers=[HEAD, row])

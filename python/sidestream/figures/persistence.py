"""The picture of a stored merge tree: its persistence diagram."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from .picture import FAINT, MUTED, VIOLET, Picture, look, moment

if TYPE_CHECKING:
    import xarray as xr

    from ..runs.run import Run

MOST_MARKS = 1000  # that are drawn as marks, not as an image of them
LEAST_RATIO = 1.01  # of birth to death: branches that hardly stand out are left out


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """The diagram of the last step; nothing where no branch ends."""
    table = run.result(task, -1)
    birth, death = pairs(table)
    if birth.size:
        yield _diagram(task, table, birth, death)


def pairs(table: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Values at the maximum and at the saddle of the branches that end, without those of single blocks."""
    ends = (table["saddle"].values >= 0) & (table["saddle"].values != table["maximum"].values)
    return table["birth"].values[ends], table["death"].values[ends]


def _diagram(task: str, table: xr.Dataset, birth: np.ndarray, death: np.ndarray) -> Picture:
    mean = float(table.attrs.get("mean_density", 0.0))
    unit, scale = ("[means]", mean) if mean > 0 else (f"[{table.attrs.get('field_unit', '1')}]", 1.0)
    is_positive = min(birth.min(), death.min()) > 0
    seen = np.full(birth.size, True)
    if is_positive:
        seen = np.maximum(birth, death) >= LEAST_RATIO * np.minimum(birth, death)
    ends = np.array([min(birth.min(), death.min()), max(birth.max(), death.max())]) / scale
    with look():
        figure = Figure(figsize=(5.4, 4.6))
        axes = figure.add_subplot()
        if is_positive:
            axes.set(xscale="log", yscale="log")
        axes.plot(ends, ends, color=FAINT, lw=1, zorder=0, label="_birth = death")
        axes.scatter(
            death[seen] / scale,
            birth[seen] / scale,
            s=8,
            color=VIOLET,
            alpha=0.5,
            lw=0,
            label="_branches",
            rasterized=seen.sum() > MOST_MARKS,
        )
        axes.set(xlabel=f"death: density at the saddle {unit}", ylabel=f"birth: density at the maximum {unit}")
        axes.set_title(f"Persistence of {table.attrs.get('field', 'the field')}, {moment(table)}")
        axes.text(0.98, 0.03, f"{seen.sum()} branches", transform=axes.transAxes, ha="right", color=MUTED)
    caption = (
        "Each dot is a peak of the density and the saddle at which its region joins that of a higher one; the further "
        "from the line, the more it stands out. Peaks that end within 1 % of their height are left out."
    )
    return Picture(f"{task}-persistence", "Persistence diagram", caption, figure)

"""The sizes of the writes that files were made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ..runs.summary import WRITE_SIZES, FileBill, file_bills
from .margins import Margins
from .picture import BLUE, TEAL, Picture, look

if TYPE_CHECKING:
    from ..runs.run import Run

_COLOURS = {"checkpoint": BLUE, "plotfile": TEAL}


def pictures(run: Run) -> Iterator[Picture]:
    """A histogram of the sizes, if any file was written."""
    rows = [row for row in file_bills(run.events) if row.write_sizes]
    if rows:
        caption = (
            "How many writes of which size all ranks made, over the whole run. Few and large ones suit parallel file "
            "systems; the bins are those of Darshan."
        )
        columns: dict[str, list[Any]] = {"size of a write [bytes]": list(WRITE_SIZES)}
        columns |= {row.title: [row.write_sizes.get(name, 0) for name in WRITE_SIZES] for row in rows}
        yield Picture("write-sizes", "Sizes of the writes", caption, _draw(rows), columns=columns)


def _draw(rows: list[FileBill]) -> Figure:
    width = 0.8 / len(rows)
    with look():
        figure = Figure(figsize=(6.4, 3.6))
        axes = figure.add_subplot()
        for index, row in enumerate(rows):
            places = np.arange(len(WRITE_SIZES)) + (index - (len(rows) - 1) / 2) * width
            counts = [row.write_sizes.get(name, 0) for name in WRITE_SIZES]
            axes.bar(places, counts, width, color=_COLOURS[row.kind], label=row.title)
        axes.set_xticks(range(len(WRITE_SIZES)), list(WRITE_SIZES), rotation=35, ha="right")
        axes.tick_params(axis="x", which="both", length=0)
        axes.set(yscale="log", ylim=(0.7, None), xlabel="size of a write [bytes]", ylabel="number of writes")
        axes.grid(False, axis="x")
        axes.legend()
        figure.set_layout_engine(Margins(bottom=0.35))  # sizes stand aslant
    return figure

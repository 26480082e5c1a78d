"""How numbers go on: the largest value of each column of a table, over the moments of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from .picture import BLUE, Picture, field_name, look, unit_label

if TYPE_CHECKING:
    from ..runs.run import Run


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """A picture a column."""
    steps = run.steps(task)
    tables = [run.result(task, step) for step in steps]
    for column in sorted(str(name) for name in tables[-1].data_vars):
        largest = [float(np.max(table[column])) if table[column].size else np.nan for table in tables]
        with look():
            figure = Figure(figsize=(6.4, 4.2))
            axes = figure.subplots()
            axes.plot(steps, largest, color=BLUE, marker="o")
            axes.set(xlabel="step", ylabel=f"largest {field_name(column)}{unit_label(tables[-1], column)}")
        yield Picture(f"{task}-{column}", field_name(column), "The largest value at each step.", figure)

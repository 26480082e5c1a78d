"""What functions in Python find: the newest figure they drew, and their numbers over all steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.image import imread

from .picture import Picture, look, moment, spread, unit_label

if TYPE_CHECKING:
    from ..runs.run import Run

MOST_PANELS, MOST_RESULTS = 6, 500
INCHES_A_PIXEL = 1 / 150


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """The figure of the newest result that has one, and each number that results have, against time."""
    yield from _newest_figure(run, task)
    yield from _numbers(run, task)


def _newest_figure(run: Run, task: str) -> Iterator[Picture]:
    drawn = [step for step in run.steps(task) if run.result_path(task, step).with_suffix(".png").is_file()]
    if not drawn:
        return
    pixels = imread(run.result_path(task, drawn[-1]).with_suffix(".png"))
    height, width = (side * INCHES_A_PIXEL for side in pixels.shape[:2])
    figure = Figure(figsize=(width, height + 0.4))
    axes = figure.subplots()
    axes.imshow(pixels)
    axes.set_axis_off()
    caption = f"Drawn by the task at step {drawn[-1]}, {moment(run.result(task, drawn[-1]))}."
    yield Picture(f"{task}-drawn", f"What {task} drew", caption, figure)


def _numbers(run: Run, task: str) -> Iterator[Picture]:
    results = [run.result(task, step) for step in spread(run.steps(task), MOST_RESULTS)]
    names = [str(name) for name, column in results[-1].data_vars.items() if column.ndim == 0][:MOST_PANELS]
    if not names or len(results) < 2:
        return
    has_redshift = "redshift" in results[-1].attrs
    times = [1 + float(r.attrs["redshift"]) if has_redshift else float(r.attrs["time"]) for r in results]
    with look():
        figure = Figure(figsize=(6.4, 0.9 + 1.5 * len(names)))
        panels = np.atleast_1d(figure.subplots(len(names), 1, sharex=True))
        for axes, name in zip(panels, names, strict=True):
            axes.plot(times, [_value(result, name) for result in results], marker="." if len(results) < 30 else "")
            axes.set(ylabel=name.replace("_", " ") + unit_label(results[-1], name))
        panels[-1].set(xlabel="1 + z" if has_redshift else "time")
        if has_redshift:
            panels[-1].invert_xaxis()
    caption = "The numbers that the task found, against time."
    yield Picture(f"{task}-numbers", f"Numbers of {task}", caption, figure)


def _value(result: Any, name: str) -> float:
    return float(result[name]) if name in result else float("nan")

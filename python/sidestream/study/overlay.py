"""The picture of a comparison: runs as lines, measurements as points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from ..figures.measured import draw_measured
from ..figures.picture import BLUE, TASK_COLOURS, Picture, look

if TYPE_CHECKING:
    from .compare import Comparison

_WIDTH = 2  # panels beside each other


def overlay(made: Sequence[Comparison], data: str) -> Picture:
    """A panel for each quantity and redshift of the data, with the curve of each run and the points of each paper."""
    panels = list(dict.fromkeys(map(_panel, sorted(made, key=_lateness))))
    papers = list(dict.fromkeys(one.label for one in made))
    runs = list(dict.fromkeys(one.run for one in made))
    rows = (len(panels) + _WIDTH - 1) // _WIDTH
    with look():
        figure = Figure(figsize=(8.8, 1.0 + 3.4 * rows), layout="constrained")
        grid = figure.subplots(rows, min(len(panels), _WIDTH), squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            _draw(axes, [one for one in made if _panel(one) == panel], papers, runs)
            axes.set_title(panel)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        labelled = [axes.get_legend_handles_labels() for axes in grid]
        handles = {label: handle for pair in labelled for handle, label in zip(*pair, strict=True)}
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=min(len(handles), 3))
    return Picture(f"compare-{data}", "Runs beside measurements", "Lines: runs; points: measurements.", figure)


def _lateness(one: Comparison) -> float:
    """By the redshift of the data, early moments first; where there is none, as they came."""
    return 0.0 if one.redshift != one.redshift else -one.redshift


def _panel(one: Comparison) -> str:
    quantity = one.quantity.split(" ")[0]
    return quantity if one.redshift != one.redshift else f"{quantity} at z = {one.redshift:.3g}"


def _draw(axes: Any, made: Sequence[Comparison], papers: Sequence[str], runs: Sequence[str]) -> None:
    colours = (BLUE, *TASK_COLOURS)
    for one in {one.label: one for one in made}.values():
        draw_measured(axes, papers.index(one.label), one.label, one.x, one.measured, one.error)
    for one in {(one.run, one.result_redshift): one for one in made}.values():
        number = runs.index(one.run)
        axes.plot(*one.curve, ".-", color=colours[number % len(colours)], lw=1.6, ms=5, label=one.run)
    height, along = made[0].quantity.split(" against ")
    axes.set(xlabel=along, ylabel=height)
    if made[0].redshift == made[0].redshift:
        axes.set(xscale="log", yscale="log")

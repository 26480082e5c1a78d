"""Pictures of regions: how many there are and what becomes of them, and the largest ones through time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ..runs.results import load_attributes
from .picture import AMBER, BLUE, GREY, MUTED, RED, TEAL, VIOLET, Picture, look, unit_label

if TYPE_CHECKING:
    from ..runs.run import Run

_COLOURS = (VIOLET, TEAL, AMBER, BLUE, RED, GREY)  # of the largest tracks
_CHANGES = {"births": TEAL, "splits": BLUE, "mergers": AMBER, "deaths": RED}


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """The numbers over time, and, where regions are linked, the volumes of those that became largest."""
    about = {step: load_attributes(run.result_path(task, step)) for step in run.steps(task)}
    table = run[task]
    yield _numbers(task, about, table)
    if "track" in table and table.sizes["region"]:
        yield _tracks(task, {step: float(of["time"]) for step, of in about.items()}, table)


def _numbers(task: str, about: dict[int, dict[str, Any]], table: Any) -> Picture:
    steps = np.array(list(about))
    times = [float(of["time"]) for of in about.values()]
    count = [int(np.sum(table["step"].values == step)) for step in steps]
    with look():
        figure = Figure(figsize=(6.4, 4.2))
        axes = figure.add_subplot()
        axes.plot(times, count, "o-", color=VIOLET, ms=4, label="regions")
        for name, colour in _CHANGES.items():
            if all(name in of for of in about.values()):
                axes.plot(times[1:], [of[name] for of in about.values()][1:], "-", color=colour, lw=1.2, label=name)
        axes.set(xlabel="time", ylabel="number", ylim=(0, None))
        if all("saved_share" in of for of in about.values()):
            right = axes.twinx()
            right.plot(times, [100 * of["saved_share"] for of in about.values()], ":", color=MUTED, label="bytes saved")
            right.set(ylabel="bytes saved [%]", ylim=(0, None))
        axes.legend()
        axes.set_title(f"Regions where {next(iter(about.values()))['condition']}")
    caption = (
        "How many regions there are, and how many began, split off, merged into others and vanished since the result "
        "before; dotted, on the right, what of the bytes of the saved quantities was saved."
    )
    return Picture(f"{task}-regions", "Regions", caption, figure)


def _tracks(task: str, times: dict[int, float], table: Any) -> Picture:
    track, volume = table["track"].values, table["volume"].values
    when = np.array([times[int(step)] for step in table["step"].values])
    largest = sorted(np.unique(track), key=lambda number: (-volume[track == number].max(), number))[: len(_COLOURS)]
    with look():
        figure = Figure(figsize=(6.4, 4.2))
        axes = figure.add_subplot(yscale="log")
        for number, colour in zip(largest, _COLOURS, strict=False):
            own = track == number
            axes.plot(when[own], volume[own], "o-", color=colour, ms=4, label=f"track {number}")
        axes.set(xlabel="time", ylabel=f"volume{unit_label(table, 'volume')}")
        axes.legend()
        axes.set_title("The largest regions through time")
    caption = "Volumes of the regions that became largest; a line begins where a region does, or where it split off."
    return Picture(f"{task}-tracks", "The largest regions", caption, figure)

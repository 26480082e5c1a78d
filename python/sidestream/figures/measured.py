"""How measurements are drawn beside results: a colour and a mark a paper, points with errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .picture import AMBER, GREY, RED, TEAL, VIOLET

_MARKS = ((AMBER, "o"), (RED, "s"), (VIOLET, "^"), (TEAL, "D"), (GREY, "v"))
_MARGIN = 0.5  # of redshift, on both sides of the results
_EARLIEST = 7.0  # redshift before which there is no forest


def draw_measured(axes: Any, number: int, label: str, x: np.ndarray, y: np.ndarray, error: np.ndarray) -> None:
    """Points with errors in the colour and with the mark of the paper of this number."""
    colour, mark = _MARKS[number % len(_MARKS)]
    axes.errorbar(x, y, yerr=error, fmt=mark, color=colour, ms=3.5, lw=0, elinewidth=1, zorder=1.5, label=label)


def since_reionization(redshifts: np.ndarray) -> np.ndarray:
    """Which moments a picture against redshift shows: those at which there is a forest, or all if none is one."""
    late = redshifts <= _EARLIEST
    return late if late.any() else ~late


def redshift_window(redshifts: np.ndarray) -> tuple[float, float]:
    """The redshifts to show around those of results."""
    return max(0.0, redshifts.min() - _MARGIN), redshifts.max() + _MARGIN

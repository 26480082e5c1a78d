"""The layout of a figure from what stands around its panels, estimated by the letters: without drawing it first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import NullFormatter

POINTS = 72.0  # an inch
_LETTER, _LINE = 0.63, 1.35  # widths of a letter and of a line in sizes of the font
_TICK, _PAD, _EDGE = 7.5, 5.0, 6.0  # points: a tick mark with its pad, between ticks and label, to the edge


@dataclass
class Room:
    """Inches around a panel, or around all of them."""

    left: float = 0.0
    right: float = 0.0
    bottom: float = 0.0
    top: float = 0.0


class Margins(LayoutEngine):
    """Places the panels of a figure's grid so that labels, ticks and titles have room.

    Tight and constrained layouts draw all text first to measure it, which takes a third of the time of a figure.
    """

    _adjust_compatible = True
    _colorbar_gridspec = True

    def __init__(self, left: float = 0.0, right: float = 0.0, bottom: float = 0.0, top: float = 0.0) -> None:
        super().__init__()
        self.extra = Room(left, right, bottom, top)  # inches for what stands outside of all panels

    def execute(self, fig: Figure) -> None:
        """Sets the margins of the figure's grid."""
        panels = [axes for axes in fig.axes if axes.get_subplotspec() is not None]
        if not panels:
            return
        grid = panels[0].get_subplotspec().get_topmost_subplotspec().get_gridspec()  # type: ignore[union-attr]
        columns = [Room() for _ in range(grid.ncols)]
        rows = [Room() for _ in range(grid.nrows)]
        for axes in panels:
            spec = axes.get_subplotspec().get_topmost_subplotspec()  # type: ignore[union-attr]
            room = _room_of(axes)
            first, last = columns[spec.colspan.start], columns[spec.colspan.stop - 1]
            first.left, last.right = max(first.left, room.left), max(last.right, room.right)
            high, low = rows[spec.rowspan.start], rows[spec.rowspan.stop - 1]
            high.top, low.bottom = max(high.top, room.top), max(low.bottom, room.bottom)
        width, height = fig.get_size_inches()
        title = getattr(fig, "_suptitle", None)
        above = 0.0 if title is None else _LINE * title.get_fontsize() / POINTS
        left, right = self.extra.left + columns[0].left, self.extra.right + columns[-1].right
        top, bottom = self.extra.top + rows[0].top + above, self.extra.bottom + rows[-1].bottom
        across = max((one.right + other.left for one, other in zip(columns, columns[1:], strict=False)), default=0.0)
        between = max((one.bottom + other.top for one, other in zip(rows, rows[1:], strict=False)), default=0.0)
        fig.subplots_adjust(
            left=left / width,
            right=1 - right / width,
            bottom=bottom / height,
            top=1 - top / height,
            wspace=_share(across, width - left - right, grid.ncols),
            hspace=_share(between, height - top - bottom, grid.nrows),
        )


def _share(gap: float, inside: float, count: int) -> float:
    """A gap in mean sizes of panels, as Matplotlib wants it."""
    return gap * count / max(inside - gap * (count - 1), 0.1 * inside)


def _room_of(axes: Any) -> Room:
    x, y = _size_of_ticks(axes.xaxis), _size_of_ticks(axes.yaxis)
    below = _depth(axes.xaxis.label, x.top)
    beside = _depth(axes.yaxis.label, y.right)
    edge = _EDGE / POINTS
    is_right = axes.yaxis.get_label_position() == "right"
    overhang = x.right / 2 if x.right else 0.0  # of the last label along x
    has_title = any(axes.get_title(loc=place) for place in ("left", "center"))
    above = _LINE * axes.title.get_fontsize() / POINTS + edge if has_title else max(edge, y.top / 2)
    return Room(
        left=edge if is_right else beside + edge,
        right=max(beside if is_right else 0.0, overhang) + edge,
        bottom=below + edge,
        top=above + edge / 2,
    )


def _depth(label: Text, ticks: float) -> float:
    """How far ticks and label reach from a panel, label across."""
    lines = label.get_text().count("\n") + 1 if label.get_text() and label.get_visible() else 0
    return ticks + lines * (_LINE * float(label.get_fontsize()) + (_PAD if ticks else _EDGE)) / POINTS


def _size_of_ticks(axis: Any) -> Room:
    """The largest label of an axis: `right` its width, `top` its height, with the tick mark; nothing where hidden."""
    shown = axis.get_tick_params(which="major")
    if not axis.get_visible() or not any(
        shown.get(f"label{side}", False) for side in ("left", "right", "bottom", "top")
    ):
        return Room()
    low, high = sorted(axis.get_view_interval())
    texts: list[str] = []
    for places, formatter in (
        (axis.get_majorticklocs(), axis.get_major_formatter()),
        (axis.get_minorticklocs(), axis.get_minor_formatter()),
    ):
        if not isinstance(formatter, NullFormatter):
            within = [place for place in places if low <= place <= high]
            texts += formatter.format_ticks(within) if within else []
    size = float(shown.get("labelsize", 10)) if not isinstance(shown.get("labelsize"), str) else 10.0
    widest = max((len(text) for text in texts), default=0)
    return Room(right=(_LETTER * size * widest + _TICK) / POINTS, top=(_LINE * size + _TICK - 3) / POINTS)

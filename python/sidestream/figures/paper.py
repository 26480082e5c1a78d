"""From a figure to a file: its layout, the labels of logarithmic axes, and SVG or PNG."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullLocator

from .theme import themed

INK, MUTED, FAINT, GRID = "#1c2733", "#5c6b7a", "#aeb9c4", "#e6eaee"
DOTS_PER_INCH = 160
LOW_PANEL_IN = 2.0
MANY_DECADES = 1e4

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Apart from each other also for those who see no red or no green, and of contrast on light and dark paper.
BLUE, TEAL, AMBER, RED, VIOLET, GREY = "#1a6ab9", "#0e6c6b", "#a15a00", "#ef6555", "#727bf2", "#8d949e"
_LOOK: Any = {
    "font.size": 10,
    "font.family": ["DejaVu Sans"],
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titley": 1.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=(BLUE, RED, TEAL, VIOLET, AMBER, GREY)),
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "sidestream",
    "image.interpolation": "none",  # the cells as they are, whatever the size at which a page shows them
    "image.composite_image": False,
}


@contextmanager
def look() -> Iterator[None]:
    """The shared style."""
    with mpl.rc_context(_LOOK):
        yield


def svg_of(figure: Figure) -> str:
    """The figure as SVG, of light or dark colours as the reader's system prefers."""
    buffer = io.BytesIO()
    with _prepared(figure):
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})  # type: ignore[no-untyped-call]
    return themed(buffer.getvalue().decode())


def png_of(figure: Figure) -> bytes:
    """The figure as PNG, in light colours."""
    buffer = io.BytesIO()
    with _prepared(figure):
        FigureCanvasAgg(figure).print_png(buffer)  # type: ignore[no-untyped-call]
    return buffer.getvalue()


@contextmanager
def _prepared(figure: Figure) -> Iterator[None]:
    """For drawing by the canvas itself: `savefig` draws figures that lay themselves out twice."""
    _simplify_ticks(figure)
    with look():
        figure.dpi = DOTS_PER_INCH
        yield


def _simplify_ticks(figure: Figure) -> None:
    """Of logarithmic axes: their labels as plain text, and few minor ticks: of two decades and more at 2 and 5 alone,
    of four and more none.

    Typeset formulae, and all eight minor ticks of a decade, take half of the drawing each. Along x labels lie beside
    each other, so that those of shorter axes would overlap too, as they would in panels that are low.
    """
    for axes in [one for panel in figure.axes for one in (panel, *panel.child_axes)]:
        is_low = axes.get_position().height * figure.get_figheight() < LOW_PANEL_IN
        for axis, sparse in ((axes.xaxis, 5), (axes.yaxis, 5 if is_low else 100)):
            low, high = sorted(axis.get_view_interval())
            if isinstance(axis.get_minor_locator(), LogLocator) and high >= sparse * low:
                axis.set_minor_locator(LogLocator(subs=(2, 5)) if high < MANY_DECADES * low else NullLocator())
            if isinstance(axis.get_major_formatter(), LogFormatterSciNotation):
                axis.set_major_formatter(_PlainPowers())
            if isinstance(axis.get_minor_formatter(), LogFormatterSciNotation):
                axis.set_minor_formatter(_PlainPowers())


class _PlainPowers(LogFormatterSciNotation):
    """The labels of a logarithmic axis as plain text, such as 10⁻³ and 2×10⁵."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return _plain_power(super().__call__(x, pos))


def _plain_power(typeset: str) -> str:
    """A label of Matplotlib's logarithmic axes as plain text: `$\\mathdefault{10^{-3}}$` is 10⁻³."""
    label = re.sub(r"\^\{([-\d.]+)\}", lambda power: power[1].translate(_SUPERSCRIPTS), typeset)
    return label.removeprefix(r"$\mathdefault{").removesuffix("}$").replace(r"\times", "×").replace("-", "−")

"""A drawn picture and the look that all of them share."""

from __future__ import annotations

import base64
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import TightLayoutEngine
from matplotlib.ticker import LogFormatterSciNotation, LogLocator

INK, MUTED, FAINT, GRID = "#1c2733", "#5c6b7a", "#aeb9c4", "#e6eaee"
BLUE, TEAL, AMBER, RED, VIOLET, GREY = "#2a78d6", "#12a594", "#eda100", "#dc3e42", "#6e56cf", "#8b98a5"
TASK_COLOURS = (TEAL, VIOLET, "#e5732f", "#d6409f", "#46a758", "#3e63dd", "#a18072", "#0894b3")
FIELD_NAMES = {
    "gas_density": "gas",
    "dark_matter_density": "dark matter",
    "total_density": "total matter",
    "gas": "gas",
    "dark": "dark matter",
    "dark_matter": "dark matter",
    "total": "total matter",
    "temperature": "temperature",
}

_WHOLE = (0, 0, 1, 1)
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
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
    "figure.autolayout": True,  # a third of the time of `layout="constrained"`, for figures with a legend outside
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "sidestream",
    "image.interpolation": "nearest",
}


@dataclass
class Picture:
    """A figure with what a page needs to show it."""

    name: str  # of the file, without ending
    title: str
    caption: str
    figure: Figure
    vector: bool = True  # embedded as SVG; else as PNG (images, many marks)
    wide: bool = False
    numbers: Sequence[Sequence[str]] = ()  # a table below it: its head, then its rows
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # what it draws, by name and unit: a file

    def save_png(self, folder: Path) -> Path:
        """Writes `NAME.png` into the folder, and `NAME.csv` where it has columns."""
        if self.columns:
            with (folder / f"{self.name}.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(self.columns)
                writer.writerows(zip(*self.columns.values(), strict=True))
        path = folder / f"{self.name}.png"
        self.write_png(path)
        return path

    def write_png(self, path: Path) -> None:
        """Writes the picture alone, under any name."""
        path.write_bytes(_drawn(self.figure, is_vector=False))

    def data_uri(self) -> str:
        """The picture as a `data:` address for a page of its own."""
        mime = "svg+xml" if self.vector else "png"
        return f"data:image/{mime};base64,{base64.b64encode(_drawn(self.figure, self.vector)).decode()}"


def legend_outside(figure: Figure, handles: Sequence[Any], names: Sequence[str], above: bool, columns: int) -> None:
    """A legend above or below all panels, in the room that they leave; `layout="constrained"` takes far longer."""
    rows = -(-len(names) // max(1, columns))
    share = (0.19 * rows + 0.12) / figure.get_figheight()  # inches, of lines of 9 points
    figure.legend(handles, names, loc="upper left" if above else "lower center", ncols=columns)
    figure.set_layout_engine("tight", rect=(0, 0, 1, 1 - share) if above else (0, share, 1, 1))


def _drawn(figure: Figure, is_vector: bool) -> bytes:
    """The figure as SVG or PNG. By the canvas itself: `savefig` draws figures that lay themselves out twice."""
    _simplify_ticks(figure)
    engine = figure.get_layout_engine()
    if isinstance(engine, TightLayoutEngine) and engine.get()["rect"] == _WHOLE:
        no_rectangle: Any = None  # with one, all is laid out twice
        figure.set_layout_engine(TightLayoutEngine(rect=no_rectangle))
    buffer = io.BytesIO()
    with look():
        figure.dpi = 160
        if is_vector:
            FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})  # type: ignore[no-untyped-call]
        else:
            FigureCanvasAgg(figure).print_png(buffer)  # type: ignore[no-untyped-call]
    return buffer.getvalue()


def _simplify_ticks(figure: Figure) -> None:
    """Of logarithmic axes: their labels as plain text, and of two decades and more the minor ticks at 2 and 5 alone.

    Typeset formulae, and all eight minor ticks of a decade, take half of the drawing each. Along x labels lie beside
    each other, so that those of shorter axes would overlap too.
    """
    for axes in figure.axes:
        for axis, sparse in ((axes.xaxis, 5), (axes.yaxis, 100)):
            low, high = sorted(axis.get_view_interval())
            if isinstance(axis.get_minor_locator(), LogLocator) and high >= sparse * low:
                axis.set_minor_locator(LogLocator(subs=(2, 5)))
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


@contextmanager
def look() -> Iterator[None]:
    """The shared style."""
    with mpl.rc_context(_LOOK):
        yield


def mean_flux_of(table: Any) -> str:
    """The mean over all lines of a result of `flux`, and whether optical depths were multiplied for it."""
    scaled = " (rescaled)" if "wanted_mean_flux" in table.attrs else ""
    return f"{float(table['mean_flux'].mean()):.3f}{scaled}"


def redshift_colours(redshifts: Sequence[float]) -> list[Any]:
    """One colour a redshift, from pale (early) to dark (late)."""
    ramp = mpl.colormaps["YlGnBu"]
    if len(redshifts) == 1:
        return [ramp(0.75)]
    return [ramp(0.35 + 0.62 * index / (len(redshifts) - 1)) for index in range(len(redshifts))]


def moment(table: Any) -> str:
    """When a result was taken: its redshift, or its time in simulations without one."""
    if "redshift" in table.attrs or "time" not in table.attrs:
        return f"z = {float(table.attrs.get('redshift', 0.0)):.3g}"
    return f"t = {float(table.attrs['time']):.3g}"


def length_unit(table: Any) -> str:
    """The unit of lengths in brackets; nothing in simulations without a redshift, which have units of their own."""
    return " [Mpc]" if "redshift" in table.attrs or "time" not in table.attrs else ""


def spread(values: Sequence[int], count: int) -> list[int]:
    """At most `count` of the values, evenly spread, the last among them."""
    if len(values) <= count:
        return list(values)
    return [values[index] for index in np.unique(np.linspace(0, len(values) - 1, count).round().astype(int))]


def field_name(variable: str) -> str:
    """A field as a reader calls it: `dark_matter_density` is `dark matter`."""
    return FIELD_NAMES.get(variable, variable.replace("_", " "))


def unit_label(dataset: Any, variable: str) -> str:
    """The unit of a variable in brackets, typeset, or nothing if it has none."""
    unit = str(dataset[variable].attrs.get("units", ""))
    typeset = {
        "Msun/Mpc^3": r"$M_\odot\,\mathrm{Mpc}^{-3}$",
        "Msun/Mpc^2": r"$M_\odot\,\mathrm{Mpc}^{-2}$",
        "h/Mpc": r"$h\,\mathrm{Mpc}^{-1}$",
        "(Mpc/h)^3": r"$(h^{-1}\mathrm{Mpc})^3$",
        "Msun": r"$M_\odot$",
        "Msun/h": r"$h^{-1}M_\odot$",
    }
    return "" if unit in ("", "1", "dimensionless") else f" [{typeset.get(unit, unit)}]"

"""A drawn picture and the look that all of them share."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from ..runs.writing import write_at_once
from .margins import Margins
from .numbers import Numbers, as_csv, as_netcdf, numbers_of
from .paper import AMBER, BLUE, FAINT, GREY, GRID, INK, MUTED, RED, TEAL, VIOLET, look, png_of, svg_of

if TYPE_CHECKING:
    import xarray as xr

    from ..runs.run import Run

__all__ = ["AMBER", "BLUE", "FAINT", "GREY", "GRID", "INK", "MUTED", "RED", "TEAL", "VIOLET", "look"]

TASK_COLOURS = ("#2ca3a1", "#3a349e", "#733f0f", "#8e185b", "#598100", "#5d61f6", "#9f915e", "#378ecb")
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


@dataclass
class Picture:
    """A figure with what a page needs to show it."""

    name: str  # of the file, without ending
    title: str
    caption: str
    figure: Figure
    wide: bool = False
    numbers: Sequence[Sequence[str]] = ()  # a table below it: its head, then its rows
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # what it draws, by name and unit: a file

    def __post_init__(self) -> None:
        """A figure has a layout, and a title, that of the picture if no other: it says what it is wherever it goes."""
        panels = self.figure.axes
        if self.figure.get_layout_engine() is None:
            self.figure.set_layout_engine(Margins())
        if panels and not self.figure.texts and not any(axes.get_title(loc="left") for axes in panels):
            with look():
                panels[0].set_title(self.title)

    @cached_property
    def drawn_numbers(self) -> list[Numbers]:
        """What the figure shows."""
        return numbers_of(self.figure)

    @property
    def has_numbers(self) -> bool:
        """Whether there are any: of a picture of pixels in colours there are none."""
        return bool(self.drawn_numbers or self.columns)

    def save_png(self, folder: Path) -> Path:
        """Writes `NAME.png` into the folder, and its numbers beside it; returns the path of the picture."""
        path, drawn = folder / f"{self.name}.png", png_of(self.figure)  # what takes long comes before all files
        if self.has_numbers:
            self.write_numbers(folder)
        write_at_once(path, drawn)
        return path

    def write_png(self, path: Path) -> None:
        """Writes the picture alone, under any name."""
        write_at_once(path, png_of(self.figure))

    def write_numbers(self, folder: Path) -> None:
        """Writes what the picture shows, as `NAME.csv` and as `NAME.nc`."""
        table = as_csv(self.drawn_numbers, self.columns)
        image = as_netcdf(self.drawn_numbers, self.columns, self.title)
        write_at_once(folder / f"{self.name}.csv", table)
        write_at_once(folder / f"{self.name}.nc", image)

    def data_uri(self) -> str:
        """The picture as a `data:` address for a page of its own."""
        return f"data:image/svg+xml;base64,{base64.b64encode(svg_of(self.figure).encode()).decode()}"


def legend_outside(figure: Figure, handles: Sequence[Any], names: Sequence[str], above: bool, columns: int) -> float:
    """A legend above or below all panels, in the room that they leave; returns its height in inches."""
    height = 0.19 * -(-len(names) // max(1, columns)) + 0.12  # of lines of 9 points
    figure.legend(handles, names, loc="upper left" if above else "lower center", ncols=columns)
    figure.set_layout_engine(Margins(top=height) if above else Margins(bottom=height))
    return height


def mean_flux_of(table: Any) -> str:
    """The mean over all lines of a result of `flux`, and whether optical depths were multiplied for it."""
    scaled = " (rescaled)" if "wanted_mean_flux" in table.attrs else ""
    return f"{float(table['mean_flux'].mean()):.3f}{scaled}"


def redshift_colours(redshifts: Sequence[float]) -> list[Any]:
    """One colour a redshift, from pale (early) to dark (late)."""
    ramp = mpl.colormaps["YlGnBu"]
    if len(redshifts) == 1:
        return [ramp(0.75)]
    return [ramp(0.5 + 0.5 * index / (len(redshifts) - 1)) for index in range(len(redshifts))]


def moment(table: Any) -> str:
    """When a result was taken: its redshift, or its time in simulations without one."""
    if "redshift" in table.attrs or "time" not in table.attrs:
        return f"z = {float(table.attrs.get('redshift', 0.0)):.3g}"
    return f"t = {float(table.attrs['time']):.3g}"


def length_unit(table: Any) -> str:
    """The unit of lengths in brackets: that of the column `x`; nothing where it has none."""
    return unit_label(table, "x") if "x" in table.variables else ""


def spread(values: Sequence[int], count: int) -> list[int]:
    """At most `count` of the values, evenly spread, the last among them."""
    if len(values) <= count:
        return list(values)
    return [values[index] for index in np.unique(np.linspace(0, len(values) - 1, count).round().astype(int))]


def few_moments(run: Run, task: str, suffix: str) -> tuple[list[xr.Dataset], list[str]]:
    """The results of a task at a few moments, and what in the last of them ends on `suffix`."""
    tables = [run.result(task, step) for step in spread(run.steps(task), 5)]
    return tables, [str(name) for name in tables[-1].data_vars if str(name).endswith(suffix)]


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

"""Halo mass functions: counted, and drawn against those of the literature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ..cosmology import FITS, PRESS_SCHECHTER, SHETH_TORMEN, TINKER, WARREN, Fit, Theory
from ..picture import FAINT, INK, MUTED, look, unit_label

if TYPE_CHECKING:
    import xarray as xr

BIN_WIDTH = 0.2  # of log10 M
FINE_SPHERE = 3.0  # cells in the radius of a sphere whose mass is to be trusted
RESOLVED = 100  # cells (or particles) of a halo whose mass is to be trusted
HIGHEST_RATIO = 5.0  # that a plot makes room for
LEGEND_LINE = 0.195  # inches
AROUND = 1.2  # inches of titles and labels around the panels
_LINES: dict[Fit, Any] = {
    PRESS_SCHECHTER: {"ls": ":", "color": FAINT},
    SHETH_TORMEN: {"ls": "-.", "color": MUTED},
    TINKER: {"ls": "--", "color": MUTED},
    WARREN: {"ls": "-", "color": INK},
}


@dataclass(frozen=True)
class MassFunction:
    """Halos counted in bins of mass; empty bins are left out."""

    low: np.ndarray  # edges of the bins [Msun/h]
    high: np.ndarray
    count: np.ndarray
    volume: float  # of the box [(Mpc/h)^3]

    @property
    def mass(self) -> np.ndarray:
        """The middle of each bin in the logarithm [Msun/h]."""
        return np.asarray(np.sqrt(self.low * self.high))

    @property
    def density(self) -> np.ndarray:
        """dn/dlnM [(h/Mpc)^3]."""
        return np.asarray(self.count / (self.volume * np.log(self.high / self.low)))

    @property
    def relative_error(self) -> np.ndarray:
        """Poisson errors (Gehrels 1986, equations 7 and 12, one sigma) as shares of the value: down, up."""
        n = self.count.astype(float)
        lower = n * (1 - 1 / (9 * n) - 1 / (3 * np.sqrt(n))) ** 3
        upper = n + np.sqrt(n + 0.75) + 1
        return np.asarray([1 - np.maximum(lower, 0) / n, upper / n - 1])

    def over(self, theory: Theory, redshift: float, fit: Fit) -> np.ndarray:
        """Each count over that of a fit, integrated over the bin."""
        return _ratio(self.count, theory.halos_between(self.low, self.high, redshift, fit) * self.volume)


@dataclass(frozen=True)
class Series:
    """The halos of one table as they appear in a plot."""

    points: MassFunction
    redshift: float
    label: str
    colour: Any
    marker: str = "o"
    hollow: bool = False

    @property
    def style(self) -> dict[str, Any]:
        """For `errorbar`."""
        edge, face = (self.colour, "white") if self.hollow else ("white", self.colour)
        width = 1.2 if self.hollow else 0.7
        marks = {"fmt": self.marker, "ms": 6.5 - width, "mec": edge, "mfc": face, "mew": width}
        return marks | {"color": self.colour, "elinewidth": 1.4, "capsize": 0}


@dataclass(frozen=True)
class Curves:
    """The fits to draw, and the one that others are compared with."""

    theory: Theory
    fits: Sequence[Fit] = FITS
    reference: Fit = WARREN

    @classmethod
    def of(cls, theory: Theory | None) -> Curves | None:
        """Nothing where there is no theory."""
        return cls(theory) if theory else None


def mass_function(table: xr.Dataset, column: str = "") -> MassFunction:
    """Counts halos by a column of masses (default: `mass_column(table)`), in bins of 0.2 in log10 of Msun/h."""
    hubble = float(table.attrs.get("hubble", 1.0))
    mass = np.asarray(table[column or mass_column(table)], dtype=float) * hubble
    log_mass = np.log10(mass[np.isfinite(mass) & (mass > 0)])
    if log_mass.size == 0:
        return MassFunction(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64), 1.0)
    edges = BIN_WIDTH * np.arange(np.floor(log_mass.min() / BIN_WIDTH), np.floor(log_mass.max() / BIN_WIDTH) + 2)
    counts, _ = np.histogram(log_mass, bins=edges)
    kept = counts > 0
    return MassFunction(10 ** edges[:-1][kept], 10 ** edges[1:][kept], counts[kept], _volume(table) * hubble**3)


def mass_column(table: xr.Dataset) -> str:
    """The column of masses to count by: that of friends-of-friends halos with Warren's correction, where it is."""
    return "mass_warren" if "mass_warren" in table else "mass"


def is_friends_of_friends(table: xr.Dataset) -> bool:
    """Whether the halos were found from particles by their distances."""
    return "mass_warren" in table or str(table.attrs.get("finder", "")) == "fof"


def size_column(table: xr.Dataset) -> str:
    """The column that says of how many cells or particles a halo is made; empty where there is none."""
    names = ("particles", "cells") if is_friends_of_friends(table) else ("cells", "particles")
    return next((name for name in names if name in table), "")


def resolved_mass(table: xr.Dataset) -> float:
    """The mass [Msun/h] of a halo of 100 cells, or particles where halos are made of them; 0 if that is not known."""
    size = np.asarray(table[size_column(table)]) if size_column(table) else np.zeros(table.sizes["halo"])
    some = size > 0
    if not some.any():
        return 0.0
    share = float(np.median(np.asarray(table["mass"])[some] / size[some]))
    return RESOLVED * share * float(table.attrs.get("hubble", 1.0))


def with_fine_spheres(table: xr.Dataset, name: str = "200m") -> xr.Dataset:
    """The halos whose sphere of this name has a radius of at least 3 cells, as far as the size of cells is known."""
    radius = np.asarray(table[f"r{name}"], dtype=float)
    cell = np.zeros(radius.size)
    if {"volume", "cells"} <= set(table):
        cell = np.cbrt(np.asarray(table["volume"]) / np.maximum(np.asarray(table["cells"]), 1))
    fine: xr.Dataset = table.isel(halo=np.flatnonzero((radius > 0) & (radius >= FINE_SPHERE * cell)))
    return fine


@dataclass(frozen=True)
class Labels:
    """The units of the axes in brackets; empty where tables have none."""

    mass: str = r" [$h^{-1}M_\odot$]"
    density: str = r" [$(h/\mathrm{Mpc})^{3}$]"

    @classmethod
    def of(cls, table: xr.Dataset) -> Labels:
        """Those of masses and volumes times powers of h, where the table tells h."""
        if "hubble" in table.attrs and table["mass"].attrs.get("units") == "Msun":
            return cls()
        return cls(unit_label(table, "mass"), "")


def draw(
    title: str, series: Sequence[Series], curves: Curves | None, unresolved: float, labels: Labels | None = None
) -> Figure:
    """The mass functions, with the fits at the last redshift; below, their ratios to the reference.

    Masses below `unresolved`, in the unit of the masses of the series, are shaded.
    """
    labels = labels or Labels()
    with look():
        figure = Figure(figsize=(6.4, 6.0 if curves else 4.6))
        heights = [2.6, 1] if curves else [1]
        panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        _points(panels[0], series)
        limits = _limits(series)
        if curves is not None:
            _curves(panels[0], limits["xlim"], series, curves)
            _ratios(panels[1], limits["xlim"], series, curves)
        panels[0].set(**limits, ylabel=rf"$dn/d\ln M${labels.density}")
        panels[0].set_title(title)
        look_of_it = {"fontsize": 8.5, "frameon": True, "framealpha": 0.85, "edgecolor": "none"}
        panels[0].legend(*_legend(panels[0], curves), loc="lower left", **look_of_it)
        _make_room_below(panels[0], (figure.get_figheight() - AROUND) * heights[0] / sum(heights))
        panels[-1].set_xlabel(f"halo mass $M${labels.mass}")
        low, high = limits["xlim"]
        for panel in panels if unresolved > low else ():
            panel.axvspan(low, min(unresolved, high), color=FAINT, alpha=0.22, lw=0)
    return figure


def _points(axes: Any, series: Sequence[Series]) -> None:
    axes.set(xscale="log", yscale="log")
    for one in series:
        density = one.points.density
        error = density * one.points.relative_error
        axes.errorbar(one.points.mass, density, error, label=one.label, zorder=3, **one.style)


def _limits(series: Sequence[Series]) -> dict[str, tuple[float, float]]:
    low = min(one.points.low.min() for one in series)
    high = max(one.points.high.max() for one in series)
    densities = np.concatenate([one.points.density for one in series])
    lowest = min((one.points.density * (1 - one.points.relative_error[0])).min() for one in series)
    return {
        "xlim": (low / 1.25, high * 1.6),
        "ylim": (lowest / 1.3, densities.max() * 4),
    }


def _legend(axes: Any, curves: Curves | None) -> tuple[list[Any], list[str]]:
    """Handles and names; points of earlier moments stand with the curve of theirs, where there is one."""
    handles, names = axes.get_legend_handles_labels()
    reference = curves.reference.label if curves else ""
    own = f"_{reference}, "
    labels = {str(line.get_label()): line for line in axes.lines}
    of = {label.removeprefix(own): line for label, line in labels.items() if label.startswith(own)}
    return (
        [(of[name], handle) if name in of else handle for handle, name in zip(handles, names, strict=True)],
        [f"{name}, line: {_short(reference)}" if name in of else name for name in names],
    )


def _short(reference: str) -> str:
    return reference.split(" ")[0]


def _make_room_below(axes: Any, height: float) -> None:
    """For the legend, which then covers no point and no error bar. `height`: of the panel, in inches."""
    share = min(0.6, LEGEND_LINE * (len(axes.get_legend_handles_labels()[1]) + 1) / height)
    lowest, highest = np.log(axes.get_ylim())
    axes.set_ylim(bottom=np.exp(highest - (highest - lowest) / (1 - share)))


def _curves(axes: Any, span: tuple[float, float], series: Sequence[Series], curves: Curves) -> None:
    mass = np.geomspace(*span, 80)
    last = series[-1].redshift
    for fit in curves.fits:
        density = curves.theory.mass_function(mass, last, fit)
        axes.plot(mass, density, lw=1.3, label=fit.label, zorder=2, **_LINES[fit])
    for one in series[:-1]:
        if one.redshift != last:
            density = curves.theory.mass_function(mass, one.redshift, curves.reference)
            label = f"_{curves.reference.label}, {one.label}"
            axes.plot(mass, density, lw=1.2, color=one.colour, ls=_LINES[curves.reference]["ls"], zorder=1, label=label)


def _ratios(axes: Any, span: tuple[float, float], series: Sequence[Series], curves: Curves) -> None:
    mass = np.geomspace(*span, 80)
    last = series[-1].redshift
    base = curves.theory.mass_function(mass, last, curves.reference)
    for fit in curves.fits:
        ratio = _ratio(curves.theory.mass_function(mass, last, fit), base)
        axes.plot(mass, ratio, lw=1.3, zorder=2, label=fit.label, **_LINES[fit])
    highest = 1.8
    for one in series:
        ratio = one.points.over(curves.theory, one.redshift, curves.reference)
        axes.errorbar(one.points.mass, ratio, ratio * one.points.relative_error, label=one.label, zorder=3, **one.style)
        highest = max(highest, float(np.nanmax(ratio, initial=0.0)))
    axes.set(ylim=(0, min(1.1 * highest, HIGHEST_RATIO)), ylabel=f"over {_short(curves.reference.label)}")


def _ratio(number: Any, base: Any) -> np.ndarray:
    """One over the other; NaN where a fit is too small to be a number, as of masses far beyond its largest halo."""
    above, below = np.broadcast_arrays(np.asarray(number, dtype=float), np.asarray(base, dtype=float))
    return np.asarray(np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0))


def _volume(table: xr.Dataset) -> float:
    box = np.atleast_1d(np.asarray(table.attrs.get("box_mpc", 1.0), dtype=float))
    return float(box[0] ** 3 if box.size == 1 else np.prod(box))

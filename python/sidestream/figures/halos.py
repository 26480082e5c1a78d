"""Pictures of halo tables: the mass function, a map, and how the population grew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .cosmology import Theory
from .picture import FAINT, INK, MUTED, TEAL, VIOLET, Picture, look, redshift_colours, spread

if TYPE_CHECKING:
    import xarray as xr

    from ..run import Run

BIN_WIDTH = 0.2  # of log10 M
RESOLVED_CELLS = 100  # a halo of fewer cells is not to be trusted


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """The mass function, a map of the last step, and the growth over steps."""
    steps = run.steps(task)
    tables = {step: run.result(task, step) for step in steps}
    filled = [step for step in steps if tables[step].sizes.get("halo", 0) > 0]
    if filled:
        yield _mass_function(task, [tables[step] for step in spread(filled, 4)])
        yield _map(task, tables[filled[-1]])
    if len(filled) > 1:
        first = max(steps.index(filled[0]) - 1, 0)
        yield _growth(task, [tables[step] for step in steps[first:]])


def mass_function(table: xr.Dataset) -> dict[str, np.ndarray]:
    """dn/dlnM in (h/Mpc)^3 with Poisson errors (Gehrels 1986), at masses in Msun/h; empty bins are left out."""
    hubble = float(table.attrs.get("hubble", 1.0))
    log_mass = np.log10(np.asarray(table["mass"]) * hubble)
    first = np.floor(log_mass.min() / BIN_WIDTH)
    edges = BIN_WIDTH * np.arange(first, np.floor(log_mass.max() / BIN_WIDTH) + 2)
    counts, _ = np.histogram(log_mass, bins=edges)
    kept = counts > 0
    count = counts[kept].astype(float)
    weight = 1 / (_volume(table) * hubble**3 * BIN_WIDTH * np.log(10))
    upper = count + np.sqrt(count + 0.75) + 1
    lower = count * (1 - 1 / (9 * count) - 1 / (3 * np.sqrt(count))) ** 3
    return {
        "mass": 10 ** (0.5 * (edges[:-1] + edges[1:]))[kept],
        "density": count * weight,
        "error": np.array([count - np.maximum(lower, 0), upper - count]) * weight,
    }


def _volume(table: xr.Dataset) -> float:
    box = np.atleast_1d(np.asarray(table.attrs.get("box_mpc", 1.0), dtype=float))
    return float(box[0] ** 3 if box.size == 1 else np.prod(box))


def _mass_function(task: str, tables: list[xr.Dataset]) -> Picture:
    theory = Theory.of(tables[-1].attrs)
    redshifts = [float(table.attrs.get("redshift", 0.0)) for table in tables]
    measured = [mass_function(table) for table in tables]
    with look():
        figure = Figure(figsize=(6.4, 4.6))
        axes = figure.add_subplot(xscale="log", yscale="log")
        for redshift, points, colour in zip(redshifts, measured, redshift_colours(redshifts), strict=True):
            _points_and_curve(axes, points, redshift, colour, theory)
        _shade_unresolved(axes, tables[-1])
        if theory is not None:
            axes.plot([], [], "--", color=MUTED, label=f"Sheth & Tormen{theory.assumed}")
        axes.set(xlabel=r"halo mass $M$ [$h^{-1}M_\odot$]", ylabel=r"$dn/d\ln M$ [$(h/\mathrm{Mpc})^{3}$]")
        axes.set_title("Halo mass function")
        axes.legend()
    caption = (
        "Halos per volume and natural logarithm of mass. Bars: Poisson errors. "
        f"Shaded: halos of fewer than {RESOLVED_CELLS} cells, where the grid is too coarse to find all."
    )
    return Picture(f"{task}-mass-function", "Halo mass function", caption, figure)


def _points_and_curve(
    axes: Any, points: dict[str, np.ndarray], redshift: float, colour: Any, theory: Theory | None
) -> None:
    style = {"fmt": "o", "ms": 5, "capsize": 0, "elinewidth": 1.4, "mec": "white", "mew": 0.6}
    axes.errorbar(
        points["mass"], points["density"], points["error"], color=colour, label=f"z = {redshift:.3g}", **style
    )
    if theory is None:
        return
    mass = np.geomspace(points["mass"].min() / 1.6, points["mass"].max() * 1.6, 60)
    curve = theory.mass_function(mass, redshift)
    visible = curve > points["density"].min() / 30
    axes.plot(mass[visible], curve[visible], "--", color=colour, lw=1.3)


def _shade_unresolved(axes: Any, table: xr.Dataset) -> None:
    mass_per_cell = float(np.median(table["mass"] / table["cells"])) * float(table.attrs.get("hubble", 1.0))
    low, high = axes.get_xlim()
    edge = RESOLVED_CELLS * mass_per_cell
    if edge > low:
        axes.axvspan(low, min(edge, high), color=FAINT, alpha=0.22, lw=0)
        axes.set_xlim(low, high)


def _map(task: str, table: xr.Dataset) -> Picture:
    mass = np.asarray(table["mass"])
    box = np.atleast_1d(np.asarray(table.attrs.get("box_mpc", np.nan), dtype=float))
    with look():
        figure = Figure(figsize=(5.6, 4.6))
        axes = figure.add_subplot(aspect="equal")
        order = np.argsort(-mass)
        area = 6 + 420 * (mass / mass.max()) ** (2 / 3)
        marks = axes.scatter(
            table["x"][order],
            table["y"][order],
            s=area[order],
            c=np.log10(mass[order]),
            cmap="viridis_r",
            alpha=0.75,
            lw=0,
        )
        figure.colorbar(marks, ax=axes, label=r"$\log_{10}\, M/M_\odot$", fraction=0.046)
        if np.isfinite(box[0]):
            axes.set(xlim=(0, box[0]), ylim=(0, box[min(1, box.size - 1)]))
        axes.set(xlabel="x [Mpc]", ylabel="y [Mpc]")
        redshift = float(table.attrs.get("redshift", 0.0))
        axes.set_title(f"{mass.size} halo{'s' * (mass.size != 1)} at z = {redshift:.3g}")
    return Picture(f"{task}-map", "Where the halos are", "Centroids, seen along z; area follows mass.", figure)


def _growth(task: str, tables: list[xr.Dataset]) -> Picture:
    redshift = [float(table.attrs.get("redshift", np.nan)) for table in tables]
    count = [table.sizes.get("halo", 0) for table in tables]
    heaviest = [float(table["mass"].max()) if n else np.nan for table, n in zip(tables, count, strict=True)]
    with look():
        figure = Figure(figsize=(6.4, 4.6))
        upper, lower = figure.subplots(2, 1, sharex=True)
        upper.plot(redshift, count, "o-", color=TEAL, ms=4)
        upper.set_title("Number of halos")
        upper.set_ylim(bottom=0)
        upper.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        lower.plot(redshift, heaviest, "o-", color=VIOLET, ms=4)
        lower.set_yscale("log")
        lower.set_title(r"Heaviest halo [$M_\odot$]", color=INK)
        lower.set_xlabel("redshift z")
        lower.invert_xaxis()
    return Picture(
        f"{task}-growth", "How they grew", "Number of halos and mass of the heaviest; time runs to the right.", figure
    )

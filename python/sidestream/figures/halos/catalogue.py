"""Pictures of halo tables: mass functions, maps, properties, and how the population grew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...runs.results import ROWS, load_result
from ..cosmology import Theory
from ..picture import TASK_COLOURS, TEAL, VIOLET, Picture, look, moment, redshift_colours, spread, unit_label
from ..scene import Scene
from .halo_map import halo_map
from .halo_properties import properties
from .halo_scene import halo_scene
from .mass_function import (
    FINE_SPHERE,
    RESOLVED,
    Curves,
    Labels,
    Series,
    draw,
    is_friends_of_friends,
    mass_column,
    mass_function,
    resolved_mass,
    with_fine_spheres,
)

if TYPE_CHECKING:
    import xarray as xr

    from ...runs.run import Run

COMPARISON = "mass-function-comparison"


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """The mass function, a map and the properties of the last step, the growth over steps, and a comparison."""
    steps = run.steps(task)
    masses = {step: load_result(run.result_path(task, step), names={"mass"}) for step in steps}
    filled = [step for step in steps if masses[step].sizes.get("halo", 0) > 0]
    tables = {step: run.result(task, step, ROWS) for step in spread(filled, 4)}
    if filled:
        yield _mass_functions(run, task, list(tables.values()))
        yield halo_map(run, task, filled[-1], tables[filled[-1]])
        table = properties(task, tables[filled[-1]])
        if table is not None:
            yield table
    if len(filled) > 1:
        first = max(steps.index(filled[0]) - 1, 0)
        yield _growth(task, [masses[step] for step in steps[first:]])
    if filled and is_friends_of_friends(tables[filled[-1]]):
        comparison = _comparison(run, task, filled[-1])
        if comparison is not None:
            yield comparison


def scenes(run: Run, task: str) -> Iterator[Scene]:
    """The halos of the last step in space."""
    table = run.result(task, -1, ROWS)
    if table.sizes.get("halo", 0) > 0:
        yield halo_scene(task, table)


def _mass_functions(run: Run, task: str, tables: list[xr.Dataset]) -> Picture:
    redshifts = [float(table.attrs.get("redshift", 0.0)) for table in tables]
    series = [
        Series(mass_function(table), redshift, moment(table), colour)
        for table, redshift, colour in zip(tables, redshifts, redshift_colours(redshifts), strict=True)
    ]
    last = tables[-1]
    within = with_fine_spheres(last) if {"m200m", "r200m"} <= set(last) else None
    spheres = ""
    if within is not None and within.sizes["halo"] > 0:
        label = rf"{moment(last)}, $M_\mathrm{{200m}}$"
        series.append(Series(mass_function(within, "m200m"), redshifts[-1], label, VIOLET, "D", hollow=True))
        spheres = f"M200m of spheres of at least {FINE_SPHERE:.0f} cells in radius. "
    theory = Theory.of(last.attrs, run.config)
    figure = draw("Halo mass function", series, Curves.of(theory), resolved_mass(last), Labels.of(last))
    what = "Masses n (1 - n^-0.6) of one particle, after Warren et al. " if mass_column(last) == "mass_warren" else ""
    caption = f"Halos per volume and natural logarithm of mass. {what}{spheres}{_caption(theory, moment(last))}"
    return Picture(f"{task}-mass-function", "Halo mass function", caption, figure)


def _comparison(run: Run, task: str, step: int) -> Picture | None:
    """Friends-of-friends halos beside those above a density, of the same step; nothing if only one kind is there."""
    found = [other for other in run.tasks if step in run.steps(other) and run.analysis(other) == "halos"]
    tables = {other: run.result(other, step, ROWS) for other in found}
    tables = {other: table for other, table in tables.items() if table.sizes.get("halo", 0) > 0}
    linked = [other for other, table in tables.items() if is_friends_of_friends(table)]
    if task != linked[0] or len(linked) == len(tables):  # it is drawn once, and only if there are two kinds
        return None
    series = [
        Series(
            mass_function(table), float(table.attrs.get("redshift", 0.0)), _finder_label(other, table), colour, marker
        )
        for (other, table), colour, marker in zip(tables.items(), TASK_COLOURS, "osD^vP*X", strict=False)
    ]
    last = tables[task]
    theory = Theory.of(last.attrs, run.config)
    by_density = max(resolved_mass(table) for other, table in tables.items() if other not in linked)
    figure = draw(f"Two finders at {moment(last)}", series, Curves.of(theory), by_density, Labels.of(last))
    caption = f"Halos of the same particles, linked by their distances and by density. {_caption(theory, moment(last))}"
    return Picture(COMPARISON, "Halo mass functions of two finders", caption, figure)


def _finder_label(task: str, table: xr.Dataset) -> str:
    finder = "friends of friends" if is_friends_of_friends(table) else "iso-density"
    return f"{task}: {finder}"


def _caption(theory: Theory | None, when: str) -> str:
    bars = f"Bars: Poisson errors (Gehrels). Shaded: fewer than {RESOLVED} cells or particles a halo."
    if theory is None:
        return bars
    matter = " and cold dark matter" if theory.is_warm else ""
    return f"{bars} Curves: fits for {when}{matter}{theory.assumed}, below over that of Warren."


def _growth(task: str, tables: list[xr.Dataset]) -> Picture:
    has_redshift = all("redshift" in table.attrs for table in tables)
    when = [float(table.attrs["redshift" if has_redshift else "time"]) for table in tables]
    count = [table.sizes.get("halo", 0) for table in tables]
    heaviest = [float(table["mass"].max()) if n else np.nan for table, n in zip(tables, count, strict=True)]
    with look():
        figure = Figure(figsize=(6.4, 4.6))
        upper, lower = figure.subplots(2, 1, sharex=True)
        upper.plot(when, count, "o-", color=TEAL, ms=4)
        upper.set(title="Number of halos", ylabel="number of halos")
        upper.set_ylim(bottom=0)
        upper.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        lower.plot(when, heaviest, "o-", color=VIOLET, ms=4)
        lower.set_yscale("log")
        mass = f"mass{unit_label(tables[-1], 'mass')}"
        lower.set(title="Heaviest halo", xlabel="redshift z" if has_redshift else "time t", ylabel=mass)
        if has_redshift:
            lower.invert_xaxis()
    return Picture(
        f"{task}-growth", "How they grew", "Number of halos and mass of the heaviest; time runs to the right.", figure
    )

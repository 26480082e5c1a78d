"""Halos drawn over the projected density, or on blank paper where there is no picture of it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure

from ...error import Error
from ..images import axis_of_sight, bar_beside, draw_image, norm_of, plane_of
from ..picture import Picture, field_name, length_unit, look, moment, unit_label
from .mass_function import is_friends_of_friends

if TYPE_CHECKING:
    import xarray as xr

    from ...runs.run import Run

OVERDENSITY = 200.0  # of groups of particles, about
MOST_CIRCLES = 1000  # of the heaviest halos
_FIELDS = ("total_density", "dark_matter_density", "gas_density")  # behind the halos, by preference


def halo_map(run: Run, task: str, step: int, halos: xr.Dataset) -> Picture:
    """The halos of one step over its projection, preferably along z."""
    image = _projection(run, step)
    radius, what = radii(halos)
    kept = np.argsort(-np.asarray(halos["mass"]), kind="stable")[:MOST_CIRCLES][::-1]
    with look():
        figure = Figure(figsize=(6.2, 5.2))
        axes = figure.add_subplot(aspect="equal")
        if image is not None:
            table, field = image
            draw_image(axes, table, field, norm_of([np.asarray(table[field], dtype=float)]), "Greys")
        along = plane_of(image[0]) if image else ("x", "y")
        box = _sides(halos, along)
        shown = halos.isel(halo=kept)
        marks = _dots(axes, shown, along) if radius is None else _circles(axes, shown, along, box, radius[kept])
        bar_beside(axes, marks, rf"$\log_{{10}}\, M${unit_label(halos, 'mass')}")
        if box is not None:
            axes.set(xlim=(0, box[0]), ylim=(0, box[1]))
        axes.set(xlabel=f"{along[0]}{length_unit(halos)}", ylabel=f"{along[1]}{length_unit(halos)}")
        axes.grid(image is None)
        count = halos.sizes["halo"]
        axes.set_title(f"{count} halo{'s' * (count != 1)} at {moment(halos)}")
    caption = _caption(image, what, count > MOST_CIRCLES)
    return Picture(f"{task}-map", "Where the halos are", caption, figure)


def radii(halos: xr.Dataset) -> tuple[np.ndarray | None, str]:
    """A radius for each halo [unit of the positions] and what it is: R200m, else that of a ball as large as the halo.

    Halos without an R200m, and those within the sphere of a denser one, have that of the ball.
    """
    ball = _ball(halos)
    if "r200m" in halos:
        sphere = np.nan_to_num(np.asarray(halos["r200m"], dtype=float))
        within = np.asarray(halos["inside"]) >= 0 if "inside" in halos else np.zeros(sphere.size, dtype=bool)
        radius = sphere if ball is None else np.where((sphere > 0) & ~within, sphere, ball)
        return radius, "Circles: R200m, within which the mean density is 200 times that of the universe."
    return ball, "Area follows mass." if ball is None else "Circles: balls as large as the halos."


def _ball(halos: xr.Dataset) -> np.ndarray | None:
    """Radii of balls of the halos' volumes; of groups of particles, of their masses at 200 mean densities."""
    mean = float(halos.attrs.get("mean_density", 0.0))
    if is_friends_of_friends(halos) and mean > 0:
        volume = np.asarray(halos["mass"], dtype=float) / (OVERDENSITY * mean)
    elif "volume" in halos:
        volume = np.asarray(halos["volume"], dtype=float)
    else:
        return None
    return np.asarray(np.cbrt(3 / (4 * np.pi) * volume))


def _projection(run: Run, step: int) -> tuple[xr.Dataset, str] | None:
    """The projection of the same step to draw on, and its field."""
    tables = []
    for task in run.tasks:
        if run.analysis(task) == "projection" and step in run.steps(task):
            with suppress(Error):  # a damaged picture costs its own task's pictures, not these
                tables.append(run.result(task, step))
    for table in sorted(tables, key=lambda table: axis_of_sight(table) != "z"):
        fields = [str(name) for name in table.data_vars if table[name].ndim == 2]
        if fields:
            return table, next((name for name in _FIELDS if name in fields), fields[0])
    return None


def _sides(halos: xr.Dataset, along: tuple[str, str]) -> tuple[float, float] | None:
    box = np.atleast_1d(np.asarray(halos.attrs.get("box_mpc", np.nan), dtype=float))
    if not np.isfinite(box).all():
        return None
    sides = dict(zip("xyz", np.broadcast_to(box, 3), strict=True))
    return float(sides[along[0]]), float(sides[along[1]])


def _circles(
    axes: Any, halos: xr.Dataset, along: tuple[str, str], box: tuple[float, float] | None, radius: np.ndarray
) -> Any:
    """Circles to scale; those that reach over an edge of the box appear at the opposite one too."""
    places = np.column_stack([np.asarray(halos[name], dtype=float) for name in along])
    log_mass = np.log10(np.asarray(halos["mass"], dtype=float))
    if box is not None:
        shifts = np.array([(i, j) for i in (0, -1, 1) for j in (0, -1, 1)]) * np.asarray(box)
        images = places[None] + shifts[:, None]
        image, row = np.nonzero(
            np.all(np.abs(images - np.divide(box, 2)) < np.divide(box, 2) + radius[:, None], axis=2)
        )
        places, radius, log_mass = images[image, row], radius[row], log_mass[row]
    circles = EllipseCollection(
        2 * radius,
        2 * radius,
        np.zeros(radius.size),
        units="xy",
        offsets=places,
        offset_transform=axes.transData,
        facecolors="none",
        cmap="autumn_r",
        linewidths=1.1,
    )
    circles.set_array(log_mass)
    return axes.add_collection(circles)


def _dots(axes: Any, halos: xr.Dataset, along: tuple[str, str]) -> Any:
    mass = np.asarray(halos["mass"], dtype=float)
    area = 6 + 420 * (mass / mass.max()) ** (2 / 3)
    x, y = (np.asarray(halos[name]) for name in along)
    return axes.scatter(x, y, s=area, c=np.log10(mass), cmap="viridis_r", alpha=0.75, lw=0)


def _caption(image: tuple[xr.Dataset, str] | None, what: str, is_cut: bool) -> str:
    behind = f"Centroids over the projected density of {field_name(image[1])}" if image else "Centroids"
    sight = axis_of_sight(image[0]) if image else "z"
    only = f" The {MOST_CIRCLES} heaviest are shown." if is_cut else ""
    return f"{behind}, seen along {sight}. {what}{only}"

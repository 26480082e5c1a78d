"""A picture of a plot file or checkpoint: the mean along an axis, or a cut across it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ..error import Error
from ..figures.images import LEAST_IN, LONE_SIDE_IN, bar_beside, draw_image, norm_of, plane_of
from ..figures.picture import Picture, field_name, look, unit_label

if TYPE_CHECKING:
    import xarray as xr

    from ..files.snapshot import SnapshotFile

FIRST_CHOICES = ("gas_density", "total_density", "dark_matter_density", "temperature")
MOST_CELLS = 512**3  # of the grid that is averaged


def picture(snapshot: SnapshotFile, field: str | None, axis: str, at: float | None) -> Picture:
    """See `OpenedSnapshot.plot`."""
    if not isinstance(axis, str) or axis not in ("x", "y", "z"):
        raise Error(f"there is no axis {axis!r}", snapshot.path, "it is x, y or z")
    name = _usual_field(snapshot) if field is None else _field(snapshot, field)
    at = None if at is None else _place(snapshot, at)
    table = _mean(snapshot, name, axis) if at is None else _cut(snapshot, name, axis, at)
    quantity = next((quantity for quantity, own in snapshot.quantities.items() if own == name), name)
    image = table.rename({name: quantity})
    unit = f" [{snapshot.length_unit}]" if snapshot.length_unit else ""
    horizontal, vertical = plane_of(image)
    height, width = image[quantity].shape
    with look():
        figure = Figure(figsize=(LONE_SIDE_IN + 1.8, max(LONE_SIDE_IN * height / width, LEAST_IN) + 0.85))
        axes = figure.subplots()
        shown = draw_image(axes, image, quantity, norm_of([image[quantity].values]))
        shown.set_extent([*_range(snapshot, horizontal), *_range(snapshot, vertical)])
        axes.set_xlabel(f"{horizontal}{unit}")
        axes.set_ylabel(f"{vertical}{unit}")
        label = f"{'mean ' if at is None else ''}{quantity.replace('_', ' ')}{unit_label(image, quantity)}"
        bar_beside(axes, shown, label)
    how = f"Mean along {axis}." if at is None else f"Cut across {axis} at {at:g}{unit and ' ' + snapshot.length_unit}."
    return Picture(f"{snapshot.path.name}-{quantity}", field_name(quantity).capitalize(), how, figure)


def _field(snapshot: SnapshotFile, field: str) -> str:
    """The file's name of a field, by its own or that of its quantity."""
    there = list(snapshot.fields)
    name = snapshot.quantities.get(field, field) if isinstance(field, str) and field not in there else field
    if name not in there:
        raise Error(f"there is no field `{field}`", snapshot.path, f"there are: {', '.join(there)}")
    return name


def _place(snapshot: SnapshotFile, at: float) -> float:
    try:
        return float(at)
    except (TypeError, ValueError) as problem:
        raise Error(f"a cut at {at!r} is at no number", snapshot.path, "give a length of the file, at=3.5") from problem


def _range(snapshot: SnapshotFile, axis: str) -> tuple[float, float]:
    """Of the domain."""
    low, side = snapshot.origin["xyz".index(axis)], snapshot.box_size["xyz".index(axis)]
    return low, low + side


def _usual_field(snapshot: SnapshotFile) -> str:
    known = [name for name in FIRST_CHOICES if name in snapshot.quantities]
    if not known and not snapshot.fields:
        raise Error("the file has no field to draw", snapshot.path, "its particles: .particles()")
    return snapshot.quantities[known[0]] if known else snapshot.fields[0]


def _mean(snapshot: SnapshotFile, name: str, axis: str) -> xr.Dataset:
    """On the finest level that is not too large."""
    levels = range(snapshot.levels)
    level = max((n for n in levels if np.prod(snapshot.cells(n), dtype=float) <= MOST_CELLS), default=0)
    return _in_plane(snapshot.to_xarray([name], level), name, axis)


def _cut(snapshot: SnapshotFile, name: str, axis: str, at: float) -> xr.Dataset:
    """Of the finest level: the cells at a place, which alone are read."""
    number = "xyz".index(axis)
    low, side = snapshot.origin[number], snapshot.box_size[number]
    cell = side / snapshot.cells(snapshot.levels - 1)[number]
    if not low <= at <= low + side:
        raise Error(
            f"{axis} = {at:g} is not in the domain", snapshot.path, f"it reaches from {low:g} to {low + side:g}"
        )
    first = low + min(np.floor((at - low) / cell) * cell, side - cell)
    corners = [list(snapshot.origin), [o + s for o, s in zip(snapshot.origin, snapshot.box_size, strict=True)]]
    corners[0][number], corners[1][number] = first + 0.25 * cell, first + 0.75 * cell
    return _in_plane(snapshot.to_xarray([name], snapshot.levels - 1, (corners[0], corners[1])), name, axis)


def _in_plane(grid: xr.Dataset, name: str, axis: str) -> xr.Dataset:
    """The mean along an axis, over `y` and `x`: the vertical and the horizontal axis of a picture."""
    flat: xr.Dataset = grid.mean(axis, keep_attrs=True)
    flat.attrs["axis"] = axis
    horizontal, vertical = plane_of(flat)
    flat = flat.rename({vertical: "vertical", horizontal: "horizontal"}).rename({"vertical": "y", "horizontal": "x"})
    image: xr.Dataset = flat[[name]].transpose("y", "x")
    return image

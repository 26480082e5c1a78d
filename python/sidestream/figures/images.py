"""Pictures of projections and slices: a row a field, a column a moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from .margins import Margins
from .picture import Picture, field_name, length_unit, look, moment, spread, unit_label

if TYPE_CHECKING:
    import xarray as xr

    from ..runs.run import Run

SIDE_IN, LONE_SIDE_IN, LEAST_IN = 3.2, 3.8, 1.2  # of pictures in rows and alone, and of very flat ones
BAR_IN = 1.0  # room for a colour bar with its label
_MAPS = {"temperature": "inferno", "gas_density": "viridis", "dark_matter_density": "magma", "total_density": "magma"}
_BOTH_SIGNS = "RdBu_r"
_PLANES = {"x": ("y", "z"), "y": ("x", "z"), "z": ("x", "y")}  # axis of sight: the axes of the picture


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """One picture a field, with up to three moments side by side."""
    tables = [run.result(task, step) for step in spread(run.steps(task), 3)]
    for field in map(str, tables[-1].data_vars):
        if tables[-1][field].ndim == 2:
            yield _row(task, [table for table in tables if field in table], field)


def _row(task: str, tables: list[xr.Dataset], field: str) -> Picture:
    norm = norm_of([np.asarray(table[field], dtype=float) for table in tables])
    kind = str(tables[-1].attrs.get("analysis", "image"))
    with look():
        side = SIDE_IN if len(tables) > 1 else LONE_SIDE_IN
        height, width = np.shape(tables[-1][field])
        figure = Figure(figsize=((side + 0.22) * len(tables) + 1.6, max(side * height / width, LEAST_IN) + 0.85))
        panels = figure.subplots(1, len(tables), sharey=True, squeeze=False)[0]
        for axes, table in zip(panels, tables, strict=True):
            image = draw_image(axes, table, field, norm)
        panels[0].set_ylabel(f"{plane_of(tables[-1])[1]}{length_unit(tables[-1])}")
        label = f"{field.replace('_', ' ')}{unit_label(tables[-1], field)}"
        bar_beside(panels[-1], image, label)
    title = f"{kind.capitalize()} of {field_name(field)}"
    axis = axis_of_sight(tables[-1])
    caption = f"Seen along {axis}." if kind == "projection" else f"Cut across {axis}."
    return Picture(f"{task}-{field.replace('_', '-')}", title, caption, figure, wide=len(tables) > 1)


def bar_beside(axes: Any, shown: Any, label: str) -> None:
    """A colour bar along the right edge of a panel, as high as that is once it has its shape."""
    axes.figure.colorbar(shown, cax=axes.inset_axes((1.04, 0.0, 0.05, 1.0)), label=label)
    axes.figure.set_layout_engine(Margins(right=BAR_IN))


def draw_image(axes: Any, table: xr.Dataset, field: str, norm: Normalize, colours: str = "") -> Any:
    """One field into a panel, its horizontal axis and its moment named."""
    values = np.asarray(table[field].transpose("y", "x"), dtype=float)
    extent = [*_range(table, "x", values.shape[1]), *_range(table, "y", values.shape[0])]
    usual = _BOTH_SIGNS if norm.vmin is not None and norm.vmin < 0 else _MAPS.get(field, "viridis")
    image = axes.imshow(values, origin="lower", extent=extent, norm=norm, cmap=colours or usual)
    axes.grid(False)
    axes.minorticks_off()
    axes.set_xlabel(f"{plane_of(table)[0]}{length_unit(table)}")
    axes.set_title(moment(table))
    return image


def plane_of(table: xr.Dataset) -> tuple[str, str]:
    """The axes of the box that are horizontal and vertical in a picture."""
    return _PLANES.get(axis_of_sight(table), ("x", "y"))


def axis_of_sight(table: xr.Dataset) -> str:
    """The axis that a picture looks along, which a file may give as a letter or as 0, 1, 2."""
    axis = table.attrs.get("axis", "z")
    return axis if isinstance(axis, str) else "xyz"[int(axis)]


def _range(table: xr.Dataset, axis: str, cells: int) -> tuple[float, float]:
    if axis in table.variables and cells > 1:
        centres = np.asarray(table[axis], dtype=float)
        half = 0.5 * (centres[1] - centres[0])
        return float(centres[0] - half), float(centres[-1] + half)
    box = np.atleast_1d(np.asarray(table.attrs.get("box_mpc", cells), dtype=float))
    return 0.0, float(box[0])


def norm_of(images: list[np.ndarray]) -> Normalize:
    """A logarithmic scale from the bulk of the last image, or a linear one if values are not all positive, around zero
    if they have both signs."""
    every = np.concatenate([image[np.isfinite(image)] for image in images]) if images else np.array([1.0])
    if every.size == 0:
        return Normalize(0, 1)
    if every.min() < 0 < every.max():
        most = float(np.abs(every).max())
        return Normalize(-most, most)
    if every.min() <= 0:
        return Normalize(float(every.min()), float(every.max()) or 1.0)
    last = images[-1][np.isfinite(images[-1])]
    low, high = np.percentile(last if last.size else every, [0.5, 99.9])
    return LogNorm(float(low), float(max(high, low * 1.01)))

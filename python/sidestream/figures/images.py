"""Pictures of projections and slices: a row a field, a column a moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from .picture import Picture, field_name, length_unit, look, moment, spread, unit_label

if TYPE_CHECKING:
    import xarray as xr

    from ..runs.run import Run

_MAPS = {"temperature": "inferno", "gas_density": "viridis", "dark_matter_density": "magma", "total_density": "magma"}
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
        figure = Figure(
            figsize=(max(3.7 * len(tables) + 0.9, 5.6), 4.1 if len(tables) > 1 else 4.6), layout="compressed"
        )
        figure.get_layout_engine().set(w_pad=0.12)  # type: ignore[union-attr]  (labels of neighbours stay apart)
        panels = figure.subplots(1, len(tables), sharey=True, squeeze=False)[0]
        for axes, table in zip(panels, tables, strict=True):
            image = draw_image(axes, table, field, norm)
        panels[0].set_ylabel(f"{plane_of(tables[-1])[1]}{length_unit(tables[-1])}")
        label = f"{field.replace('_', ' ')}{unit_label(tables[-1], field)}"
        figure.colorbar(image, ax=list(panels), label=label, fraction=0.046 / len(tables) * 1.6, pad=0.015)
    title = f"{kind.capitalize()} of {field_name(field)}"
    axis = axis_of_sight(tables[-1])
    caption = f"Seen along {axis}." if kind == "projection" else f"Cut across {axis}."
    return Picture(f"{task}-{field.replace('_', '-')}", title, caption, figure, wide=len(tables) > 1)


def draw_image(axes: Any, table: xr.Dataset, field: str, norm: Normalize, colours: str = "") -> Any:
    """One field into a panel, its horizontal axis and its moment named."""
    values = np.asarray(table[field].transpose("y", "x"), dtype=float)
    extent = [*_range(table, "x", values.shape[1]), *_range(table, "y", values.shape[0])]
    image = axes.imshow(values, origin="lower", extent=extent, norm=norm, cmap=colours or _MAPS.get(field, "viridis"))
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
    """A logarithmic scale from the bulk of the last image, or a linear one if values are not all positive."""
    every = np.concatenate([image[np.isfinite(image)] for image in images]) if images else np.array([1.0])
    if every.size == 0:
        return Normalize(0, 1)
    if every.min() <= 0:
        return Normalize(float(every.min()), float(every.max()) or 1.0)
    last = images[-1][np.isfinite(images[-1])]
    low, high = np.percentile(last if last.size else every, [0.5, 99.9])
    return LogNorm(float(low), float(max(high, low * 1.01)))

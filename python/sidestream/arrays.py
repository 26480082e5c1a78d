"""The analyses on NumPy arrays, as functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .core import extension, translated_errors
from .error import Error

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

CONNECTIVITIES = (6, 14, 26)

# name: (units, long name) of the columns that the extension returns.
_HALO_COLUMNS = {
    "id": ("1", "linear index of the densest cell"),
    "x": ("Mpc", "x of the centroid"),
    "y": ("Mpc", "y of the centroid"),
    "z": ("Mpc", "z of the centroid"),
    "mass": ("Msun", "mass above the boundary threshold"),
    "cells": ("1", "number of cells"),
    "volume": ("Mpc^3", "volume of the cells"),
    "peak": ("Msun/Mpc^3", "highest density"),
    "spans_box": ("1", "1 where the halo reaches across half of the box, so that its centroid is ambiguous"),
    "axis_a": ("Mpc", "longest semi-axis of the homogeneous ellipsoid with its tensor of inertia"),
    "axis_b": ("Mpc", "middle semi-axis of the homogeneous ellipsoid with its tensor of inertia"),
    "axis_c": ("Mpc", "shortest semi-axis of the homogeneous ellipsoid with its tensor of inertia"),
    "m200m": ("Msun", "mass within r200m"),
    "r200m": ("Mpc", "radius of the sphere around the peak with 200 times the mean density"),
    "inside": ("1", "id of the halo with a denser peak whose sphere holds the peak of this one, or -1"),
} | {
    f"{prefix}{axis}": ("Mpc", f"{axis} of the {what}")
    for prefix, what in (("peak_", "densest cell"), ("center_", "centre of mass"))
    for axis in "xyz"
}
_BRANCH_COLUMNS = {
    "maximum": ("1", "linear index of the maximum"),
    "birth": ("1", "value at the maximum"),
    "saddle": ("1", "linear index of the saddle where the branch ends, -1 for the highest maximum"),
    "death": ("1", "value at the saddle"),
    "parent": ("1", "linear index of the maximum that the branch joins"),
}
_SPECTRUM_COLUMNS = {
    "k": ("1/Mpc", "mean wave number of the bin"),
    "modes": ("1", "number of modes in the bin"),
    "power": ("Mpc^3", "power of the relative fluctuation"),
}


def halos(
    array: ArrayLike,
    box_size: float | Sequence[float],
    t_boundary: float | str = "81.66 mean",
    t_halo: float | str = "200 mean",
    connectivity: int = 14,
    periodic: bool = True,
) -> xr.Dataset:
    """Finds the iso-density halos of a density field.

    A halo is a connected set of cells at or above `t_boundary` whose densest cell reaches `t_halo`.

    Args:
        array: the density in Msun/Mpc^3, indexed `[z, y, x]`.
        box_size: side of the box in Mpc: one number for cubic cells (along x), or three for x, y and z.
        t_boundary: threshold of the boundary: a density (`4e12`), or a multiple of the mean (`"81.66 mean"`).
        t_halo: threshold of the peak, in the same forms.
        connectivity: 6 (faces), 14 (the Freudenthal triangulation) or 26 (faces, edges and corners).
        periodic: whether the box continues at its opposite face.

    Returns:
        A dataset with the dimension `halo` and the columns `id`, `x`, `y`, `z` (centroid, Mpc), `mass` (Msun), `cells`
        and `peak` (Msun/Mpc^3).

    Example:
        >>> density = np.ones((32, 32, 32)); density[10:14, 10:14, 10:14] = 500
        >>> sidestream.halos(density, box_size=10.0)["cells"].values
        array([64])
    """
    density = _field(array)
    _check_connectivity(connectivity)
    with translated_errors():
        columns = extension().halos(
            density, _sides(box_size), _threshold(t_boundary), _threshold(t_halo), connectivity, periodic
        )
    return _table(columns, "halo", _HALO_COLUMNS, analysis="halos", connectivity=connectivity)


def merge_tree(array: ArrayLike, connectivity: int = 14, periodic: bool = True) -> xr.Dataset:
    """Builds the merge tree of a field: every maximum, and the saddle where its branch joins a higher one.

    Args:
        array: the field, indexed `[z, y, x]`.
        connectivity: 6, 14 or 26, as in `halos`.
        periodic: whether the box continues at its opposite face.

    Returns:
        A dataset with the dimension `branch`: `maximum` and `birth` (cell and value of the maximum), `saddle` and
        `death` (cell and value of the saddle), and `parent` (the maximum of the branch it joins). The
        highest maximum never joins another one: its `saddle` is -1.

    Example:
        >>> tree = sidestream.merge_tree(density)
        >>> persistence = tree["birth"] - tree["death"]
    """
    field = _field(array)
    _check_connectivity(connectivity)
    with translated_errors():
        columns = extension().merge_tree(field, connectivity, periodic)
    return _table(columns, "branch", _BRANCH_COLUMNS, analysis="merge_tree", connectivity=connectivity)


def power_spectrum(array: ArrayLike, box_size: float | Sequence[float]) -> xr.Dataset:
    """Measures the power spectrum of the relative fluctuation, `array / mean - 1`.

    Args:
        array: the density (any unit), indexed `[z, y, x]`.
        box_size: side of the box; its unit decides that of the result: Mpc/h in gives h/Mpc and (Mpc/h)^3 out.

    Returns:
        A dataset with the dimension `k_bin`: `k`, `modes` and `power`, normalised so that
        `power = volume * mean(|delta_k|^2)` with `delta_k` the transform divided by the number of cells.

    Example:
        >>> spectrum = sidestream.power_spectrum(density, box_size=100.0)
        >>> spectrum.plot.scatter("k", "power")
    """
    field = _field(array)
    with translated_errors():
        columns = extension().power_spectrum(field, _sides(box_size))
    return _table(columns, "k_bin", _SPECTRUM_COLUMNS, analysis="power_spectrum")


def _field(array: ArrayLike) -> NDArray[Any]:
    field = np.asarray(array)
    if field.ndim != 3:
        raise Error(f"the array has {field.ndim} dimensions, not 3", hint="give it as array[z, y, x]")
    if field.size == 0:
        raise Error(f"the array of shape {field.shape} holds no cell")
    if field.dtype.kind not in "fiub":
        raise Error(f"the array holds `{field.dtype}`, not real numbers")
    return np.ascontiguousarray(field, dtype=np.float32 if field.dtype == np.float32 else np.float64)


def _sides(box_size: float | Sequence[float]) -> float | tuple[float, float, float]:
    try:
        sides = np.atleast_1d(np.asarray(box_size, dtype=float))
    except (TypeError, ValueError) as problem:
        raise Error(f"`box_size` is {box_size!r}, not a number of Mpc", hint="for example box_size=14.2") from problem
    if sides.shape not in ((1,), (3,)) or not np.all(np.isfinite(sides) & (sides > 0)):
        raise Error(f"`box_size` is {box_size!r}, not a positive number of Mpc", hint="for example box_size=14.2")
    return float(sides[0]) if sides.size == 1 else (float(sides[0]), float(sides[1]), float(sides[2]))


def _threshold(value: float | str) -> str:
    return value if isinstance(value, str) else repr(float(value))


def _check_connectivity(connectivity: int) -> None:
    if connectivity not in CONNECTIVITIES:
        raise Error(f"connectivity {connectivity} is not known", hint="use 6, 14 or 26")


def _table(
    columns: Mapping[str, Any], dimension: str, known: Mapping[str, tuple[str, str]], **attributes: Any
) -> xr.Dataset:
    import xarray as xr

    variables = {}
    for name, values in columns.items():
        if np.ndim(values) == 0:
            attributes[name] = values
            continue
        units, long_name = known.get(name, ("1", name.replace("_", " ")))
        variables[name] = (dimension, np.asarray(values), {"units": units, "long_name": long_name})
    return xr.Dataset(variables, attrs=attributes)

"""The analyses on NumPy arrays, as functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..core import extension, translated_errors
from ..error import Error
from .blocks import Origin, blocks_of, check_truth, on_all
from .numbers import real_array, real_number

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

CONNECTIVITIES = (6, 14, 26)
SMALLEST_SIDE, LARGEST_SIDE = 1e-60, 1e60
T_BOUNDARY, T_HALO = "81.66 mean", "200 mean"  # of densities, where nobody says
Sides: TypeAlias = float | tuple[float, float, float]


def halos(
    array: ArrayLike | Sequence[ArrayLike],
    box_size: float | Sequence[float],
    t_boundary: float | str | None = None,
    t_halo: float | str | None = None,
    connectivity: int = 14,
    periodic: bool = True,
    *,
    comm: Any = None,
    origin: Origin = None,
    shape: Sequence[int] | None = None,
) -> xr.Dataset:
    """Finds the iso-density halos of a density field.

    A halo is a connected set of cells at or above `t_boundary` whose densest cell reaches `t_halo`. The array is taken
    for a density of matter. `sidestream halos find` and `analyze` take one for that by its `--unit` alone, any other
    for a field of another kind, whose thresholds are `"2 sigma"` and `"3 sigma"`.

    Args:
        array: the density, indexed `[z, y, x]` (of xarray in any order, where its dimensions have these names); with
            `comm`, the block that this rank has, or a list of its blocks.
        box_size: side of the box: one number for cubic cells (along x), or three for x, y and z.
        t_boundary: threshold of the boundary: a density (`4e12`), or times the mean (`"81.66 mean"`, the default).
        t_halo: threshold of the peak, in the same forms; `"200 mean"` by default.
        connectivity: 6 (faces), 14 (the Freudenthal triangulation) or 26 (faces, edges and corners).
        periodic: whether the box continues at its opposite face.
        comm: an mpi4py communicator, all ranks of which call this; the result is complete on each of them.
        origin: with `comm`, the indices `(z, y, x)` of the block's first cell in the whole, or a list of these.
        shape: with `comm`, `(nz, ny, nx)` of the whole; by default as far as the blocks reach.

    Returns:
        A dataset over `halo` with the columns of the analysis `halos`, among them `id`, `x`, `y`, `z` (centroid),
        `mass`, `cells` and `peak`. They are in the units of the arguments, which nobody names: of a density in
        Msun/Mpc^3 and sides in Mpc, places are in Mpc and masses in Msun.

    Example:
        >>> density = np.ones((32, 32, 32)); density[10:14, 10:14, 10:14] = 500
        >>> sidestream.halos(density, box_size=10.0)["cells"].values
        array([64])

        On the ranks of MPI, each with a slab:

        >>> comm = mpi4py.MPI.COMM_WORLD
        >>> sidestream.halos(slab, box_size=10.0, comm=comm, origin=(8 * comm.rank, 0, 0), shape=(32, 32, 32))
    """
    check_connectivity(connectivity)
    boundary, peak = thresholds(t_boundary, t_halo)
    options = {"t_boundary": boundary, "t_halo": peak, "connectivity": connectivity}
    sides = sides_of(box_size)
    return halos_of(blocks_of(array, periodic, comm, origin, shape), sides, options, {}, comm)


def halos_of(
    blocks: Any,
    sides: Sides,
    options: Mapping[str, Any],
    moment: Mapping[str, float],
    comm: Any = None,
    particles: Mapping[str, NDArray[Any]] | None = None,
    unit: str = "",
    length_unit: str = "",
) -> xr.Dataset:
    """The result of the analysis `halos` with any of its options.

    `moment` has the scale factor and the cosmology; `particles` the columns `id`, `x`, `y`, `z` and attributes.
    Without thresholds in the options the `unit` of the field decides. Columns have the units that follow from it and
    from that of lengths.
    """
    reals = {name: np.ascontiguousarray(values) for name, values in (particles or {}).items() if name != "id"}
    ids = None if particles is None else np.ascontiguousarray(particles["id"])
    with translated_errors():
        found = extension().halos(blocks, sides, dict(options), unit, length_unit, dict(moment), ids, reals)
    return result_of(on_all(comm, found), analysis="halos")


def power_spectrum(array: ArrayLike, box_size: float | Sequence[float]) -> xr.Dataset:
    """Measures the power spectrum of the relative fluctuation, `array / mean - 1`.

    Args:
        array: the density (any unit), indexed `[z, y, x]`.
        box_size: side of the box; its unit decides that of the result, which nobody names: Mpc/h in gives h/Mpc and
            (Mpc/h)^3 out.

    Returns:
        A dataset with the dimension `k_bin`: `k`, `modes` and `power`, normalised so that
        `power = volume * mean(|delta_k|^2)` with `delta_k` the transform divided by the number of cells.

    Example:
        >>> spectrum = sidestream.power_spectrum(density, box_size=100.0)
        >>> spectrum.plot.scatter("k", "power")
    """
    return power_spectrum_of(array, sides_of(box_size))


def power_spectrum_of(array: ArrayLike, sides: Sides, length_unit: str = "") -> xr.Dataset:
    """The power spectrum where the unit of lengths may be known."""
    blocks = blocks_of(array, periodic=True)
    with translated_errors():
        columns = extension().power_spectrum(blocks, sides)
    known = {
        "k": (length_unit and f"1/{length_unit}", "mean wave number of the bin"),
        "modes": ("1", "number of modes in the bin"),
        "power": (length_unit and f"{length_unit}^3", "power of the relative fluctuation"),
    }
    return table_of(columns, "k_bin", known, analysis="power_spectrum")


def friends_of_friends(
    positions: ArrayLike,
    box_size: float | Sequence[float] | None = None,
    *,
    linking_length: float,
    ids: ArrayLike | None = None,
    periodic: bool = True,
) -> NDArray[np.int64]:
    """Finds the friends-of-friends group of each particle (Davis, Efstathiou, Frenk & White 1985).

    Two particles are friends if they are at most `linking_length` apart, in a periodic box by the shortest way; a group
    is everything that friends of friends lead to. A particle without friends is a group of its own. Groups do not
    depend on the order of the particles. Distances are compared in double precision.

    Args:
        positions: array of shape (particles, 3), in any unit of length; in a periodic box they are wrapped into it.
        box_size: side of the periodic box, in the same unit: one number, or three along x, y, z. Without meaning where
            `periodic` is false.
        linking_length: in the same unit; commonly 0.2 mean separations, `0.2 * box_size / len(positions) ** (1 / 3)`.
        ids: whole numbers that name the particles, all different; without them a particle is called by its place in
            `positions`.
        periodic: whether the box continues at its opposite face.

    Returns:
        For each particle the smallest id in its group.

    Raises:
        Error: a linking length that is not positive and finite, a position that is not finite, two particles of one id,
            arrays that do not fit together.

    Example:
        >>> positions = np.array([[0.1, 5.0, 5.0], [9.9, 5.0, 5.0], [4.0, 5.0, 5.0]])
        >>> sidestream.friends_of_friends(positions, box_size=10.0, linking_length=0.5)
        array([0, 0, 2])
    """
    check_truth(periodic, "periodic")
    points = real_array(positions, "array of positions")
    if points.ndim != 2 or points.shape[1] != 3 or points.dtype.kind == "b":
        raise Error(
            f"the positions are an array of `{points.dtype}` of shape {points.shape}",
            hint="give real numbers as positions[particle, axis], with three axes",
        )
    names = np.arange(len(points)) if ids is None else np.asarray(ids)
    is_too_large = names.dtype == np.uint64 and names.size > 0 and int(names.max()) >= 2**63
    if names.shape != (len(points),) or names.dtype.kind not in "iu" or is_too_large:
        raise Error(
            f"the ids are an array of `{names.dtype}` of shape {names.shape} for {len(points)} particles",
            hint="give one whole number below 2^63 for each particle",
        )
    length = real_number(linking_length, "linking_length")
    sides = np.zeros(3)
    if periodic:
        if box_size is None:
            raise Error("a periodic box has a `box_size`", hint="give it, or periodic=False")
        sides = np.broadcast_to(sides_of(box_size), 3)
    own = np.ascontiguousarray(names, dtype=np.int64)
    axes = np.ascontiguousarray(points.T, dtype=np.float64)
    with translated_errors():
        groups: NDArray[np.int64] = extension().friends_of_friends(
            own, axes, tuple(map(float, sides)), length, bool(periodic)
        )
    return groups


def sides_of(box_size: float | Sequence[float]) -> Sides:
    """The side of a box, or three, checked."""
    try:
        sides = np.atleast_1d(np.asarray(box_size, dtype=float))
    except (TypeError, ValueError, OverflowError) as problem:
        raise Error(f"`box_size` is {box_size!r:.40}, no number", hint="for example box_size=14.2") from problem
    if sides.shape not in ((1,), (3,)) or not np.all(np.isfinite(sides) & (sides > 0)):
        raise Error(f"`box_size` is {box_size!r}, not a positive number", hint="for example box_size=14.2")
    if not np.all((sides >= SMALLEST_SIDE) & (sides <= LARGEST_SIDE)):
        raise Error(
            f"`box_size` is {box_size!r}: volumes would be no numbers any more",
            hint=f"give it from {SMALLEST_SIDE:g} to {LARGEST_SIDE:g}, in a unit that fits",
        )
    return float(sides[0]) if sides.size == 1 else (float(sides[0]), float(sides[1]), float(sides[2]))


def threshold(value: float | str, name: str) -> str:
    """A threshold as text: a value, or a multiple of the mean."""
    return value if isinstance(value, str) else repr(real_number(value, name, 'for example "200 mean"'))


def thresholds(t_boundary: float | str | None, t_halo: float | str | None) -> tuple[str, str]:
    """Those of halos in a density as text; None stands for the usual ones."""
    boundary, peak = T_BOUNDARY if t_boundary is None else t_boundary, T_HALO if t_halo is None else t_halo
    return threshold(boundary, "t_boundary"), threshold(peak, "t_halo")


def check_connectivity(connectivity: int) -> None:
    """An error unless it is 6, 14 or 26."""
    if connectivity not in CONNECTIVITIES:
        raise Error(f"connectivity {connectivity} is not known", hint="use 6, 14 or 26")


def table_of(
    columns: Mapping[str, Any], dimension: str, known: Mapping[str, tuple[str, str]], **attributes: Any
) -> xr.Dataset:
    """Columns over one dimension, whose units and long names are `known`."""
    import xarray as xr

    variables = {name: (dimension, np.asarray(values), _words(*known[name])) for name, values in columns.items()}
    return xr.Dataset(variables, attrs=attributes)


def result_of(found: Mapping[str, Any], **attributes: Any) -> xr.Dataset:
    """A result of the compiled part: columns over `halo` with their units and descriptions."""
    import xarray as xr

    variables = {
        name: ("halo", np.asarray(values), _words(units, text))
        for name, (values, units, text) in found["columns"].items()
    }
    return xr.Dataset(variables, attrs=attributes | found["attributes"])


def _words(unit: str, text: str) -> dict[str, str]:
    """The attributes of a column; `units` only where it has any."""
    return ({"units": unit} if unit else {}) | {"long_name": text}

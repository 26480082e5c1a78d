"""Merge trees: the components of a field above (or below) every threshold at once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import extension, translated_errors
from ..error import Error
from ..machine import available_cores
from .analyses import check_connectivity, result_of, sides_of, table_of, threshold, thresholds
from .blocks import Origin, blocks_of, handle_of, on_all
from .numbers import real_number, whole_number

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

SETS = ("above", "below")
MOST_THREADS = 4096
_COLUMNS = {
    "maximum": ("1", "linear index of the maximum"),
    "birth": ("1", "value at the maximum"),
    "saddle": ("1", "linear index of the saddle where the branch ends, -1 for one that never does"),
    "death": ("1", "value at the saddle"),
    "parent": ("1", "linear index of the maximum that the branch joins, -1 for one that never does"),
}


def merge_tree(
    array: ArrayLike | Sequence[ArrayLike],
    connectivity: int = 14,
    periodic: bool = True,
    *,
    sets: str = "above",
    cut_off: float | str | None = None,
    threads: int | None = None,
    comm: Any = None,
    origin: Origin = None,
    shape: Sequence[int] | None = None,
) -> MergeTree:
    """Builds the merge tree of a field: how the components of the cells above a threshold appear and merge as it falls.

    Args:
        array: the field, indexed `[z, y, x]`; with `comm`, the block that this rank has, or a list of its blocks.
        connectivity: 6, 14 or 26, as in `halos`.
        periodic: whether the field continues at its opposite face.
        sets: `"above"` a threshold (halos), or `"below"` it (voids): then all is upside down, and maxima are minima.
        cut_off: cells below this value (above it, for sets below) are left out, which saves time and memory; a value,
            or a multiple of the mean (`"60 mean"`). Thresholds beyond it cannot be asked for.
        threads: threads of this rank; by default one a core, or one with `comm`.
        comm: an mpi4py communicator, all ranks of which call this and every method of the tree.
        origin: with `comm`, the indices `(z, y, x)` of the block's first cell in the whole, or a list of these.
        shape: with `comm`, `(nz, ny, nx)` of the whole; by default as far as the blocks reach.

    Example:
        >>> tree = sidestream.merge_tree(density)
        >>> tree.components(50.0)                       # of the cells at or above 50
        >>> tree.halos("81.66 mean", "200 mean", box_size=10.0)
        >>> persistence = tree.branches["birth"] - tree.branches["death"]
    """
    check_connectivity(connectivity)
    if sets not in SETS:
        raise Error(f"there are no sets {sets!r} a threshold", hint=f"`sets` is {' or '.join(map(repr, SETS))}")
    usual = available_cores() if comm is None else 1
    number = usual if threads is None else whole_number(threads, "threads", 1, MOST_THREADS)
    limit = None if cut_off is None else threshold(cut_off, "cut_off")
    blocks = blocks_of(array, periodic, comm, origin, shape)
    with translated_errors():
        return MergeTree(extension().MergeTree(blocks, connectivity, sets == "above", limit, number), comm)


def open_tree(path: str | os.PathLike[str], comm: Any = None) -> MergeTree:
    """Reads a merge tree: a result of a task with `analysis = "merge_tree"`, or what `MergeTree.save` wrote.

    Args:
        path: the file.
        comm: an mpi4py communicator, to spread the tree over its ranks, whatever number wrote it.

    Example:
        >>> tree = sidestream.open_tree("runs/box/results/tree/000150.nc")
        >>> tree.halos("60 mean", "100 mean")
    """
    with translated_errors():
        return MergeTree(extension().read_merge_tree(os.fspath(path), handle_of(comm)), comm)


class MergeTree:
    """A merge tree and its queries; none of them needs the field. Made by `merge_tree` and `open_tree`.

    Of two components that meet, the one with the lower maximum ends (elder rule); of equal values the cell with the
    smaller index is the higher. Cells are given as indices `(z, y, x)` or as `(z * ny + y) * nx + x`, and returned as
    the latter. Thresholds are values, or multiples of the mean: `"60 mean"`. With a communicator, all ranks call a
    method together, and all have its result.
    """

    def __init__(self, tree: Any, comm: Any = None) -> None:
        self._tree = tree
        self._comm = comm

    def __repr__(self) -> str:
        nz, ny, nx = self.shape
        cut_off = "" if self.cut_off is None else f", cut off at {self.cut_off:.4g}"
        return (
            f"<sidestream.MergeTree of {nx} x {ny} x {nz} cells, sets {self.sets}, connectivity {self.connectivity}"
            f"{cut_off}>"
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """The cells z, y, x of the whole field; on a refined mesh of its finest level."""
        z, y, x = self._tree.shape
        return z, y, x

    @property
    def connectivity(self) -> int:
        """The number of neighbours of a cell."""
        return int(self._tree.connectivity)

    @property
    def sets(self) -> str:
        """`"above"` or `"below"`."""
        return SETS[0] if self._tree.above else SETS[1]

    @property
    def cut_off(self) -> float | None:
        """The value beyond which cells were left out; None if none were."""
        height = float(self._tree.cut_off)
        return None if height == -np.inf else height if self._tree.above else -height

    @cached_property
    def branches(self) -> xr.Dataset:
        """A row for each maximum, highest first, over `branch`.

        `maximum` and `birth` are its cell and value, `saddle` and `death` those where its branch meets one with a
        higher maximum, `parent` is the maximum of that. A branch that never ends has `saddle` and `parent` -1 and an
        infinite `death`. Components at a threshold t are the branches with `birth >= t > death`, halos those with
        `birth >= t_halo` and `death < t_boundary`.
        """
        return self._branches(0.0)

    def simplified(self, least: float) -> xr.Dataset:
        """The branches of a persistence, birth minus death, of at least this."""
        return self._branches(real_number(least, "least"))

    def components(self, threshold: float | str, t_halo: float | str | None = None) -> int:
        """The number of components of the cells that reach a threshold; with `t_halo`, of those whose maximum does."""
        with translated_errors():
            return int(self._tree.components(self._value(threshold), None if t_halo is None else self._value(t_halo)))

    def connected(self, a: int | Sequence[int], b: int | Sequence[int], threshold: float | str) -> bool:
        """Whether two cells lie in one component of the cells that reach a threshold."""
        with translated_errors():
            return bool(self._tree.connected(self._cell(a), self._cell(b), self._value(threshold)))

    def component_of(self, cell: int | Sequence[int], threshold: float | str) -> int | None:
        """The maximum of the component that a cell lies in; None if it does not reach the threshold."""
        with translated_errors():
            found = int(self._tree.component_of(self._cell(cell), self._value(threshold)))
        return None if found < 0 else found

    def halos(
        self,
        t_boundary: float | str | None = None,
        t_halo: float | str | None = None,
        box_size: float | Sequence[float] | None = None,
    ) -> xr.Dataset:
        """The components at `t_boundary` whose maximum reaches `t_halo`, in the form and by the defaults of
        `sidestream.halos`.

        Of a tree of sets below, its voids: `t_boundary` is the highest value of a void, and its lowest cell reaches
        down to `t_halo`. Without a `box_size` it is that which was saved with the tree, or lengths are in cells.
        """
        sides = None if box_size is None else sides_of(box_size)
        with translated_errors():
            found: Mapping[str, Any] = self._tree.halos(*thresholds(t_boundary, t_halo), sides)
        return result_of(on_all(self._comm, found))

    def persistence_diagram(self, axes: Axes | None = None, least: float = 0.0) -> Axes:
        """Draws birth against death of the branches that end, of at least a persistence; returns the axes."""
        from matplotlib import pyplot

        pairs = self.simplified(least)
        pairs = pairs.isel(branch=np.flatnonzero(pairs["saddle"] >= 0))
        if axes is None:
            axes = pyplot.subplots(layout="constrained")[1]
        birth, death = np.asarray(pairs["birth"]), np.asarray(pairs["death"])
        axes.scatter(death, birth, s=8, alpha=0.6, lw=0)
        if birth.size > 0:
            ends = [min(birth.min(), death.min()), max(birth.max(), death.max())]
            axes.plot(ends, ends, color="grey", lw=0.8, zorder=0)
        if birth.size > 0 and min(birth.min(), death.min()) > 0:
            axes.set(xscale="log", yscale="log")
        axes.set(xlabel="death: value at the saddle", ylabel="birth: value at the maximum")
        return axes

    def save(self, path: str | os.PathLike[str], box_size: float | Sequence[float] | None = None) -> None:
        """Writes the tree as a netCDF file, for `open_tree` and `sidestream halos query`, with the side of the box."""
        with translated_errors():
            self._tree.save(os.fspath(path), None if box_size is None else sides_of(box_size))

    def _branches(self, least: float) -> xr.Dataset:
        with translated_errors():
            columns = self._tree.branches(least)
        return table_of(columns, "branch", _COLUMNS, analysis="merge_tree", connectivity=self.connectivity)

    def _value(self, value: float | str) -> float:
        return float(self._tree.threshold(threshold(value, "threshold")))

    def _cell(self, cell: int | Sequence[int]) -> int:
        cells = int(np.prod(self.shape, dtype=np.int64))
        try:
            if isinstance(cell, (int, np.integer)):
                index = int(cell)
            else:
                index = int(np.ravel_multi_index(tuple(int(place) for place in cell), self.shape))
        except (TypeError, ValueError):
            index = -1
        if not 0 <= index < cells:
            raise Error(f"{cell!r} is no cell of an array of shape {self.shape}", hint="give (z, y, x)")
        return index

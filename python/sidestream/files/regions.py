"""Regions of a run as arrays: the cells that a task `regions` saved, region by region."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import extension, translated_errors
from ..error import Error
from .opening import open_run
from .snapshot import SnapshotFile

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from ..runs.run import Run

ANALYSIS = "regions"


class Region(Mapping[str, Any]):
    """A region at one step, with the cells that were saved around it.

    As a mapping, the saved quantities: arrays `[z, y, x]` of the box that holds the region and its margin, at the
    resolution of the finest cells saved, NaN where nothing was saved. The box is cut out as if the domain went on
    beyond periodic boundaries.

    Attributes:
        step: The step of the run.
        time: Its time.
        properties: The columns of the table of regions: `id`, `track`, `x`, `volume`, `extreme`, ...
        origin: z, y, x of the first cell, on the grid of the level of these cells; below zero before a periodic
            boundary.
        spacing: z, y, x sides of a cell.

    Example:
        >>> for region in sidestream.regions("runs/wind_tunnel", step=-1):
        ...     print(region.properties["track"], region["density"][region.inside].mean())
    """

    def __init__(self, moment: _Moment, row: int) -> None:
        self._moment = moment
        self.step = moment.step
        self.time = moment.time
        self.properties: dict[str, Any] = {name: values[row].item() for name, values in moment.table.items()}
        low, high = (np.array([self.properties[f"{end}_{axis}"] for axis in "zyx"]) for end in ("low", "high"))
        margin = np.where(moment.cells > 1, moment.margin, 0)
        first, end = low // moment.coarser - margin, -(-high // moment.coarser) + margin
        end = np.where(end - first > moment.cells, first + moment.cells, end)
        is_open = ~moment.periodic
        self._low = np.where(is_open, np.maximum(first, 0), first)
        self._high = np.where(is_open, np.minimum(end, moment.cells), end)
        self.origin: tuple[int, ...] = tuple(int(n) for n in self._low)
        self.spacing: tuple[float, ...] = tuple(float(length) for length in moment.spacing)

    def __repr__(self) -> str:
        return (
            f"<sidestream.Region {self.properties['id']} of step {self.step}, {self.properties['cells']} cells, "
            f"saved: {', '.join(self) or 'nothing'}>"
        )

    def __getitem__(self, quantity: str) -> NDArray[np.float64]:
        return self._moment.read(quantity, self._low, self._high)

    def __iter__(self) -> Iterator[str]:
        return iter(self._moment.saved)

    def __len__(self) -> int:
        return len(self._moment.saved)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells z, y, x of the arrays."""
        return tuple(int(n) for n in self._high - self._low)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which cells of the arrays belong to the region itself; an error where the task does not link."""
        return self._moment.mask(int(self.properties["id"]), self._low, self._high)


class _Moment:
    """The regions of one step: their table and the file of their cells."""

    def __init__(self, run: Run, task: str, step: int) -> None:
        self.step = step
        result = run.result(task, step)
        self.path = run.result_path(task, step)
        self.time = float(result.attrs.get("time", np.nan))
        self.table: dict[str, NDArray[Any]] = {
            str(name): column.values for name, column in result.data_vars.items() if column.dims == ("region",)
        }
        self.margin = int(result.attrs["margin"])
        self._members = {
            str(name): column.values for name, column in result.data_vars.items() if column.dims == ("member_run",)
        }
        self._file = SnapshotFile(self.path.with_suffix(".vtkhdf")) if result.attrs.get("saved_cells", 0) else None
        if self._file is None:
            raise Error(
                "no cells of these regions were saved", self.path, f"name quantities in `save` of [task.{task}]"
            )
        level = self._file.levels - 1
        self._level = level
        self.cells = np.array(self._file.cells(level)[::-1])
        self.coarser = np.where(self.cells > 1, 2 ** (int(result.attrs["finest_level"]) - level), 1)
        self.spacing = np.array(self._file.box_size[::-1]) / self.cells
        self.periodic = np.array(self._file.periodic[::-1])

    @property
    def saved(self) -> list[str]:
        return list(self._file.quantities) if self._file is not None else []

    def read(self, quantity: str, low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.float64]:
        """The cells from `low` to `high` (z, y, x), through periodic boundaries."""
        if self._file is None or quantity not in self._file:
            raise KeyError(quantity)
        field = self._file.quantities.get(quantity, quantity)
        values = np.empty(tuple(high - low))
        for to, first, end in _pieces(low, high, self.cells):
            with translated_errors():
                values[to] = extension().covering_grid(
                    str(self._file.path), field, self._level, tuple(first[::-1]), tuple(end[::-1])
                )
        return values

    def mask(self, region: int, low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.bool_]:
        """Which cells from `low` to `high` are among the members of a region."""
        if not self._members:
            raise Error("the cells of regions are not told apart", self.path, "set `link = true` in the task")
        inside = np.zeros(tuple(high - low), dtype=bool)
        of = self._members["member_run_region"] == region
        runs = zip(
            *(self._members[f"member_run_{name}"][of].tolist() for name in ("level", "cell", "cells")), strict=True
        )
        for level, cell, count in runs:
            finer = np.where(self.cells > 1, 2 ** (self._level - level), 1)
            z, y, x = np.unravel_index(cell, tuple(self.cells // finer))
            begin = np.array([z, y, x]) * finer
            end = (np.array([z, y, x]) + [1, 1, count]) * finer
            for image in _images(begin, end, low, high, self.cells):
                inside[image] = True
        return inside


def _pieces(
    low: NDArray[Any], high: NDArray[Any], cells: NDArray[Any]
) -> Iterator[tuple[tuple[slice, ...], list[int], list[int]]]:
    """A box cut at periodic boundaries: where in it, and the first cell and end of that part in the domain."""
    axes = [list(_pieces_of_axis(int(a), int(b), int(n))) for a, b, n in zip(low, high, cells, strict=True)]
    for z in axes[0]:
        for y in axes[1]:
            for x in axes[2]:
                yield (z[0], y[0], x[0]), [z[1], y[1], x[1]], [z[2], y[2], x[2]]


def _pieces_of_axis(low: int, high: int, cells: int) -> Iterator[tuple[slice, int, int]]:
    at = low
    while at < high:
        begin = at % cells
        length = min(high - at, cells - begin)
        yield slice(at - low, at - low + length), begin, begin + length
        at += length


def _images(
    begin: NDArray[Any], end: NDArray[Any], low: NDArray[Any], high: NDArray[Any], cells: NDArray[Any]
) -> Iterator[tuple[slice, ...]]:
    """Where cells of the domain, and their periodic images, lie in a box."""
    for shift in np.ndindex(3, 3, 3):
        offset = (np.array(shift) - 1) * cells
        first, last = np.maximum(begin + offset, low) - low, np.minimum(end + offset, high) - low
        if np.all(first < last):
            yield tuple(slice(int(a), int(b)) for a, b in zip(first, last, strict=True))


def regions(run: str | os.PathLike[str] | Run, task: str | None = None, step: int | None = None) -> Iterator[Region]:
    """The regions that a task saved, in the order of its steps and of its tables; steps without regions have none.

    Args:
        run: the folder of a run, or what `sidestream.open` made of it.
        task: a task with `analysis = "regions"`; may be left out where there is one.
        step: one step alone; -1 is the last one.

    Example:
        >>> hot = [region for region in sidestream.regions("runs/blast") if region["pressure"].max() > 10]
    """
    from ..runs.run import Run as RunFolder

    opened = run if isinstance(run, RunFolder) else open_run(run)
    name = task_of(opened, task)
    steps = opened.steps(name)
    if step is not None:
        chosen = steps[-1] if step == -1 and steps else step
        opened.result(name, chosen, ("region",))
        steps = [chosen]
    for one in steps:
        if opened.result(name, one, ("region",)).sizes.get("region", 0) == 0:
            continue
        moment = _Moment(opened, name, one)
        for row in range(len(moment.table["id"])):
            yield Region(moment, row)


def task_of(run: Run, task: str | None) -> str:
    """The task of regions that is meant; an error where there is none, or where several could be."""
    if task is not None:
        run.steps(task)
        if run.analysis(task) != ANALYSIS:
            raise Error(f"the task `{task}` finds no regions", run.folder, f'its analysis is "{run.analysis(task)}"')
        return task
    found = [name for name in run.tasks if run.analysis(name) == ANALYSIS]
    if len(found) == 1:
        return found[0]
    if found:
        raise Error(f"the run has {len(found)} tasks of regions", run.folder, f"name one: {' or '.join(found)}")
    raise Error("no task of the run finds regions", run.folder, 'add a task with `analysis = "regions"`')

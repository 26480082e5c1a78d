"""The state of a run, as a function in Python has it."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import translated_errors
from ..error import Error
from ..streams import Block, StreamSnapshot
from . import images, whole_numbers

ENDED, SUM, LEAST, LARGEST, HISTOGRAM, GATHER, COVERING, IMAGE, SURFACES = range(9)  # places where ranks meet


class TaskSnapshot(StreamSnapshot):
    """The state of a run, as a task has it: on each rank the blocks and particles that lie there, and not copied.

    Blocks are leaves: each part of the domain belongs to one cell of one level, so that nothing has to be masked.
    Arrays are the simulation's own: read-only, and gone when the function ends. `sum`, `min`, `max`, `histogram` and
    `gather` are called by all ranks, in the same order; what one rank raises meanwhile is raised on all of them. What a
    masked array hides is left out. Only the fields and species that the analysis names are there, whatever the
    transport.
    """

    def __init__(self, step: Any, fields: Sequence[str], species: Sequence[str]) -> None:
        super().__init__("", step, None, True, species)
        self._facts["fields"] = _declared(self._facts["fields"], fields)
        self.problem: Error | None = None  #: what all ranks have raised together

    @property
    def rank(self) -> int:
        """The number of this process among those that analyse."""
        return int(self._step.rank())

    @property
    def ranks(self) -> int:
        """How many processes analyse."""
        return int(self._step.ranks())

    @property
    def comm(self) -> Any:
        """Their communicator, of mpi4py."""
        try:
            from mpi4py import MPI
        except ImportError as problem:
            raise Error(
                f"mpi4py cannot be loaded ({problem})",
                hint="pip install 'sidestream[mpi]', or use snapshot.sum and the like",
            ) from problem
        return MPI.Comm.f2py(self._step.communicator())

    @property
    def moment(self) -> dict[str, float]:
        """Whatever the simulation says of the moment beside its step and time: a Reynolds number, its cosmology, ..."""
        return {name: float(value) for name, value in self._facts["attributes"].items()}

    @property
    def volume(self) -> float:
        """The volume of the domain, which the cells of all levels fill together [`length_unit`^3]."""
        return math.prod(self.box_size)

    def cell_size(self, level: int = 0) -> tuple[float, float, float]:
        """The sides x, y, z of a cell of a level [`length_unit`]."""
        x, y, z = (side / n for side, n in zip(self.box_size, self.cells(level), strict=True))
        return x, y, z

    def cell_volume(self, level: int = 0) -> float:
        """The volume of a cell of a level [`length_unit`^3]."""
        return math.prod(self.cell_size(level))

    def centres(self, block: Block, level: int = 0) -> tuple[NDArray[np.float64], ...]:
        """The z, y and x of the cells of a block, of shapes that broadcast against them [`length_unit`]."""
        sizes = reversed(self.cell_size(level))
        return tuple(
            ((first + np.arange(count) + 0.5) * size).reshape([-1 if axis == n else 1 for n in range(3)])
            for axis, (first, count, size) in enumerate(zip(block.origin, block.cells.shape, sizes, strict=True))
        )

    def blocks(self, field: str, level: int = 0) -> list[Block]:
        """The cells of a level that this rank has, block by block, without a copy."""
        return super().blocks(self._offered(field), level)

    def each_block(self, *fields: str) -> Iterator[tuple[int, tuple[Block, ...]]]:
        """The level of each block of this rank, over all levels, and the block of each of the fields there."""
        for level in range(self.levels):
            for blocks in zip(*(self.blocks(field, level) for field in fields), strict=True):
                yield level, blocks

    def sum(self, *values: ArrayLike) -> int | float:
        """The sum of all numbers in all these arrays on all ranks: exact, so the same on any number of ranks.

        A whole number where all of them are of whole types. Infinite where one is, NaN where one is NaN or infinities
        of both signs meet.
        """
        given = [_numbers(value) for value in _several(values)]
        self._meet(SUM)
        if whole_numbers.are_whole(self._step, given):
            return whole_numbers.total(self._step, given)
        parts = [_in_rows(value) for value in given]
        total = float(self._step.sum(parts))
        return self._infinite_sum(parts) if math.isnan(total) else total

    def _infinite_sum(self, parts: list[NDArray[np.float64]]) -> float:
        """The sum of numbers that are not all finite."""

        def has(test: Callable[[NDArray[np.float64]], NDArray[np.bool_]]) -> bool:
            return bool(self._step.max(float(any(test(part).any() for part in parts))) > 0.0)

        is_nan, is_up, is_down = has(np.isnan), has(np.isposinf), has(np.isneginf)
        return math.nan if is_nan or is_up == is_down else math.inf if is_up else -math.inf

    def min(self, *values: ArrayLike) -> int | float:
        """The least number in these arrays on all ranks; infinite where there is none, NaN where one is NaN.

        A whole number where all of them are of whole types.
        """
        filled = [v for v in map(_numbers, values) if v.size]
        own = [np.min(v) for v in filled]
        self._meet(LEAST)
        if whole_numbers.are_whole(self._step, filled):
            return whole_numbers.least(self._step, min(map(int, own), default=None))
        least = min(map(float, own), key=_nan_first, default=math.inf)
        return math.nan if self._is_nan(least) else float(self._step.min(least))

    def max(self, *values: ArrayLike) -> int | float:
        """The largest number in these arrays on all ranks; minus infinity where there is none, NaN where one is NaN.

        A whole number where all of them are of whole types.
        """
        filled = [v for v in map(_numbers, values) if v.size]
        own = [np.max(v) for v in filled]
        self._meet(LARGEST)
        if whole_numbers.are_whole(self._step, filled):
            return -whole_numbers.least(self._step, min((-int(v) for v in own), default=None))
        largest = -min((-float(v) for v in own), key=_nan_first, default=math.inf)
        return math.nan if self._is_nan(largest) else float(self._step.max(largest))

    def histogram(
        self,
        values: Sequence[ArrayLike] | ArrayLike,
        edges: ArrayLike,
        weights: Sequence[ArrayLike] | ArrayLike | None = None,
    ) -> NDArray[Any]:
        """How many numbers of all ranks lie between each edge and the next, or the sum of their weights.

        Args:
            values: an array, or a list of arrays such as one of each block.
            edges: in rising order, the same on all ranks; the last one belongs to the last interval.
            weights: one for each value, in arrays of the same shapes.
        """
        ends = np.ascontiguousarray(edges, dtype=np.float64)
        problem = None
        if ends.ndim != 1 or ends.size < 2 or not np.all(np.diff(ends) > 0):
            problem = Error("the edges of a histogram are two numbers or more, each above the one before", f"{ends}")
        parts, heavy = _parts(values), _parts(weights)
        if weights is not None:
            parts, heavy = [_flat(parts)], [_flat(heavy)]
            if problem is None and heavy[0].size != parts[0].size:
                problem = Error(f"there are {heavy[0].size} weights for {parts[0].size} values", "histogram")
        self._meet(HISTOGRAM, problem)
        words = [ends.tolist(), weights is not None]
        self._compare("the edges of a histogram, or whether there are weights,", words, "take snapshot.min and max")
        counts, sums = self._step.histogram(parts, heavy, ends)
        return np.asarray(counts if weights is None else sums)

    def gather(self, **columns: ArrayLike) -> dict[str, NDArray[Any]]:
        """Rows of all ranks on rank 0, in the order of the ranks, and none elsewhere: for small tables.

        Whole numbers stay what they are; others are of double precision.

        Example:
            >>> peaks = snapshot.gather(x=x, mass=mass)
        """
        rows = {name: _column(values) for name, values in columns.items()}
        lengths = {name: values.size for name, values in rows.items()}
        problem = None
        if len(set(lengths.values())) > 1:
            problem = Error(f"the columns of a table are of different lengths: {lengths}", "gather")
        self._meet(GATHER, problem)
        self._compare("the columns of a table", list(rows), "give empty arrays on ranks that have no rows")
        return {name: whole_numbers.gathered(self._step, values) for name, values in rows.items()}

    def vtk_image(self, *fields: str, level: int = 0, whole: bool = False) -> Any:
        """Fields in the resolution of a level as a vtkImageData, whose points are the centres of cells.

        Each rank has a slab of planes z that reaches to the first plane of the next, so that surfaces have no seams; a
        rank for which there is none has an image without points.

        Args:
            fields: names of quantities; the first is the active scalar.
            level: whose cells; what is refined further comes as averages.
            whole: rank 0 has all of it, the others None: as volumes are rendered, for grids that fit there.
        """
        with translated_errors():
            names = {name: self._offered(name) for name in fields}
            self._checked(level)
        self._meet(IMAGE)
        self._compare("what an image is made of", [names, level, whole], "name the same fields and level on all ranks")
        with translated_errors():
            slabs = {name: self._step.slab(field, level, whole) for name, field in names.items()}
        if whole and self.rank > 0:
            return None
        first = next(iter(slabs.values()))[0] if slabs else 0
        return images.image_of(
            {name: np.asarray(cells) for name, (_, cells) in slabs.items()}, first, self.cell_size(level)
        )

    def vtk_gather(self, surface: Any) -> Any:
        """The vtkPolyData of all ranks as one on rank 0, elsewhere None."""
        own = images.packed(surface)
        self._meet(SURFACES)
        packed = self._step.gather_bytes(own)
        return images.joined(packed) if self.rank == 0 else None

    def _read_covering(self, field: str, level: int, part: Any = None) -> NDArray[np.float64]:
        field, problem = self._offered(field), None
        if self.ranks > 1:
            problem = Error("each rank has a part of a field", field, f"take its parts: snapshot.blocks({field!r})")
        self._meet(COVERING, problem)
        return super()._read_covering(field, level, part)

    def _read_particles(self, species: str) -> dict[str, Any]:
        if species and species not in self.species:
            raise _not_declared("species", species, self.species)
        return super()._read_particles(species or self.species[0])

    def _offered(self, field: str) -> str:
        """The name of a field that is there."""
        found = self._named(field)
        if found not in self.fields:
            raise _not_declared("fields", field, self.fields)
        return found

    def _meet(self, place: int, problem: Error | None = None) -> None:
        """Waits for all ranks, and raises what is wrong on any of them."""
        if self.problem is not None:  # the others have left
            raise self.problem
        try:
            with translated_errors():
                self._step.agree(place, "" if problem is None else _in_one_line(problem))
        except Error as of_any:
            self.problem = of_any
            raise

    def _compare(self, what: str, words: object, hint: str) -> None:
        """Raises on all ranks that they give different words."""
        digest = float(zlib.crc32(repr(words).encode()))
        if self._step.min(digest) != self._step.max(digest):
            self.problem = Error(f"{what} differ from rank to rank", hint=hint)
            raise self.problem

    def _is_nan(self, own: float) -> bool:
        """Whether the number of any rank is none."""
        return bool(self._step.max(float(math.isnan(own))) > 0.0)


def _declared(told: list[dict[str, Any]], fields: Sequence[str]) -> list[dict[str, Any]]:
    """What the state says of the fields that are named."""
    names = {name.removesuffix("?") for name in fields}
    return [field for field in told if field["name"] in names]


def _not_declared(key: str, name: str, declared: Sequence[str]) -> Error:
    return Error(
        f"`{name}` is not among the {key} that the analysis names ({', '.join(declared) or 'none'})",
        hint=f"add it to `{key}`, of the mark or of the task: @sidestream.analysis({key}=[..., {name!r}])",
    )


def _in_one_line(problem: Error) -> str:
    place = f" ({problem.where})" if problem.where else ""
    return problem.what + place + (f"; {problem.hint}" if problem.hint else "")


def _nan_first(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def _numbers(value: ArrayLike) -> NDArray[Any]:
    """The numbers of an array, without what a mask hides."""
    array = value.compressed() if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
    if array.dtype.kind not in whole_numbers.KINDS + "f":
        raise Error(f"these are no real numbers: type {array.dtype}", hint="of complex numbers, take abs(...) or .real")
    return array


def _several(values: Sequence[ArrayLike] | ArrayLike | None) -> Sequence[ArrayLike]:
    return () if values is None else values if isinstance(values, list | tuple) else (values,)


def _parts(values: Sequence[ArrayLike] | ArrayLike | None) -> list[NDArray[np.float64]]:
    return [_in_rows(_numbers(value)) for value in _several(values)]


def _in_rows(values: NDArray[Any]) -> NDArray[np.float64]:
    """As they lie where the last axis has no gaps, else copied."""
    numbers = np.asarray(values, dtype=np.float64)
    return numbers if numbers.ndim and numbers.strides[-1] == numbers.itemsize else np.ascontiguousarray(numbers)


def _column(values: ArrayLike) -> NDArray[Any]:
    """A column of a table: whole numbers in their type, others in double precision."""
    numbers = np.ravel(_numbers(values))
    return numbers if numbers.dtype.kind in whole_numbers.KINDS else numbers.astype(np.float64)


def _flat(values: Sequence[ArrayLike]) -> NDArray[np.float64]:
    arrays = [np.ravel(_numbers(value)) for value in values]
    whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else np.empty(0)
    return np.ascontiguousarray(whole, dtype=np.float64)

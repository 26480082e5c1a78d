"""Arrays in chunks, moved from the ranks that own them to those that need them, in three calls.

Example:
    >>> data = sidestream.DataDescription((8, 8))                                       # describe
    >>> mapping = data.map(owned=np.s_[2 * rank : 2 * rank + 2, :], needed=np.s_[0:4, 0:4], comm=MPI.COMM_WORLD)  # map
    >>> [mine] = mapping.reorganise([rows])                                             # reorganise
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .arrays.blocks import check_truth, handle_of
from .core import extension, translated_errors
from .error import Error

__all__ = ["Chunk", "DataDescription", "DataMapping"]

Chunk: TypeAlias = "slice | tuple[slice, ...]"
Box: TypeAlias = tuple[tuple[int, int, int], tuple[int, int, int]]
Memory: TypeAlias = tuple[int, tuple[int, int, int], tuple[int, int, int, int]]
Problem: TypeAlias = "tuple[str, str, str] | None"
# fmt: off
TYPES = ("float32", "float64", "complex64", "complex128", "int8", "int16", "int32", "int64",
         "uint8", "uint16", "uint32", "uint64")
# fmt: on
MOST_CELLS = 2**30 - 1  # along an axis
MOST_COMPONENTS = 2**31 - 1


class DataDescription:
    """An array of cells of which the ranks of a communicator own chunks and need chunks. The first call of three."""

    def __init__(
        self,
        shape: int | Sequence[int],
        dtype: DTypeLike = np.float64,
        *,
        periodic: bool | Sequence[bool] = False,
        rim: int | Sequence[int] = 0,
        components: int | None = None,
        allow_holes: bool = False,
        exchange: str = "automatic",
    ) -> None:
        """Describes the data, alike on all ranks. Local.

        Args:
            shape: of the whole, one to three numbers of cells; the last axis lies together in memory.
            dtype: of the arrays that are made for needed chunks; those that are given may have others.
            periodic: whether the whole goes on at its opposite face: all axes, or one word for each.
            rim: cells more on both sides of each needed chunk: along all axes, or a number for each.
            components: numbers of a cell, along an axis in front of the others; by default there is no such axis.
            allow_holes: cells that are needed and that nobody owns stay as they are (zero in arrays that are made),
                instead of being an error.
            exchange: how cells travel between ranks; `sidestream list strategies` has the names.
        """
        self.shape = _numbers(shape, "shape", least=1)
        if not 1 <= len(self.shape) <= 3:
            raise Error(
                f"`shape` is {shape!r}, with {len(self.shape)} axes",
                hint="data have one to three axes; `components=` is one more in front, which no rank divides",
            )
        self.dtype = _dtype(dtype)
        self.periodic = _for_each_axis(periodic, "periodic", len(self.shape))
        for word in self.periodic:
            check_truth(word, "periodic")
        self.rim = _numbers(_for_each_axis(rim, "rim", len(self.shape)), "rim", least=0)
        self.components = None if components is None else _numbers(components, "components", 1, MOST_COMPONENTS)[0]
        check_truth(allow_holes, "allow_holes")
        self.allow_holes = bool(allow_holes)
        self.exchange = str(exchange)

    def map(self, owned: Sequence[Chunk] | Chunk, needed: Sequence[Chunk] | Chunk, comm: Any = None) -> DataMapping:
        """Maps the chunks that this rank owns to those that it needs: the second call.

        A chunk is what it is in the whole: a tuple of slices, such as `np.s_[0:2, :]`, or one slice for data of one
        axis. Numbers below 0 are cells before the first one, which needed chunks may have along periodic axes, as they
        may have cells behind the last. Owned chunks do not overlap. Needed ones may, in any number; a rank may also own
        nothing or need nothing (an empty list).

        Args:
            owned: a list of chunks, or one.
            needed: a list of chunks, or one; without their rims.
            comm: an mpi4py communicator, also one between two groups; without it this process owns and needs all.

        Raises:
            Error: the same on all ranks, with chunks and ranks by number and boxes as `[x y z, end)`, where
                descriptions differ, chunks reach out of the whole, owned ones overlap or needed cells have no owner.
        """
        return DataMapping(self, owned, needed, comm)

    def box_of(self, chunk: Chunk) -> Box:
        """The first cell of a chunk and its end, along x, y and z."""
        slices = chunk if isinstance(chunk, tuple) else (chunk,)
        if len(slices) != len(self.shape) or not all(isinstance(part, slice) for part in slices):
            raise Error(f"{chunk!r} is no chunk of data of {len(self.shape)} axes", hint="give a slice for each axis")
        if any(part.step not in (None, 1) for part in slices):
            raise Error(f"{chunk!r} leaves cells out", hint="slices of chunks have no steps")
        first = [0 if part.start is None else _index(part.start, chunk) for part in slices]
        pairs = zip(slices, self.shape, strict=True)
        end = [cells if part.stop is None else _index(part.stop, chunk) for part, cells in pairs]
        ends = [max(a, b) for a, b in zip(first, end, strict=True)]
        return _xyz(first, 0), _xyz(ends, 1)


#: Plans that somebody let go while MPI wrote into their arrays, and these: kept for good, as it may still do so.
_abandoned: list[Any] = []


class DataMapping:
    """A plan that brings owned chunks to needed chunks, used as often as one likes. `DataDescription.map` makes it."""

    def __init__(self, description: DataDescription, owned: Any, needed: Any, comm: Any) -> None:
        """Plans the movement. Collective on `comm`."""
        self.description = description
        handle = handle_of(comm)
        problem: Problem = None
        boxes: tuple[list[Box], ...] = [], []
        try:
            boxes = tuple([description.box_of(chunk) for chunk in _list_of(chunks)] for chunks in (owned, needed))
        except Error as caught:
            problem = caught.what, caught.where, caught.hint
        self._owned = [_shape_of(box, description, with_rim=False) for box in boxes[0]]
        self._needed = [_shape_of(box, description, with_rim=True) for box in boxes[1]]
        self._moving: tuple[list[NDArray[Any]], list[NDArray[Any]]] | None = None
        with translated_errors():
            self._plan = extension().DataMapping(
                _xyz(description.shape, 1),
                _xyz(description.periodic, False),
                _xyz(description.rim, 0),
                description.components or 1,
                description.allow_holes,
                description.exchange,
                boxes[0],
                boxes[1],
                problem,
                handle,
            )

    def __del__(self) -> None:
        if getattr(self, "_moving", None) is not None:
            _abandoned.append((self._plan, self._moving))

    @property
    def strategy(self) -> str:
        """How cells travel; `"tuned"` until the first use has chosen."""
        return str(self._plan.strategy)

    def reorganise(
        self,
        owned: Sequence[NDArray[Any]] | NDArray[Any] = (),
        needed: Sequence[NDArray[Any]] | NDArray[Any] | None = None,
    ) -> list[NDArray[Any]]:
        """Fills the needed chunks from the owned ones: the third call. Collective.

        Args:
            owned: an array for each owned chunk, in any order in memory and with any strides.
            needed: arrays to be filled, of the shapes of the needed chunks with their rims, strided too; by default new
                ones are made. Elements are converted where the types differ: between reals, between complex numbers,
                from integers to wider ones and to reals that hold them. Cells of a rim beyond a face that is not
                periodic stay as they were. Owned arrays may be parts of these: then only the rest is copied.

        Returns:
            The needed arrays.
        """
        self.start(owned, needed)
        return self.finish()

    def start(
        self,
        owned: Sequence[NDArray[Any]] | NDArray[Any] = (),
        needed: Sequence[NDArray[Any]] | NDArray[Any] | None = None,
    ) -> None:
        """The first half of `reorganise`: owned arrays must not change before `finish`. Collective."""
        problem: Problem = None
        sources: list[NDArray[Any]] = []
        targets: list[NDArray[Any]] = []
        try:
            if self._moving is not None:
                raise Error("this mapping is moving data already", hint="call `finish` first")
            sources = _arrays(owned, self._owned, "owned")
            targets = self._new_arrays() if needed is None else _arrays(needed, self._needed, "needed")
            if not all(array.flags.writeable for array in targets):
                raise Error("a needed array cannot be written to", hint="array = array.copy() can")
            _check_apart(sources, targets)
        except Error as caught:
            problem = caught.what, caught.where, caught.hint
            sources, targets = [], []
        memory = *self._memory_of(sources), *self._memory_of(targets)
        with translated_errors():
            self._plan.start(*memory, problem)
        self._moving = sources, targets

    def finish(self) -> list[NDArray[Any]]:
        """Waits for what arrives and returns the needed arrays. Collective."""
        if self._moving is None:
            raise Error("this mapping is not moving data", hint="call `start` first")
        with translated_errors():
            self._plan.finish()
        _, targets = self._moving
        self._moving = None
        return targets

    def test(self) -> bool:
        """Lets cells travel; whether `finish` would not wait."""
        return bool(self._plan.test())

    def _new_arrays(self) -> list[NDArray[Any]]:
        is_whole = not self.description.allow_holes and not any(self.description.rim)
        try:
            return [(np.empty if is_whole else np.zeros)(shape, self.description.dtype) for shape in self._needed]
        except (MemoryError, ValueError) as problem:
            raise Error(
                f"there is no memory for the needed chunks: {problem}",
                hint="use more ranks, or take the data in several mappings",
            ) from problem

    def _memory_of(self, arrays: list[NDArray[Any]]) -> tuple[list[Memory], str]:
        axes = len(self.description.shape)
        memory = []
        for array in arrays:
            strides = [stride // array.itemsize for stride in array.strides]
            component = strides[0] if array.ndim > axes else 0
            place = array.__array_interface__["data"][0]
            memory.append((place, _xyz(array.shape[-axes:], 1), (*_xyz(strides[-axes:], 0), component)))
        return memory, arrays[0].dtype.name if arrays else "float64"


def _arrays(given: Any, shapes: list[tuple[int, ...]], kind: str) -> list[NDArray[Any]]:
    """The arrays of some chunks, each held to what a chunk's is."""
    arrays = [given] if isinstance(given, np.ndarray) else _listed(given, f"{kind} arrays")
    if len(arrays) != len(shapes):
        raise Error(
            f"{len(arrays)} arrays are given for {len(shapes)} {kind} chunks",
            hint="give one array a chunk, in the order of the chunks",
        )
    for number, (array, shape) in enumerate(zip(arrays, shapes, strict=True)):
        name = f"the array of {kind} chunk {number}"
        if not isinstance(array, np.ndarray) or np.ma.is_masked(array):
            raise Error(
                f"{name} is of {type(array).__name__}, not an array of NumPy without a mask",
                hint="numpy.asarray(array), or array.filled(0.0) where it has a mask",
            )
        if array.shape != shape:
            raise Error(
                f"{name} has the shape {array.shape}, the chunk {shape}",
                hint="give an array of the shape of its chunk, such as array.reshape(shape)",
            )
        if not array.dtype.isnative:
            native = array.dtype.newbyteorder("=").str
            raise Error(f"{name} holds numbers of another machine", hint=f"convert it: `array.astype('{native}')`")
        if array.dtype.name not in TYPES:
            raise Error(f"{name} holds `{array.dtype!r}`", hint=f"arrays hold {', '.join(TYPES)}, of this machine")
        if array.dtype != arrays[0].dtype:
            raise Error(f"{name} holds `{array.dtype}`, that of chunk 0 `{arrays[0].dtype}`", hint="give one type")
        if not array.flags.aligned or any(stride % array.itemsize for stride in array.strides):
            raise Error(f"{name} has elements that are not aligned in memory", hint="copy it: `array.copy()`")
    return arrays


def _check_apart(sources: list[NDArray[Any]], targets: list[NDArray[Any]]) -> None:
    """Elements that are converted overwrite others of another size."""
    if not sources or not targets or sources[0].dtype == targets[0].dtype:
        return
    if any(np.may_share_memory(source, target) for source in sources for target in targets):
        raise Error(
            f"owned arrays of `{sources[0].dtype}` and needed ones of `{targets[0].dtype}` lie in the same memory",
            hint="give the needed chunks memory of their own, or the type of the owned ones",
        )


def _list_of(chunks: Any) -> list[Chunk]:
    is_one = isinstance(chunks, slice) or (
        isinstance(chunks, tuple) and bool(chunks) and all(isinstance(part, slice) for part in chunks)
    )
    return [chunks] if is_one else _listed(chunks, "chunks")


def _listed(values: Any, name: str) -> list[Any]:
    try:
        return list(values)
    except TypeError as problem:
        raise Error(f"{values!r} are no {name}", hint="give a list") from problem


def _shape_of(box: Box, description: DataDescription, with_rim: bool) -> tuple[int, ...]:
    axes = len(description.shape)
    cells = [end - first for first, end in zip(*box, strict=True)][:axes][::-1]
    if with_rim and 0 not in cells:
        cells = [n + 2 * rim for n, rim in zip(cells, description.rim, strict=True)]
    return tuple(cells) if description.components is None else (description.components, *cells)


def _xyz(values: Sequence[Any], rest: Any) -> Any:
    """Values along the axes of an array as those along x, y and z."""
    reversed_values = list(values)[::-1]
    return tuple(reversed_values + [rest] * (3 - len(reversed_values)))


def _for_each_axis(value: Any, name: str, axes: int) -> tuple[Any, ...]:
    if np.ndim(value) == 0:
        return (value,) * axes
    if len(value) != axes:
        raise Error(f"`{name}` has {len(value)} values for {axes} axes", hint="give one number an axis")
    return tuple(value)


def _numbers(value: Any, name: str, least: int, most: int = MOST_CELLS) -> tuple[int, ...]:
    try:
        numbers = tuple(operator.index(number) for number in (value if np.ndim(value) else [value]))
    except (TypeError, ValueError) as problem:
        raise Error(f"`{name}` is {value!r}, not whole numbers", hint="give integers, such as int(value)") from problem
    if any(not least <= number <= most for number in numbers):
        raise Error(
            f"`{name}` is {value!r}, with a number that is not from {least} to {most}",
            hint="chunks have from 1 to 2^30 cells along an axis",
        )
    return numbers


def _index(value: Any, chunk: Any) -> int:
    try:
        index = operator.index(value)
    except TypeError as problem:
        raise Error(
            f"{chunk!r} is no chunk: {value!r} is not a whole number", hint="give integers, such as int(value)"
        ) from problem
    if abs(index) > MOST_CELLS:
        raise Error(
            f"{chunk!r} is no chunk: {index} is beyond 2^30 cells",
            hint="describe the data in chunks with smaller indices, or coarser",
        )
    return index


def _dtype(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        found = np.dtype(dtype)
    except TypeError as problem:
        raise Error(
            f"`dtype` is {dtype!r}, no type of elements",
            hint="numpy.float64, numpy.float32, numpy.int32, numpy.int64 and numpy.uint8 are types",
        ) from problem
    if found.name not in TYPES or not found.isnative:
        raise Error(f"`dtype` is {dtype!r}", hint=f"data hold {', '.join(TYPES)}, as this machine has them")
    return found

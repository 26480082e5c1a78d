"""Fields given as arrays: the whole as one, or blocks of it on the ranks of an mpi4py communicator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import extension, translated_errors
from ..error import Error
from .numbers import real_array

Triple: TypeAlias = tuple[int, int, int]
Flags: TypeAlias = tuple[bool, bool, bool]
Origin: TypeAlias = Sequence[int] | Sequence[Sequence[int]] | None
_AXES = ("z", "y", "x")
_NOWHERE: Flags = (False, False, False)
MOST_CELLS = 2**31 - 1  # along an axis


def blocks_of(
    array: Any,
    periodic: bool,
    comm: Any = None,
    origin: Origin = None,
    shape: Any = None,
    axes: Flags = (True, True, True),
) -> Any:
    """The field as the compiled part takes it (`_core.Blocks`). Collective on `comm`; errors are those of all ranks.

    Args:
        array: without `comm` the whole field, indexed `[z, y, x]`; with it the block of this rank, or a list of blocks,
            which may be empty.
        periodic: whether the field continues at its opposite face.
        comm: an mpi4py communicator.
        origin: the indices `(z, y, x)` of the block's first cell in the whole, or a list of those of each block.
        shape: `(nz, ny, nx)` of the whole; by default as far as the blocks reach.
        axes: along which of z, y, x a field that is periodic continues.
    """
    if comm is None:
        check_truth(periodic, "periodic")
        if origin is not None or shape is not None:
            raise Error("`origin` and `shape` are for blocks on several ranks", hint="give `comm`, or the array alone")
        field = field_of(array)
        return _made([field], [(0, 0, 0)], _triple(field.shape, "shape"), axes if periodic else _NOWHERE, None)
    handle = handle_of(comm)
    arrays: list[NDArray[Any]] = []
    origins: list[Triple] = []
    problem: Error | None = None
    try:
        check_truth(periodic, "periodic")
        arrays, origins = _own_blocks(array, origin)
        whole = None if shape is None else _triple(shape, "shape")
    except Error as caught:
        problem, whole = caught, None
    agree(comm, problem)
    return _made(arrays, origins, whole or _reach(comm, arrays, origins), axes if periodic else _NOWHERE, handle)


def handle_of(comm: Any) -> int | None:
    """The handle of an mpi4py communicator that the compiled part takes."""
    if comm is None:
        return None
    _refuse_other_mpi(comm)
    try:
        return int(comm.py2f())
    except AttributeError as problem:
        raise Error(f"`comm` is {comm!r}, not a communicator", hint="give one of mpi4py: MPI.COMM_WORLD") from problem


def _refuse_other_mpi(comm: Any) -> None:
    """The handles of one MPI are nothing to another, and to use them ends the process."""
    version = getattr(sys.modules.get(type(comm).__module__), "Get_library_version", None)
    family = str(extension().mpi_family)
    if version is None or family in str(version()):
        return
    other = str(version()).strip("\0\n").partition(",")[0].partition("\n")[0]
    hint = f"install the mpi4py of {family}, or build sidestream with the MPI of mpi4py; `sidestream doctor` tells both"
    raise Error(f"sidestream was built for {family}, and mpi4py runs {other}", hint=hint)


def on_all(comm: Any, value: Any) -> Any:
    """What rank 0 has, on every rank."""
    return value if comm is None else comm.bcast(value, root=0)


def field_of(array: ArrayLike) -> NDArray[Any]:
    """A field of single or double precision with contiguous rows: the array itself where it is one."""
    field = _real(array)
    if field.size == 0:
        raise Error(
            f"the array of shape {field.shape} holds no cell", hint="give an array of at least one cell along each axis"
        )
    return field


def _real(array: ArrayLike) -> NDArray[Any]:
    field = real_array(_in_order(array))
    if field.ndim != 3:
        raise Error(f"the array has {field.ndim} dimensions, not 3", hint="give it as array[z, y, x]")
    # The compiled part takes such rows where they lie, floats by converting them: that is then their only copy.
    takes = field.dtype in (np.float32, np.float64) and _has_rows(field)
    return field if takes else _packed(field)


def _in_order(array: Any) -> Any:
    """An array of xarray whose axes have our names along z, y, x."""
    dims = getattr(array, "dims", None)
    return array.transpose(*_AXES) if isinstance(dims, tuple) and len(dims) == 3 and set(dims) == set(_AXES) else array


def _packed(field: NDArray[Any]) -> NDArray[np.float64]:
    """A copy in double precision with contiguous rows.

    In tiles: in Fortran's order, cells along x lie in cache lines of their own, which a copy by rows would fetch again
    and again.
    """
    packed = np.empty(field.shape, np.float64)
    tile = 32
    unit = 0 if abs(field.strides[0]) < abs(field.strides[1]) else 1  # the axis of neighbours in memory, where x is not
    planes = zip(np.moveaxis(packed, 1 - unit, 0), np.moveaxis(field, 1 - unit, 0), strict=True)
    for to, of in planes:
        for i in range(0, to.shape[0], tile):
            for j in range(0, to.shape[1], tile):
                to[i : i + tile, j : j + tile] = of[i : i + tile, j : j + tile]
    return packed


def _has_rows(field: NDArray[Any]) -> bool:
    """Whether cells lie one after the other along x, as the compiled part needs them."""
    z, y, x = field.strides
    is_row = x == field.itemsize or field.shape[2] == 1
    return is_row and field.flags.aligned and z % field.itemsize == 0 and y % field.itemsize == 0


def _own_blocks(array: Any, origin: Origin) -> tuple[list[NDArray[Any]], list[Triple]]:
    is_list = isinstance(array, (list, tuple)) and all(np.ndim(block) == 3 for block in array)
    blocks = [_real(block) for block in (array if is_list else [array])]
    origins: Any = origin if is_list else [(0, 0, 0) if origin is None else origin]
    if origins is None or len(origins) != len(blocks):
        raise Error(
            f"{len(blocks)} blocks have {0 if origins is None else len(origins)} origins",
            hint="give a list of (z, y, x), one for each block",
        )
    pairs = [(block, _triple(place, "origin")) for block, place in zip(blocks, origins, strict=True) if block.size > 0]
    if any(block.dtype != np.float32 for block, _ in pairs):
        pairs = [(block.astype(np.float64, copy=False), place) for block, place in pairs]
    return [block for block, _ in pairs], [place for _, place in pairs]


def _triple(value: Any, name: str) -> Triple:
    try:
        z, y, x = (int(number) for number in value)
    except (TypeError, ValueError) as problem:
        raise Error(f"`{name}` is {value!r}, not three whole numbers", hint="in the order z, y, x") from problem
    if max(z, y, x) > MOST_CELLS or min(z, y, x) < (1 if name == "shape" else 0):
        raise Error(f"`{name}` is {value!r}, which no array has", hint="in the order z, y, x")
    return z, y, x


def _reach(comm: Any, arrays: Sequence[NDArray[Any]], origins: Sequence[Triple]) -> Triple:
    ends = [np.add(place, block.shape) for block, place in zip(arrays, origins, strict=True)]
    mine = tuple(int(end) for end in np.max(ends, axis=0)) if ends else (1, 1, 1)
    z, y, x = (int(end) for end in np.max(comm.allgather(mine), axis=0))
    return z, y, x


def agree(comm: Any, problem: Error | None) -> None:
    """All ranks raise the problem of the lowest rank that has one."""
    found = comm.allgather(None if problem is None else (problem.what, problem.where, problem.hint))
    for rank, parts in enumerate(found):
        if parts is not None:
            raise Error(parts[0], parts[1] or f"rank {rank}", parts[2])


def check_truth(value: Any, name: str) -> None:
    """An error unless `value` is true or false."""
    if not isinstance(value, (bool, np.bool_)):
        raise Error(f"`{name}` is {value!r}, neither True nor False", hint="give True or False")


def _made(arrays: list[NDArray[Any]], origins: list[Triple], shape: Triple, periodic: Flags, handle: int | None) -> Any:
    with translated_errors():
        return extension().Blocks(arrays, origins, shape, periodic, handle)

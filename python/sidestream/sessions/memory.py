"""Arrays that a program hands over: of which types, where their cells lie, and whether they can be written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from ..arrays.numbers import REAL_KINDS, as_reals
from ..error import Error
from .arguments import Triple

TYPES = frozenset(("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))


def as_taken(arrays: Sequence[NDArray[Any]]) -> str:
    """How the first array of a type that is not taken becomes one that is."""
    dtype = next(array.dtype for array in arrays if array.dtype.name not in TYPES)
    if dtype.kind in REAL_KINDS:  # half a precision, or one beyond double
        return f"give `array.astype({'np.float32' if dtype.itemsize < 4 else 'float'})`"
    return as_reals(dtype)


def is_writable(array: NDArray[Any]) -> bool:
    """Whether each element may be another number."""
    has_memory_of_its_own = all(stride != 0 or n <= 1 for stride, n in zip(array.strides, array.shape, strict=True))
    return array.flags.writeable and has_memory_of_its_own


def memory_of(where: str, array: NDArray[Any], lo: Triple, hi: Triple, ghosts: Triple) -> tuple[int, Triple]:
    """Where the cells of a block lie, and the elements from one to the next along x, y and z."""
    wanted = tuple(b - a + 2 * g for a, b, g in zip(lo, hi, ghosts, strict=True))
    full = array.reshape((1,) * (3 - array.ndim) + array.shape) if array.ndim < 3 else array
    if full.shape != wanted:
        raise Error(
            f"an array has the shape {array.shape}, its block with ghost cells {wanted}",
            where=where,
            hint="give the array of the block as `mesh` says it, with its ghost cells along z, y, x",
        )
    if any(stride % full.itemsize for stride in full.strides):
        raise Error("an array does not lie on whole elements", where=where, hint="give a copy")
    z, y, x = (stride // full.itemsize for stride in full.strides)
    return full.ctypes.data, (x, y, z)

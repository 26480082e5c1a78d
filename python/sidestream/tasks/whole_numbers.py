"""Whole numbers of all ranks, exact to the last bit, by messages that carry numbers of double precision.

A number goes as parts of 32 bits each. Functions with a `step` are called by all ranks together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..error import Error

KINDS = "biu"
_BITS, _PARTS = 32, 3  # the last part has the sign
_MASK = 2**_BITS - 1
_TAG_BYTES = 8  # of the type before a column that is sent
_REAL, _WHOLE, _NOTHING = 0.0, 1.0, 2.0


def are_whole(step: Any, arrays: Sequence[NDArray[Any]]) -> bool:
    """Whether all numbers of all ranks are of whole types, and there are any; arrays without numbers do not count."""
    own = [array.dtype.kind in KINDS for array in arrays if array.size]
    return bool(step.min(_NOTHING if not own else _WHOLE if all(own) else _REAL) == _WHOLE)


def total(step: Any, arrays: Sequence[NDArray[Any]]) -> int:
    """The sum of all whole numbers of all ranks."""
    own = sum(map(_sum, arrays))
    parts = [(own >> (_BITS * n)) & _MASK for n in range(_PARTS - 1)] + [own >> (_BITS * (_PARTS - 1))]
    return sum(int(step.sum([np.array([float(part)])])) << (_BITS * n) for n, part in enumerate(parts))


def least(step: Any, own: int | None) -> int:
    """The least of the numbers of the ranks that have one."""
    high = step.min(math.inf if own is None else float(own >> _BITS))
    low = step.min(math.inf if own is None or own >> _BITS != high else float(own & _MASK))
    return (int(high) << _BITS) + int(low)


def gathered(step: Any, column: NDArray[Any]) -> NDArray[Any]:
    """The numbers of all ranks on rank 0, elsewhere none, in their types; those of the ranks that have any count."""
    own = np.ascontiguousarray(column)
    parts = step.gather_bytes(own.dtype.str.encode().ljust(_TAG_BYTES) + own.tobytes())
    columns = [np.frombuffer(part[_TAG_BYTES:], part[:_TAG_BYTES].decode().strip()) for part in parts]
    filled = [one for one in columns if one.size]
    return _joined(filled) if filled else np.empty(0, own.dtype)


def _joined(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One array of all; of signed and unsigned whole numbers NumPy would make doubles."""
    if np.result_type(*columns).kind in KINDS or not all(one.dtype.kind in KINDS for one in columns):
        return np.concatenate(columns)
    least, most = min(int(one.min()) for one in columns), max(int(one.max()) for one in columns)
    if least < 0 and most > np.iinfo(np.int64).max:
        raise Error(
            f"a column has whole numbers from {least} to {most}, for which there is no type",
            "gather",
            "give them in double precision, or negative ones and those of 2^63 and more as columns of their own",
        )
    return np.concatenate([one.astype(np.int64 if least < 0 else np.uint64) for one in columns])


def _sum(array: NDArray[Any]) -> int:
    """Of one array, though it may be beyond the largest number of its type."""
    if array.dtype.itemsize < 8:
        return int(array.sum(dtype=np.int64))
    bits, mask = map(array.dtype.type, (_BITS, _MASK))  # NumPy 1 has no operator between uint64 and int
    return (int((array >> bits).sum()) << _BITS) + int((array & mask).sum(dtype=np.int64))

"""Particles that a program hands over, as the compiled part takes them: whole numbers as ids, and real numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.numbers import as_reals, real_array
from ..error import Error
from .arguments import as_numbers, as_text

EXACT = 2**53  # up to which double precision has every whole number

Numbers = NDArray[np.float64]


def particles_of(
    where: str, ids: Any, positions: Any, attributes: Any
) -> tuple[NDArray[np.int64], list[Numbers], dict[str, Numbers]]:
    """Ids, positions and attributes, each contiguous and as many as the others; no copy of what is so already."""
    try:
        named = {} if attributes is None else attributes
        if not isinstance(named, Mapping):
            raise Error(f"`attributes` is a `{type(named).__name__}`", hint="give arrays by their names, in a `dict`")
        numbered = _ids(ids)
        axes = as_numbers(positions, "positions", "three arrays, along x, y and z")
        places = [_reals(values, f"array of positions {n + 1}") for n, values in enumerate(axes)]
        others = {as_text(key, "attributes"): _reals(values, f"array of `{key}`") for key, values in named.items()}
    except Error as caught:
        raise Error(caught.what, where, caught.hint) from caught
    if len(places) != 3 or any(values.size != numbered.size for values in (*places, *others.values())):
        raise Error(
            "ids, positions and attributes are not as many",
            where=where,
            hint="give three positions, along x, y and z, and as many of each as there are ids",
        )
    return numbered, places, others


def _ids(given: Any) -> NDArray[np.int64]:
    values = _row(given, "array of ids")
    if values.size > 0 and (values.dtype.kind not in "iu" or int(values.max()) >= 2**63):
        what = "whole numbers" if values.dtype.kind == "f" else "ids below 2^63"
        raise Error(
            f"the array of ids holds `{values.dtype}`, not {what}",
            hint="give one whole number below 2^63 for each particle: an array of `np.int64`",
        )
    return np.ascontiguousarray(values, np.int64)


def _reals(given: Any, name: str) -> Numbers:
    values = _row(given, name)
    is_whole = values.dtype.kind in "iu" and values.size > 0
    if is_whole and not -EXACT <= int(values.min()) <= int(values.max()) <= EXACT:
        raise Error(
            f"the {name} has whole numbers beyond 2^53, which double precision does not hold",
            hint="give `array.astype(float)` where they may be rounded, or their parts in two arrays",
        )
    return np.ascontiguousarray(values, np.float64)


def _row(given: Any, name: str) -> NDArray[Any]:
    values = real_array(given, name)
    if values.dtype.kind == "b":
        raise Error(f"the {name} holds `bool`, not numbers", hint=as_reals(values.dtype))
    if values.ndim != 1:
        raise Error(f"the {name} has {values.ndim} dimensions, not 1", hint="give one number for each particle")
    return values

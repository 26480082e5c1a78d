"""Numbers and arrays that users give, as the compiled part takes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..error import Error

REAL_KINDS = "fiub"  # of types of NumPy


def real_number(value: Any, name: str, hint: str = "") -> float:
    """`value` as a real number; an error that says `name` for what is none, and for numbers beyond all doubles."""
    if isinstance(value, (bool, np.bool_)):
        raise Error(f"`{name}` is {value}, a truth value and not a number", hint=hint)
    try:
        number = float(value)
    except (TypeError, ValueError) as problem:
        raise Error(f"`{name}` is {_shown(value)}, not a number", hint=hint) from problem
    except OverflowError as problem:
        raise Error(f"`{name}` is {_shown(value)}, which is too large", hint=hint) from problem
    if math.isnan(number):
        raise Error(f"`{name}` is nan, not a number", hint=hint)
    return number


def whole_number(value: Any, name: str, least: int, most: int) -> int:
    """`value` as a whole number from `least` to `most`."""
    number = real_number(value, name)
    if not least <= number <= most or number != math.floor(number):
        raise Error(
            f"`{name}` is {_shown(value)}, not a whole number from {least} to {most}",
            hint="give an integer in this range",
        )
    return int(number)


def real_array(array: Any, name: str = "array") -> NDArray[Any]:
    """`array` as one of real numbers, of whatever shape, size and order of its bytes; no copy of one that is."""
    if np.ma.is_masked(array):
        raise Error(
            f"the {name} has masked elements, which have no value", hint="say what they are: `array.filled(0.0)`"
        )
    try:
        real = np.asarray(array)
    except (TypeError, ValueError) as problem:
        raise Error(
            f"the {name} is no array: {problem}",
            hint="give an array of NumPy of numbers, such as numpy.asarray(values, dtype=float)",
        ) from problem
    if real.dtype.kind not in REAL_KINDS:
        raise Error(f"the {name} holds `{real.dtype}`, not real numbers", hint=as_reals(real.dtype))
    return real


def as_reals(dtype: np.dtype[Any]) -> str:
    """How real numbers that are taken come out of an array of another type."""
    if dtype.kind == "c":
        return "of complex numbers give `np.abs(array)`, or `array.real` and `array.imag`, each by itself"
    return "give real numbers: `array.astype(float)`"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."

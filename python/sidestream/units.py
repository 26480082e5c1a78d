"""Results and fields as arrays of unyt or pint, which know units and convert them."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

from .error import Error

if TYPE_CHECKING:
    import xarray as xr

KG_PER_MSUN = 1.98841586e30
# What the libraries raise beside their own of texts that are no units: `g/`, `g(`, `1/0`.
_OF_PARSERS = (ArithmeticError, AssertionError, AttributeError, TokenError, TypeError, ValueError)
_HUBBLE = re.compile(r"(?<![A-Za-z])h(?![A-Za-z])")


def to_unyt(data: xr.DataArray | xr.Dataset, hubble: float | None = None) -> Any:
    """The values with the unit of their attribute `units`, as arrays of unyt.

    Lengths and densities that are comoving stay so: `Mpc` is a comoving one where `long_name` or the documentation of
    the result says so. What has no unit is dimensionless. Needs unyt (`pip install "sidestream[yt]"`).

    Args:
        data: a column of a result or a field of a snapshot; or a dataset of them.
        hubble: h, for units such as `Mpc/h`; without it, the attribute `hubble` of the data.

    Returns:
        A `unyt_array` with the shape of the column; for a dataset a dictionary of them, coordinates too.

    Raises:
        Error: unyt is not there, does not know the unit, or h is needed and not known.

    Example:
        >>> mass = sidestream.to_unyt(run["halos"]["mass"])
        >>> mass.to("kg")
    """
    unyt = _module("unyt", "yt")

    def array(values: Any, text: str) -> Any:
        return unyt.unyt_array(values, text)

    return _converted(data, hubble, array, (unyt.exceptions.UnitParseError, *_OF_PARSERS), "unyt")


def to_pint(data: xr.DataArray | xr.Dataset, hubble: float | None = None) -> Any:
    """The same as quantities of pint, of its application registry, which learns `Msun` and `Angstrom`.

    Needs pint (`pip install "sidestream[pint]"`).

    Example:
        >>> mass = sidestream.to_pint(run["halos"]["mass"])
        >>> mass.to("kg")
    """
    pint = _module("pint", "pint")
    registry = pint.get_application_registry()
    if "Msun" not in registry:
        registry.define(f"Msun = {KG_PER_MSUN!r} * kilogram")
    if "Angstrom" not in registry:
        registry.define("@alias angstrom = Angstrom")

    def quantity(values: Any, text: str) -> Any:
        if text.isidentifier() and text in registry:  # which may have another zero: degC
            return registry.Quantity(values, text)
        return registry.Quantity(values, "dimensionless") * registry.parse_expression(text)

    return _converted(data, hubble, quantity, (pint.errors.PintError, *_OF_PARSERS), "pint")


def _converted(
    data: Any,
    hubble: float | None,
    make: Callable[[Any, str], Any],
    unknown: tuple[type[Exception], ...],
    library: str,
) -> Any:
    """A column, or all columns of numbers of a dataset, made by a library of units; `unknown` is what it raises."""

    def array(column: Any, h: Any) -> Any:
        unit = str(column.attrs.get("units", ""))
        try:
            return make(column.values, _text(unit, h, library))
        except unknown as problem:
            raise Error(
                f"{library} does not know the unit `{unit}`", hint="take the values of the column as they are"
            ) from problem

    h = data.attrs.get("hubble") if hubble is None else hubble
    if not hasattr(data, "data_vars"):
        return array(data, h)
    return {
        str(name): array(column, column.attrs.get("hubble", h))
        for name, column in data.variables.items()
        if column.dtype.kind in "fiu"
    }


def needs_h(unit: str) -> bool:
    """Whether a unit has h in it, as `Mpc/h` does."""
    return _HUBBLE.search(unit) is not None


def _text(unit: str, hubble: Any, library: str) -> str:
    """A unit in the words of libraries, with h as its number."""
    text = unit.replace("^", "**").replace(" ", "*")
    if text in ("", "1"):
        return "dimensionless"
    if not needs_h(text):
        return text
    if hubble is None:
        hint = f"give it: to_{library}(data, 0.6766)"
        raise Error(f"the unit `{unit}` needs h, which the data do not tell", hint=hint)
    return _HUBBLE.sub(repr(float(hubble)), text)


def _module(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as problem:
        raise Error(f"{name} is not installed", hint=f'`pip install "sidestream[{extra}]"` installs it') from problem

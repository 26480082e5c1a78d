"""Results and fields as arrays of unyt, which knows units and converts them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .error import Error

if TYPE_CHECKING:
    import xarray as xr

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
    unyt = _unyt()
    h = data.attrs.get("hubble") if hubble is None else hubble
    if hasattr(data, "data_vars"):
        return {
            str(name): _array(unyt, column, column.attrs.get("hubble", h))
            for name, column in data.variables.items()
            if column.dtype.kind in "fiu"
        }
    return _array(unyt, data, h)


def _array(unyt: Any, column: Any, hubble: Any) -> Any:
    unit = str(column.attrs.get("units", ""))
    text = unit.replace("^", "**").replace(" ", "*")
    if _HUBBLE.search(text):
        if hubble is None:
            raise Error(f"the unit `{unit}` needs h, which the data do not tell", hint="give it: to_unyt(data, 0.6766)")
        text = _HUBBLE.sub(repr(float(hubble)), text)
    factor, named = 1.0, text
    if text in ("", "1"):
        named = "dimensionless"
    try:
        return factor * unyt.unyt_array(column.values, named)
    except (unyt.exceptions.UnitParseError, AttributeError, TypeError) as problem:
        raise Error(
            f"unyt does not know the unit `{unit}`", hint="take the values of the column as they are"
        ) from problem


def _unyt() -> Any:
    try:
        import unyt
    except ImportError as problem:
        raise Error("unyt is not installed", hint='`pip install "sidestream[yt]"` installs it') from problem
    return unyt

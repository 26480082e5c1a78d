"""The columns of a netCDF-4 file, read at once.

A run has thousands of results of dozens of short columns each. xarray looks at every column for minutes until it reads
one; here the file is walked once, and xarray gets what was in it.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import extension, translated_errors
from ..error import Error

if TYPE_CHECKING:
    import h5py
    import xarray as xr

# What the format keeps for itself.
_OF_THE_FORMAT = frozenset(
    {
        "CLASS",
        "NAME",
        "DIMENSION_LABELS",
        "DIMENSION_LIST",
        "REFERENCE_LIST",
        "_NCProperties",
        "_Netcdf4Coordinates",
        "_Netcdf4Dimid",
        "_nc3_strict",
    }
)
_ROWS_CHECKSUM = "rows_checksum"  # of a column that many ranks wrote
_NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"


def read_columns(
    path: Path, dimension: str | tuple[str, ...] | None = None, names: Collection[str] | None = None
) -> xr.Dataset:
    """All columns of a file in memory; of the first `dimension` that the file has, those over it alone; or those named.

    Raises:
        Error: a checksum of Sidestream is wrong. Anything else that is wrong is an exception of those who read it.
    """
    import h5py
    import xarray as xr

    is_sealed = _is_sealed(path)
    with h5py.File(path, "r") as file:
        wanted = [name for name in file if names is None or name in names]
        columns = {name: file[name] for name in wanted if not _is_bare_dimension(file[name])}
        dimensions = {name: _dimensions(name, column, file) for name, column in columns.items()}
        choice = (dimension,) if isinstance(dimension, str) else dimension or ()
        chosen = next((name for name in choice if any(name in over for over in dimensions.values())), None)
        if chosen is not None:
            dimensions = {name: over for name, over in dimensions.items() if over == (chosen,)}
        variables: dict[Hashable, Any] = {
            name: xr.Variable(over, _values(columns[name]), _attributes(columns[name].attrs))
            for name, over in dimensions.items()
        }
        if is_sealed:
            for name in dimensions:
                _check_rows(path, columns[name], variables[name].values)
        dataset: xr.Dataset = xr.decode_cf(xr.Dataset(variables, attrs=_attributes(file.attrs))).load()
    return dataset


def read_attributes(path: Path) -> dict[str, Any]:
    """The attributes of a file, without its columns; raises as `read_columns` does."""
    import h5py

    _is_sealed(path)
    with h5py.File(path, "r") as file:
        return _attributes(file.attrs)


def _is_sealed(path: Path) -> bool:
    with translated_errors():
        return bool(extension().has_right_record(str(path)))


def _check_rows(path: Path, column: h5py.Dataset, values: np.ndarray) -> None:
    expected = column.attrs.get(_ROWS_CHECKSUM)
    if expected is not None and extension().rows_checksum(values.view(np.uint8)) != expected:
        raise Error(
            f"the checksum of the column `{column.name.lstrip('/')}` is wrong",
            path,
            hint="delete the file, and `sidestream run ... --restart` computes it again if the step lies ahead",
        )


def _is_bare_dimension(column: h5py.Dataset) -> bool:
    return bytes(column.attrs.get("NAME", b"")).startswith(_NO_VARIABLE)


def _dimensions(name: str, column: h5py.Dataset, file: h5py.File) -> tuple[str, ...]:
    import h5py

    if "DIMENSION_LIST" in column.attrs:
        scales = (scales[0] for scales in column.attrs["DIMENSION_LIST"])
        return tuple(h5py.h5r.get_name(scale, file.id).decode().lstrip("/") for scale in scales)
    return (name,) * int(column.ndim)  # a dimension with values of its own


def _values(column: h5py.Dataset) -> np.ndarray:
    import h5py

    return np.asarray(column.asstr()[()] if h5py.check_string_dtype(column.dtype) else column[()])


def _attributes(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(stored[name]) for name in stored if name not in _OF_THE_FORMAT}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.shape == (1,):
        value = value[0]
    return value.decode() if isinstance(value, bytes) else value

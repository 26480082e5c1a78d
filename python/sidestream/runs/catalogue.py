"""Catalogues of halos as people and other programs want them: a table, CSV, netCDF."""

from __future__ import annotations

import csv
from collections.abc import Callable
from io import StringIO
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import console
from ..error import Error, UsageError
from .results import rows_of
from .writing import as_netcdf, write_at_once

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

FORMATS = (".csv", ".nc")
SHOWN_ROWS = 20
_LONG, _MOST_DECIMALS = 1e9, 9  # places that are printed with a power of ten
_SHOWN = ("id", "mass", "cells", "particles", "x", "y", "z", "peak")


def check_target(path: Path | None) -> None:
    """A usage error unless the name says how to write it."""
    if path is not None and path.suffix not in FORMATS:
        raise UsageError(f"`{path.name}` is no name for a catalogue", hint=f"names end in {' or '.join(FORMATS)}")


def save(table: xr.Dataset, path: Path) -> None:
    """Writes all columns, as its name says: `.csv` (with the units in the first line), or `.nc`. At once."""
    content = _as_csv(table) if path.suffix == ".csv" else as_netcdf(table)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_at_once(path, content)
    except OSError as problem:
        raise Error(
            f"the catalogue cannot be written: {problem.strerror or problem}",
            path,
            hint="choose another file with --out, or make room",
        ) from problem


def as_columns(table: xr.Dataset) -> dict[str, list[Any]]:
    """Plain lists, for JSON."""
    return {str(name): table[name].values.tolist() for name in table.data_vars}


def print_catalogue(table: xr.Dataset) -> None:
    """Prints the chief columns of the heaviest halos; the rows are in descending order of mass."""
    from rich.table import Table

    count = table.sizes.get("halo", 0)
    if count == 0:
        return
    names = [name for name in _SHOWN if name in table]
    printed = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for name in names:
        unit = str(table[name].attrs.get("units", "1"))
        printed.add_column(name if unit in ("1", "") else f"{name} [{unit}]", justify="right")
    shown = {name: np.asarray(table[name])[:SHOWN_ROWS] for name in names}
    place = _place_format(np.array([values for name, values in shown.items() if name in "xyz"]))
    columns = [(values, _writer(name, place)) for name, values in shown.items()]
    for row in range(min(count, SHOWN_ROWS)):
        printed.add_row(*(write(values[row]) for values, write in columns))
    console.print_table(printed)


def _place_format(places: NDArray[Any]) -> str:
    """Of three decimals, or as many as give the largest place four digits; with a power of ten beyond."""
    largest = float(np.max(np.abs(places), initial=0.0))
    decimals = max(3, 3 - floor(log10(largest))) if 0.0 < largest < np.inf else 3
    return ".7g" if largest >= _LONG or decimals > _MOST_DECIMALS else f".{decimals}f"


def _writer(name: str, place: str) -> Callable[[Any], str]:
    if name in ("x", "y", "z"):
        return lambda value: format(value, place)
    return lambda value: str(int(value)) if isinstance(value, np.integer) else f"{value:.4g}"


def _as_csv(table: xr.Dataset) -> bytes:
    names = [str(name) for name in table.data_vars if table[name].dims == (rows_of(table),)]
    units = (str(table[name].attrs.get("units", "1")) for name in names)
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(name if unit in ("1", "") else f"{name} [{unit}]" for name, unit in zip(names, units, strict=True))
    writer.writerows(zip(*(table[name].values.tolist() for name in names), strict=True))
    return text.getvalue().encode()

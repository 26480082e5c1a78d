"""What a function in Python returns, as a result."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..error import Error
from . import images


class Found:
    """What an analysis returned, as columns, attributes and files."""

    def __init__(self, returned: Any) -> None:
        self._columns: list[tuple[str, str, str, list[str], list[int], NDArray[Any], bool]] = []
        self._attributes: dict[str, Any] = {}
        self._attachments: dict[str, bytes] = {}
        self._summary: list[str] = []
        for one in returned if isinstance(returned, tuple) else (returned,):
            self._take(one)

    def as_dict(self) -> dict[str, Any]:
        """In the words of the compiled part."""
        return {
            "columns": self._columns,
            "attributes": self._attributes,
            "attachments": self._attachments,
            "summary": ", ".join(self._summary[:3]),
        }

    def _take(self, one: Any) -> None:
        if one is None:
            return
        if hasattr(one, "savefig"):
            self._take_figure(one)
        elif images.is_vtk(one, "vtkRenderWindow"):
            self._attach("png", images.picture_of(one))
        elif images.is_vtk(one, "vtkPolyData"):
            self._attach("vtp", images.packed(one))
        elif hasattr(one, "data_vars"):
            self._take_dataset(one)
        elif hasattr(one, "to_xarray"):
            self._take_dataset(
                one.reset_index(drop=one.index.name is None).rename_axis("row").to_xarray().drop_vars("row")
            )
        elif isinstance(one, Mapping):
            self._take_mapping(one)
        else:
            raise Error(
                f"an analysis cannot return a {type(one).__name__}",
                hint="return a mapping from names to numbers or arrays, an xarray.Dataset, a pandas.DataFrame, "
                "a figure of matplotlib, a vtkRenderWindow, a vtkPolyData, or a tuple of these",
            )

    def _take_figure(self, figure: Any) -> None:
        picture = io.BytesIO()
        figure.savefig(picture, format="png", bbox_inches="tight", dpi=150)
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close(figure)
        self._attach("png", picture.getvalue())

    def _attach(self, ending: str, content: bytes) -> None:
        if ending in self._attachments:
            raise Error(
                f"an analysis returned two files that end in .{ending}",
                hint="draw both figures as axes of one: plt.subplots(1, 2)",
            )
        self._attachments[ending] = content

    def _take_dataset(self, data: Any) -> None:
        for name, array in {**data.coords, **data.data_vars}.items():
            words = {key: str(array.attrs.get(key, "")) for key in ("units", "long_name")}
            self._add(str(name), array.values, words["units"], words["long_name"], [str(d) for d in array.dims])
        for name, value in data.attrs.items():
            self._attributes[str(name)] = value if isinstance(value, str) else _number(value, str(name))

    def _take_mapping(self, columns: Mapping[Any, Any]) -> None:
        rows = None
        for name, given in columns.items():
            if isinstance(given, str):
                self._attributes[str(name)] = given
                continue
            values, unit = given if _is_pair_with_unit(given) else (given, "")
            array = np.asarray(values)
            if array.ndim == 1:
                rows = array.size if rows is None else rows
                dimensions = ["row" if array.size == rows else f"{name}_row"]
            else:
                dimensions = [f"{name}_{axis}" for axis in range(array.ndim)]
            self._add(str(name), array, unit, "", dimensions)

    def _add(self, name: str, values: Any, unit: str, meaning: str, dimensions: list[str]) -> None:
        array = np.asarray(values)
        if array.dtype.kind in "biu":
            flat: NDArray[Any] = np.ascontiguousarray(array, dtype=np.int64).ravel()
        elif array.dtype.kind == "f":
            flat = np.ascontiguousarray(array, dtype=np.float64).ravel()
        else:
            raise Error(
                f"`{name}` is no number and no array of numbers",
                f"type {array.dtype}",
                "return numbers, or text as text",
            )
        if not name.replace("_", "").isalnum():
            raise Error(f"a column cannot be called `{name}`", hint="use letters, digits and `_`")
        if array.ndim == 0:
            self._summary.append(f"{name} {float(array):.6g}" + (f" {unit}" if unit else ""))
        self._columns.append((name, unit, meaning, dimensions, list(array.shape), flat, bool(np.isnan(flat).any())))


def _number(value: Any, name: str) -> int | float:
    array = np.asarray(value)
    if array.ndim or array.dtype.kind not in "biuf":
        raise Error(f"the attribute `{name}` is no number and no text", f"{value!r}")
    return float(array) if array.dtype.kind == "f" else int(array)


def _is_pair_with_unit(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str)

"""What a function in Python returns, as a result."""

from __future__ import annotations

import io
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
        self._lengths: dict[str, int] = {}
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
        elif hasattr(one, "to_dataset"):
            self._take_dataset(one.to_dataset(name=one.name or "values"))
        elif hasattr(one, "to_xarray"):
            self._take_dataset(_dataset_of(one))
        elif isinstance(one, Mapping):
            self._take_mapping(one)
        else:
            raise Error(
                f"an analysis cannot return what is of type {type(one).__name__}",
                hint="return a mapping from names to numbers or arrays, an xarray.Dataset or DataArray, "
                "a pandas.DataFrame, a figure of matplotlib, a vtkRenderWindow, a vtkPolyData, or a tuple of these",
            )

    def _take_figure(self, figure: Any) -> None:
        picture = io.BytesIO()
        figure.savefig(picture, format="png", bbox_inches="tight", dpi=150)
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
            self._attributes[sendable(name)] = sendable(value) if isinstance(value, str) else _number(value, str(name))

    def _take_mapping(self, columns: Mapping[Any, Any]) -> None:
        rows = self._lengths.get("row")
        for name, given in columns.items():
            if isinstance(given, str):
                self._attributes[sendable(name)] = sendable(given)
                continue
            values, unit = given if _is_pair_with_unit(given) else (given, "")
            array = np.asanyarray(values)
            if array.ndim == 1:
                rows = array.size if rows is None else rows
                dimensions = ["row" if array.size == rows else f"{name}_row"]
            else:
                dimensions = [f"{name}_{axis}" for axis in range(array.ndim)]
            self._add(str(name), array, unit, "", dimensions)

    def _add(self, name: str, values: Any, unit: str, meaning: str, dimensions: list[str]) -> None:
        array = _storable(_without_mask(values))
        if array.dtype.kind not in "if":
            raise Error(
                f"`{name}` is no number and no array of numbers",
                f"type {array.dtype}",
                "return numbers, or text as text",
            )
        if not name.replace("_", "").isalnum():
            raise Error(f"a column cannot be called `{name}`", hint="use letters, digits and `_`")
        if any(name == column[0] for column in self._columns):
            raise Error(f"an analysis returned two columns `{name}`", hint="give them different names")
        dimensions = [self._dimension(d, name, size) for d, size in zip(dimensions, array.shape, strict=True)]
        if "step" in (name, *dimensions):
            raise Error("a column cannot be called `step`: each result has its step", hint="leave it out, or rename it")
        if array.ndim == 0:
            self._summary.append(f"{name} {float(array):.6g}" + (f" {unit}" if unit else ""))
        unit, meaning = sendable(unit), sendable(meaning)
        flat = np.ascontiguousarray(array, dtype=np.int64 if array.dtype.kind == "i" else np.float64).ravel()
        self._columns.append((name, unit, meaning, dimensions, list(array.shape), flat, bool(np.isnan(flat).any())))

    def _dimension(self, dimension: str, column: str, length: int) -> str:
        """Its name, which is of the column alone where another of that name has another length."""
        if self._lengths.setdefault(dimension, length) == length:
            return dimension
        return self._dimension(f"{column}_{dimension}", column, length)


def _dataset_of(frame: Any) -> Any:
    """A table of pandas as a Dataset, with the index where it has names."""
    table = frame.to_frame(name=frame.name or "values") if frame.ndim == 1 else frame
    named = any(name is not None for name in table.index.names)
    return table.reset_index(drop=not named).rename_axis("row").to_xarray().drop_vars("row")


def _without_mask(values: Any) -> NDArray[Any]:
    """An array with NaN for what a mask hides."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        return np.where(np.ma.getmaskarray(values), np.nan, values.data)
    return np.asarray(values)


def _storable(array: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers of 64 bits with a sign, or where one is beyond those in double precision; others as they are."""
    are_of_python = array.dtype.kind == "O" and array.size > 0 and all(map(_is_of_python, array.flat))
    if array.dtype.kind not in "biu" and not are_of_python:
        return array
    bounds = np.iinfo(np.int64)
    fit = array.size == 0 or (int(array.min()) >= bounds.min and int(array.max()) <= bounds.max)
    return array.astype(np.int64 if fit else np.float64, copy=False)


def _is_of_python(value: Any) -> bool:
    """Whether it is a whole number of Python that double precision can have."""
    return type(value) is int and abs(value) < 2**1023


def _number(value: Any, name: str) -> int | float:
    array = _storable(np.asarray(value))
    if array.ndim or array.dtype.kind not in "if":
        raise Error(f"the attribute `{name}` is no number and no text", f"{value!r}")
    return float(array) if array.dtype.kind == "f" else int(array)


def sendable(text: object) -> str:
    """A text in characters that files and other ranks take."""
    return str(text).replace("\0", " ").encode("utf-8", "backslashreplace").decode()


def _is_pair_with_unit(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str)

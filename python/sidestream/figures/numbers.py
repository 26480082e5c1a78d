"""The numbers that a figure shows, as files: whatever is drawn in it, read back from it.

A label that begins with `_` is in no legend; what follows is the name of the series all the same.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import Collection, EllipseCollection, PathCollection, QuadMesh
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import StepPatch

if TYPE_CHECKING:
    import h5py

HEAD = ("panel", "series", "x_axis", "x", "y_axis", "y", "quantity", "value", "lower", "upper")
_OWN_LABEL = re.compile(r"_(nolegend_|(child|container)\d+)")  # of Matplotlib, where none was given
_TYPESET = (
    (r"\\mathrm\{([^{}]*)\}", r"\1"),
    (r"\\(?:langle|rangle|left|right)", ""),
    (r"_\\odot", "sun"),
    (r"\\[,;\s]", " "),
    (r"\\([A-Za-z]+)", r"\1"),
    (r"\^\{([^{}]*)\}", r"^\1"),
    (r"_\{([^{}]*)\}", r"_\1"),
    (r"[${}]", ""),
)


@dataclass(frozen=True)
class Numbers:
    """A line, marks or an image: places `x` and `y` in the units of the axes, and values there where it has any."""

    panel: str
    series: str
    x_axis: str
    y_axis: str
    x: np.ndarray
    y: np.ndarray
    quantity: str = ""  # what `value` is
    value: np.ndarray | None = None  # of each point, or (y, x) of an image
    error: tuple[np.ndarray, np.ndarray] | None = None  # ends of the bars

    @property
    def is_image(self) -> bool:
        """Whether there is a value for each pair of `x` and `y`."""
        return self.value is not None and self.value.ndim == 2

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """As `HEAD` says."""
        x, y = (np.tile(self.x, self.y.size), np.repeat(self.y, self.x.size)) if self.is_image else (self.x, self.y)
        value = [""] * x.size if self.value is None else np.asarray(self.value).ravel().tolist()
        ends = [[""] * x.size] * 2 if self.error is None else [end.tolist() for end in self.error]
        for place, height, of, low, high in zip(x.tolist(), y.tolist(), value, *ends, strict=True):
            if of == of:  # bins without any value are left out
                yield self.panel, self.series, self.x_axis, place, self.y_axis, height, self.quantity, of, low, high


def numbers_of(figure: Figure) -> list[Numbers]:
    """Everything with a place in the units of its axes: lines, marks, bars and images, panel by panel."""
    panels = [axes for axes in figure.axes if not hasattr(axes, "_colorbar")]
    return [numbers for index, axes in enumerate(panels) for numbers in _of_panel(axes, index, len(panels))]


def as_csv(numbers: Sequence[Numbers], columns: Mapping[str, Sequence[Any]]) -> bytes:
    """One table: the columns, where there are such, or else all numbers below each other."""
    text = StringIO(newline="")
    writer = csv.writer(text)
    if columns:
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    else:
        writer.writerow(HEAD)
        writer.writerows(row for one in numbers for row in one.rows())
    return text.getvalue().encode()


def as_netcdf(numbers: Sequence[Numbers], columns: Mapping[str, Sequence[Any]], title: str) -> memoryview:
    """A netCDF-4 file with the same: a variable a series, over its `x`; of an image over `y` and `x`."""
    import h5py

    image = BytesIO()
    with h5py.File(image, "w") as file:
        file.attrs["title"] = title
        if columns:
            rows = _dimension(file, "row", range(len(next(iter(columns.values())))), "row")
            for name, values in columns.items():
                _variable(file, _slug(name), (rows,), values, name)
        used: dict[str, int] = {}
        for one in () if columns else numbers:
            _write(file, one, _unique(_slug(f"{one.panel} {one.series}") or "series", used))
    return image.getbuffer()


def _write(file: h5py.File, one: Numbers, name: str) -> None:
    about = {"panel": one.panel, "series": one.series}
    over = (_dimension(file, f"{name}_x", one.x, one.x_axis),)
    if one.is_image:
        rows = _dimension(file, f"{name}_y", one.y, one.y_axis)
        _variable(file, name, (rows, *over), one.value, one.quantity, about)
        return
    _variable(file, name, over, one.y, one.y_axis, about)
    if one.value is not None:
        _variable(file, f"{name}_value", over, one.value, one.quantity)
    for end, values in zip(("lower", "upper"), one.error or (), strict=False):
        _variable(file, f"{name}_{end}", over, values, one.y_axis)


def _dimension(file: h5py.File, name: str, values: Any, label: str) -> h5py.Dataset:
    scale = _variable(file, name, (), values, label)
    scale.make_scale(name)
    return scale


def _variable(
    file: h5py.File,
    name: str,
    over: Sequence[h5py.Dataset],
    values: Any,
    label: str,
    about: Mapping[str, str] | None = None,
) -> h5py.Dataset:
    """Without the library of netCDF, which takes six times as long for so many short variables."""
    import h5py

    is_text = np.asarray(values).dtype.kind in "UO"
    data = np.asarray(list(values), dtype=object) if is_text else _filled(values)
    variable = file.create_dataset(name, data=data, dtype=h5py.string_dtype() if is_text else None)
    for index, scale in enumerate(over):
        variable.dims[index].attach_scale(scale)
    what, unit = split_label(label)
    for key, text in {"long_name": what or name, "units": unit or "1", **(about or {})}.items():
        variable.attrs[key] = text
    return variable


def split_label(label: str) -> tuple[str, str]:
    """What an axis shows and its unit, the last thing in brackets: `mass [Msun]`."""
    found = re.fullmatch(r"(.*?)\s*\[([^\[\]]*)\]", label.strip(), re.DOTALL)
    return (found[1], found[2]) if found else (label, "")


def plain(label: str) -> str:
    """A label of a figure as plain text of one line."""
    for typeset, text in _TYPESET:
        label = re.sub(typeset, text, label)
    return " ".join(label.split())


def _of_panel(axes: Any, index: int, count: int) -> Iterator[Numbers]:
    title = plain(axes.get_title(loc="left"))
    panel = title or (f"panel {index + 1}" if count > 1 else "")
    x_axis, y_axis = (plain(text) for text in (_shared_label(axes, "x"), _shared_label(axes, "y")))

    def numbers(label: Any, x: Any, y: Any, **rest: Any) -> Numbers:
        series = "" if _OWN_LABEL.fullmatch(str(label)) else plain(str(label).removeprefix("_"))
        return Numbers(panel, series, x_axis, y_axis, np.asarray(x, dtype=float), np.asarray(y, dtype=float), **rest)

    bars = {bar.lines[0]: bar for bar in axes.containers if isinstance(bar, ErrorbarContainer) and bar.lines[0]}
    caps = {cap for bar in axes.containers if isinstance(bar, ErrorbarContainer) for cap in bar.lines[1]}
    for line in axes.lines:
        x, y = line.get_data()
        if line in caps or not len(x) or line.get_transform() != axes.transData:
            continue
        bar = bars.get(line)
        error = None if bar is None else _ends(bar, len(x))
        yield numbers(line.get_label() if bar is None else bar.get_label(), x, y, error=error)
    for collection in axes.collections:
        yield from _of_collection(collection, numbers)
    for container in (one for one in axes.containers if isinstance(one, BarContainer)):
        x = [patch.get_x() + patch.get_width() / 2 for patch in container.patches]
        yield numbers(container.get_label(), x, [patch.get_height() for patch in container.patches])
    for stairs in (patch for patch in axes.patches if isinstance(patch, StepPatch)):
        heights, edges, _ = stairs.get_data()
        yield numbers(stairs.get_label(), (edges[1:] + edges[:-1]) / 2, heights)
    for image in (
        image for image in axes.images if isinstance(image, AxesImage) and _filled(image.get_array()).ndim == 2
    ):
        left, right, bottom, top = image.get_extent()
        values = _filled(image.get_array())
        x, y = _centres(left, right, values.shape[1]), _centres(bottom, top, values.shape[0])
        yield numbers("", x, y, value=values, quantity=_of_bar(image))


def _of_collection(collection: Collection, numbers: Any) -> Iterator[Numbers]:
    if isinstance(collection, QuadMesh):
        corners = np.asarray(collection.get_coordinates())
        x, y = corners[0, :, 0], corners[:, 0, 1]
        values = _filled(collection.get_array())
        values = values.reshape(y.size - 1, x.size - 1)
        yield numbers("", (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2, value=values, quantity=_of_bar(collection))
    elif isinstance(collection, (PathCollection, EllipseCollection)):
        places = _filled(collection.get_offsets())
        value = collection.get_array()
        shown = {} if value is None else {"value": np.asarray(value, dtype=float), "quantity": _of_bar(collection)}
        yield numbers(collection.get_label(), places[:, 0], places[:, 1], **shown)


def _of_bar(mappable: Any) -> str:
    """The label of the colour bar of an image or of marks; of images that share one, of the bar of any of them."""
    norm = mappable.norm
    for axes in (one for outer in mappable.axes.figure.axes for one in (outer, *outer.child_axes)):
        bar = getattr(axes, "_colorbar", None)
        if bar is not None and bar.norm is norm:
            return plain(axes.get_ylabel() or axes.get_xlabel())
    return "value"


def _shared_label(axes: Any, which: str) -> str:
    """The label of an axis, or where panels share one, of the panel that has it."""
    own = str(getattr(axes, f"get_{which}label")())
    siblings = getattr(axes, f"get_shared_{which}_axes")().get_siblings(axes)
    return own or next((label for one in siblings if (label := str(getattr(one, f"get_{which}label")()))), "")


def _ends(bar: ErrorbarContainer, count: int) -> tuple[np.ndarray, np.ndarray] | None:
    if not bar.has_yerr:
        return None
    heights = [np.asarray(path.vertices)[:, 1] for path in bar.lines[2][-1].get_paths()]
    if len(heights) != count or any(len(height) != 2 for height in heights):
        return None
    low, high = np.array(heights, dtype=float).T.reshape(2, count)
    return low, high


def _filled(values: Any) -> np.ndarray:
    """Numbers, NaN where they are masked."""
    return np.asarray(np.ma.filled(np.ma.asarray(values, dtype=float), np.nan))


def _centres(first: float, last: float, count: int) -> np.ndarray:
    edges = np.linspace(first, last, count + 1)
    return np.asarray((edges[1:] + edges[:-1]) / 2)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", split_label(text)[0].lower()).strip("_")


def _unique(name: str, used: dict[str, int]) -> str:
    used[name] = used.get(name, 0) + 1
    return name if used[name] == 1 else f"{name}_{used[name]}"

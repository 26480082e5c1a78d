"""Result files: reading one, and joining those of a task over its steps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..error import Error
from .columns import read_attributes, read_columns
from .outputs import all_outputs_in

if TYPE_CHECKING:
    import xarray as xr

# Variables that say where values sit. They become coordinates and stay single when they are equal in all steps.
AXES = frozenset(
    {"k", "k_velocity", "shell_k", "mu", "modes", "x", "y", "z", "overdensity", "deviation", "separation"}
    | {f"{kind}{name}" for kind in ("", "mock_") for name in ("velocity", "wavelength")}
    | {f"{name}{end}" for name in ("overdensity", "density", "temperature") for end in ("_low", "_high")}
)
ROWS = ("halo", "region")  # the dimensions whose length changes from step to step, each for tables of its own
MOMENT = ("redshift", "scale_factor", "time_gyr")  # attributes that become coordinates over steps


def load_result(
    path: Path, dimension: str | tuple[str, ...] | None = None, names: Collection[str] | None = None
) -> xr.Dataset:
    """Reads one result file into memory; `sidestream.Error` if it is missing or damaged.

    With a `dimension` that the file has (the first such of several), only the columns over it are read: of halos with
    their members, the table.
    With `names`, only those columns.
    """
    with _readable(path):
        loaded = read_columns(path, dimension, names)
    return loaded if rows_of(loaded) else loaded.set_coords([n for n in loaded.data_vars if n in AXES])


def rows_of(dataset: xr.Dataset) -> str | None:
    """The dimension of its rows, if it is a table of halos or regions."""
    return next((name for name in ROWS if name in dataset.dims), None)


def load_attributes(path: Path) -> dict[str, Any]:
    """The attributes of a result file, without its columns; `sidestream.Error` if it is missing or damaged."""
    with _readable(path):
        return read_attributes(path)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    if not path.is_file():
        raise Error(
            "the result file does not exist", path, hint="`sidestream info RUN` lists the steps that have results"
        )
    try:
        yield
    except Error as problem:
        is_whole = problem.hint and "damaged" not in problem.hint
        hint = problem.hint if is_whole else _how_it_is_made_again(path)
        raise Error(f"the result file cannot be read: {problem.what}", path, hint) from problem
    except Exception as problem:  # h5py and xarray raise a dozen types for a damaged file
        what = "the result file cannot be read; it is damaged or not a result"
        raise Error(what, path, _how_it_is_made_again(path)) from problem


def _how_it_is_made_again(path: Path) -> str:
    task, results = path.absolute().parent, path.absolute().parent.parent
    if results.name != "results" or not path.stem.isdigit():
        return "copy it anew from where it is whole"
    of_step = [file for file in all_outputs_in(results.parent) if file.step == int(path.stem) and not file.is_pending]
    if any(file.is_stored_for_later for file in of_step):
        return f"delete it, and `sidestream analyze {results.parent}` makes it anew"
    if of_step:
        return f"`sidestream analyze {of_step[-1].path} --task {task.name} --out DIR` makes it anew"
    return "delete it, and `sidestream run ... --restart` computes it again if the step lies ahead"


def join_steps(datasets: Sequence[xr.Dataset], steps: Sequence[int]) -> xr.Dataset:
    """Joins the results of one task.

    Tables of rows (halos) are put below each other, with the coordinates `step` and `redshift` for each row; all others
    are stacked along a new dimension `step` with the coordinates `redshift` and `time_gyr`, columns that are shorter in
    some steps with NaN behind; numbers among their attributes that differ from step to step become variables over it.
    """
    if _is_table_of_rows(datasets):
        return below_each_other(datasets, steps)
    return _stacked(datasets, steps)


def _is_table_of_rows(datasets: Sequence[xr.Dataset]) -> bool:
    if rows_of(datasets[0]):
        return True
    first = datasets[0].sizes
    all_have_it = len(first) == 1 and all(v.dims == tuple(first) for d in datasets for v in d.variables.values())
    return all_have_it and any(dict(d.sizes) != dict(first) for d in datasets)


def below_each_other(datasets: Sequence[xr.Dataset], steps: Sequence[int]) -> xr.Dataset:
    """Tables of rows as one, with the coordinates `step` and `redshift` for each row; see `join_steps`."""
    import xarray as xr

    rows = str(next(iter(datasets[0].dims)))
    joined: xr.Dataset = xr.concat(
        [d.reset_coords().drop_attrs(deep=False) for d in datasets], dim=rows, combine_attrs="drop_conflicts"
    )
    lengths = [d.sizes.get(rows, 0) for d in datasets]
    coords = {"step": np.asarray(steps, dtype=np.int64)} | _moments(datasets)
    joined = joined.assign_coords({name: (rows, np.repeat(values, lengths)) for name, values in coords.items()})
    joined.attrs = _common_attributes(datasets)
    return joined


def _stacked(datasets: Sequence[xr.Dataset], steps: Sequence[int]) -> xr.Dataset:
    import xarray as xr

    return stacked(datasets, xr.DataArray(np.asarray(steps, dtype=np.int64), dims="step", name="step"))


def stacked(datasets: Sequence[xr.Dataset], axis: xr.DataArray) -> xr.Dataset:
    """Results of one shape along a new dimension, that of `axis`; see `join_steps`."""
    import xarray as xr

    over = str(axis.dims[0])
    shared = [n for n in datasets[0].coords if n in AXES and all(_same(datasets[0], d, str(n)) for d in datasets[1:])]
    single = {name: datasets[0][name].variable for name in shared}
    varying = [d.drop_vars(shared).reset_coords().drop_attrs(deep=False) for d in datasets]
    joined: xr.Dataset = xr.concat(_of_one_length(varying), dim=axis, data_vars="all", join="outer")
    joined = joined.assign_coords(single).assign_coords({n: (over, v) for n, v in _moments(datasets).items()})
    common = _common_attributes(datasets)
    differing = _numbers_over_steps(datasets, {*common, *joined.variables, *MOMENT, "step"})
    joined = joined.assign({name: (over, values) for name, values in differing.items()})
    joined.attrs = common
    return joined


def _of_one_length(datasets: Sequence[xr.Dataset]) -> list[xr.Dataset]:
    """Those with dimensions whose length changes from step to step, with NaN behind what they have.

    Columns of tasks in Python share a dimension in steps in which they happen to be of one length: those that do not
    share it in all steps get their own.
    """
    datasets = [_with_own_dimensions(dataset, _changing(datasets)) for dataset in datasets]
    longest: dict[Any, int] = {}
    for dataset in datasets:
        for name, length in dataset.sizes.items():
            longest[name] = max(length, longest.get(name, 0))

    def padded(dataset: xr.Dataset) -> xr.Dataset:
        short = {
            n: (0, longest[n] - k) for n, k in dataset.sizes.items() if k < longest[n] and n not in dataset.indexes
        }
        return dataset.pad(short) if short else dataset

    return [padded(dataset) for dataset in datasets]


def _changing(datasets: Sequence[xr.Dataset]) -> set[Any]:
    """The columns of rows that have other dimensions in other steps."""
    first: dict[Any, Any] = {}
    for dataset in datasets:
        for name, column in dataset.variables.items():
            first.setdefault(name, column.dims)
    return {n for d in datasets for n, c in d.variables.items() if c.dims != first[n] and c.ndim == len(first[n]) == 1}


def _with_own_dimensions(dataset: xr.Dataset, names: set[Any]) -> xr.Dataset:
    own = {name: (f"{name}_row", dataset[name].values, dataset[name].attrs) for name in names if name in dataset}
    return dataset.drop_vars(list(own)).assign(own) if own else dataset


def _numbers_over_steps(datasets: Sequence[xr.Dataset], known: set[Any]) -> dict[str, np.ndarray]:
    """Those attributes beside the known ones that are one number wherever they are; NaN elsewhere."""

    def is_number(value: Any) -> bool:
        return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiu"

    names = dict.fromkeys(str(name) for dataset in datasets for name in dataset.attrs if name not in known)
    numbers = {name: [d.attrs.get(name, np.nan) for d in datasets] for name in names}
    return {name: np.array(values) for name, values in numbers.items() if all(map(is_number, values))}


def _same(one: xr.Dataset, other: xr.Dataset, name: str) -> bool:
    if name not in other.variables or one[name].shape != other[name].shape:
        return False
    return bool(np.array_equal(one[name].values, other[name].values, equal_nan=True))


def _moments(datasets: Sequence[xr.Dataset]) -> dict[str, np.ndarray]:
    known = [name for name in MOMENT if any(name in d.attrs for d in datasets)]
    return {n: np.array([float(np.asarray(d.attrs.get(n, np.nan)).item()) for d in datasets]) for n in known}


def _common_attributes(datasets: Sequence[xr.Dataset]) -> dict[str, object]:
    first = datasets[0].attrs
    return {
        str(name): value
        for name, value in first.items()
        if name not in MOMENT
        and name != "step"
        and all(name in d.attrs and np.array_equal(d.attrs[name], value) for d in datasets)
    }

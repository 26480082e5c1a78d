"""`sidestream.open_many`: the results of a family of runs over the keys that were varied."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..error import Error
from ..runs.family import Family, Member, parsed, read_family
from ..runs.results import stacked
from ..runs.run import Run

if TYPE_CHECKING:
    import xarray as xr

WITHIN = 0.05  # of 1 + z: how far the redshift of a result may be from the one that was asked for


def open_many(
    folder: str | os.PathLike[str], task: str | None = None, step: int = -1, redshift: float | None = None
) -> xr.Dataset:
    """One result of each run of a family, as one dataset over the keys that were varied.

    The dimensions are the last words of the keys (whole keys where two end alike), their coordinates the values. A run
    that has no such result, because it failed or has not come so far, is NaN there. Shorter tables end in NaN.

    Args:
        folder: what `sidestream sweep` made.
        task: the task; may be left out where the runs have one that makes results.
        step: of the result in each run; -1 is the last one.
        redshift: instead of the step: the result whose redshift is nearest, within 5 % of 1 + z.

    Example:
        >>> many = sidestream.open_many("runs/box-sweep", "spectra", redshift=3)
        >>> many["total_density_power"].mean("seed").sel(omega_m=0.3)
    """
    family = read_family(folder)
    name = _task(family, task)
    found = {m.name: _result(family, m, name, step, redshift) for m in family.members}
    there = [member for member in family.members if found[member.name] is not None]
    if not there:
        moment = f"near redshift {redshift:g}" if redshift is not None else "yet" if step == -1 else f"of step {step}"
        raise Error(
            f"no run of the family has a result of task `{name}` {moment}",
            family.folder,
            hint="`sidestream sweep` goes on with runs that have not ended",
        )
    return _over_keys(family, there, [result for result in found.values() if result is not None])


def _task(family: Family, task: str | None) -> str:
    runs = [Run(family.member_folder(member)) for member in family.members]
    names = list(dict.fromkeys(name for run in runs for name in run.analyses))
    if task is None and len(names) == 1:
        return names[0]
    if task is None or task not in names:
        what = f"there is no task `{task}` in" if task else "name the task: there is not one alone in"
        raise Error(f"{what} the runs of the family", family.folder, f"tasks: {', '.join(names) or 'none yet'}")
    return task


def _result(family: Family, member: Member, task: str, step: int, redshift: float | None) -> xr.Dataset | None:
    run = Run(family.member_folder(member))
    if task not in run.tasks:
        return None
    series = run.series(task)
    if redshift is not None and series.steps:
        step = series.step_at(redshift)
        if abs(series.redshift(step) - redshift) > WITHIN * (1 + redshift):
            return None
    elif step == -1 and series.steps:
        step = series.steps[-1]
    return series.get(step)


def _over_keys(family: Family, members: Sequence[Member], results: Sequence[xr.Dataset]) -> xr.Dataset:
    import pandas as pd
    import xarray as xr

    names = family.short_names
    axis = xr.DataArray(np.arange(len(members)), dims="run", name="run")
    together = stacked(_padded(results), axis)
    together = together.assign(step=("run", [int(result.attrs.get("step", -1)) for result in results]))
    values = {key: [parsed(member.values[key]) for member in members] for key in names}
    told = [name for key, name in names.items() if name in together and _tells(together[name], values[key])]
    together = together.drop_vars(told)
    dims = {key: name if name not in together.variables else key for key, name in names.items()}
    levels = list(values.values())
    index = pd.MultiIndex.from_arrays(levels, names=list(dims.values()))
    together = together.drop_vars("run").assign_coords(xr.Coordinates.from_pandas_multiindex(index, "run"))
    whole = {dims[key]: [parsed(value) for value in values] for key, values in family.keys.items()}
    made: xr.Dataset = together.unstack("run").reindex(whole)
    for key, name in dims.items():
        made[name].attrs["key"] = key
    ordered: xr.Dataset = made.transpose(*dims.values(), ...)
    return ordered


def _tells(column: xr.DataArray, values: Sequence[object]) -> bool:
    """Whether a column, made of an attribute of the results, is a varied key itself."""
    return column.dims == ("run",) and column.values.tolist() == list(values)


def _padded(results: Sequence[xr.Dataset]) -> list[xr.Dataset]:
    """All of the lengths of the longest, with NaN behind the ends of the others."""
    longest = {name: max(r.sizes.get(name, 0) for r in results) for result in results for name in result.dims}
    short = [
        {name: (0, longest[name] - r.sizes[name]) for name in r.dims if r.sizes[name] < longest[name]} for r in results
    ]
    return [
        r.reset_coords().pad(pads).set_coords(list(r.coords)) if pads else r
        for r, pads in zip(results, short, strict=True)
    ]

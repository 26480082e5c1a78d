"""`sidestream regions`: a function of one's own on the regions that a run saved."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import console
from ..error import Error, UsageError
from .groups import group
from .options import Json

if TYPE_CHECKING:
    import xarray as xr

    from ..files.regions import Region

regions = group(
    "regions",
    "Do something of one's own with the regions that a run saved.\n\n"
    "\b\n"
    "Examples:\n"
    "  sidestream regions classify runs/flow shapes:kind\n"
    "  sidestream regions classify runs/flow shapes:kind --task vortices -o kinds.csv",
)


@regions.callback()
def _group() -> None:
    """Keeps `classify` a command of its own."""


@regions.command(short_help="Call a Python function for each region, and collect what it says.")
def classify(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    function: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FUNCTION", help="A function of a region, here or installed.", show_default=False
        ),
    ],
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="NAME", help="The task (default: the only one of regions).", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Write a row a region: .csv or .nc.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Call a Python function for each region that was saved, at each step, and collect what it says.

    FUNCTION is given a `sidestream.Region`: its saved quantities as arrays, which cells are inside, and its row of the
    table. It returns a word or a number. Prints how many regions there are of each class.

    \b
    Examples:
      sidestream regions classify runs/flow shapes:kind
      sidestream regions classify runs/flow shapes:kind --task vortices -o kinds.csv
    """
    from ..files.opening import open_run
    from ..files.regions import regions as all_regions
    from ..files.regions import task_of
    from ..runs import catalogue

    catalogue.check_target(out)
    decide = _function(function)
    opened = open_run(run)
    name = task_of(opened, task)
    rows = [(region, _answer(decide, function, region)) for region in all_regions(opened, name)]
    if not rows:
        raise Error(
            f"the task `{name}` has found no region at any step",
            run,
            hint="lower the threshold of its `condition`; `sidestream plot RUN` shows the values that there are",
        )
    counts = Counter(answer for _, answer in rows)
    if out is not None:
        catalogue.save(_table(rows, function), out)
    if as_json:
        console.print_json({"regions": len(rows), "classes": {str(answer): n for answer, n in counts.most_common()}})
        return
    for answer, count in counts.most_common():
        typer.echo(f"{count:8d}  {answer}")
    where = f"; all are in {out}" if out is not None else ""
    console.say(f"{len(rows)} region{'s' * (len(rows) != 1)} of the task `{name}`{where}")


def _function(name: str) -> Callable[[Region], Any]:
    module, colon, function = name.partition(":")
    if not (module and colon and function):
        raise UsageError(f"`{name}` names no function", hint="write MODULE:FUNCTION, such as shapes:kind")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), function, None)
    except Exception as problem:
        raise Error(
            f"the module `{module}` cannot be imported: {problem}", hint="give the name of a file here without `.py`"
        ) from problem
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise UsageError(
            f"the module `{module}` has no function `{function}`",
            hint="name a function that the module has: MODULE:FUNCTION",
        )
    decide: Callable[[Region], Any] = found
    return decide


def _answer(decide: Callable[[Region], Any], name: str, region: Region) -> str | float | int:
    import numpy as np

    where = f"step {region.step}, region {region.properties['id']}"
    try:
        answer = decide(region)
    except Exception as problem:
        raise Error(
            f"`{name}` failed: {type(problem).__name__}: {problem}",
            where,
            hint="mend the function: it fails on this region",
        ) from problem
    if isinstance(answer, np.generic):
        answer = answer.item()
    if not isinstance(answer, str | float | int):
        raise Error(f"`{name}` returned {answer!r:.60}", where, "return a word or a number")
    return answer


def _table(rows: list[tuple[Region, Any]], function: str) -> xr.Dataset:
    import xarray as xr

    columns: dict[str, list[Any]] = {"step": [region.step for region, _ in rows]}
    for name in ("id", "track"):
        if name in rows[0][0].properties:
            columns[name] = [region.properties[name] for region, _ in rows]
    columns["class"] = [int(answer) if isinstance(answer, bool) else answer for _, answer in rows]
    return xr.Dataset({name: ("region", values) for name, values in columns.items()}, attrs={"function": function})

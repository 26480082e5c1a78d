"""`sidestream steer`: changes of a run that goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import console
from ..error import Error, UsageError
from .groups import group
from .options import Json
from .streams import Keys

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..steering import Steering

steer = group(
    "steer",
    "Change a run that goes on, between two of its steps.\n\n"
    "The run was started with `sidestream run --steer`. A change is checked at once, made by all ranks after the next "
    "step (or the one of --at), and told in events.jsonl with who made it and why. `sidestream run --replay` makes the "
    "same changes again.\n\n"
    "\b\n"
    "Examples:\n"
    "  sidestream steer runs/demo list                          what may be changed, and what it is now\n"
    '  sidestream steer runs/demo set hydro.cfl 0.3 --why "a shock comes"\n'
    "  sidestream steer runs/demo pause; sidestream steer runs/demo step 5\n"
    "  sidestream steer runs/demo edit pressure multiply 3 --cells 0:8,0:8,0:4\n"
    '  sidestream steer runs/demo edit gas_density multiply 0.5 --where "gas_density > 100"\n'
    "  sidestream steer tcp://node7:5555#KEY --help",
    subcommand_metavar="VERB [ARGS]...",
)

At = Annotated[
    int | None, typer.Option("--at", metavar="STEP", help="After this step (default: the next).", show_default=False)
]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="For the events of the run.", show_default=False)]


@steer.callback()
def _run(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run, or its address.", show_default=False)],
) -> None:
    context.obj = run


def _steering(context: typer.Context, keys: Path | None) -> Steering:
    from ..steering import steer as reach

    return reach(str(context.obj), keys=keys)


@steer.command("list", short_help="What may be changed: values, ranges, meanings.")
def list_knobs(context: typer.Context, keys: Keys = None, as_json: Json = False) -> None:
    """What may be changed: each knob with its value, its range and its meaning, and what may be edited."""
    found = _steering(context, keys).list()
    console.print_json(found) if as_json else _print_knobs(found)


@steer.command(short_help="The step, and the changes that wait or were made.")
def status(context: typer.Context, keys: Keys = None, as_json: Json = False) -> None:
    """The step, whether the run is paused, and the changes that wait or were made."""
    found = _steering(context, keys).status()
    console.print_json(found) if as_json else _print_status(found)


NEGATIVE = {"ignore_unknown_options": True}  # numbers below zero are no options


@steer.command("set", context_settings=NEGATIVE, short_help="Give a knob another value.")
def set_knob(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A knob of `list`.", show_default=False)],
    value: Annotated[
        str,
        typer.Argument(metavar="VALUE", help='As in a configuration: 0.3, true, [1, 2], "2 h".', show_default=False),
    ],
    at: At = None,
    why: Why = "",
    keys: Keys = None,
) -> None:
    """Give a knob another value, from the step after --at on. It goes into checkpoints: a restart goes on with it.

    \b
    Examples:
      sidestream steer runs/demo set hydro.cfl 0.3
      sidestream steer runs/demo set task.halos.every 5 --at 200
      sidestream steer runs/demo set run.wall_time "12 h"
    """
    _told(f"`{name}` is {value}", _steering(context, keys).set(name, value, at=at, why=why))


@steer.command(context_settings=NEGATIVE, short_help="Set, add to or multiply a quantity in some cells.")
def edit(
    context: typer.Context,
    quantity: Annotated[str, typer.Argument(metavar="QUANTITY", help="One of `list`.", show_default=False)],
    operation: Annotated[str, typer.Argument(metavar="OPERATION", help="set, add or multiply.", show_default=False)],
    value: Annotated[
        str,
        typer.Argument(
            metavar="VALUE", help="The number, or a file of NumPy with one [z, y, x] for each cell.", show_default=False
        ),
    ],
    cells: Annotated[
        str | None,
        typer.Option(
            "--cells", metavar="X:X,Y:Y,Z:Z", help="The box in cells of level 0, ends excluded.", show_default=False
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="CONDITION", help="Only cells in which it holds.", show_default=False),
    ] = None,
    at: At = None,
    why: Why = "",
    keys: Keys = None,
) -> None:
    """Set a quantity in a box of cells, add to it or multiply it; only where a condition of the cell holds.

    The event tells what that added to the sums that the run keeps.

    \b
    Examples:
      sidestream steer runs/sedov edit pressure multiply 3 --cells 0:8,0:8,0:4
      sidestream steer runs/sedov edit gas_density add 0.5 --cells 8:16,0:16,0:16 --at 40
      sidestream steer runs/sedov edit pressure set 1e-5 --where "pressure < 1e-5 and gas_density > 1"
      sidestream steer runs/sedov edit gas_density set cloud.npy --cells 0:8,0:8,0:8
    """
    if cells is None and where is None:
        raise UsageError("it is not said which cells are edited", "--cells", "give a box, or a condition with --where")
    region = None if cells is None else _region(cells)
    steering = _steering(context, keys)
    step = steering.edit(quantity, region, _number_or_array(value), operation, where=where, at=at, why=why)
    outcome = steering.outcome() if at is None else None
    if outcome not in (None, "done"):
        raise Error(
            f"the edit was refused after step {step}: {outcome}",
            str(context.obj),
            hint="`sidestream steer RUN list` says what may be edited",
        )
    _told(f"`{quantity}` is edited", step)


@steer.command(short_help="Have the run wait after a step.")
def pause(context: typer.Context, at: At = None, why: Why = "", keys: Keys = None) -> None:
    """Have the run wait after a step, until `resume`, `step`, `stop`, a signal or its limit of time."""
    _told("the run waits", _steering(context, keys).pause(at=at, why=why))


@steer.command(short_help="Have it go on.")
def resume(context: typer.Context, why: Why = "", keys: Keys = None) -> None:
    """Have a run that waits go on."""
    _told("the run goes on", _steering(context, keys).resume(why=why))


@steer.command(short_help="Have it take some steps, and wait.")
def step(
    context: typer.Context,
    count: Annotated[int, typer.Argument(metavar="[N]", help="So many.", min=1)] = 1,
    why: Why = "",
    keys: Keys = None,
) -> None:
    """Have the run take N steps (one without N) and wait."""
    _told(f"the run takes {count} step{'s' * (count > 1)}, and waits,", _steering(context, keys).step(count, why=why))


@steer.command(short_help="Write a checkpoint.")
def checkpoint(context: typer.Context, at: At = None, why: Why = "", keys: Keys = None) -> None:
    """Write a checkpoint, also in a run that writes none by itself."""
    step = _steering(context, keys).checkpoint(at=at, why=why)
    console.say(f"a checkpoint is written after step {step}; `status` tells when it is there")


@steer.command(short_help="End the run, with a last checkpoint.")
def stop(context: typer.Context, at: At = None, why: Why = "", keys: Keys = None) -> None:
    """End the run after a step, with a last checkpoint; `sidestream run --restart` goes on with it."""
    _told("the run ends", _steering(context, keys).stop(at=at, why=why))


def _told(what: str, step: int) -> None:
    console.say(f"{what} from after step {step}")


def _region(cells: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    try:
        x, y, z = (tuple(int(end) for end in axis.split(":")) for axis in cells.split(","))
        (x0, x1), (y0, y1), (z0, z1) = x, y, z
    except ValueError as problem:
        raise UsageError(
            f"`{cells}` is no box of cells", "--cells", "write first and end along x, y and z: 0:8,0:8,0:4"
        ) from problem
    return (z0, y0, x0), (z1, y1, x1)


def _number_or_array(value: str) -> float | NDArray[np.float64]:
    import numpy

    try:
        if not value.endswith(".npy"):
            return float(value)
        if not Path(value).is_file():
            raise OSError
        with Path(value).open("rb") as file:
            array: NDArray[np.float64] = numpy.lib.format.read_array(file, allow_pickle=False)
        return array
    except (OSError, ValueError, EOFError, MemoryError) as problem:
        raise UsageError(
            f"`{value}` is no number, and no array of NumPy", "VALUE", "give 0.5, or a file: cloud.npy"
        ) from problem


def _print_knobs(found: Mapping[str, Any]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("knob", "value", "range", "meaning"):
        table.add_column(title)
    for knob in found["knobs"]:
        table.add_row(knob["name"], _value(knob), _range(knob), knob["meaning"])
    console.print_table(table)
    for one in found["editable"]:
        unit = f" {one['unit']}" if one["unit"] not in ("", "1") else ""
        console.out().print(f"edit  {one['name']} (above {one['above']:g}{unit}): {one['meaning']}", soft_wrap=True)
    _print_standing(found)


def _print_status(found: Mapping[str, Any]) -> None:
    from rich.table import Table

    _print_standing(found)
    changes = [(change, change["outcome"]) for change in found["done"]]
    changes += [(change, "waits") for change in found["waiting"]]
    if not changes:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("after step", justify="right")
    for title in ("change", "who", "why", "outcome"):
        table.add_column(title)
    for change, outcome in changes:
        table.add_row(str(change["at"]), _change(change), change["who"], change["why"], outcome)
    console.print_table(table)


def _print_standing(found: Mapping[str, Any]) -> None:
    console.out().print(f"step {found['step']}, {100 * found['progress']:.0f} %, {found['state']}")


def _change(change: Mapping[str, Any]) -> str:
    value = change.get("value", "")
    if change["verb"] == "edit":
        by = value["array"]["name"] if "array" in value else f"{value['value']:g}"
        value = f"{value['operation']} {by}" + (f" where {value['where']}" if "where" in value else "")
    return f"{change['verb']} {change.get('name', '')} {value}".strip()


def _value(knob: Mapping[str, Any]) -> str:
    if knob["value"] is None:
        return "none"
    value = str(knob["value"]).lower() if knob["type"] == "flag" else knob["value"]
    return f"{value} {knob.get('unit', '')}".strip()


def _range(knob: Mapping[str, Any]) -> str:
    if "choices" in knob:
        return ", ".join(knob["choices"])
    if knob["type"] == "flag":
        return "true, false"
    lowest, highest = knob.get("minimum"), knob.get("maximum")
    if lowest is not None and highest is not None:
        return f"{lowest:g} to {highest:g}"
    return f"{lowest:g} or more" if lowest is not None else ""

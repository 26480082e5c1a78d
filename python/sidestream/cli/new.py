"""`sidestream new`: a part that works, to be changed into one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import console
from ..error import UsageError

PARTS = "format", "picture", "problem", "quantity", "transport"  # of Sidestream itself


def new(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="analysis, simulation; with --checkout also format, picture, problem, quantity, transport.",
            show_default=False,
        ),
    ],
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Words of lower case, joined by `_`: mean_age.", show_default=False)
    ],
    checkout: Annotated[
        Path | None,
        typer.Option(
            "--checkout",
            metavar="DIR",
            help="Make it a part of Sidestream, in its sources in DIR.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make a part that works, with its test, to be changed into one's own.

    Files in Python, made in this folder: an `analysis` is a function that runs call with their state, with a small run
    that does so; a `simulation` is a program that takes its own steps, with a session for its analyses.

    With --checkout, parts of Sidestream in its sources, in C++ (pictures in Python): an `analysis`, a `picture` of its
    results, a `quantity`, a `problem` of gas dynamics, a `simulation`, a `format` or a `transport`, each with its line
    in the registry, its words in the reference and its test.

    \b
    Examples:
      sidestream new analysis mean_age
      sidestream new simulation heat
      sidestream new format zarr --checkout ~/sidestream
    """
    from ..scaffolding.making import make

    if checkout is None and kind in PARTS:
        here = "." if Path("tools/templates").is_dir() else "DIR"
        raise UsageError(
            f"a {kind} is made in the sources of Sidestream",
            hint=f"`sidestream new {kind} {name} --checkout {here}`, with the folder of a clone of its repository",
        )
    made = make(kind, name, checkout or Path(), is_checkout=checkout is not None)
    for path in made.new:
        typer.echo(f"made     {path}")
    for path in made.changed:
        typer.echo(f"changed  {path}")
    console.say(f"it works as it is: {made.check}{'' if checkout is None else f', in {checkout}'}")
    console.say("now make it yours")

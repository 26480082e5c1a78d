"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Launcher = Annotated[
    str | None, typer.Option("--launcher", metavar="COMMAND", help="The MPI launcher, with options if need be.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Overrides a key, e.g. task.halos.transport=in-situ; repeatable."),
]
Box = Annotated[
    str | None,
    typer.Option("--box", metavar="SIDES", help='Of plain arrays, the sides of their box: "20 Mpc", "20,20,40 kpc".'),
]
Unit = Annotated[
    str | None, typer.Option("--unit", metavar="UNIT", help="Of plain arrays that do not say theirs: Msun/Mpc^3, K.")
]

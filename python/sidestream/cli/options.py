"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Launcher = Annotated[
    str | None, typer.Option("--launcher", metavar="COMMAND", help="The MPI launcher, with options if need be.")
]

"""`sidestream conformance`."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import console
from .options import Json

SIGNS = {
    "good": ("ok  ", "green"),
    "note": ("note", "yellow"),
    "wrong": ("BAD ", "bold red"),
    "unseen": ("-   ", "dim"),
}


def conformance(
    command: Annotated[list[str], typer.Argument(help="What starts the program, after `--`.", metavar="-- COMMAND...")],
    patience: Annotated[float, typer.Option(help="Seconds that ranks wait for each other.", min=0.1)] = 10.0,
    as_json: Json = False,
) -> None:
    """Run a program that opens a session, and look whether it keeps to what sessions ask.

    Blocks without holes and overlaps, ghost cells, units, the order of axes, memory that stays, and calls that all
    ranks make together. Ends with 1 where something is wrong.

    \b
    Examples:
      sidestream conformance -- mpirun -n 3 ./my_code my_input
      sidestream conformance --json -- mpirun -n 2 python my_code.py
    """
    from rich.text import Text

    from ..launch.conformance import conformance as run

    findings, code = run(command, patience)
    if as_json:
        console.print_json({"exit_code": code, "checks": [finding.as_dict() for finding in findings]})
    for finding in [] if as_json else findings:
        line = Text.assemble(SIGNS[finding.verdict], f"  {finding.check:<9} {finding.message}")
        if finding.where:
            line.append("\n" + " " * 16 + finding.where, style="dim")
        console.out().print(line, soft_wrap=True)
    if any(finding.verdict == "wrong" for finding in findings):
        raise typer.Exit(1)

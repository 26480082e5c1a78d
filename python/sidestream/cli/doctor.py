"""`sidestream doctor`."""

from __future__ import annotations

import typer

from .. import console
from .options import Json

SIGNS = {"good": ("ok  ", "green"), "warning": ("warn", "yellow"), "bad": ("BAD ", "bold red")}


def doctor(as_json: Json = False) -> None:
    """Look whether all that a run needs is here and goes together: programs, MPI, two ranks, memory, limits.

    Ends with 1 where something is bad; what only warns costs speed, or a part that is not used.

    \b
    Examples:
      sidestream doctor
      sidestream doctor --json
    """
    from rich.text import Text

    from ..launch.doctor import BAD, findings

    all_of_them = []
    for finding in findings():
        all_of_them.append(finding)
        if as_json:
            continue
        line = Text.assemble(SIGNS[finding.state], f"  {finding.what:<14} {finding.found}")
        if finding.hint:
            line.append("\n" + " " * 21 + finding.hint, style="dim")
        console.out().print(line, soft_wrap=True)
    if as_json:
        console.print_json([finding.as_dict() for finding in all_of_them])
    if any(finding.state == BAD for finding in all_of_them):
        raise typer.Exit(1)

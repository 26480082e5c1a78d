"""`sidestream doctor` and `sidestream doctor-io`: what is wrong here, and with the files of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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


def doctor_io(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Name what is bad in the way in which a run writes its files, and the option that mends it.

    Looks at the statistics of access in its events, its configuration, and where arrays begin in its files: writes that
    are many and small, ranks that write each for itself, more files than are needed, arrays that begin within a block
    of the file system, a library that did not write together, and what is read back since a library hides errors.

    \b
    Examples:
      sidestream doctor-io runs/demo
      sidestream doctor-io runs/demo --json
    """
    from ..files.opening import open_run
    from ..runs import bad_io

    opened = open_run(run)
    looked_at = bad_io.outputs_of(opened)
    found = bad_io.findings(opened)
    if as_json:
        console.print_json([finding.as_dict() for finding in found])
        return
    for finding in found:
        typer.echo(f"{finding.problem:<12} {finding.where}: {finding.seen}\n{'':<12} mend it: {finding.option}")
    count = sum(len(outputs.written) + len(outputs.failed) for outputs in looked_at)
    console.say(
        f"{len(found) or 'no'} problem{'s' * (len(found) != 1)} in the {count} files that the last job has written"
    )

"""`sidestream analyze`: the tasks that a run left for later."""

from __future__ import annotations

from .. import console
from ..error import Error
from ..runs.run import Run
from .launcher import PROGRAM
from .programs import Tell, lines_of
from .simulation import report_on


def analyze(run: Run, ranks: int, launcher: str | None = None, tell: Tell = lambda _: None) -> int:
    """Makes the results that are missing of the snapshots in a run folder, and the report anew.

    Args:
        run: the run.
        ranks: MPI ranks.
        launcher: a launcher with its own options.
        tell: takes a line for each snapshot.

    Returns:
        how many results were made.

    Raises:
        Error: nothing was stored, or a result could not be made; those that could are there.
    """
    if not run.config:
        raise Error("the run has no configuration", run.folder, "a run folder holds config.toml")
    before = len(run.events.of("analysis"))
    arguments = [str(run.folder / "config.toml"), "--analyze", "--out", str(run.folder)]

    def pass_on(line: str) -> None:
        if line.startswith("step "):
            tell(line)
        elif not line.startswith(("error: ", "  --> ", "hint: ")):  # an error is raised
            console.say(line)

    try:
        for _ in lines_of(PROGRAM, arguments, ranks, launcher, pass_on):
            pass
    finally:
        made = len(run.events.of("analysis")) - before
        if made:
            report_on(run)
    return made

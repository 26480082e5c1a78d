"""`sidestream analyze`: the tasks that a run left for later, and tasks with a plot file."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from .. import console
from ..error import Error
from ..runs.events import log_files
from ..runs.outputs import PLOT_FILE, all_outputs_in
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
    try:
        _analyze([str(run.folder / "config.toml"), "--analyze", "--out", str(run.folder)], ranks, launcher, tell)
    finally:
        made = len(run.events.of("analysis")) - before
        if made:
            report_on(run)
    return made


def analyze_file(
    file: Path,
    task: str,
    folder: Path,
    ranks: int,
    settings: Sequence[str] = (),
    launcher: str | None = None,
    tell: Tell = lambda _: None,
    overwrite: bool = False,
) -> Run:
    """Does tasks with the state in a plot file or checkpoint of any format.

    Args:
        file: the plot file.
        task: a configuration of tasks (`[task.NAME]`, with `[quantity.NAME]` and `[heating]` if wanted), a file whose
            name ends in `.toml`; or the name of an analysis or suite, which is done with its defaults.
        folder: the folder that the results go to; there must not be a run in it.
        ranks: MPI ranks.
        settings: keys of the configuration to override: `heating.uv_background=hm2012`.
        launcher: a launcher with its own options.
        tell: takes a line for each task.
        overwrite: earlier results of tasks with a file give way; a run of a simulation never does.

    Returns:
        the folder with its results, opened.

    Raises:
        Error: the file has not what the tasks need, or a result could not be made; those that could are there.
    """
    with tempfile.TemporaryDirectory(prefix="sidestream-") as own:
        config = Path(task)
        if config.suffix != ".toml":
            config = Path(own) / f"{task}.toml"
            config.write_text(f'[task."{task}"]\nanalysis = "{task}"\n', encoding="utf-8")
        words = [word for setting in settings for word in ("--set", setting)]
        words += ["--overwrite"] if overwrite else []
        _analyze([str(config), "--analyze", "--from", str(file), "--out", str(folder), *words], ranks, launcher, tell)
    return Run(folder)


def analyze_snapshots(
    run: Run,
    task: str,
    folder: Path,
    ranks: int,
    settings: Sequence[str] = (),
    launcher: str | None = None,
    tell: Tell = lambda _: None,
    overwrite: bool = False,
) -> Run:
    """Does tasks with every snapshot that a run has stored, or else with its plot files: `analyze_file`, one by one.

    Each moment stands alone: tasks that compare with the moment before find none.

    Returns:
        the folder with the results of all moments, opened.

    Raises:
        Error: the run has no snapshot and no plot file, or as `analyze_file` does.
    """
    kept = [output for output in all_outputs_in(run.folder) if output.kind == PLOT_FILE]
    stored = [output for output in kept if output.is_stored_for_later]
    files = {output.step: output.path for output in reversed(stored or kept)}  # of several of a step the first
    if not files:
        hint = 'a task with transport = "file" stores what it reads: sidestream run ... --set task.NAME.transport=file'
        raise Error("the run has stored no snapshot and no plot file", run.folder, hint)
    for number, step in enumerate(sorted(files)):
        if number == 0:
            analyze_file(files[step], task, folder, ranks, settings, launcher, tell, overwrite)
            continue
        with tempfile.TemporaryDirectory(prefix=".next-", dir=folder) as own:
            made = analyze_file(files[step], task, Path(own) / "results", ranks, settings, launcher, tell)
            _join(made.folder, folder)
    return Run(folder)


def _join(one: Path, all_of_them: Path) -> None:
    """Moves the results of a moment to those of the others, and its events behind theirs."""
    for result in sorted((one / "results").glob("*/*")):
        place = all_of_them / "results" / result.parent.name
        place.mkdir(parents=True, exist_ok=True)
        result.replace(place / result.name)
    for log in log_files(one):
        with (all_of_them / log.name).open("ab") as events:
            events.write(log.read_bytes())


def _analyze(arguments: list[str], ranks: int, launcher: str | None, tell: Tell) -> None:
    def pass_on(line: str) -> None:
        if line.startswith("step "):
            tell(line)
        elif not line.startswith(("error: ", "  --> ", "hint: ")):  # an error is raised
            console.say(line)

    for _ in lines_of(PROGRAM, arguments, ranks, launcher, pass_on):
        pass

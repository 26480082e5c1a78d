"""`sidestream analyze`: the tasks that a run left for later, and tasks with plot files."""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from .. import console
from ..error import Error, UsageError
from ..files.origin import config_of, quantity_of
from ..files.snapshot import SnapshotFile
from ..runs.outputs import PLOT_FILE, all_outputs_in
from ..runs.run import Run
from .interpreter import PYTHON, program_for
from .piped import as_file
from .programs import Tell, lines_of
from .simulation import report_on

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_OF_FIELDS = ("pdf", "power_spectrum", "projection", "slice")  # which take densities by default
_DENSITIES = ("gas_density", "dark_matter_density", "total_density")


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
    stored = [output for output in all_outputs_in(run.folder) if output.is_stored_for_later]
    later = [name for name, task in run.config.get("task", {}).items() if task.get("transport") == "file"]
    arguments = [str(run.folder / "config.toml"), "--analyze", "--out", str(run.folder)]
    try:
        moments = len({one.step for one in stored})
        with _told_where_it_stands(run.folder, later, moments, "snapshot", "the same command goes on"):
            _analyze(arguments, ranks, launcher, tell)
    finally:
        made = len(run.events.of("analysis")) - before
        if made:
            report_on(run)
    return made


@dataclass(frozen=True)
class FileTasks:
    """What to do with files, and where results go.

    `config` is a configuration: of tasks (`[task.NAME]`, with `[quantity.NAME]` and `[heating]` if wanted) or of a
    simulation; without one it is that of the run that wrote the files, which they keep. `task` is one of its tasks, or
    else an analysis or suite, which is done with its defaults; without it all tasks are done. `settings` are keys to
    override: `heating.uv_background=hm2012`.
    """

    files: Sequence[Path]
    folder: Path
    task: str | None = None
    config: Path | None = None
    settings: Sequence[str] = ()
    overwrite: bool = False  # earlier results of tasks with files give way; a run of a simulation never does


def tasks_of(config: str) -> dict[str, dict[str, Any]]:
    """The tables of the tasks of a configuration, by their names."""
    return dict(tomllib.loads(config).get("task", {}))


def analyze_files(request: FileTasks, ranks: int, launcher: str | None = None, tell: Tell = lambda _: None) -> Run:
    """Does tasks with the states in plot files or checkpoints of any format; ranks take several small ones at a time.

    Args:
        request: the files, of different steps, and what to do.
        ranks: MPI ranks.
        launcher: a launcher with its own options.
        tell: takes a line for each file and task.

    Returns:
        the folder with the results, opened.

    Raises:
        Error: a file has not what the tasks need, or a result could not be made; those that could are there.
    """
    first, *more = map(str, request.files)
    with tempfile.TemporaryDirectory(prefix="sidestream-") as own, _as_file(request.config) as given:
        config, task = (given, request.task) if given is not None else _configuration(request, Path(own))
        words = [word for file in more for word in ("--and", file)]
        words += [word for setting in request.settings for word in ("--set", setting)]
        words += ["--task", task] if task else []
        words += ["--overwrite"] if request.overwrite else []
        words += ["--out", str(request.folder)]
        again = "the same command with --overwrite does all again"
        try:
            with _told_where_it_stands(request.folder, None, len(request.files), "file", again):
                _analyze([str(config), "--analyze", "--from", first, *words], ranks, launcher, tell)
        except Error as problem:
            raise _as_asked(problem, request, config) from problem
    return Run(request.folder)


@contextmanager
def _told_where_it_stands(
    folder: Path, tasks: Sequence[str] | None, moments: int, each: str, how_to_go_on: str
) -> Iterator[None]:
    """Where somebody interrupts it, the interruption says what was made and what remains: of these tasks, or of all."""
    before = _results_in(folder, tasks)
    try:
        yield
    except KeyboardInterrupt as stop:
        after = _results_in(folder, tasks)
        made = len(after.items() - before.items())
        left = moments - len({path.stem for path in after})
        raise KeyboardInterrupt(
            f"{made} result{'s were' if made != 1 else ' was'} made; {left} of {moments} {each}"
            f"{'s have' if moments != 1 else ' has'} none yet: {how_to_go_on}"
        ) from stop


def _results_in(folder: Path, tasks: Sequence[str] | None) -> dict[Path, int]:
    """The files of results that lie in a folder, and when each was written."""
    found = (folder / "results").glob("*/*.nc")
    return {path: path.stat().st_mtime_ns for path in found if tasks is None or path.parent.name in tasks}


def _as_asked(problem: Error, request: FileTasks, config: Path) -> Error:
    """The error with what the user has written or can look at, instead of a configuration that was made here."""
    if config == request.config or not problem.where.startswith(str(config)):
        return problem
    if request.config is not None:
        return type(problem)(problem.what, problem.where.replace(str(config), str(request.config)), problem.hint)
    own = [name for name, task in tasks_of(config_of(request.files[0])).items() if "write" not in task]
    if request.task is None or any(_is_asked(name, request.task) for name in own):
        place = problem.where.removeprefix(str(config)).lstrip(":")
        return type(problem)(problem.what, f"configuration in {request.files[0]}, {place}", problem.hint)
    hint = f"{problem.hint}; tasks of the run that wrote the file: {', '.join(own)}" if own else problem.hint
    return type(problem)(problem.what, f"--task {request.task}", hint)


def moments_of(run: Run) -> list[Path]:
    """The snapshots that a run has stored, or else its plot files: one of each step, in their order.

    Raises:
        Error: the run has none.
    """
    kept = [output for output in all_outputs_in(run.folder) if output.kind == PLOT_FILE]
    stored = [output for output in kept if output.is_stored_for_later]
    files = {output.step: output.path for output in reversed(stored or kept)}  # of several of a step the first
    if not files:
        hint = 'a task with transport = "file" stores what it reads: sidestream run ... --set task.NAME.transport=file'
        raise Error("the run has stored no snapshot and no plot file", run.folder, hint)
    return [files[step] for step in sorted(files)]


def _as_file(config: Path | None) -> AbstractContextManager[Path | None]:
    return nullcontext() if config is None else as_file(config)


def _configuration(request: FileTasks, folder: Path) -> tuple[Path, str | None]:
    """The file of a configuration that is none of the user's, written to `folder`, and the task to do of it."""
    task, text = request.task, config_of(request.files[0])
    path = folder / "tasks.toml"
    if task is None and not text:
        raise UsageError(
            "the file does not say what is to be done with it",
            request.files[0],
            "name an analysis with --task, such as `--task halos`, or give a configuration of tasks with --config",
        )
    if task is not None and not any(_is_asked(name, task) for name in tasks_of(text)):
        name = json.dumps(task)
        path.write_text(f"[task.{name}]\nanalysis = {name}\n" + _of_the_only_field(request), encoding="utf-8")
        return path, None
    _refuse_code(request.files[0], {name: table for name, table in tasks_of(text).items() if _is_asked(name, task)})
    path.write_text(text, encoding="utf-8")
    return path, task


def _of_the_only_field(request: FileTasks) -> str:
    """The key for an analysis of the only field there is, where that is not what it takes by default."""
    keys = {"halos": "field = {}\n", "merge_tree": "field = {}\n"} | dict.fromkeys(_OF_FIELDS, "fields = [{}]\n")
    only = only_field(request.files[0])
    return keys.get(request.task or "", "").format(json.dumps(only)) if only and only not in _DENSITIES else ""


def only_field(file: Path) -> str:
    """What simulations call the field of a file that has no other, such as one made of an array; empty of others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the program warns of the file as it reads it
        fields = SnapshotFile(file).fields
    return quantity_of(fields[0]) if len(fields) == 1 else ""


def _is_asked(name: str, task: str | None) -> bool:
    return task is None or name == task or name.startswith(f"{task}_")


def _refuse_code(file: Path, tasks: dict[str, dict[str, Any]]) -> None:
    """Nothing is executed because a file says so."""
    for name, table in tasks.items():
        if table.get("analysis") == PYTHON:
            raise UsageError(
                f"the task `{name}` of the configuration that the file keeps is code in Python",
                file,
                "give the configuration yourself: --config CONFIG, or name another task with --task",
            )


def _analyze(arguments: list[str], ranks: int, launcher: str | None, tell: Tell) -> None:
    def pass_on(line: str) -> None:
        if line.startswith("step "):
            tell(line)
        elif not line.startswith(("error: ", "  --> ", "hint: ")):  # an error is raised
            console.say(line)

    program = program_for(Path(arguments[0]), [after for word, after in pairwise(arguments) if word == "--set"])
    for _ in lines_of(program, arguments, ranks, launcher, pass_on):
        pass

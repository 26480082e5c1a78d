"""Halos of a stored merge tree and of a file, on as many ranks as wanted."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..error import Error, UsageError
from ..files.opening import is_run, is_there
from ..files.origin import config_of, quantity_of
from ..runs.outputs import CHECKPOINT, PLOT_FILE, outputs_in
from ..runs.results import load_result
from .later import FileTasks, analyze_files, only_field, tasks_of
from .launcher import HALOS
from .programs import Tell, lines_of

if TYPE_CHECKING:
    import xarray as xr

ANALYSIS = "halos"
FIELD = "iso-density"  # the finder of tasks that name none
OPTIONS = {FIELD: {"t_boundary", "t_halo", "connectivity"}, "fof": {"linking_length", "species"}}  # that one alone has


@dataclass(frozen=True)
class TreeQuery:
    """What is asked of a stored tree; thresholds are values of the field, or multiples of its mean: `"60 mean"`."""

    tree: Path
    t_boundary: str
    t_halo: str
    min_cells: int = 1

    def arguments(self, target: Path) -> list[str]:
        """The arguments of `sidestream-halos`, which writes the catalogue to `target`."""
        words = ["query", str(self.tree), str(target), f"--t-boundary={self.t_boundary}", f"--t-halo={self.t_halo}"]
        return [*words, f"--min-cells={self.min_cells}"]


def query(
    request: TreeQuery, ranks: int, launcher: str | None = None, tell: Tell = lambda _: None
) -> tuple[xr.Dataset, dict[str, Any]]:
    """Asks; returns the catalogue and the seconds that reading the file (`read_s`) and the query (`query_s`) took."""
    if not (is_there(request.tree) and request.tree.is_file()):
        raise Error("there is no such file", request.tree, 'give the result of a task with `analysis = "merge_tree"`')
    with tempfile.TemporaryDirectory(prefix="sidestream-") as folder:
        target = Path(folder) / "halos.nc"
        (line,) = lines_of(HALOS, request.arguments(target), ranks, launcher, tell)
        return load_result(target), json.loads(line)


@dataclass(frozen=True)
class Search:
    """What halos are sought in a file: as `task` of the run that wrote it seeks them, with `options` of its own.

    Without a name it is the run's only task of halos; where it has none, and in files of other programs, halos are
    sought with the defaults of such a task: in gas and dark matter together.
    """

    file: Path
    task: str | None = None
    options: Mapping[str, str | int | float] = field(default_factory=dict)  # keys of the task


def find(request: Search, ranks: int, launcher: str | None = None, tell: Tell = lambda _: None) -> xr.Dataset:
    """The halos in a plot file or checkpoint, as a task `halos` finds them: the same to the bit on any ranks."""
    if is_there(request.file) and is_run(request.file):
        raise _of_a_run(request.file)
    tasks = tasks_of(config_of(request.file)).items()
    own = {name: str(task.get("finder", FIELD)) for name, task in tasks if task.get("analysis") == ANALYSIS}
    name = _chosen(own, request)
    options = dict(request.options)
    if not own and "field" not in options and (only := only_field(request.file)):
        options["field"] = only
    if "field" in options:  # by its name in the file, or that of its quantity
        options["field"] = quantity_of(str(options["field"]))
    settings = [f"task.{name}.{key}={json.dumps(value)}" for key, value in options.items()]
    with tempfile.TemporaryDirectory(prefix="sidestream-") as folder:
        try:
            run = analyze_files(FileTasks([request.file], Path(folder), name, None, settings), ranks, launcher, tell)
        except Error as problem:
            if problem.where != folder:
                raise
            raise Error("no halos could be sought", request.file, "the message above says why") from problem
        found: xr.Dataset = run.result(name, -1, "halo").load()
    return found


def _of_a_run(run: Path) -> Error:
    newest = {output.kind: output.path for output in outputs_in(run) if not output.is_pending}  # by step
    files = [str(newest[kind]) for kind in (PLOT_FILE, CHECKPOINT) if kind in newest]
    hint = f"its newest: {' and '.join(files)}" if files else "it has none; `[output]` of a configuration makes them"
    return Error("this is a run, and halos are sought in one of its plot files or checkpoints", run, hint)


def _chosen(own: Mapping[str, str], request: Search) -> str:
    """The task; of several the one with the finder that is asked for, or that takes the options that are given."""
    finder = request.options.get("finder")
    if finder is None:
        finder = next((name for name, keys in OPTIONS.items() if keys & request.options.keys()), None)
    fitting = [name for name in own if finder in (None, own[name])]
    if request.task is None and len(own) > 1 and len(fitting) == 1:
        return fitting[0]
    if request.task is None and len(own) <= 1:
        return next(iter(own), ANALYSIS)
    ways = [f"{name} ({way})" for name, way in own.items()]
    known = (
        f"name one with --task: {' or '.join(ways)}; options given here replace its own" if own else "leave --task out"
    )
    if request.task is None:
        raise UsageError(f"the run that wrote the file seeks halos in {len(own)} ways", request.file, known)
    if request.task not in own:
        raise UsageError(f"the run that wrote the file has no task of halos `{request.task}`", request.file, known)
    return request.task

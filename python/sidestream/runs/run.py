"""A run folder, finished or still being written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..error import Error
from .events import Events, read_events
from .lock import is_held

if TYPE_CHECKING:
    import xarray as xr

    from .mergers import MergerTree
    from .series import Series

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Run:
    """The results, events and configuration of one run.

    Example:
        >>> run = sidestream.open("runs/demo")
        >>> run.tasks
        ['halos', 'spectra']
        >>> run["halos"].where(lambda h: h.mass > 1e11, drop=True)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"<sidestream.Run {str(self.folder)!r}, {self.status}, tasks: {', '.join(self.tasks) or 'none'}>"

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks: those configured, then any other that has results."""
        configured = self.config.get("task", {})
        found = sorted(path.name for path in self._results.iterdir() if path.is_dir()) if self._results.is_dir() else []
        return list(dict.fromkeys([*configured, *found]))

    @property
    def analyses(self) -> list[str]:
        """The names of the tasks that make results: all but those that write files of the state."""
        configured = self.config.get("task", {})
        return [task for task in self.tasks if "write" not in configured.get(task, {})]

    def steps(self, task: str) -> list[int]:
        """The steps for which `task` has a result, ascending."""
        self._check_task(task)
        return list(self._paths(task))

    def result(self, task: str, step: int, dimension: str | tuple[str, ...] | None = None) -> xr.Dataset:
        """The result of `task` at one step; `step=-1` is the last one.

        With a `dimension`, only the columns over it, if there are such: `"halo"` leaves the members of halos out.
        """
        from .results import load_result

        steps = self.steps(task)
        if step == -1 and steps:
            step = steps[-1]
        if step not in steps:
            known = f"steps with a result: {_some(steps)}" if steps else "the task has no result yet"
            raise Error(f"task `{task}` has no result for step {step}", self._results / task, known)
        return load_result(self.result_path(task, step), dimension)

    def analysis(self, task: str) -> str:
        """The kind of analysis that a task is, as the configuration or else the newest result says."""
        configured = self.config.get("task", {}).get(task, {}).get("analysis", "")
        return str(configured or self._newest_attributes(task).get("analysis", ""))

    def __getitem__(self, task: str) -> xr.Dataset:
        """All results of `task` in one dataset: rows below each other, anything else stacked along `step`.

        Links and members of halos are no rows of it: `series(task).column("progenitor")` and `merger_tree(task)`.
        """
        series = self.series(task)
        if not series.steps:
            raise self._without_results(task)
        return series.load()

    def series(self, task: str) -> Series:
        """The results of `task`, none of which is read before it is asked for: for runs with many.

        Example:
            >>> series = run.series("halos")
            >>> series.at(redshift=3.0)["mass"].max()
            >>> series.column("mass")
        """
        from .series import Series

        self._check_task(task)
        return Series(task, self._paths(task))

    def merger_tree(self, task: str) -> MergerTree:
        """Which halo or region became which, over all steps of a task with `link = true`.

        Example:
            >>> tree = run.merger_tree("halos")
            >>> (heaviest,) = tree.heaviest()
            >>> tree.main_branch(heaviest)["mass"]
        """
        from .mergers import read_merger_tree

        tree = read_merger_tree(self._paths(task), self[task])
        if tree is None:
            what = "regions" if self.analysis(task) == "regions" else "halos"
            raise Error(
                f"the {what} of task `{task}` are not linked", self.folder, f"set `link = true` in [task.{task}]"
            )
        return tree

    def forces(self, barrier: str, since: float = 0.5) -> xr.Dataset:
        """Coefficients of drag and lift of a barrier in a flow, over the steps; see `sidestream.runs.forces.forces`.

        Example:
            >>> run.forces("cylinder").attrs["strouhal"]
            0.1645
        """
        from .forces import forces

        return forces(self.events, barrier, since)

    def has_links(self, task: str) -> bool:
        """Whether the newest result of a task links its halos or regions, so that there is a merger tree."""
        from .mergers import are_linked

        return are_linked(self._newest_attributes(task))

    def __contains__(self, task: object) -> bool:
        return task in self.tasks

    def __iter__(self) -> Iterator[str]:
        """The names of the tasks, as of a mapping."""
        return iter(self.tasks)

    def __len__(self) -> int:
        """The number of tasks."""
        return len(self.tasks)

    def __bool__(self) -> bool:
        """True: a run without tasks is there too."""
        return True

    def keys(self) -> list[str]:
        """The same as `tasks`."""
        return self.tasks

    @property
    def events(self) -> Events:
        """Everything that happened, in order of time, read anew at each call."""
        return read_events(self.folder)

    @cached_property
    def config(self) -> dict[str, Any]:
        """The resolved configuration (`config.toml`); empty if the run did not get so far."""
        path = self.folder / "config.toml"
        if not path.is_file():
            return {}
        try:
            return dict(tomllib.loads(path.read_text(encoding="utf-8")))
        except (ValueError, OSError) as problem:
            raise Error(
                f"the configuration of the run cannot be read: {problem}",
                path,
                hint="mend `config.toml`: `sidestream check RUN/config.toml` says what is wrong",
            ) from problem

    @property
    def status(self) -> str:
        """`running`, `finished`, `incomplete` (finished, but something is lost), `interrupted` (by a signal), `stopped`
        (it could not go on), or `aborted`: killed, or ended by an error; `reason` tells more."""
        return "running" if is_held(self.folder) else status_at_end(self.events)

    @property
    def reason(self) -> str:
        """Why a run that `stopped` could not go on, what one that is `incomplete` has lost; empty for others."""
        if self.status not in ("stopped", "incomplete"):
            return ""
        ends = self.events.where(lambda e: e["event"] == "run_end" and e["group"] == "compute")
        return str(ends[-1].get("reason", ""))

    @property
    def _results(self) -> Path:
        return self.folder / "results"

    def result_path(self, task: str, step: int) -> Path:
        """The file of one result."""
        return self._paths(task)[step]

    def _paths(self, task: str) -> dict[int, Path]:
        """The files of the results of a task, by step, ascending."""
        found = {int(path.stem): path for path in (self._results / task).glob("*.nc") if path.stem.isdigit()}
        return dict(sorted(found.items()))

    def _newest_attributes(self, task: str) -> dict[str, Any]:
        """Of the newest result; empty if there is none."""
        from .results import load_attributes

        steps = self.steps(task)
        return load_attributes(self.result_path(task, steps[-1])) if steps else {}

    def _without_results(self, task: str) -> Error:
        configured = self.config.get("task", {}).get(task, {})
        if "write" in configured:
            what = f"task `{task}` writes files, which are no results"
            return Error(what, self.folder / task, "open one of them: sidestream.open(run.folder / TASK / FILE)")
        hint = f"the run is {self.status}"
        if configured.get("transport") == "file":
            hint += f"; `sidestream analyze {self.folder}` does what it left for later"
        return Error(f"task `{task}` has no result yet", self.folder, hint)

    def _check_task(self, task: str) -> None:
        tasks = self.tasks
        if task in tasks:
            return
        from difflib import get_close_matches

        near = get_close_matches(str(task), tasks, 1)
        known = f"tasks of this run: {', '.join(tasks)}" if tasks else "the run has no tasks"
        raise Error(f"there is no task `{task}`", self.folder, f"did you mean `{near[0]}`?" if near else known)


def status_at_end(events: Events) -> str:
    """How a run ended that goes on no more, or the analysis of a file."""
    marks = events.where(lambda e: e["event"] in ("run_start", "run_end") and e["group"] == "compute")
    if not marks and events.last("analyze_end"):
        return "finished"
    return str(marks[-1].get("status", "finished")) if marks and marks[-1]["event"] == "run_end" else "aborted"


def _some(steps: list[int]) -> str:
    shown = steps if len(steps) <= 8 else [*steps[:4], "...", *steps[-3:]]
    return ", ".join(map(str, shown))

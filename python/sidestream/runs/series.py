"""The results of a task over its steps, each read when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..error import Error
from .results import AXES, ROWS, below_each_other, join_steps, load_attributes, load_result

if TYPE_CHECKING:
    import xarray as xr


class Series(Mapping[int, "xr.Dataset"]):
    """A mapping of steps to results, of which making it reads none.

    A column over all steps reads that column alone, a moment by its redshift the attributes of the few results on the
    way to it.

    Attributes:
        task: The name of the task.

    Example:
        >>> series = run.series("halos")
        >>> series.steps[-1], len(series)
        (412, 1000)
        >>> series[412]                  # one result
        >>> series.at(redshift=3.0)      # that of the nearest moment
        >>> series.column("mass").max()  # of all steps, as in run["halos"]["mass"]
    """

    def __init__(self, task: str, paths: Mapping[int, Path]) -> None:
        self.task = task
        self._paths = dict(paths)

    def __repr__(self) -> str:
        last = f", the last of step {self.steps[-1]}" if self._paths else ""
        return f"<sidestream.Series of `{self.task}`, {len(self)} results{last}>"

    @property
    def steps(self) -> list[int]:
        """The steps with a result, ascending."""
        return list(self._paths)

    def __getitem__(self, step: int) -> xr.Dataset:
        if step not in self._paths:
            raise KeyError(step)
        return load_result(self._paths[step])

    def __iter__(self) -> Iterator[int]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __bool__(self) -> bool:
        """True: a task without results has a series too."""
        return True

    def at(self, *, redshift: float) -> xr.Dataset:
        """The result whose redshift is nearest to `redshift`.

        Raises:
            Error: there is no result, or results have no redshift.
        """
        return self[self.step_at(redshift)]

    def step_at(self, redshift: float) -> int:
        """The step of the result whose redshift is nearest; the later one of two that are as near."""
        steps = self.steps
        self._require_results()
        low, high = 0, len(steps) - 1  # redshifts fall with the steps
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.redshift(steps[middle]) > redshift else (low, middle)
        distance = {steps[i]: abs(self.redshift(steps[i]) - redshift) for i in (high, low)}
        return min(distance, key=lambda step: distance[step])

    def redshift(self, step: int) -> float:
        """The redshift of the result of a step, without its columns."""
        found = load_attributes(self._paths[step]).get("redshift")
        if found is None:
            raise Error("the result has no redshift", self._paths[step], "choose by its step")
        return float(found)

    def column(self, name: str) -> xr.DataArray:
        """One column over all steps, as in the dataset of all of them; beside it only axes are read.

        Those over links and members of halos (`progenitor`, `member_run_cell`), which are not in that dataset, are put
        below each other as halos are, with the step of each.
        """
        self._require_results()
        steps = self.steps
        parts = [load_result(self._paths[step], ROWS, {name, *AXES}) for step in steps]
        if any(name in part.variables for part in parts):
            return join_steps(parts, steps)[name]
        others = {step: load_result(path, None, {name}) for step, path in self._paths.items()}
        found = {step: part for step, part in others.items() if name in part.variables}
        if not found:
            known = ", ".join(map(str, self[steps[-1]].variables))
            raise Error(f"the results of task `{self.task}` have no column `{name}`", self._paths[steps[-1]], known)
        join = below_each_other if all(part[name].ndim == 1 for part in found.values()) else join_steps
        return join(list(found.values()), list(found))[name]

    def load(self) -> xr.Dataset:
        """All results in one dataset: rows below each other, anything else stacked along `step`.

        Of halos and regions it has the table, without links and members: `column` has these, and `Run.merger_tree`.
        """
        self._require_results()
        return join_steps([load_result(path, ROWS) for path in self._paths.values()], self.steps)

    def _require_results(self) -> None:
        if not self._paths:
            raise Error(f"task `{self.task}` has no result yet", hint="`sidestream info RUN` tells how far the run is")

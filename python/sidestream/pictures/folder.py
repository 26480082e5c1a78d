"""The pictures in a run folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ..error import Error
from ..runs.results import load_attributes
from ..runs.run import Run

END = ".pictures"


class Pictures:
    """The pictures of one task of a run, finished or still being made: a folder for each step."""

    def __init__(self, run: Run, task: str) -> None:
        self.run, self.task = run, task
        self._known: dict[int, dict[str, Any]] = {}

    @property
    def folder(self) -> Path:
        """Where the pictures of all steps are."""
        return self.run.folder / "results" / self.task

    def folder_of(self, step: int) -> Path:
        """Where those of one step are."""
        return self.folder / f"{step:05}{END}"

    def steps(self) -> list[int]:
        """The steps of which there are pictures, ascending. They are complete where the result is there."""
        stems = [path.stem for path in self.folder.glob(f"*{END}") if path.stem.isdigit()]
        return sorted(int(stem) for stem in stems if (self.folder / f"{stem}.nc").exists())

    def frames(self) -> list[tuple[int, Path]]:
        """Steps and their frames for a movie, ascending."""
        found = [(step, frame) for step in self.steps() for frame in self.folder_of(step).glob("*_frame.png")]
        if found:
            return found
        hint = f"set `frame = 1920` in [task.{self.task}]" if self.steps() else f"the run is {self.run.status}"
        raise Error(f"task `{self.task}` has no frames", self.run.folder, hint)

    def about(self, step: int) -> dict[str, Any]:
        """What the page that shows the tiles of a step has to know of them; `Error` where there are none.

        `tiles` has the folder of the tiles, `moment` when the pictures appeared (seconds since 1970).
        """
        if step not in self._known:
            self._known[step] = self._read(step)
        return self._known[step]

    def time_of(self, step: int) -> float:
        """The time of a step, in the unit of the simulation."""
        return float(load_attributes(self.folder / f"{step:05}.nc").get("time", 0.0))

    def _read(self, step: int) -> dict[str, Any]:
        folder = self.folder_of(step)
        description = next(folder.glob("*.dzi"), None)
        if description is None:
            raise Error(
                f"task `{self.task}` has no tiles of step {step}", folder, f"set `pyramid = true` in [task.{self.task}]"
            )
        words = description.read_text()
        numbers = {n: int(value) for n, value in re.findall(r'(TileSize|Width|Height)="(\d+)"', words)}
        width, height = numbers["Width"], numbers["Height"]
        return {
            "name": description.stem,
            "width": width,
            "height": height,
            "tile": numbers["TileSize"],
            "levels": (max(width, height) - 1).bit_length() + 1,
            "step": step,
            "time": self.time_of(step),
            "tiles": str(folder / f"{description.stem}_files"),
            "moment": folder.stat().st_ctime,
        }


def pictures_of(run: Run, task: str | None = None) -> Pictures:
    """The pictures of a task, or of the first that makes any.

    Raises:
        Error: the run has no such task, or none that makes pictures.
    """
    makers = [name for name in run.tasks if run.analysis(name) == "display"]
    if task is None and makers:
        return Pictures(run, makers[0])
    if task is not None and task in makers:
        return Pictures(run, task)
    hint = f"those that do: {', '.join(makers)}" if makers else 'a task with `analysis = "display"` makes them'
    raise Error(f"task `{task}` makes no pictures" if task else "the run makes no pictures", run.folder, hint)

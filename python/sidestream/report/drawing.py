"""The pictures of a run as a page shows them, drawn by as many processes as there are cores.

Almost all of the time of a report goes into drawing, by an interpreter that uses one core.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import xarray  # noqa: F401  (once, before the processes are made)

from ..error import Error
from ..figures import Picture, Scene, pictures, pictures_of_run, scenes
from ..runs.run import Run

Tell = Callable[[str], None]
FIGURES = "report.data"  # the folder of the numbers of figures, beside the page


@dataclass(frozen=True)
class Shown:
    """A picture that is drawn."""

    name: str
    title: str
    caption: str
    address: str  # `data:`, for a page of its own
    wide: bool
    numbers: Sequence[Sequence[str]]  # a table below it: its head, then its rows
    files: Sequence[str] = ()  # with what it shows, from the page's folder

    @classmethod
    def of(cls, picture: Picture, folder: Path | None = None) -> Shown:
        """Draws a picture, and writes what it shows as files below the folder of the page, if that is given."""
        address, files = picture.data_uri(), []
        if folder is not None and picture.has_numbers:
            with suppress(OSError):  # where there is no room, a page without links is better than none
                picture.write_numbers(folder / FIGURES)
                files = [f"{FIGURES}/{picture.name}.{end}" for end in ("csv", "nc")]
        return cls(picture.name, picture.title, picture.caption, address, picture.wide, picture.numbers, files)


@dataclass
class Drawn:
    """What could be drawn of a run, and what went wrong, a line each."""

    pictures: list[Shown] = field(default_factory=list)
    scenes: list[Scene] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def draw(run: Run, tell: Tell = lambda _: None) -> Drawn:
    """All pictures and scenes, task by task, so that one damaged result costs only its own.

    The numbers of each picture are written beside the page. `tell` takes a line whenever a task is drawn.
    """
    with suppress(OSError):
        (run.folder / FIGURES).mkdir(exist_ok=True)
    parts = [partial(_task, run.folder, task) for task in sorted(run.tasks, key=partial(_rank_of, run))]
    drawn = Drawn()
    for part in _each([*parts, partial(_whole, run.folder)], tell):
        drawn.pictures += part.pictures
        drawn.scenes += part.scenes
        drawn.failed += part.failed
    return drawn


def _each(parts: Sequence[Callable[[], Drawn]], tell: Tell) -> list[Drawn]:
    """The parts, in their order. The processes are copies of this one, which has imported what draws."""
    processes = min(len(parts), len(os.sched_getaffinity(0)))
    if processes == 1:
        return [part() for part in parts]
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("fork"), _begin)
    try:
        futures = [pool.submit(part) for part in parts]
        for done, _ in enumerate(as_completed(futures), 1):
            tell(f"{done} of {len(parts)} groups of figures")
        return [future.result() for future in futures]
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """What a process does first. It ends so soon that nobody need look for garbage."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()


class _ReadOnce(Run):
    """A run whose results are read once, however many pictures show them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.result = cache(super().result)  # type: ignore[method-assign]


def _task(folder: Path, task: str) -> Drawn:
    run, drawn = _ReadOnce(folder), Drawn()
    try:
        drawn.pictures += (Shown.of(picture, folder) for picture in pictures(run, task))
        drawn.scenes += scenes(run, task)
    except Error as problem:
        drawn.failed.append(f"{task}: {problem.what} ({problem.where})")
    except Exception as problem:  # an unusual result must not cost the rest of the page
        drawn.failed.append(f"{task}: no picture could be drawn ({type(problem).__name__}: {problem})")
    return drawn


def _whole(folder: Path) -> Drawn:
    return Drawn([Shown.of(picture, folder) for picture in pictures_of_run(Run(folder))])


def _rank_of(run: Run, task: str) -> int:
    """Images first: they say at a glance what the run is about."""
    analysis = run.config.get("task", {}).get(task, {}).get("analysis", task)
    return 0 if analysis in ("projection", "slice") else 1

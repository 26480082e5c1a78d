"""The pictures of a run as a page shows them, drawn by as many processes as there are cores.

Almost all of the time of a report goes into drawing, by an interpreter that uses one core.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import xarray  # noqa: F401  (once, before the processes are made)

from ..error import Error
from ..figures import Picture, Scene, pictures, pictures_of_run, scenes
from ..runs.run import Run

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Shown:
    """A picture that is drawn."""

    name: str
    title: str
    caption: str
    address: str  # `data:`, for a page of its own
    wide: bool
    numbers: Sequence[Sequence[str]]  # a table below it: its head, then its rows

    @classmethod
    def of(cls, picture: Picture) -> Shown:
        """Draws a picture."""
        address = picture.data_uri()
        return cls(picture.name, picture.title, picture.caption, address, picture.wide, picture.numbers)


@dataclass
class Drawn:
    """What could be drawn of a run, and what went wrong, a line each."""

    pictures: list[Shown] = field(default_factory=list)
    scenes: list[Scene] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def draw(run: Run, tell: Tell = lambda _: None) -> Drawn:
    """All pictures and scenes, task by task, so that one damaged result costs only its own.

    `tell` takes a line whenever a task is drawn.
    """
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
    pool = ProcessPoolExecutor(
        processes, multiprocessing.get_context("fork"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
    )
    try:
        futures = [pool.submit(part) for part in parts]
        for done, _ in enumerate(as_completed(futures), 1):
            tell(f"{done} of {len(parts)} groups of figures")
        return [future.result() for future in futures]
    finally:
        pool.shutdown(cancel_futures=True)


def _task(folder: Path, task: str) -> Drawn:
    run, drawn = Run(folder), Drawn()
    try:
        drawn.pictures += map(Shown.of, pictures(run, task))
        drawn.scenes += scenes(run, task)
    except Error as problem:
        drawn.failed.append(f"{task}: {problem.what} ({problem.where})")
    except Exception as problem:  # an unusual result must not cost the rest of the page
        drawn.failed.append(f"{task}: no picture could be drawn ({type(problem).__name__}: {problem})")
    return drawn


def _whole(folder: Path) -> Drawn:
    return Drawn(list(map(Shown.of, pictures_of_run(Run(folder)))))


def _rank_of(run: Run, task: str) -> int:
    """Images first: they say at a glance what the run is about."""
    analysis = run.config.get("task", {}).get(task, {}).get("analysis", task)
    return 0 if analysis in ("projection", "slice") else 1

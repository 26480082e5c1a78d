"""Pictures of results: one module a kind of analysis, one line each in `_DRAWERS`, and for scenes in `_STAGES`.

To add one: write `pictures(run, task) -> Iterator[Picture]` in a module here and name it in the table under the name of
the analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..error import Error
from . import (
    energies,
    files,
    forces,
    images,
    increments,
    own,
    pdf,
    persistence,
    phase,
    regions,
    spectra,
    timeline,
    turbulence,
)
from .forest import flux, skewers
from .halos import catalogue, mergers
from .picture import Picture
from .scene import Scene

if TYPE_CHECKING:
    from ..runs.run import Run

__all__ = ["Picture", "Scene", "nothing_drawn", "pictures", "pictures_of_run", "save_pictures", "scenes"]

_DRAWERS: dict[str, Callable[[Run, str], Iterator[Picture]]] = {
    "flux": flux.pictures,
    "flux_skewers": skewers.pictures,
    "halos": catalogue.pictures,
    "merge_tree": persistence.pictures,
    "power_spectrum": spectra.pictures,
    "pdf": pdf.pictures,
    "phase": phase.pictures,
    "projection": images.pictures,
    "python": own.pictures,
    "regions": regions.pictures,
    "slice": images.pictures,
    "structure_functions": increments.pictures,
    "turbulence": turbulence.pictures,
}
_STAGES: dict[str, Callable[[Run, str], Iterator[Scene]]] = {"halos": catalogue.scenes}


def pictures(run: Run, task: str | None = None) -> Iterator[Picture]:
    """The pictures of one task, or of all tasks, the writes and the timeline. Tasks without results have none."""
    for name in run.tasks if task is None else [task]:
        if run.steps(name):
            drawer = _DRAWERS.get(run.analysis(name))
            if drawer is not None:
                yield from drawer(run, name)
            yield from mergers.pictures(run, name)
    if task is None:
        yield from pictures_of_run(run)


def pictures_of_run(run: Run) -> Iterator[Picture]:
    """The pictures of what no task made: forces, energies, the writes and the timeline."""
    for of in (forces, energies, files, timeline):
        yield from of.pictures(run)


def scenes(run: Run, task: str) -> Iterator[Scene]:
    """What of a task can be turned and looked at from all sides in a page."""
    stage = _STAGES.get(run.analysis(task))
    if stage is not None and run.steps(task):
        yield from stage(run, task)


def nothing_drawn(run: Run, task: str | None) -> Error:
    """Why there is no picture of a task, or of the run."""
    what = f"task `{task}` has" if task else "the run has"
    hint = f"the run is {run.status}"
    if task is not None and run.steps(task):
        analysis = run.analysis(task)
        if analysis == "display":
            hint = f"its pictures are files: `sidestream view {run.folder}`"
        elif analysis not in _DRAWERS:
            hint = (
                f"results of `{analysis}` have no picture: run.result({task!r}) are the numbers; in the sources of "
                f"Sidestream, `sidestream new picture {analysis} --checkout .` begins one"
            )
    return Error(f"{what} no result that could be drawn", run.folder, hint)


def save_pictures(
    run: Run, folder: Path, task: str | None = None, tell: Callable[[Path], object] = lambda _: None
) -> list[Path]:
    """Writes the pictures as PNG files and returns their paths, each of which is also told once it is there."""
    drawn = list(pictures(run, task))
    if not drawn:
        raise nothing_drawn(run, task)
    paths: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for picture in drawn:
            paths.append(picture.save_png(folder))
            tell(paths[-1])
    except OSError as problem:
        raise Error(
            f"the pictures cannot be written: {problem.strerror}",
            folder,
            hint="choose another folder with --out, or make room",
        ) from problem
    return paths

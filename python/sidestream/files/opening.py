"""One door to everything on disk."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from ..error import Error
from ..runs.outputs import outputs_in
from ..runs.run import Run
from .arrays_inside import named, places_in, shown, some_of

if TYPE_CHECKING:
    import xarray as xr

    from .snapshot import SnapshotFile

RESULT = ".nc"  # how the names of results end
NUMPY = (".npy", ".npz")


def open(path: str | os.PathLike[str]) -> Run | SnapshotFile | xr.Dataset:  # noqa: A001  (the name users type)
    """Opens a run, a file of a state or a result: what `sidestream.open` says, of a run without its pictures."""
    try:
        target = Path(path)
    except TypeError as problem:
        raise Error(f"{path!r:.60} is no path", hint="give the name of a file or folder") from problem
    require_there(
        target,
        "there is no such run, plot file or result",
        "`sidestream run CONFIG --out DIR` makes a run; its folder is what to open",
    )
    from .formats import format_of
    from .snapshot import SnapshotFile

    if format_of(target):
        return SnapshotFile(target)
    from .adios import is_adios, open_adios

    if is_adios(target):
        return open_adios(target)
    if is_run(target):
        return Run(target)
    if is_result(target):
        from ..runs.results import load_result

        return load_result(target)
    raise unknown(target)


def is_there(path: Path) -> bool:
    """Whether there is anything of this name; an error for a name that no file can have."""
    try:
        return path.exists()
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise Error(
            f"this cannot be the name of a file: {reason}",
            f"{str(path)[:60]!r}...",
            hint="give the path of a run folder, plot file, checkpoint or result",
        ) from problem


def require_there(path: Path, message: str, hint: str) -> None:
    """An error where there is nothing of this name; of a place within a file, the one that tells of its arrays."""
    if is_there(path):
        return
    inside = named(path)
    if inside and is_there(inside[0]) and (inside[0].suffix in NUMPY or places_in(inside[0])):
        raise unknown(inside[0])
    raise Error(message, path, _files_beside(path) or hint)


def _files_beside(path: Path) -> str:
    """The files of the run in whose folder a file was sought, in words; nothing where that is none."""
    if not is_run(path.parent):
        return ""
    names = [output.path.name for output in outputs_in(path.parent)]
    return f"this run has: {some_of(names)}" if names else "this run has neither plot files nor checkpoints"


def is_run(path: Path) -> bool:
    """Whether the path looks like the folder of a run."""
    return any((path / name).exists() for name in ("events.jsonl", "config.toml", "results"))


def is_result(path: Path) -> bool:
    """Whether the path looks like a result file."""
    return path.is_file() and path.suffix == RESULT


def unknown(path: Path) -> Error:
    """The error for a path that is nothing known."""
    from .formats import damage_of, formats

    if not path.is_dir() and not path.is_file():
        return Error("this is a pipe, a device or the like, and no file", path, "give the name of a file or folder")
    if path.is_file() and (problem := damage_of(path)):
        return problem
    places = places_in(path) if path.is_file() else {}
    if places or (path.is_file() and path.suffix in NUMPY):
        words = f'sidestream analyze {shlex.quote(next(iter(places), str(path)))} --box "20 Mpc" --task halos'
        hint = f"arrays are analysed when their box is told: {words}"
        if places:
            hint += f"; those that are there: {shown(places)}"
        return Error("the file holds arrays, and does not say of what", path, hint)
    what = "the folder is neither a run nor a plot file" if path.is_dir() else "the file is of no known format"
    own = "a run folder holds `events.jsonl`" if path.is_dir() else f"the names of results end in `{RESULT}`"
    return Error(what, path, f"{own}; formats of plot files and checkpoints: {', '.join(formats())}")


def open_run(path: str | os.PathLike[str]) -> Run:
    """Opens a run folder; anything else is an error."""
    opened = open(path)
    if isinstance(opened, Run):
        return opened
    raise Error("this is not a run folder", path, "give the folder that `sidestream run --out` wrote")

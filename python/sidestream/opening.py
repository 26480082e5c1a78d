"""`sidestream.open`: one door to everything on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .error import Error
from .run import Run

if TYPE_CHECKING:
    import xarray as xr

    from .plotfile import Plotfile

CHECKPOINT_MARKS = (b"sidestream-checkpoint", b"CheckPointVersion")  # how their `Header` begins


def open(path: str | os.PathLike[str]) -> Run | Plotfile | xr.Dataset:  # noqa: A001  (the name users type: sidestream.open)
    """Opens what Sidestream writes.

    Args:
        path: a run folder, a plot file directory (Nyx/AMReX layout), or a single result file.

    Returns:
        A `Run` for a run folder, a `Plotfile` for a plot file, and an `xarray.Dataset`, the table, for a result.

    Example:
        >>> run = sidestream.open("runs/demo")
        >>> plot = sidestream.open("runs/demo/plt00120")
        >>> plot["density"].mean()
    """
    target = Path(path)
    if not target.exists():
        raise Error(
            "there is no such run, plot file or result",
            target,
            "`sidestream run CONFIG --out DIR` makes a run; its folder is what to open",
        )
    if target.is_file():
        from .results import load_result

        return load_result(target)
    if is_plotfile(target):
        from .plotfile import Plotfile

        return Plotfile(target)
    if is_run(target):
        return Run(target)
    raise Error(
        "the folder is neither a run nor a plot file",
        target,
        "a run folder holds `events.jsonl`, a plot file directory holds `Header`",
    )


def is_run(folder: Path) -> bool:
    """Whether the folder looks like that of a run."""
    return any((folder / name).exists() for name in ("events.jsonl", "config.toml", "results"))


def is_plotfile(folder: Path) -> bool:
    """Whether the folder looks like a plot file in the AMReX layout."""
    header = folder / "Header"
    if not header.is_file():
        return False
    with header.open("rb") as file:
        return not file.read(40).startswith(CHECKPOINT_MARKS)


def open_run(path: str | os.PathLike[str]) -> Run:
    """Opens a run folder; anything else is an error."""
    opened = open(path)
    if isinstance(opened, Run):
        return opened
    raise Error("this is not a run folder", path, "give the folder that `sidestream run --out` wrote")

"""`sidestream.open`: one door to everything on disk, for those who study it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..files import opening
from ..files.adios import AdiosSnapshot
from ..files.snapshot import SnapshotFile
from ..runs.run import Run

if TYPE_CHECKING:
    import xarray as xr

    from .gallery import Gallery
    from .watching import Watching


class OpenedRun(Run):
    """A run that draws itself."""

    def plot(self, task: str | None = None) -> Gallery:
        """The pictures of a task, or of all tasks and the run itself, as the report has them; a notebook shows them.

        Raises:
            Error: there is no such task, or nothing that could be drawn.

        Example:
            >>> run.plot("halos")
            >>> run.plot("spectra")[0].figure.axes[0].set_ylim(1, 1e4)   # figures of matplotlib, to change at will
        """
        from .gallery import gallery

        return gallery(self, task)

    def watch(self, every_s: float = 1.0) -> Watching:
        """Shows where the run stands until it ends: step, rate, what is left, those who analyse and what waits.

        In a notebook one line that changes, elsewhere a line each time that a twentieth more is done. Interrupting it
        (the stop button, Ctrl-C) ends the watching, not the run.

        Args:
            every_s: seconds between two looks at the logs of the run.

        Returns:
            where it stood last; `str()` of it is the line.

        Example:
            >>> sidestream.open("runs/demo").watch()
            step 120  z 3.02  66 %  35 s left  0.62 s a step  sidecars: idle
        """
        from .watching import watch

        return watch(self, every_s)


class _Drawn(SnapshotFile):
    """A file that draws itself."""

    def __init__(self, file: SnapshotFile) -> None:
        self.__dict__.update(file.__dict__)  # what was read of it

    def plot(self, field: str | None = None, axis: str = "z", at: float | None = None) -> Gallery:
        """The mean of a field along an axis, or a cut across it; a notebook shows it.

        Args:
            field: its name, or that of its quantity; the density of the gas, or what there is, where none is named.
            axis: that one looks along.
            at: where to cut [`length_unit`], on the finest level; without it the mean along the axis is drawn.

        Returns:
            one picture; `[0].figure` is a figure of matplotlib.

        Raises:
            Error: there is no such field or axis, or the cut is not in the domain.

        Example:
            >>> plot.plot()
            >>> plot.plot("temperature", axis="x", at=3.5)
        """
        from .cut import picture
        from .gallery import Gallery

        return Gallery([picture(self, field, axis, at)])


class OpenedSnapshot(_Drawn):
    """A plot file or checkpoint that draws itself."""


class OpenedAdiosSnapshot(_Drawn, AdiosSnapshot):
    """A step of a BP file that draws itself."""


def open(path: str | os.PathLike[str]) -> OpenedRun | OpenedSnapshot | OpenedAdiosSnapshot | xr.Dataset:  # noqa: A001  (the name users type: sidestream.open)
    """Opens what Sidestream and other codes write.

    Args:
        path: a run folder; a plot file or checkpoint of any format (of Nyx and other AMReX codes, FLASH, Enzo, ...);
            a BP file of ADIOS2, whose last step is opened; or a single result file.

    Returns:
        A `Run` for a run folder, a `SnapshotFile` for a plot file, a checkpoint or a BP file (all with `plot`), and an
        `xarray.Dataset`, the table, for a result.

    Example:
        >>> run = sidestream.open("runs/demo")
        >>> plot = sidestream.open("runs/demo/plt00120")
        >>> plot["density"].mean()
    """
    opened = opening.open(path)
    if isinstance(opened, Run):
        return OpenedRun(opened.folder)
    if isinstance(opened, AdiosSnapshot):
        return OpenedAdiosSnapshot(opened)
    return OpenedSnapshot(opened) if isinstance(opened, SnapshotFile) else opened

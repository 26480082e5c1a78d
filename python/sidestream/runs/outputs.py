"""The plot files and checkpoints in the folder of a run, of any format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..core import extension

CHECKPOINT, PLOT_FILE = "checkpoint", "plot file"
PENDING = "pending"  # the folder in that of a run where checkpoints lie until they are committed
SNAPSHOTS = "snapshots"  # the folder with what tasks of the transport `file` are to be done with, also .GRID


@dataclass(frozen=True)
class Output:
    """A plot file or checkpoint, by its name; whether it can be read is another matter."""

    path: Path
    kind: str
    step: int
    is_pending: bool = False  # a checkpoint that was written and not committed: a restart passes over it

    @property
    def is_stored_for_later(self) -> bool:
        """Whether a task of the transport `file` left it."""
        return self.path.parent.name.split(".")[0] == SNAPSHOTS


def outputs_in(folder: Path, kind: str | None = None) -> list[Output]:
    """The outputs in a folder by kind and step, checkpoints first; those of one kind if it is named."""
    pending = folder / PENDING
    paths = [*folder.iterdir(), *(pending.iterdir() if pending.is_dir() else ())]
    found = [output for output in map(output_at, paths) if output is not None]
    chosen = [output for output in found if kind is None or output.kind == kind]
    return sorted(chosen, key=lambda output: (output.kind, output.step, output.path.name))


def all_outputs_in(folder: Path) -> list[Output]:
    """Those of the run itself, then what tasks wrote into folders of their own and snapshots that were stored."""
    own = outputs_in(folder)
    taken = {output.path for output in own} | {folder / PENDING}
    others = sorted(path for path in folder.iterdir() if path.is_dir() and path not in taken)
    return [*own, *(output for path in others for output in outputs_in(path))]


def output_at(path: Path) -> Output | None:
    """The output that a path names; None of another name."""
    named: tuple[str, int] | None = extension().output_named(path.name)
    return None if named is None else Output(path, *named, is_pending=is_pending(path))


def is_pending(path: Path) -> bool:
    """Whether a path is that of a checkpoint that waits to be committed."""
    return path.absolute().parent.name == PENDING

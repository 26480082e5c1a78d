"""The plot files and checkpoints in the folder of a run, of any format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .core import extension

CHECKPOINT, PLOT_FILE = "checkpoint", "plot file"


@dataclass(frozen=True)
class Output:
    """A plot file or checkpoint, by its name; whether it can be read is another matter."""

    path: Path
    kind: str
    step: int


def outputs_in(folder: Path, kind: str | None = None) -> list[Output]:
    """The outputs in a folder by kind and step, checkpoints first; those of one kind if it is named."""
    found = [output for output in map(_output_at, folder.iterdir()) if output is not None]
    chosen = [output for output in found if kind is None or output.kind == kind]
    return sorted(chosen, key=lambda output: (output.kind, output.step, output.path.name))


def _output_at(path: Path) -> Output | None:
    named: tuple[str, int] | None = extension().output_named(path.name)
    return None if named is None else Output(path, *named)

"""`sidestream attach`: a task of a run, done by another job with what its stream brings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .interpreter import program_for
from .launcher import ATTACH
from .programs import Tell, lines_of


@dataclass(frozen=True)
class Attachment:
    """Which task of which run, and how its steps come."""

    run: str
    task: str
    stream: str | None = None
    folder: Path | None = None
    settings: Sequence[str] = ()
    keys: Path | None = None
    technique: str = "auto"
    compress: str = "none"
    once: bool = False
    single: bool = False
    gateways: int = 0
    timeout_s: int = 30
    patience_s: int = 0

    def arguments(self) -> list[str]:
        """The arguments of `sidestream-attach`."""
        words = [self.run, f"--task={self.task}", f"--technique={self.technique}", f"--compress={self.compress}"]
        words += [f"--gateways={self.gateways}", f"--timeout={self.timeout_s}", f"--patience={self.patience_s}"]
        words += [word for setting in self.settings for word in ("--set", setting)]
        for name, value in (("--stream", self.stream), ("--out", self.folder), ("--keys", self.keys)):
            words += [f"{name}={value}"] if value is not None else []
        return words + [name for name, is_set in (("--once", self.once), ("--single", self.single)) if is_set]


def attach(attachment: Attachment, ranks: int, launcher: str | None = None, tell: Tell = lambda _: None) -> None:
    """Does the task until the run ends.

    Raises:
        Error: there is no such run or task, the run refuses, or a result could not be made.
    """
    program = program_for(Path(attachment.run) / "config.toml", attachment.settings, ATTACH)
    for _ in lines_of(program, attachment.arguments(), ranks, launcher, tell):
        pass

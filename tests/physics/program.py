"""Runs of the program."""

from __future__ import annotations

import os
from pathlib import Path

import sidestream
from calls import Done, command, program

RANKS = 1 if "PYTEST_XDIST_WORKER" in os.environ else 2  # a core for each test


class Program:
    """Runs configurations in folders of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, name: str, config: str, *words: object, ranks: int = RANKS, minutes: float = 30.0) -> sidestream.Run:
        """The finished run `name` of the text of a configuration; `words` are added to the command line."""
        (self.folder / f"{name}.toml").write_text(config, encoding="utf-8")
        own = (f"{name}.toml", "--quiet", "--out", name)
        done = program(self.folder, ranks, *own, *words, limit_s=60.0 * minutes)
        assert done.returncode == 0, done.stderr[-4000:]
        run = sidestream.open(self.folder / name)
        assert isinstance(run, sidestream.Run)
        assert run.status == "finished"
        return run

    def call(self, *words: object) -> Done:
        """The command line, in the folder."""
        return command(self.folder, *words)


def plot_files(run: sidestream.Run) -> list[sidestream.SnapshotFile]:
    """The plot files of a run, the first one first."""
    return [sidestream.SnapshotFile(path) for path in sorted(run.folder.glob("plt*"))]


def last_event(run: sidestream.Run) -> dict[str, object]:
    """What the end of a run tells."""
    return dict(run.events.last("run_end"))

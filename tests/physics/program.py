"""`sidestream run` as a user types it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import sidestream

RANKS = 2


class Program:
    """Runs configurations in folders of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, name: str, config: str, *words: object, ranks: int = RANKS, minutes: float = 30.0) -> sidestream.Run:
        """The finished run `name` of the text of a configuration; `words` are added to the command line."""
        path = self.folder / f"{name}.toml"
        path.write_text(config, encoding="utf-8")
        done = self.call("run", path, "-n", ranks, "--out", self.folder / name, *words, minutes=minutes)
        assert done.returncode == 0, done.stderr[-4000:]
        run = sidestream.open(self.folder / name)
        assert isinstance(run, sidestream.Run)
        assert run.status == "finished"
        return run

    def call(self, *words: object, minutes: float = 30.0) -> subprocess.CompletedProcess[str]:
        """The command line itself, in the folder."""
        line = [sys.executable, "-m", "sidestream", *map(str, words)]
        environment = os.environ | {"NO_COLOR": "1"}
        return subprocess.run(
            line, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=60.0 * minutes
        )


def plot_files(run: sidestream.Run) -> list[sidestream.SnapshotFile]:
    """The plot files of a run, the first one first."""
    return [sidestream.SnapshotFile(path) for path in sorted(run.folder.glob("plt*"))]


def last_event(run: sidestream.Run) -> dict[str, object]:
    """What the end of a run tells."""
    return dict(run.events.last("run_end"))

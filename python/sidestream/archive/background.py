"""A copy that goes on when the command has ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .place import Place
from .storing import alone, begun

LOG = ".archive.log"  # in the folder of the run


def begin(run: Path, place: Place) -> tuple[int, Path]:
    """Looks at both ends, takes the place, and leaves the copy to a process; returns its number and its log."""
    with alone(run):
        begun(run, place)
    command = [sys.executable, "-m", "sidestream", "archive", "put", str(run.resolve()), str(place), "--wait"]
    with (run / LOG).open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True
        )
    return process.pid, run / LOG

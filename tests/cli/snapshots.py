"""Whole commands against what they printed when somebody last looked: exit code, standard output, standard error.

Run the tests with SIDESTREAM_UPDATE_SNAPSHOTS=1 to write the snapshots anew, and read the difference.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent / "snapshots"


def check_snapshot(name: str, done: subprocess.CompletedProcess[str], places: dict[str, Path]) -> None:
    seen = _as_text(done, places)
    path = FOLDER / f"{name}.txt"
    if "SIDESTREAM_UPDATE_SNAPSHOTS" in os.environ:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(seen)
    assert seen == path.read_text()


def _as_text(done: subprocess.CompletedProcess[str], places: dict[str, Path]) -> str:
    text = f"exit code {done.returncode}\n--- stdout\n{done.stdout}--- stderr\n{done.stderr}"
    for name, place in places.items():
        text = text.replace(str(place), name)
    return re.sub(r"[ \t]+\n", "\n", text)

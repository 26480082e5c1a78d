"""The command with which README begins, as somebody types it who has the sources and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import sidestream
from documented import ROOT


@pytest.mark.slow
def test_the_demo_sets_a_copy_of_the_project_up_and_leaves_its_report(tmp_path: Path) -> None:
    """What git tracks, as it is now: about three minutes on two cores where `ccache` knows it."""
    if not (ROOT / ".git").exists():
        pytest.skip("not allowed here: nobody knows what git tracks")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = b"\0".join(name for name in tracked.split(b"\0") if name and (ROOT / os.fsdecode(name)).exists())
    line = ["tar", "--null", "--files-from=-", "-cf", tmp_path / "tracked.tar"]
    subprocess.run(line, cwd=ROOT, input=files, check=True)
    copy = tmp_path / "copy"
    copy.mkdir()
    subprocess.run(["tar", "-xf", tmp_path / "tracked.tar"], cwd=copy, check=True)
    others = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "VIRTUAL_ENV", "BUILD")  # of the `make` that runs this test
    environment = {name: value for name, value in os.environ.items() if name not in others}

    done = subprocess.run(["make", "demo"], cwd=copy, env=environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "== look at runs/demo/report.html" in done.stdout
    assert sidestream.open(copy / "runs/demo").status == "finished"
    assert (copy / "runs/demo/report.html").stat().st_size > 100_000
    (plot,) = (copy / "runs/demo").glob("plt*")  # which README takes to be there
    assert sidestream.open(plot).particles().sizes["particle"] == 64**3

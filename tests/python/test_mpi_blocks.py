"""Fields in blocks on the ranks of an mpi4py communicator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sidestream
from sidestream.launch.launcher import has_mpirun, prepare

pytest.importorskip("mpi4py")
SCRIPT = Path(__file__).with_name("mpi_blocks.py")


@pytest.mark.skipif(not has_mpirun(), reason="needs mpirun")
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_blocks_have_the_results_of_the_whole(ranks: int) -> None:
    launch = prepare(Path(sys.executable), [str(SCRIPT)], ranks)
    package = Path(sidestream.__file__).parents[1]
    path = os.pathsep.join([str(package), str(SCRIPT.parent), launch.environment.get("PYTHONPATH", "")])

    done = subprocess.run(
        launch.command, env=launch.environment | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=180
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "all is well"

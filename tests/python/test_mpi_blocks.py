"""Fields in blocks on the ranks of an mpi4py communicator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import sidestream
from sidestream.launch.launcher import has_mpirun, prepare
from tiers import slow

pytest.importorskip("mpi4py")
SCRIPT = Path(__file__).with_name("mpi_blocks.py")


@pytest.mark.skipif(not has_mpirun(), reason="needs mpirun")
@pytest.mark.parametrize("ranks", [3, *slow(1, 2, 4)])
def test_blocks_have_the_results_of_the_whole(ranks: int) -> None:
    launch = prepare(Path(sys.executable), [str(SCRIPT)], ranks)
    package = Path(sidestream.__file__).parents[1]
    path = os.pathsep.join([str(package), str(SCRIPT.parent), launch.environment.get("PYTHONPATH", "")])

    done = subprocess.run(
        launch.command, env=launch.environment | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=180
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "all is well"


def test_a_communicator_of_another_mpi_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("other_mpi4py")
    other.Get_library_version = lambda: "Another MPI v1.0, of somebody\0"
    other.Comm = type("Comm", (), {"__module__": "other_mpi4py", "py2f": lambda self: 0, "rank": 0, "size": 1})
    monkeypatch.setitem(sys.modules, "other_mpi4py", other)

    with pytest.raises(sidestream.Error, match=r"was built for \w.*, and mpi4py runs Another MPI v1.0\n"):
        sidestream.halos(np.ones((4, 4, 4)), 1.0, comm=other.Comm())

"""The same bits from another compiler and with another MPI: programs of `make test-clang` and `make test-mpich`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sidestream.launch.launcher import find_program, mpi_environment
from test_faults import results, state_in
from test_instruction_sets import STEPS, flow_of_doubles, flow_of_floats, gas, universe

BUILDS = Path(__file__).parents[2] / "build"
LAUNCHERS = {"clang": "mpirun", "mpich": "mpiexec.mpich"}


def run(program: Path, launcher: str, ranks: int, folder: Path, out: str) -> tuple[object, object]:
    """All results and the state at the end."""
    environment = mpi_environment(os.environ, ranks)
    line = [launcher, "-n", str(ranks), str(program), "box.toml", "--out", out]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return results(folder / out), state_in(folder / out / f"chk{STEPS:05d}.hdf5_chk")


@pytest.mark.slow
@pytest.mark.parametrize("build", LAUNCHERS)
@pytest.mark.parametrize("start", [universe, gas, flow_of_doubles, flow_of_floats])
def test_results_are_the_same_to_the_bit(build: str, start, tmp_path: Path) -> None:
    program = BUILDS / build / "apps" / "sidestream-run"
    if not program.exists():
        pytest.skip(f"{program} is not built (make test-{build})")
    (tmp_path / "box.toml").write_text(start(tmp_path))

    here = run(find_program(), "mpirun", 1, tmp_path, "here")
    there = run(program, LAUNCHERS[build], 2, tmp_path, "there")

    assert len(here[0]) > STEPS
    assert len(here[1]) > 5
    assert there == here

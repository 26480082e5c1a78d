"""Flows that go on: with other cells, from files of other boxes, and killed on more ranks than they have planes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import sidestream
from calls import Done, program
from sidestream.attack.subjects import expect_back, newest_committed
from test_faults import Place, checkpoints, finish, ranks_of, state_in, wait_for_a_checkpoint

FLOW = """simulation = "turbulence"
[mesh]
cells = [{n}, {n}, {n}]
block = {n}
[turbulence]
viscosity = 0.05
dt = 0.02
dealiasing = "{dealiasing}"
[initial]
flow = "random"
peak = 4.0
[run]
max_steps = {steps}
[output]
checkpoint = {{ format = "raw", at_start = true, at_end = true }}
"""


def flow(folder: Path, name: str, cells: int, dealiasing: str, *words: str, steps: int = 1) -> Done:
    text = FLOW.format(n=cells, dealiasing=dealiasing, steps=steps)
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return program(folder, 1, f"{name}.toml", "--quiet", "--out", name, *words)


def velocity(path: Path) -> NDArray[np.complex128]:
    """Amplitudes (component, z, y, x) of a checkpoint."""
    file = sidestream.SnapshotFile(path)
    return np.array([file[f"velocity_{a}_real"].values + 1j * file[f"velocity_{a}_imag"].values for a in "xyz"])


# 24 cells have as many waves along an axis on plain grids as 16 on displaced ones.
@pytest.mark.parametrize("cells", [16, 20])
def test_a_flow_goes_on_on_displaced_grids_with_the_waves_that_these_keep(cells: int, tmp_path: Path) -> None:
    assert flow(tmp_path, "cube", 24, "two-thirds").returncode == 0
    newest = checkpoints(tmp_path / "cube")[-1]

    done = flow(tmp_path, "ball", cells, "phase-shift", "--from", str(newest), steps=2)

    assert done.returncode == 0, done.stderr
    before, after = velocity(newest), velocity(checkpoints(tmp_path / "ball")[-1])
    z, y, x = (np.fft.fftfreq(n, 1.0 / n) for n in (*after.shape[1:3], 2 * after.shape[3] - 1))
    square = z[:, None, None] ** 2 + y[:, None] ** 2 + x[: after.shape[3]] ** 2
    assert abs(before[:, 7, 7, 7]).max() > 0.0
    assert abs(after[:, square > 2.0 / 9.0 * cells**2]).max() == 0.0
    assert abs(after).max(axis=0)[(square > 0.0) & (square < 9.0)].min() > 0.0


def test_a_file_of_another_box_is_refused_where_its_flow_has_divergence(tmp_path: Path) -> None:
    assert flow(tmp_path, "cube", 16, "two-thirds").returncode == 0
    longer = ("--set", "turbulence.length=[6.0, 6.0, 7.0]")

    done = flow(tmp_path, "cuboid", 16, "two-thirds", "--from", str(checkpoints(tmp_path / "cube")[-1]), *longer)

    assert done.returncode == 1
    assert "error: the velocity in the file has divergence" in done.stderr


FORCED = """simulation = "turbulence"
[mesh]
cells = [8, 8, 8]
block = 4
[turbulence]
viscosity = 0.05
dt = 0.01
[initial]
flow = "random"
peak = 2.0
[forcing]
kind = "stochastic"
highest = 1.5
[run]
max_steps = 40
[output]
checkpoint = { every = 2, keep = 2 }
"""


def test_a_forced_flow_killed_on_more_ranks_than_planes_goes_on_on_fewer(tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(FORCED, encoding="utf-8")
    place = Place(tmp_path)
    whole = place.run("whole", ranks=1)
    assert whole.returncode == 0, whole.stderr

    process = place.start("killed", ranks=6)  # of five planes
    wait_for_a_checkpoint(tmp_path / "killed", process)
    for pid in ranks_of(process):
        os.kill(pid, signal.SIGKILL)
    finish(process)
    newest = newest_committed(tmp_path / "killed", interval=2)
    assert newest is not None
    again = place.run("killed", "--restart", ranks=2)

    assert again.returncode == 0, again.stderr
    expect_back(tmp_path / "killed", newest)
    ends = [checkpoints(tmp_path / name)[-1] for name in ("killed", "whole")]
    assert [end.name for end in ends] == 2 * [ends[0].name]
    assert state_in(ends[0]) == state_in(ends[1])

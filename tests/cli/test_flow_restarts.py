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
from sidestream.attack.subjects import checkpoints, expect_back, newest_committed, state_in
from test_faults import Place, finish, ranks_of, wait_for_a_checkpoint
from tiers import slow

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
@pytest.mark.parametrize("cells", [16, *slow(20)])
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


BOX_MAY_CHANGE = ("--allow-change", "turbulence.length")


@pytest.fixture(scope="module")
def cube(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last checkpoint of a flow in a cube of 6."""
    folder = tmp_path_factory.mktemp("cube")
    assert flow(folder, "cube", 16, "two-thirds", "--set", "turbulence.length=[6.0, 6.0, 6.0]").returncode == 0
    return checkpoints(folder / "cube")[-1]


def test_a_file_of_another_box_is_refused_unless_that_is_wanted(cube: Path, tmp_path: Path) -> None:
    start = ("--from", str(cube))
    larger = ("--set", "turbulence.length=[7.0, 7.0, 7.0]")

    refused = flow(tmp_path, "larger", 16, "two-thirds", *start, *larger)
    wanted = flow(tmp_path, "larger", 16, "two-thirds", *start, *larger, *BOX_MAY_CHANGE, steps=2)

    assert refused.returncode == 2
    assert "`turbulence.length` is 6, 6, 6 in the file, 7, 7, 7 in the configuration" in refused.stderr
    assert "--allow-change" in refused.stderr
    assert wanted.returncode == 0, wanted.stderr
    assert sidestream.SnapshotFile(checkpoints(tmp_path / "larger")[-1]).box_size == (7.0, 7.0, 7.0)


def test_a_file_of_another_box_is_refused_where_its_flow_has_divergence(cube: Path, tmp_path: Path) -> None:
    longer = ("--set", "turbulence.length=[6.0, 6.0, 7.0]", *BOX_MAY_CHANGE)

    done = flow(tmp_path, "cuboid", 16, "two-thirds", "--from", str(cube), *longer)

    assert done.returncode == 1
    assert "error: the velocity in the file has divergence" in done.stderr


def test_a_key_that_does_not_count_at_a_start_cannot_be_allowed(cube: Path, tmp_path: Path) -> None:
    start = ("--from", str(cube), "--allow-change", "turbulence.viscosity")
    done = flow(tmp_path, "other", 16, "two-thirds", *start)

    assert done.returncode == 2
    assert "`turbulence.viscosity` is no key that is compared here" in done.stderr
    assert "turbulence.length" in done.stderr


TRACERS = FLOW + "[tracers.dust]\ncount = {count}\nseed = {seed}\n"
OTHER_TRACERS = {"another count": (30, 1), "another seed": (20, 2)}


def tracers(folder: Path, name: str, count: int, seed: int, *words: str, steps: int) -> Done:
    text = TRACERS.format(n=16, dealiasing="two-thirds", steps=steps, count=count, seed=seed)
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return program(folder, 2, f"{name}.toml", "--quiet", *words)


def positions(path: Path) -> NDArray[np.float64]:
    dust = sidestream.SnapshotFile(path).particles("dust").sortby("id")
    return np.array([dust[axis].values for axis in "xyz"])


@pytest.mark.parametrize(
    ("way", "which"),
    [
        ("--from", "another count"),
        ("--restart", "another seed"),
        *slow(("--from", "another seed"), ("--restart", "another count")),
    ],
)
def test_other_tracers_are_refused_or_begin_anew(way: str, which: str, tmp_path: Path) -> None:
    count, seed = OTHER_TRACERS[which]
    assert tracers(tmp_path, "first", 20, 1, "--out", "first", steps=1).returncode == 0
    start = checkpoints(tmp_path / "first")[-1]
    words = ("--restart", "--out", "first") if way == "--restart" else ("--from", str(start), "--out", "second")

    refused = tracers(tmp_path, "second", count, seed, *words, steps=2)
    wanted = tracers(tmp_path, "second", count, seed, *words, "--allow-change", "tracers.dust", steps=1)

    assert refused.returncode == 2
    assert f"`tracers.dust` is 20, seed 1 in the {'file' if way == '--from' else 'checkpoint'}" in refused.stderr
    assert f"{count}, seed {seed} in the configuration" in refused.stderr
    assert wanted.returncode == 0, wanted.stderr
    if way == "--from":
        new = tracers(tmp_path, "new", count, seed, "--out", "new", "--set", "turbulence.end=0.02", steps=0)
        assert new.returncode == 0, new.stderr
        begun = positions(checkpoints(tmp_path / "second")[0])
        np.testing.assert_array_equal(begun, positions(checkpoints(tmp_path / "new")[0]))
    again = tracers(tmp_path, "second", count, seed, "--restart", "--out", words[-1], steps=3)
    assert again.returncode == 0, again.stderr
    assert positions(checkpoints(tmp_path / words[-1])[-1]).shape == (3, count)


def test_the_tracers_of_a_file_go_on_where_they_are_the_same(tmp_path: Path) -> None:
    assert tracers(tmp_path, "first", 20, 1, "--out", "first", steps=1).returncode == 0
    start = checkpoints(tmp_path / "first")[-1]

    done = tracers(tmp_path, "first", 20, 1, "--from", str(start), "--out", "second", steps=1)

    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(positions(checkpoints(tmp_path / "second")[0]), positions(start))


def test_plot_files_of_cells_have_the_tracers_of_the_waves(tmp_path: Path) -> None:
    plots = """[task.cells]
write = "plotfile"
format = "raw"
grid = "space"
species = ["dust"]
at_end = true
[task.dust]
write = "particles"
format = "raw"
at_end = true
"""
    text = TRACERS.format(n=16, dealiasing="two-thirds", steps=2, count=40, seed=3) + plots
    for ranks in (1, 3):
        name = f"on{ranks}"
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        done = program(tmp_path, ranks, f"{name}.toml", "--quiet", "--out", name)
        assert done.returncode == 0, done.stderr
        (cells,), (alone,) = ((tmp_path / name / task).iterdir() for task in ("cells", "dust"))
        assert sidestream.SnapshotFile(cells).species == ["dust"]
        np.testing.assert_array_equal(positions(cells), positions(alone))
        assert positions(cells).shape == (3, 40)


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

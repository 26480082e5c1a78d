"""`sidestream analyze RUN --task`: what a run stored, fed to any task on any ranks, as if it had been in the run."""

from __future__ import annotations

from pathlib import Path

import pytest

import sidestream
from calls import command, program
from configs import universe

RECORD = """
[task.stored]
analysis = "pdf"
fields = ["gas_density", "temperature"]
every = 2
transport = "file"
"""
MINE = """
[task.spectra]
analysis = "power_spectrum"
fields = ["gas_density"]
[task.dense]
analysis = "halos"
field = "gas_density"
t_boundary = "1.02 mean"
t_halo = "1.05 mean"
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that stores for later, with snapshots of three steps, and one that does the tasks itself."""
    folder = tmp_path_factory.mktemp("replayed")
    box = universe(box="4 Mpc", z_start=30, z_end=0, steps=4)
    (folder / "stored.toml").write_text(box + RECORD)
    (folder / "mine.toml").write_text(MINE)
    (folder / "own.toml").write_text(box + MINE.replace("analysis =", "every = 2\nanalysis ="))
    for name in ("stored", "own"):
        done = program(folder, 2, f"{name}.toml", "--out", name)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("ranks", [1, 3])
def test_snapshots_give_any_task_the_results_of_the_run_itself(ranks: int, runs: Path) -> None:
    out = runs / f"replayed-{ranks}"

    done = command(runs, "analyze", "stored", "--task", "mine.toml", "--out", out, "-n", ranks)

    assert done.returncode == 0, done.stderr
    assert "6 results were made" in done.stderr
    replayed, own = sidestream.open(out), sidestream.open(runs / "own")
    assert replayed.tasks == own.tasks == ["spectra", "dense"]
    for task in own.tasks:
        assert replayed.steps(task) == own.steps(task) == [0, 2, 4]
        for step in own.steps(task):
            assert replayed.result(task, step).equals(own.result(task, step))
    assert replayed.result("dense", 4).sizes["halo"] > 0
    assert replayed.status == "finished"
    logs = {"events.analyze.jsonl"} | ({"events.analyze.0.jsonl", "events.analyze.1.jsonl"} if ranks > 1 else set())
    assert {path.name for path in out.iterdir()} == {".lock", "config.toml", "results"} | logs


def test_results_that_are_there_are_replaced_on_demand_only(runs: Path) -> None:
    words = ("analyze", "stored", "--task", "power_spectrum", "--out", "again", "-n", 1)
    assert command(runs, *words, "--set", 'task.power_spectrum.fields=["gas_density"]').returncode == 0

    refused = command(runs, *words)
    made = command(runs, *words, "--set", 'task.power_spectrum.fields=["gas_density"]', "--overwrite")

    assert refused.returncode == 2
    assert "holds results of tasks with a file" in refused.stderr
    assert made.returncode == 0, made.stderr
    assert sidestream.open(runs / "again").steps("power_spectrum") == [0, 2, 4]


def test_a_run_without_snapshots_is_told_how_to_store_them(runs: Path) -> None:
    done = command(runs, "analyze", "own", "--task", "mine.toml", "-n", 1)

    assert done.returncode == 1
    assert "has stored no snapshot and no plot file" in done.stderr
    assert "--set task.NAME.transport=file" in done.stderr

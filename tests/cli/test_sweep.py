"""`sidestream sweep`: families of runs, several at a time, gone on with, failed and refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import Done, command
from configs import universe
from fixtures import CommandLine, environment, with_fake
from sidestream.runs.run import Run

TASK = '[task.spectra]\nanalysis = "power_spectrum"\nat_end = true\n'
CHECKPOINTS = '[output]\ncheckpoint = { format = "sidestream", every = 1, keep = 2 }\n'
SIDECAR = ("--set", "coupling.sidecars=1", "--set", "task.spectra.transport=in-transit")
TWO_CORES = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="not allowed here: one core")


def write_config(folder: Path, steps: int = 1, more: str = "") -> None:
    text = universe(box="14.2 Mpc", z_start=20, z_end=3, steps=steps, power="eisenstein-hu")
    (folder / "box.toml").write_text(text + TASK + more)


def sweep(folder: Path, *words: object) -> Done:
    return command(folder, "sweep", "box.toml", "--out", "family", *words)


def fake_family(sidestream: CommandLine, config: Path, *words: object) -> Done:
    return sidestream("sweep", config, "--out", "family", "-n", "1", *words)


def test_every_combination_has_a_run_and_a_line_of_the_table(tmp_path: Path) -> None:
    write_config(tmp_path)

    done = sweep(
        tmp_path, "--vary", "cosmology.omega_m=0.28,0.32", "--set", "run.max_steps=2", "--seeds", "1", "-n", "1"
    )

    assert done.returncode == 0, done.stderr
    table = json.loads((tmp_path / "family" / "sweep.json").read_text())
    assert [run["name"] for run in table["runs"]] == ["omega_m=0.28,seed=1", "omega_m=0.32,seed=1"]
    many = sidestream.open_many(tmp_path / "family")
    for run in table["runs"]:
        opened = sidestream.open(tmp_path / "family" / run["name"])
        omega, seed = float(run["values"]["cosmology.omega_m"]), int(run["values"]["cosmology.seed"])
        assert (opened.config["cosmology"]["omega_m"], opened.config["cosmology"]["seed"]) == (omega, seed)
        assert opened.config["run"]["max_steps"] == 2
        power = opened.result("spectra", -1)["gas_density_power"]
        np.testing.assert_array_equal(many["gas_density_power"].sel(omega_m=omega, seed=seed), power)
        assert f"{run['name']}: finished" in done.stderr
        assert (opened.folder / "report.html").is_file()
    assert "2 of 2 runs  100 %" in done.stderr


def test_a_run_that_fails_stops_no_other_and_only_it_is_run_again(
    config: Path, tmp_path: Path, sidestream: CommandLine
) -> None:
    words = ("--vary", "fake.mode=fail,work", "-j", 1)

    first = fake_family(sidestream, config, *words)
    again = fake_family(sidestream, config, *words)

    assert (first.returncode, again.returncode) == (1, 1)
    assert "mode=fail: failed: the disk is full (family/mode=fail.log)" in first.stderr
    assert (first.stderr.count(": finished"), again.stderr.count(": finished")) == (1, 0)
    assert again.stdout.count("finished, as before") == 1
    assert "mode=fail: failed" in again.stderr
    assert len(Run(tmp_path / "family" / "mode=work").events.of("run_start")) == 1


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on_from_checkpoints(tmp_path: Path) -> None:
    write_config(tmp_path, 60, CHECKPOINTS)
    words = [sys.executable, "-m", "sidestream", "sweep", "box.toml", "--out", "family", "--seeds", "2", "-n", "1"]
    process = subprocess.Popen(
        [*words, "-j", "1"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    log = tmp_path / "family" / "seed=1" / "events.jsonl"
    while not log.exists() or "checkpoint_committed" not in log.read_text():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "seed=1: interrupted" in said
    assert not (tmp_path / "family" / "seed=2").exists()

    done = sweep(tmp_path, "--seeds", "2", "-n", "1", "-j", "1")

    assert done.returncode == 0, done.stderr
    assert len(Run(tmp_path / "family" / "seed=1").events.of("restart")) == 1
    assert [Run(tmp_path / "family" / f"seed={n}").events.of("step")[-1]["step"] for n in (1, 2)] == [60, 60]


def test_ctrl_c_ends_the_runs_that_go_on_and_begins_no_other(config: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "sidestream", "sweep", str(config), "--out", "family", "-n", "1", "-j", "1"]
    process = subprocess.Popen(
        [*words, "--vary", "fake.mode=slow,work"], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True
    )
    log = tmp_path / "family" / "mode=slow" / "events.jsonl"
    while not log.exists() or '"step"' not in log.read_text():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    assert Run(tmp_path / "family" / "mode=slow").status == "interrupted"
    assert not (tmp_path / "family" / "mode=work").exists()
    assert "not begun" in output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--vary", "cosmology.omega_n=0.3,0.4"], "omega_n"),
        (["--vary", "cosmology.omega_m=0.3,-1"], "in the run omega_m=-1"),
        (["--vary", "cosmology.omega_m=0.3,0.3"], "0.3 of `cosmology.omega_m` is there twice"),
        (["--vary", "cosmology.omega_m"], "is no key with values"),
        (["--vary", "cosmology.seed=1,2", "--seeds", "2"], "exclude each other"),
        (
            ["-n", "2", *SIDECAR, "--vary", "cosmology.seed=1", "--seeds", "2"],
            "exclude each other",
        ),
        (["--vary", "cosmology.seed=1", "--vary", "cosmology.seed=2"], "varied twice"),
        ([], "nothing is varied"),
        (["--seeds", "0"], "less than one"),
        (["--seeds", "2", "-n", "2", "-j", "1000"], "1000 runs of 2 ranks at once need 2000 cores"),
        (
            ["--seeds", "2", "-j", "1000", "--set", "task.spectra.transport=async"],
            "1000 runs of 1 rank and 2 threads a rank at once need 2000 cores",
        ),
        (
            ["--seeds", "2", "-j", "1000", "--set", "task.spectra.transport=async"],
            'ask for fewer runs at once (-j) or tasks without a thread of their own (transport = "in-situ")',
        ),
        (["--vary", "sedov.end=1,2", "--set", "simulation=sedov", "--seeds", "2"], ""),
    ],
)
def test_mistakes_are_refused_before_anything_runs(words: list[str], said: str, tmp_path: Path) -> None:
    write_config(tmp_path)

    done = sweep(tmp_path, "-n", "1", *words)

    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not (tmp_path / "family").exists()


AT_A_TIME = min(2, len(os.sched_getaffinity(0)))
CELLS = "mesh.cells=[16,16,16],[8, 8, 8]"


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A folder with a configuration and a family of it, and what was said of that."""
    folder = tmp_path_factory.mktemp("family")
    (folder / "box.toml").write_text('simulation = "cosmology"\n')
    return folder, vary(folder, "box.toml", CELLS, "-j", AT_A_TIME, "--json")


def vary(folder: Path, config: str, varied: str, *words: object) -> Done:
    """With runs that wait for as many others as go on beside them."""
    beside = ("--set", f"fake.beside={AT_A_TIME}")
    return command(
        folder, "sweep", config, "--out", "family", "-n", 1, *beside, "--vary", varied, *words, **with_fake()
    )


@TWO_CORES
def test_several_run_at_a_time(family: tuple[Path, Done]) -> None:
    folder, done = family

    assert done.returncode == 0, done.stderr
    assert [run["status"] for run in json.loads(done.stdout)] == ["finished", "finished"]
    runs = [folder / "family" / f"cells={cells}" for cells in ("16-16-16", "8-8-8")]
    begun = [(run / "config.toml").stat().st_mtime for run in runs]  # written first of all
    ended = [(run / "done").stat().st_mtime for run in runs]  # written last
    assert max(begun) < min(ended)


def test_values_in_brackets_stay_whole(family: tuple[Path, Done]) -> None:
    folder, done = family

    assert done.returncode == 0, done.stderr
    assert [run["values"]["mesh.cells"] for run in json.loads(done.stdout)] == ["[16,16,16]", "[8, 8, 8]"]
    assert (folder / "family" / "cells=8-8-8").is_dir()


def test_another_family_in_the_folder_is_refused(family: tuple[Path, Done]) -> None:
    folder, _ = family
    (folder / "changed.toml").write_text((folder / "box.toml").read_text() + "# changed\n")

    other = vary(folder, "box.toml", "cosmology.seed=1,2")
    changed = vary(folder, "changed.toml", CELLS)

    assert (other.returncode, changed.returncode) == (1, 1)
    assert "holds another family: mesh.cells=[16,16,16],[8, 8, 8]" in other.stderr
    assert "configuration is another" in changed.stderr

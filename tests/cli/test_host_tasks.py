"""Tasks of programs of others that other processes do: jobs that attach, and jobs with an interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import attached
from hosts import HOSTS, c_program, launch
from test_faults import results

STEPS = "[run]\nmax_steps = 2\n"
SLICE = '[task.slice]\nanalysis = "slice"\nfields = ["height"]\nevery = 1\n'
MEAN = """
import sidestream

@sidestream.analysis
def mean(snapshot):
    cells = [block.cells for block in snapshot.blocks("height")]
    return {"mean": (snapshot.sum(*cells) / 64**3, snapshot.units["height"])}
"""
TASK = '[task.mean]\nanalysis = "python"\nfile = "mean.py"\nfields = ["height"]\nisolate = true\nevery = 2\n'


@pytest.fixture(scope="module")
def wave(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return c_program(tmp_path_factory.mktemp("wave"), HOSTS / "wave.c")


def test_a_job_that_attaches_does_a_task_of_a_program(wave: Path, tmp_path: Path) -> None:
    (tmp_path / "alone.toml").write_text(STEPS + SLICE)
    (tmp_path / "streamed.toml").write_text(STEPS + SLICE + 'transport = "stream"\n[stream]\nwait_for = 1\n')
    assert launch(tmp_path, 1, wave, "alone.toml", "alone").returncode == 0

    with attached(tmp_path, "streamed", "slice", 2) as reader:
        done = launch(tmp_path, 2, wave, "streamed.toml", "streamed")
        assert done.returncode == 0, done.stderr
        assert reader.wait(60) == 0, reader.stdout.read()

    assert len(results(tmp_path / "alone")) == 3
    assert results(tmp_path / "streamed") == results(tmp_path / "alone")


def test_a_function_in_python_is_called_by_a_job_beside_a_program_in_c(wave: Path, tmp_path: Path) -> None:
    (tmp_path / "mean.py").write_text(MEAN)
    (tmp_path / "tasks.toml").write_text(STEPS + TASK)
    (tmp_path / "refused.toml").write_text(STEPS + TASK.replace("isolate = true\n", ""))

    done = launch(tmp_path, 2, wave, "tasks.toml", "run")
    refused = launch(tmp_path, 1, wave, "refused.toml", "refused")

    assert done.returncode == 0, done.stderr
    found = sidestream.open(tmp_path / "run")["mean"]
    k, j, i = np.ogrid[0:64, 0:64, 0:64]
    start = np.exp(-0.02 * ((i - 20.0) ** 2 + (j - 30.0) ** 2 + (k - 40.0) ** 2))
    assert found["step"].values.tolist() == [0, 2]
    assert float(found["mean"][0]) == pytest.approx(start.mean(), rel=1e-12)
    assert found["mean"].attrs["units"] == "m"
    assert refused.returncode != 0
    assert "this program has no Python to call" in refused.stderr and "isolate = true" in refused.stderr

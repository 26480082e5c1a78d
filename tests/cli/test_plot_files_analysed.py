"""Tasks with a plot file, as `sidestream analyze PATH --task ...` does them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import program
from configs import universe
from sidestream.cli import run_command
from sidestream.figures.pdf import pictures

TASKS = """
[quantity.neutral_hydrogen]
expression = "1e-21 * gas_density"
unit = "1/cm^3"

[task.igm]
analysis = "gimlet"
"""
BOX = (
    universe(box="10 Mpc", z_start=50, z_end=30)
    + """[output]
plotfile = { format = "nyx", at_end = true }
"""
    + TASKS
    + "at_end = true\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with the suite and a plot file of its end."""
    folder = tmp_path_factory.mktemp("box")
    (folder / "box.toml").write_text(BOX, encoding="utf-8")
    (folder / "tasks.toml").write_text(TASKS, encoding="utf-8")
    assert program(folder, 1, "box.toml", "--quiet", "--out", "run").returncode == 0
    return folder


def plot_of(folder: Path) -> Path:
    return next((folder / "run").glob("plt*"))


def test_results_of_a_plot_file_are_those_of_the_run(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "later"
    words = ["analyze", str(plot_of(folder)), "--task", str(folder / "tasks.toml"), "--out", str(out), "-n", "2"]

    assert run_command(words) == 0

    run, later = sidestream.open(folder / "run"), sidestream.open(out)
    assert len(run.tasks) == 7
    for task in run.tasks:
        (step,) = run.steps(task)
        ours, theirs = run.result(task, step), later.result(task, step)
        for name, column in ours.data_vars.items():
            np.testing.assert_array_equal(column, theirs[name], err_msg=f"{task} {name}")
        assert theirs.attrs["redshift"] == pytest.approx(ours.attrs["redshift"], abs=1e-12)


def test_histograms_in_units_have_pictures(folder: Path) -> None:
    (picture,) = pictures(sidestream.open(folder / "run"), "igm_temperature_pdf")

    assert "temperature [K]" in picture.figure.axes[0].get_xlabel()
    assert "per dex" in picture.figure.axes[0].get_ylabel()


def test_an_analysis_is_done_with_its_defaults(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "later"

    assert run_command(["analyze", str(plot_of(folder)), "--task", "phase", "--out", str(out)]) == 0

    later = sidestream.open(out)
    assert int(later.result("phase", *later.steps("phase"))["count"].sum()) == 16**3


def test_what_a_plot_file_does_not_have_is_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "later"

    assert run_command(["analyze", str(plot_of(folder)), "--task", "gimlet", "--out", str(out)]) != 0

    said = capsys.readouterr().err
    assert "`neutral_hydrogen`" in said and "[quantity.neutral_hydrogen]" in said
    assert not out.exists()

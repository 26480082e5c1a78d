"""What earlier versions left opens: results mean what they did, reports are drawn, runs go on from checkpoints."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import command, program

DATA = Path(__file__).parents[1] / "data"
KEPT = DATA / "first_run"
STEP = 118


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(KEPT, tmp_path / "run"))


def test_its_results_are_opened_with_their_units(run: Path) -> None:
    opened = sidestream.open(run)

    halos, spectra, cut = (opened.result(task, STEP) for task in ("halos", "spectra", "slice"))

    assert opened.steps("halos") == [STEP]
    assert (halos.sizes["halo"], halos.mass.attrs["units"], halos.x.attrs["units"]) == (1, "Msun", "Mpc")
    assert float(halos.mass[0]) == 26717490109607.652
    assert halos.attrs["redshift"] == 4.0
    assert spectra.gas_density_power.attrs["units"] == "(Mpc/h)^3"
    np.testing.assert_allclose(spectra.gas_density_power[:2], [11.48106181, 2.07520826], rtol=1e-8)
    assert cut.total_density.shape == (16, 16)


@pytest.mark.parametrize("task", ["halos", "spectra", "slice"])
def test_its_results_are_drawn(task: str, run: Path) -> None:
    assert len(sidestream.open(run).plot(task)) >= 1


def test_its_report_is_made_and_tells_of_the_end(run: Path) -> None:
    done = command(run.parent, "report", "run")

    assert done.returncode == 0, done.stderr
    page = (run / "report.html").read_text()
    assert all(task in page for task in ("halos", "spectra", "slice"))
    told = command(run.parent, "info", "run").stdout
    assert "finished" in told
    assert "redshift           4" in told


def test_a_run_goes_on_from_an_old_checkpoint(tmp_path: Path) -> None:
    old = DATA / "chk00050.hdf5_chk"
    (tmp_path / "tube.toml").write_text(
        'simulation = "sod"\n[mesh]\ncells = [16, 8, 1]\nblock = 8\n[sod]\nend = 2.0\n[run]\nmax_steps = 60\n'
        "[output]\ncheckpoint = { every = 10, at_start = true, keep = 0 }\n"
    )

    done = program(tmp_path, 2, "tube.toml", "--out", "run", "--from", old)

    assert done.returncode == 0, done.stderr
    before = sidestream.open(old)
    begun, gone_on = (sidestream.open(tmp_path / "run" / f"chk000{step}.hdf5_chk") for step in (50, 60))
    for field in ("density", "xmom", "rho_E"):
        np.testing.assert_array_equal(begun[field], before[field])
    assert begun.attrs["time"] == before.attrs["time"] < gone_on.attrs["time"]


def test_a_universe_with_levels_and_particles_goes_on_on_other_ranks(tmp_path: Path) -> None:
    shutil.copytree(DATA / "kept_universe", tmp_path / "run")
    before = sidestream.open(DATA / "kept_universe" / "chk00100.hdf5_chk")

    done = program(tmp_path, 2, "run/config.toml", "--restart", "--out", "run", "--set", "run.max_steps=110")

    assert done.returncode == 0, done.stderr
    after = sidestream.open(tmp_path / "run" / "chk00110.hdf5_chk")
    assert after.levels == before.levels == 2
    assert after.attrs["scale_factor"] > before.attrs["scale_factor"]
    np.testing.assert_allclose(after["density"].mean(), before["density"].mean(), rtol=1e-12)
    np.testing.assert_array_equal(np.sort(after.particles().id), np.sort(before.particles().id))
    assert sidestream.open(tmp_path / "run").steps("halos") == [102, 104, 106, 108, 110]

"""What the first version left opens: its results mean what they did, and its report is drawn."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import command

KEPT = Path(__file__).parents[1] / "data" / "first_run"
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

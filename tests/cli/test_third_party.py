"""A code that others wrote, lbmpy, with a session: what is analysed are its own numbers, by two ways."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import sidestream
from hosts import HOSTS, launch
from test_faults import results

TASKS = """
[task.slice]
analysis = "slice"
fields = ["velocity_x", "density"]
every = 100
transport = "{transport}"
[task.speeds]
analysis = "pdf"
fields = ["density"]
every = 100
transport = "{transport}"
in_means = false
low = 0.9
high = 1.1
"""


@pytest.mark.slow
def test_a_code_of_others_is_analysed_while_it_runs(tmp_path: Path) -> None:
    pytest.importorskip("lbmpy")
    for transport, ranks, rest in (("in-situ", 1, ""), ("in-transit", 2, "[coupling]\nsidecars = 1\n")):
        (tmp_path / f"{transport}.toml").write_text(TASKS.format(transport=transport) + rest)
        line = (sys.executable, HOSTS / "third_party.py", f"{transport}.toml", transport)
        done = launch(tmp_path, ranks, *line, XDG_CACHE_HOME=str(tmp_path))
        assert done.returncode == 0, done.stderr

    own = np.load(tmp_path / "in-situ" / "own.npy")
    picture = sidestream.open(tmp_path / "in-situ")["slice"]["velocity_x"]
    np.testing.assert_array_equal(picture.sel(step=200).values, own)
    assert results(tmp_path / "in-transit") == results(tmp_path / "in-situ")
    assert len(results(tmp_path / "in-situ")) == 6
    # vortices of Taylor and Green: speeds fall as exp(-2 nu k^2 t), with nu = (1 / 1.6 - 1 / 2) / 3
    fall = np.exp(-2.0 * (1.0 / 1.6 - 0.5) / 3.0 * (2.0 * np.pi / 64) ** 2 * 100)
    speeds = [float(np.abs(picture.sel(step=step).values).max()) for step in (0, 100, 200)]
    assert speeds[1] / speeds[0] == pytest.approx(fall, rel=2e-3)
    assert speeds[2] / speeds[1] == pytest.approx(fall, rel=2e-3)

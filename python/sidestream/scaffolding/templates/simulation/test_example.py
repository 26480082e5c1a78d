"""The simulation `example` has the exact solution of its scheme, on any ranks."""

import subprocess
import sys
from pathlib import Path

import example
import numpy as np
import pytest

import sidestream

HERE = Path(__file__).parent


def run(ranks, folder):
    """Runs the program to its end, or from where it was; returns the slices of all its steps."""
    command = ["mpirun", "-n", str(ranks), sys.executable, HERE / "example.py", HERE / "example.toml", folder]
    subprocess.run(command, check=True)
    return sidestream.open(folder)["slice"]["temperature"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_wave_decays_as_it_must(ranks, tmp_path):
    found = run(ranks, tmp_path / "run").sel(step=example.STEPS).values.squeeze()

    decay = (1.0 + 4.0 * example.SHARE * (np.cos(2 * np.pi / example.CELLS) - 1.0)) ** example.STEPS
    exact = 300.0 + decay * (example.start(0, example.CELLS)[1:-1, :, 0] - 300.0)
    np.testing.assert_allclose(found, exact, rtol=1e-12)

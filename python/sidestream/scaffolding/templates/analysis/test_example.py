"""The analysis `example` finds in a run what NumPy finds in its plot file, on any ranks."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sidestream

CONFIG = Path(__file__).with_name("example.toml")


@pytest.mark.parametrize("ranks", [1, 2])
def test_example(ranks, tmp_path):
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "sidestream", "run", CONFIG, "-n", str(ranks), "--out", folder]

    subprocess.run(command, check=True)

    found = sidestream.open(folder)["example"]
    plot = sidestream.open(max(folder.glob("plt*")))
    density = plot.covering_grid("gas_density", plot.levels - 1).values
    last = found.sel(step=10)
    assert float(last["mean_density"]) == pytest.approx(density.mean(), rel=1e-6)
    assert float(last["dense_share"]) == pytest.approx(np.mean(density > 1.5 * density.mean()), abs=1e-3)
    assert float(last["dense_share"]) > 0
    np.testing.assert_allclose(found["volume"].sum(found["volume"].dims[-1]), 1.0)

"""The model of transforms at scale beside SimGrid's simulated MPI."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import fft_at_scale_smpi
import pytest
from schedules import PROGRAM


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("smpicxx") is None, reason="SimGrid is not installed (libsimgrid-dev)")
@pytest.mark.skipif(not PROGRAM.exists(), reason="bench_fft_at_scale is not built: `make build`")
def test_pairwise_steps_are_near_those_of_a_simulated_mpi(tmp_path: Path) -> None:
    """Neither bounds the other: SimGrid's ranks wait for partners only, but its flows of neighbouring steps meet."""
    words = ["smpicxx", "-O2", "-std=c++20", fft_at_scale_smpi.SOURCE, "-o", tmp_path / "transposes"]
    subprocess.run(words, check=True)

    for entry in fft_at_scale_smpi.compare(fft_at_scale_smpi.SETUPS[1], tmp_path):
        assert 0.7 < entry["pairwise_to_smpi"] < 1.4
        assert entry["together_s"] < entry["smpi_s"]

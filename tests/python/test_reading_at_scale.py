"""What ranks of large runs read of a checkpoint: each byte once, whatever their number."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sidestream.launch.launcher import mpi_environment

PROGRAM = Path(__file__).parents[2] / "build" / "release" / "bench" / "bench_reading_at_scale"
CELL_BYTES = 2 * 8 * 512 * 256 * 256  # two variables
FORMATS = ("sidestream", "flash-netcdf", "raw", "files")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("scale")
    line = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", str(PROGRAM), *FORMATS]
    environment = mpi_environment(os.environ, 2) | {"TMPDIR": str(folder)}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_each_byte_is_read_once_by_8_to_65536_ranks(name: str, measured: dict[str, Any]) -> None:
    counts = {one["ranks"]: one for one in measured[name]}

    assert sorted(counts) == [8, 64, 512, 4096, 65536]
    for ranks, one in counts.items():
        # The rest is checksums, eight bytes a block of 4 KiB and variable, and of what follows them less than 32.
        assert 1.0 <= one["bytes_of_all_over_bytes_of_cells"] <= 1.0 + 32 * 8 / 4096 + 8 / 4096, ranks
        assert one["most_of_a_rank"]["opens"] <= 2
        assert one["opening"] == counts[8]["opening"], "by the first rank, whatever their number"
        assert one["opening"]["bytes"] < CELL_BYTES / 32

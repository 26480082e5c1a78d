"""Tables where the disk takes no more: one error, and the process goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import resource, sys
from pathlib import Path
import numpy as np, xarray as xr
from sidestream.error import Error
from sidestream.runs.catalogue import save

table = xr.Dataset({f"column_{n}": ("halo", np.arange(1000.0)) for n in range(20)})
save(table, Path("before.nc"))
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    save(table, Path(sys.argv[1]))
except Error as problem:
    print(problem.what)
"""


@pytest.mark.parametrize("name", ["halos.nc", "halos.csv"])
def test_a_catalogue_that_does_not_fit_is_one_error(name: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, name], cwd=tmp_path, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "the catalogue cannot be written: File too large\n"
    assert [path.name for path in tmp_path.iterdir()] == ["before.nc"]

"""Packages with an HDF5 of their own live in one process with the extension, in any order."""

from __future__ import annotations

import itertools
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import until

USES = {
    "h5py": """
import h5py
with h5py.File("a.h5", "w") as file:
    file["x"] = [1.0, 2.0]
with h5py.File("a.h5") as file:
    assert file["x"][1] == 2
""",
    "netCDF4": """
import netCDF4
with netCDF4.Dataset("b.nc", "w") as file:
    file.createDimension("n", 2)
    file.createVariable("x", "f8", ("n",))[:] = [1, 2]
with netCDF4.Dataset("b.nc") as file:
    assert file["x"][1] == 2
""",
    "sidestream": """
import numpy
import sidestream
density = numpy.ones((8, 8, 8))
density[4, 4, 4] = 900
assert sidestream.halos(density, box_size=1.0).sizes["halo"] == 1
assert sidestream.open(RESULT).sizes["halo"] > 1
""",
}


@pytest.mark.parametrize("order", list(itertools.permutations(USES)), ids="-".join)
def test_the_three_work_together_in_any_order(order: tuple[str, ...], finished_run: Path, tmp_path: Path) -> None:
    result = finished_run / "results" / "halos" / "000060.nc"
    script = f"RESULT = {str(result)!r}\n" + "\n".join(USES[name] for name in [*order, *order])

    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("reader", ["h5py", "netCDF4", "h5netcdf"])
def test_every_reader_opens_a_result(reader: str, finished_run: Path) -> None:
    path = finished_run / "results" / "halos" / "000060.nc"
    opened = {"h5py": "h5py.File", "netCDF4": "netCDF4.Dataset", "h5netcdf": "h5netcdf.File"}[reader]
    script = f"import {reader}; f = {opened}({str(path)!r}); assert len(f['mass'][:]) == len(f['id'][:]) > 0"

    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize("module", ["sidestream", "sidestream.cli.commands"])
def test_importing_the_package_or_its_commands_loads_nothing_heavy(module: str) -> None:
    script = f"import sys, {module}; assert not {{'numpy', 'xarray', 'h5py', 'matplotlib'}} & set(sys.modules)"

    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize("words", ["plot", "report", "info", "view", "bill", "verify", "compare --data flux_power"])
def test_a_command_says_something_before_it_loads_what_is_heavy(words: str, finished_run: Path, tmp_path: Path) -> None:
    loading = tmp_path / "loading"
    for module in ("matplotlib", "numpy", "xarray"):
        (tmp_path / f"{module}.py").write_text(f"import time\nopen({str(loading)!r}, 'w').close()\ntime.sleep(600)\n")
    name, *options = words.split()
    line = [sys.executable, "-m", "sidestream", name, str(finished_run), *options]
    ours, theirs = pty.openpty()
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "TERM": "xterm"}
    process = subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    try:
        os.close(theirs)
        said, _, _ = select.select([ours], [], [], 60.0)

        assert said and os.read(ours, 1), "nothing on the terminal while it loads"
        until(lambda: loading.exists() or process.poll() is not None)
        assert loading.exists(), "it did not come to load them"
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_a_public_name_that_does_not_exist_is_an_attribute_error() -> None:
    import sidestream

    with pytest.raises(AttributeError, match="haloes"):
        sidestream.haloes  # noqa: B018
    assert set(dir(sidestream)) >= {"Error", "halos", "merge_tree", "open", "power_spectrum"}

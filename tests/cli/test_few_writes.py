"""What is small in the file of a state is written at once by one rank; the calls are recorded by the layer below the
program."""

from __future__ import annotations

from pathlib import Path

import pytest

from calls import program
from sidestream.attack.layer import FILES
from sidestream.attack.record import Call, read_record
from sidestream.launch.launcher import find_program

# One aggregator writes all cells at once, so that whatever else is written is small.
CONFIG = """simulation = "sedov"

[mesh]
cells = [16, 16, 16]
block = 8

[run]
max_steps = 1

[output]
KIND = { format = "FORMAT", method = "aggregated", aggregators = 1, every = 1 }
"""
RANKS = 3


def writes_recorded(folder: Path, kind: str, format: str) -> dict[str, list[Call]]:
    """The writes to each file of the last step of a run, by their path when they were made."""
    config = CONFIG.replace("KIND", kind).replace("FORMAT", format)
    (folder / "sedov.toml").write_text(config)
    layer = {
        "LD_PRELOAD": str(find_program().parent / FILES),
        "SIDESTREAM_IO_PATH": str(folder / "run"),
        "SIDESTREAM_IO_RECORD": str(folder / "record"),
    }

    done = program(folder, RANKS, "sedov.toml", "--quiet", "--out", "run", **layer)

    assert done.returncode == 0, done.stderr
    writes: dict[str, list[Call]] = {}
    for call in read_record(folder / "record"):
        if call.kind == "write" and "0001" in call.path:
            writes.setdefault(call.path, []).append(call)
    return writes


@pytest.mark.parametrize(
    ("kind", "format"),
    [
        ("checkpoint", "sidestream"),
        ("checkpoint", "flash-5d"),
        ("checkpoint", "flash-netcdf"),
        ("checkpoint", "raw"),
        ("plotfile", "vtkhdf"),
    ],
)
def test_a_file_is_its_cells_and_one_write_more(kind: str, format: str, tmp_path: Path) -> None:
    ((path, (cells, small)),) = writes_recorded(tmp_path, kind, format).items()

    assert small.offset == 0 < small.length <= cells.offset, path


def test_each_grid_file_of_enzo_is_its_cells_and_one_write_more(tmp_path: Path) -> None:
    writes = writes_recorded(tmp_path, "checkpoint", "enzo")

    grids = {path: calls for path, calls in writes.items() if ".cpu" in path}
    assert len(grids) == RANKS
    for cells, small in grids.values():
        assert small.offset == 0 < small.length <= cells.offset

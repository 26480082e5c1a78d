"""What events tell of writing a file is what reaches it: counted by the program, and below it by the layer of tests."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from calls import program
from sidestream.launch.launcher import find_program
from sidestream.runs.run import Run

CONFIG = """simulation = "sedov"
run.max_steps = 2
mesh = { cells = [32, 32, 32], block = 8 }
[output]
plotfile = { format = "flash", every = 2 }
checkpoint = { format = "sidestream", every = 2 }
"""
COUNTS = {  # by their names in the event, those of the layer
    "writes": "writes",
    "bytes_written": "bytes",
    "sequential": "sequential",
    "consecutive": "consecutive",
    "unaligned": "unaligned",
    "reads": "reads",
    "bytes_read": "bytes_read",
}


def counted(folder: Path, name: str) -> dict[str, Any]:
    """Of all ranks, of a file that had this name with a dot before and `.tmp` behind it while it was written."""
    total, sizes = Counter(), Counter()
    for report in folder.glob("count.*.json"):
        files = json.loads(report.read_text())["files"]
        for file in [file for file in files if Path(file["path"]).name == f".{name}.tmp"]:
            total.update({ours: file[theirs] for ours, theirs in COUNTS.items()})
            sizes.update(file["sizes"])
    return {**total, "write_sizes": dict(sizes)}


@pytest.mark.parametrize("method", ["engine", "aggregated"])
def test_the_statistics_of_a_file_are_what_the_layer_below_counts(method: str, tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(CONFIG)
    layer = {
        "LD_PRELOAD": str(find_program().with_name("libsidestream_io_layer.so")),
        "SIDESTREAM_IO_PATH": str(tmp_path / "run"),
        "SIDESTREAM_IO_COUNT": str(tmp_path / "count"),
    }
    kinds, keys = ("plotfile", "checkpoint"), (f"method={method}", "aggregators=2")
    ways = [word for kind in kinds for key in keys for word in ("--set", f"output.{kind}.{key}")]

    done = program(tmp_path, 2, "box.toml", "--quiet", "--out", "run", *ways, **layer)

    assert done.returncode == 0, done.stderr
    events = Run(tmp_path / "run").events.of("plotfile", "checkpoint")
    assert {event["event"] for event in events} == {"plotfile", "checkpoint"}
    for event in events:
        found = counted(tmp_path, Path(event["path"]).name)
        assert found["writes"] > 2 and len(found["write_sizes"]) > 1
        assert {name: event["io"][name] for name in found} == found, event["path"]


RESTARTED = """simulation = "cosmology"
run.max_steps = 2
cosmology = { box = "20 Mpc", z_start = 30.0, z_end = 5.0 }
mesh = { cells = [48, 48, 48], block = 8 }
[output]
checkpoint = { format = "FORMAT", every = 2 }
"""


@pytest.mark.parametrize("form", ["sidestream", "raw", "files"])
def test_a_restart_on_other_ranks_reads_each_byte_of_the_checkpoint_once(form: str, tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(RESTARTED.replace("FORMAT", form))
    done = program(tmp_path, 2, "box.toml", "--quiet", "--out", "run")
    assert done.returncode == 0, done.stderr
    (checkpoint,) = (tmp_path / "run").glob("chk00002*")
    size = sum(file.stat().st_size for file in [checkpoint, *checkpoint.rglob("*")] if file.is_file())
    layer = {
        "LD_PRELOAD": str(find_program().with_name("libsidestream_io_layer.so")),
        "SIDESTREAM_IO_PATH": str(checkpoint),
        "SIDESTREAM_IO_COUNT": str(tmp_path / "count"),
    }

    done = program(tmp_path, 3, "box.toml", "--quiet", "--out", "run", "--restart", "--set", "run.max_steps=3", **layer)

    assert done.returncode == 0, done.stderr
    read = [
        sum(file["bytes_read"] for file in json.loads((tmp_path / f"count.{rank}.json").read_text())["files"])
        for rank in range(3)
    ]
    assert min(read) > size / 8, "each has its share"
    # Beside gaps, and what is small, which the first rank looks at some times to know the file.
    assert 0.95 * size <= sum(read) <= 1.08 * size

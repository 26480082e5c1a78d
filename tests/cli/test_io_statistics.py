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

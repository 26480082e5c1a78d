"""Threads analyse while files are written: every result, plot file and checkpoint is there, and what it should be.

With SIDESTREAM_ALL_FAULTS=1 a thousand steps are made, otherwise fifty.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from sidestream.launch.launcher import find_program, mpi_environment
from sidestream.runs.run import Run
from test_faults import results

RANKS = 4
STEPS = 1000 if os.environ.get("SIDESTREAM_ALL_FAULTS") == "1" else 50
CONFIG = f"""simulation = "sedov"

[mesh]
cells = [16, 16, 1]
block = 8

[sedov]
end = {STEPS}

[run]
max_steps = {STEPS}

[task.slices]
analysis = "slice"
fields = ["gas_density"]
every = 1

[task.pictures]
analysis = "projection"
fields = ["gas_density"]
every = 1

[output]
plotfile = {{ format = "sidestream", method = "hdf5-collective", every = 1 }}
checkpoint = {{ format = "flash-netcdf", method = "pnetcdf-nonblocking", every = 1, keep = 2 }}
"""


def run(folder: Path, out: str, *words: str, ranks: int = RANKS) -> Path:
    done = subprocess.run(
        ["mpirun", "-n", str(ranks), str(find_program()), "box.toml", "--out", out, *words],
        cwd=folder,
        env=mpi_environment(os.environ, 2 * ranks),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return folder / out


def test_results_plot_files_and_checkpoints_of_the_same_steps_do_not_meet(tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(CONFIG)
    on_threads = [word for task in ("slices", "pictures") for word in ("--set", f"task.{task}.transport=async")]
    here = run(tmp_path, "here", ranks=1)

    behind = run(tmp_path, "behind", *on_threads)

    assert results(behind) == results(here)
    assert len(results(behind)) == 2 * (STEPS + 1)
    assert len(list(behind.glob("plt*"))) == STEPS + 1
    assert Run(behind).events.last("checkpoint_committed")["step"] == STEPS
    assert not (behind / "pending").exists()


def test_the_threads_have_a_bill_of_their_own_and_each_adds_up(tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(CONFIG)
    words = ("--set", "run.max_steps=20", "--set", "task.slices.transport=async")
    folder = run(tmp_path, "run", *words, ranks=2)

    for log, analyses in (("events.jsonl", {"pictures"}), ("events.async.jsonl", {"slices"})):
        events = [json.loads(line) for line in (folder / log).read_text().splitlines()]
        (bill,) = [event for event in events if event["event"] == "bill"]
        total = sum(line["mean_s"] for line in bill["lines"])
        assert abs(total - bill["wall_s"]) < 0.01 * bill["wall_s"], log
        assert {line["for"] for line in bill["lines"] if line["line"] == "analysis"} == analyses

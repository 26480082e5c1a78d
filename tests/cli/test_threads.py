"""Threads analyse while files are written: every result, plot file and checkpoint is there, and what it should be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from calls import program
from sidestream.files.snapshot import SnapshotFile
from sidestream.runs.outputs import CHECKPOINT, PLOT_FILE, outputs_in
from sidestream.runs.run import Run
from test_faults import results
from tiers import slow

RANKS = 4
LIMIT_S = 1800
CONFIG = """simulation = "sedov"

[mesh]
cells = [16, 16, 1]
block = 8

[sedov]
end = 1000

[task.slices]
analysis = "slice"
fields = ["gas_density"]
every = 1

[task.pictures]
analysis = "projection"
fields = ["gas_density"]
every = 1

[output]
plotfile = { format = "sidestream", method = "hdf5-collective", every = 1 }
checkpoint = { format = "flash-netcdf", method = "pnetcdf-nonblocking", every = 1, keep = 2 }
"""


def run(folder: Path, out: str, *words: str, ranks: int = RANKS) -> Path:
    done = program(folder, ranks, "box.toml", "--quiet", "--out", out, *words, limit_s=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return folder / out


def contents(path: Path) -> tuple[dict[str, object], dict[str, bytes]]:
    """What a plot file or checkpoint says, but for the configuration of its run, and the bits of its fields."""
    file = SnapshotFile(path)
    facts = {name: value for name, value in file.describe().items() if name not in ("path", "bytes", "attributes")}
    return facts, {name: np.asarray(file[name]).tobytes() for name in file.fields}


@pytest.mark.parametrize("steps", [20, *slow(1000)])
def test_results_plot_files_and_checkpoints_of_the_same_steps_do_not_meet(steps: int, tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(CONFIG)
    on_threads = [word for task in ("slices", "pictures") for word in ("--set", f"task.{task}.transport=async")]
    ended = ("--set", f"run.max_steps={steps}")
    here = run(tmp_path, "here", *ended, "--set", "output.checkpoint.keep=0", ranks=1)

    behind = run(tmp_path, "behind", *ended, *on_threads)

    assert results(behind) == results(here)
    assert len(results(behind)) == 2 * (steps + 1)
    # A checkpoint that falls due while another one waits for the threads is put off, by a step or more.
    events = Run(behind).events
    committed, put_off = (
        [event["step"] for event in events.of(f"checkpoint_{what}")] for what in ("committed", "put_off")
    )
    assert set(committed) | set(put_off) == set(range(1, steps + 1))
    assert committed[-1] == steps
    assert len(committed) >= steps // 10  # or hardly any is written beside an analysis
    assert [file.step for file in outputs_in(behind, PLOT_FILE)] == list(range(steps + 1))
    assert [file.step for file in outputs_in(behind, CHECKPOINT)] == committed[-2:]
    for file in outputs_in(behind):
        assert contents(file.path) == contents(here / file.path.name), file.path.name
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

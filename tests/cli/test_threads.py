"""Threads analyse while files are written: every result, plot file and checkpoint is there, and what it should be."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from calls import program
from sidestream.files.snapshot import SnapshotFile
from sidestream.launch.launcher import find_program
from sidestream.runs.outputs import CHECKPOINT, PLOT_FILE, outputs_in
from sidestream.runs.run import Run
from test_faults import results
from tiers import slow

LAYER = Path(__file__).parents[1] / "support" / "lock_layer.c"
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


LOCKS_AND_BARRIER = """
#include <mpi.h>
#include <pthread.h>
int main(int argc, char** argv) {
  KIND_t lock = INITIALLY;
  MPI_Init(&argc, &argv);
  KIND_LOCK(&lock);
  MPI_Barrier(MPI_COMM_WORLD);
  KIND_unlock(&lock);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
"""


def run(folder: Path, out: str, *words: str, ranks: int = RANKS, layer: dict[str, str] | None = None) -> Path:
    done = program(folder, ranks, "box.toml", "--quiet", "--out", out, *words, limit_s=LIMIT_S, **(layer or {}))
    assert done.returncode == 0, done.stderr
    return folder / out


def lock_layer(folder: Path, watched: Path) -> dict[str, str]:
    """For the environment of a program, which leaves in `held` what it calls of MPI while it holds a lock."""
    symbols = subprocess.run(["nm", "-D", "-u", watched], capture_output=True, text=True, check=True).stdout.split()
    names = sorted({name for name in symbols if name.startswith("MPI_")} - {"MPI_Wtime"})
    assert len(names) > 2, f"{watched} calls nothing of MPI"
    functions = " ".join(f"WATCHED({name})" for name in names)
    definitions = [f'-DHELD="{folder / "held"}"', f"-DWATCHED_FUNCTIONS={functions}"]
    library = folder / "locks.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-O1", *definitions, "-o", library, LAYER], check=True)
    return {"LD_PRELOAD": str(library)}


@pytest.mark.parametrize(
    ("kind", "lock"), [("mutex", "lock"), ("mutex", "trylock"), ("rwlock", "rdlock"), ("rwlock", "wrlock")]
)
def test_the_layer_sees_a_lock_that_is_held(kind: str, lock: str, tmp_path: Path) -> None:
    words = {
        "KIND_LOCK": f"pthread_{kind}_{lock}",
        "KIND": f"pthread_{kind}",
        "INITIALLY": f"PTHREAD_{kind.upper()}_INITIALIZER",
    }
    text = LOCKS_AND_BARRIER
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    (tmp_path / "locks.c").write_text(text)
    program_of_test = tmp_path / "locks"
    subprocess.run(["mpicc", "-o", program_of_test, tmp_path / "locks.c"], check=True)

    subprocess.run([program_of_test], env=os.environ | lock_layer(tmp_path, program_of_test), check=True)

    assert (tmp_path / "held").read_text() == "MPI_Barrier\n"


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

    behind = run(tmp_path, "behind", *ended, *on_threads, layer=lock_layer(tmp_path, find_program()))

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
    assert not (tmp_path / "held").exists(), "a thread held a lock while it called MPI"


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


def test_no_lock_is_held_across_mpi_by_all_that_has_threads(tmp_path: Path) -> None:
    """A thread that analyses, a stream, checkpoints behind the run, sidecars and the desk of steering, at once."""
    settings = {
        "run.max_steps": 20,
        "run.steering": "true",
        "coupling.sidecars": 1,
        "task.slices.transport": "async",
        "task.pictures.transport": "in-transit",
        "task.live.analysis": "readers",
        "task.live.transport": "stream",
        "task.live.every": 1,
        "output.plotfile.method": "hdf5-strided",
        "output.checkpoint.format": "sidestream",
        "output.checkpoint.method": "aggregated",
        "output.checkpoint.asynchronous": "true",
    }
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    (tmp_path / "box.toml").write_text(CONFIG)

    run(tmp_path, "run", *words, layer=lock_layer(tmp_path, find_program()))

    assert not (tmp_path / "held").exists(), "a thread held a lock while it called MPI"

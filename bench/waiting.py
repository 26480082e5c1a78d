"""What a user waits for: the first line of each command, the first step of a run, and its report.

usage: python bench/waiting.py [--run FOLDER] [--repeats 5]

Commands are begun in processes of their own on a terminal, as a user begins them, with FOLDER, a run of
examples/lya.toml (`make demo`; made smaller where it is not given): seconds until the first byte appears. The first
step is waited for from the start of `sidestream run` on two ranks until its event log has it, less what
`mpirun -n 2 true` takes from start to end. The report is made by `sidestream report`. Prints JSON: of each the median,
the least and the largest over the repeats, which take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sidestream.launch.launcher import mpi_environment

BOX = Path(__file__).resolve().parents[1] / "examples" / "lya.toml"
SMALLER = ("--set", "mesh.cells=[16,16,16]", "--set", "mesh.block=8", "--set", "run.max_steps=8")
PROGRAM = [sys.executable, "-m", "sidestream"]
TRIVIAL = ("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", "true")
LIMIT_S = 120.0


def commands(run: Path, plot: Path) -> dict[str, list[object]]:
    """One of each kind: what a user types, with what there is."""
    return {
        "--help": ["--help"],
        "check": ["check", BOX, *SMALLER],
        "run": ["run", BOX, *SMALLER, "-n", 2, "--out", "begun", "--overwrite"],
        "list": ["list", "analyses"],
        "info of a run": ["info", run],
        "info of a file": ["info", plot],
        "plot": ["plot", run],
        "report": ["report", run],
        "bill": ["bill", run],
        "analyze": ["analyze", plot, "--task", "pdf", "--out", "offline", "--overwrite"],
        "convert": ["convert", plot, "converted", "--format", "nyx", "--overwrite"],
        "verify": ["verify", run],
        "halos find": ["halos", "find", plot],
        "compare": ["compare", run, "--data", "flux_power"],
        "launch": ["launch", BOX, "--slurm", "-n", 64],
        "sweep": ["sweep", BOX, "--vary", "hydro.cfl=0.3,0.4", "--dry-run"],
        "doctor": ["doctor"],
        "new": ["new", "analysis", "mean_age"],
        "view": ["view", run],
        "archive": ["archive", "list", run],
        "bench": ["bench", "transfer", "--model"],
    }


def first_byte_s(words: list[object], folder: Path) -> float:
    """Until something stands on the terminal; the command is ended then."""
    ours, theirs = pty.openpty()
    since = time.perf_counter()
    process = subprocess.Popen(
        [*PROGRAM, *map(str, words)], stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, start_new_session=True
    )
    os.close(theirs)
    try:
        os.read(ours, 1)
        return time.perf_counter() - since
    finally:
        process.terminate()
        process.wait(LIMIT_S)
        os.close(ours)


def ended_s(line: list[str] | tuple[str, ...], folder: Path) -> float:
    """From the start to the end."""
    since = time.perf_counter()
    environment = mpi_environment(os.environ, 2)
    subprocess.run(line, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - since


def first_step_s(folder: Path) -> float:
    """From the start of a run until its log has a step."""
    run = folder / "stepping"
    shutil.rmtree(run, ignore_errors=True)
    since = time.perf_counter()
    line = [*PROGRAM, "run", str(BOX), *SMALLER, "-n", "2", "--out", str(run)]
    process = subprocess.Popen(line, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log = run / "events.jsonl"
    while not (log.exists() and '"event":"step"' in log.read_text()):
        if process.poll() is not None or time.perf_counter() - since > LIMIT_S:
            raise RuntimeError("the run ended before a step was in its log")
        time.sleep(0.002)
    found = time.perf_counter() - since
    process.wait(LIMIT_S)
    return found


def main() -> int:
    """Measures in turns and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, metavar="FOLDER")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waiting-") as name:
        folder = Path(name)
        run = arguments.run and arguments.run.resolve()
        if run is None:
            run = folder / "run"
            made = ["run", str(BOX), *SMALLER, "-n", "2", "--out", str(run)]
            subprocess.run([*PROGRAM, *made], check=True, stdout=subprocess.DEVNULL)
        plot = next(path for path in sorted(run.iterdir()) if path.name.startswith(("plt", "chk", "sidestream_hdf5")))
        work: dict[str, Callable[[], float]] = {
            f"first line of {what}": lambda words=words: first_byte_s(words, folder)
            for what, words in commands(run, plot).items()
        }
        work |= {
            "mpirun -n 2 true": lambda: ended_s(TRIVIAL, folder),
            "first step": lambda: first_step_s(folder),
            "report, whole": lambda: ended_s([*PROGRAM, "report", str(run)], folder),
        }
        times: dict[str, list[float]] = {what: [] for what in work}
        for _ in range(arguments.repeats):
            for what, measure in work.items():
                times[what].append(measure())
    shown = {
        what: {"median_s": round(statistics.median(all_), 3), "from": round(min(all_), 3), "to": round(max(all_), 3)}
        for what, all_ in times.items()
    }
    beyond = [one - true for one, true in zip(times["first step"], times["mpirun -n 2 true"], strict=True)]
    shown["first step, beyond mpirun"] = {"median_s": round(statistics.median(beyond), 3)}
    print(json.dumps(shown, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

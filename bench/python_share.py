"""What an analysis bound by memory takes in Python over the same in C++, in situ, on the same snapshots of one run.

usage: python bench/python_share.py [--cells N] [--steps N] [--ranks N]

A blast wave has the histogram of its density over its mean made twice in each step: by the analysis `pdf`, and by a
task in Python with `snapshot.sum` and `snapshot.histogram` over the cells where they lie. Prints JSON: `share` is the
median over the steps of the ratio of their seconds, which hold the writing of a result; the counts have to be alike.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import sidestream
from sidestream.launch.launcher import find_program, prepare

BINS, LOW, HIGH = 60, 1e-3, 1e3
CONFIG = f"""simulation = "sedov"

[run]
max_steps = STEPS

[mesh]
cells = [CELLS, CELLS, CELLS]
block = 32

[task.compiled]
analysis = "pdf"
fields = ["gas_density"]
bins = {BINS}
low = {LOW}
high = {HIGH}
every = 1

[task.python]
analysis = "python"
file = "pdf.py"
every = 1
"""
TASK = f"""
import numpy as np
import sidestream

EDGES = np.geomspace({LOW}, {HIGH}, {BINS} + 1)

@sidestream.analysis(fields=["gas_density"])
def pdf(snapshot):
    cells = [block.cells for _, (block,) in snapshot.each_block("gas_density")]
    mean = snapshot.sum(*cells) / snapshot.cell_count
    return {{"counts": snapshot.histogram(cells, mean * EDGES)}}, {{"mean": mean}}
"""


def main() -> None:
    """Prints a JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=128)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--ranks", type=int, default=1)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = CONFIG.replace("CELLS", str(words.cells)).replace("STEPS", str(words.steps))
        (folder / "box.toml").write_text(text)
        (folder / "pdf.py").write_text(TASK)
        run = _run(folder, words.ranks)
        compiled, python = (
            {e["step"]: e["compute_s"] for e in run.events.of("analysis") if e["task"] == task}
            for task in ("compiled", "python")
        )
        last = max(compiled)
        own, other = run.result("compiled", last)["gas_density_count"], run.result("python", last)["counts"]
        differing = int(np.abs(np.asarray(own) - np.asarray(other)).sum())
    shares = [python[step] / compiled[step] for step in sorted(compiled)[1:]]  # the first one imports and allocates
    answer = {
        "benchmark": "python_share",
        "cells": words.cells,
        "ranks": words.ranks,
        "share": statistics.median(shares),
        "shares": [round(share, 3) for share in shares],
        "compiled_ms": 1e3 * statistics.median(compiled.values()),
        "python_ms": 1e3 * statistics.median(python.values()),
        "cells_in_other_bins": differing,
    }
    print(json.dumps(answer))


def _run(folder: Path, ranks: int) -> sidestream.Run:
    launch = prepare(find_program("sidestream-run-python"), ["box.toml", "--quiet", "--out", "run"], ranks, None)
    subprocess.run(launch.command, cwd=folder, env=launch.environment, check=True)
    return sidestream.open(folder / "run")


if __name__ == "__main__":
    main()

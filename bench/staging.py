"""What a step is held by a checkpoint that is written at once, from a copy behind the run, and staged on two nodes.

usage: python bench/staging.py SHARED LOCAL [--cells N] [--steps N] [--ranks N] [--repetitions N]

SHARED is a folder of the file system that all nodes see, LOCAL one of what stands for their disks: half of the ranks
have one folder there, half another. Each checkpoint is committed before the next is due. Prints JSON: for each way the
median over all checkpoints of the seconds that the simulation was held, the runs of the ways taking turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import sidestream
from sidestream.launch.launcher import find_program, mpi_environment

CONFIG = """simulation = "sedov"

[run]
max_steps = STEPS

[mesh]
cells = [CELLS, CELLS, CELLS]
block = 32

[output]
checkpoint = { every = EVERY, keep = 1 }
"""
EVERY = 4
WAYS = {
    "at_once": (),
    "asynchronous": ("--set", "output.checkpoint.asynchronous=true"),
    "staged": ("--set", "output.checkpoint.stage='$LOCAL_DISK'"),
}


def main() -> None:
    """Prints a JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shared", type=Path)
    parser.add_argument("local", type=Path)
    parser.add_argument("--cells", type=int, default=128)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    words = parser.parse_args()
    held: dict[str, list[float]] = {way: [] for way in WAYS}
    sizes = []
    with tempfile.TemporaryDirectory(dir=words.shared) as shared, tempfile.TemporaryDirectory(dir=words.local) as local:
        text = CONFIG.replace("CELLS", str(words.cells)).replace("STEPS", str(words.steps)).replace("EVERY", str(EVERY))
        (Path(shared) / "box.toml").write_text(text)
        for _ in range(words.repetitions):
            for way, settings in WAYS.items():
                for event in _checkpoints(Path(shared), Path(local), words.ranks, settings):
                    held[way].append(event["copy_s"] + event["wait_s"] + _write_s(event))
                    sizes.append(event["bytes"])
    answer = {
        "benchmark": "staging",
        "cells": words.cells,
        "ranks": words.ranks,
        "bytes": max(sizes),
        "checkpoints": {way: len(seconds) for way, seconds in held.items()},
        "held_s": {way: round(statistics.median(seconds), 4) for way, seconds in held.items()},
        "held_most_s": {way: round(max(seconds), 4) for way, seconds in held.items()},
    }
    print(json.dumps(answer))


def _write_s(event: dict[str, Any]) -> float:
    return 0.0 if event["asynchronous"] else float(event["write_s"])


def _checkpoints(shared: Path, local: Path, ranks: int, settings: tuple[str, ...]) -> list[dict[str, Any]]:
    line: list[str] = ["mpirun"]
    for node in range(2):
        disk = local / str(node)
        disk.mkdir(exist_ok=True)
        own = ranks // 2 + (ranks % 2 if node == 0 else 0)
        line += [":"] if node > 0 else []
        line += ["-n", str(own), "env", f"LOCAL_DISK={disk}", str(find_program()), "box.toml", "--quiet"]
        line += ["--out", "run", *settings]
    subprocess.run(line, cwd=shared, env=mpi_environment(os.environ, ranks), check=True)
    events = list(sidestream.open(shared / "run").events.of("checkpoint"))
    shutil.rmtree(shared / "run")
    return events


if __name__ == "__main__":
    main()

"""Runs that are steered, for tests of `sidestream steer`."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

import sidestream
from calls import command
from sidestream.launch.launcher import find_program, mpi_environment

# A step of it takes some milliseconds, and it would take a million.
CONFIG = """simulation = "sod"
[mesh]
cells = [32, 16, 16]
block = 8
[sod]
end = 1e6
[hydro]
cfl = 0.5
[run]
max_steps = 1000000
steering = true
[task.pdf]
analysis = "pdf"
every = 50
[output.checkpoint]
every = 1000000
keep = 0
"""
RANKS = 2
END_S = 60.0


class Steered:
    """A run in the folder `run` that listens."""

    def __init__(self, folder: Path, config: str = CONFIG) -> None:
        self.folder = folder
        self.run = folder / "run"
        (folder / "tube.toml").write_text(config)
        self.said = folder / "said"  # a pipe that nobody reads would stop the run when it is full
        line = ["mpirun", "-n", str(RANKS), str(find_program()), "tube.toml", "--out", "run"]
        with self.said.open("a") as said:
            self.process = subprocess.Popen(line, cwd=folder, env=mpi_environment(os.environ, RANKS), stderr=said)
        self.wait_for(self._listens)

    def _listens(self) -> bool:
        try:
            return bool(self.status())
        except sidestream.Error:
            return False

    def status(self) -> Any:
        """As `sidestream steer status` has it, without a process for each look."""
        return sidestream.steer(self.run).status()

    def steer(self, *words: object) -> subprocess.CompletedProcess[str]:
        return command(self.folder, "steer", self.run, *words)

    def asked(self, verb: str) -> Any:
        done = self.steer(verb, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def wait_for_state(self, state: str) -> Any:
        self.wait_for(lambda: self.status()["state"] == state)
        return self.status()

    def wait_for(self, condition: Any) -> None:
        end = time.monotonic() + END_S
        while not condition():
            assert time.monotonic() < end and self.process.poll() is None, "waited in vain"
            time.sleep(0.02)

    def end(self) -> int:
        assert self.steer("stop", "--why", "enough").returncode == 0
        return self.process.wait(END_S)

    def kill(self) -> None:
        """If it goes on."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def events(self, kind: str) -> list[dict[str, Any]]:
        return told(self.run, kind)


def told(run: Path, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (run / "events.jsonl").read_text().splitlines())
    return [event for event in lines if event["event"] == kind]


def cells_of(checkpoint: Path, name: str) -> np.ndarray[Any, Any]:
    return np.asarray(sidestream.open(checkpoint)[name])

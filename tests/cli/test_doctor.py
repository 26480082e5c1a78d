"""`sidestream doctor`: what it finds here, and what it says where something is wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path

from calls import Done, command


def findings(done: Done) -> dict[str, dict[str, str]]:
    return {finding["what"]: finding for finding in json.loads(done.stdout)}


def found(folder: Path, **extra: str) -> tuple[int, dict[str, dict[str, str]]]:
    done = command(folder, "doctor", "--json", **extra)
    return done.returncode, findings(done)


def test_nothing_is_bad_here_and_two_ranks_start(tmp_path: Path) -> None:
    done = command(tmp_path, "doctor")
    assert done.returncode == 0, done.stdout
    assert "BAD" not in done.stdout
    assert "start, take a step and write HDF5 together in" in done.stdout
    assert "Open MPI" in done.stdout or "Open RTE" in done.stdout
    assert not list(tmp_path.iterdir())


def fake(folder: Path, name: str, text: str) -> str:
    """A PATH on which a program of this name comes first."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / name
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"


def test_a_launcher_of_another_mpi_is_bad(tmp_path: Path) -> None:
    told = 'printf "HYDRA build details:\\n    Version:                 4.0.2\\n    CC:         gcc\\n"'
    code, seen = found(tmp_path, PATH=fake(tmp_path, "mpirun", told))
    assert code == 1
    assert seen["launcher"]["state"] == "bad"
    assert seen["launcher"]["found"].endswith("/mpirun: HYDRA build details: Version: 4.0.2"), seen["launcher"]["found"]
    assert "the programs were built for Open MPI" in seen["launcher"]["hint"]


def test_ranks_that_fail_are_bad_with_what_they_say(tmp_path: Path) -> None:
    script = 'case "$1" in --version) echo "mpirun (Open MPI) 4";; *) echo "no slots" >&2; exit 3;; esac'
    code, seen = found(tmp_path, PATH=fake(tmp_path, "mpirun", script))
    assert code == 1
    assert seen["two ranks"]["state"] == "bad"
    assert seen["two ranks"]["found"] == "no slots"


def test_a_missing_program_and_a_missing_launcher_are_told(tmp_path: Path) -> None:
    code, seen = found(tmp_path, SIDESTREAM_RUN="/nowhere/sidestream-run")
    assert code == 1
    assert seen["programs"]["state"] == "bad"
    (tmp_path / "empty").mkdir()
    _, seen = found(tmp_path, PATH=str(tmp_path / "empty"))
    assert seen["launcher"]["state"] == "warning"
    assert "runs have one rank" in seen["launcher"]["found"]
    assert "two ranks" not in seen

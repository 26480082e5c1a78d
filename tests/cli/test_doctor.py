"""`sidestream doctor`: what it finds here, and what it says where something is wrong."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from calls import Done, command
from sidestream.launch import doctor


def findings(done: Done) -> dict[str, dict[str, str]]:
    return {finding["what"]: finding for finding in json.loads(done.stdout)}


def found(folder: Path, **extra: str) -> tuple[int, dict[str, dict[str, str]]]:
    done = command(folder, "doctor", "--json", **extra)
    return done.returncode, findings(done)


def test_nothing_is_bad_here_and_two_ranks_start(tmp_path: Path) -> None:
    done = command(tmp_path, "doctor")
    assert done.returncode == 0, done.stdout
    assert "BAD" not in done.stdout
    assert "start, take a step and write a file together in" in done.stdout
    assert "an array is written collectively, in" in done.stdout
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


def test_an_hdf5_that_ranks_cannot_write_together_is_told(tmp_path: Path) -> None:
    """As one that was built without MPI, whatever its name."""
    source, library = tmp_path / "serial.c", tmp_path / "serial.so"
    source.write_text("int H5Pset_fapl_mpio(long access, void* comm, void* info) { return -1; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)

    code, seen = found(tmp_path, LD_PRELOAD=str(library))

    assert code == 0  # runs write otherwise
    assert seen["two ranks"]["state"] == "good"
    assert seen["parallel HDF5"]["state"] == "warning"
    assert "H5Pset_fapl_mpio failed" in seen["parallel HDF5"]["found"], seen["parallel HDF5"]["found"]
    assert "is to be built for their MPI" in seen["parallel HDF5"]["hint"]


def test_a_missing_program_and_a_missing_launcher_are_told(tmp_path: Path) -> None:
    code, seen = found(tmp_path, SIDESTREAM_RUN="/nowhere/sidestream-run")
    assert code == 1
    assert seen["programs"]["state"] == "bad"
    (tmp_path / "empty").mkdir()
    _, seen = found(tmp_path, PATH=str(tmp_path / "empty"))
    assert seen["launcher"]["state"] == "warning"
    assert "runs have one rank" in seen["launcher"]["found"]
    assert "two ranks" not in seen
    assert {"programs", "mpi4py", "cores", "shared memory", "processes", "open files", "size of files"} <= set(seen)


def test_what_is_scarce_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {resource.RLIMIT_NOFILE: (256, 256), resource.RLIMIT_FSIZE: (1 << 20, 1 << 20)}
    monkeypatch.setattr(resource, "getrlimit", limits.__getitem__)
    monkeypatch.setattr(doctor, "available_cores", lambda: 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=64 << 20))
    monkeypatch.setattr(doctor, "_reads_a_child", lambda: False)

    seen = {finding.what: finding for finding in doctor.findings()}

    for what, state, found, hint in (
        ("cores", "warning", "1, with ", "share it with the simulation"),
        ("shared memory", "warning", "64 MiB free", "--shm-size=2g"),
        ("processes", "warning", "may not read", "SYS_PTRACE"),
        ("open files", "warning", "256, at most 256", "ulimit -n 1024"),
        ("size of files", "bad", "1048576", "ulimit -f unlimited"),
    ):
        assert seen[what].state == state, what
        assert found in seen[what].found and hint in seen[what].hint, what

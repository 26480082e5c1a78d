"""A run has its folder for itself as long as it lives, and no longer."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sidestream
from calls import command
from processes import descendants
from sidestream.attack.subjects import expect_back, newest_committed
from sidestream.launch.launcher import find_program
from sidestream.runs.lock import is_held
from test_faults import CONFIG, LONG, Place, finish, ranks_of, wait_for_a_checkpoint

FOR_HOURS = (*LONG, "--set", "cosmology.largest_expansion=1e-5")
END_S = 60.0  # on a machine that has much else to do


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "box.toml").write_text(CONFIG)
    return Place(tmp_path)


@pytest.fixture
def going_on(place: Place) -> Iterator[subprocess.Popen[str]]:
    """A run in the folder `run` that has a checkpoint and would last for hours."""
    process = place.start("run", *FOR_HOURS)
    ranks: list[int] = []
    try:
        wait_for_a_checkpoint(place.folder / "run", process)
        ranks = ranks_of(process)
        yield process
    finally:
        for pid in [*ranks, process.pid]:
            kill(pid)
        process.communicate()


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def lives(pid: int) -> bool:
    """A process that ended and that nobody has asked about yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("words", [[], ["--overwrite"], ["--restart"]])
def test_a_second_run_is_refused_and_told_who_has_the_folder_since_when(
    words: list[str], place: Place, going_on: subprocess.Popen[str]
) -> None:
    first = ranks_of(going_on)

    second = place.run("run", *words)

    assert second.returncode != 0
    assert second.stderr.count("error: another run has this folder") == 1, second.stderr
    assert any(f"process {pid} on {os.uname().nodename}, since 20" in second.stderr for pid in first), second.stderr
    assert "hint: wait for its end or stop it" in second.stderr
    checked = command(place.folder, "run", "box.toml", "--out", "run", *words)
    assert checked.returncode == 2
    assert "another run has this folder" in checked.stderr
    assert going_on.poll() is None
    assert sidestream.open(place.folder / "run").status == "running"


def test_a_run_that_was_killed_is_aborted_and_goes_on_with_a_restart(
    place: Place, going_on: subprocess.Popen[str]
) -> None:
    told = command(place.folder, "info", "run").stdout
    assert "running" in told
    assert f"on {os.uname().nodename}, since" in told

    for pid in [going_on.pid, *ranks_of(going_on)]:
        kill(pid)
    finish(going_on)

    run = sidestream.open(place.folder / "run")
    wait_for(lambda: run.status == "aborted")
    told = command(place.folder, "info", "run").stdout
    assert "aborted" in told
    assert "since" not in told
    last = run.events.last("step")["step"]
    newest = newest_committed(place.folder / "run", interval=20)
    assert newest is not None
    again = place.run("run", "--restart", "--set", "cosmology.z_end=0", "--set", f"run.max_steps={last + 20}")
    assert again.returncode == 0, again.stderr
    expect_back(place.folder / "run", newest)
    assert run.status == "finished"
    assert (place.folder / "run" / ".lock").read_text() == ""


def test_ranks_end_with_their_launcher_and_let_the_folder_go(place: Place, going_on: subprocess.Popen[str]) -> None:
    ranks = ranks_of(going_on)

    kill(going_on.pid)
    going_on.wait()

    wait_for(lambda: not any(map(lives, ranks)))
    assert sidestream.open(place.folder / "run").status == "aborted"


def test_with_the_processes_of_a_command_that_are_killed_its_run_ends(place: Place) -> None:
    words = [sys.executable, "-m", "sidestream", "run", "box.toml", "-n", "2", "--out", "run", *FOR_HOURS]
    process = subprocess.Popen(
        words, cwd=place.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    started: set[int] = set()
    try:
        wait_for_a_checkpoint(place.folder / "run", process)
        started = descendants(process.pid)
        assert len(started) >= 3, "the launcher and two ranks"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

        end = time.monotonic() + END_S
        while any(map(lives, started)) and time.monotonic() < end:
            time.sleep(0.05)
        assert not [pid for pid in started if lives(pid)]
        assert not is_held(place.folder / "run")
    finally:
        for pid in [process.pid, *started]:
            kill(pid)


def test_a_rank_whose_launcher_died_ends_whatever_mpi_makes_of_it(place: Place) -> None:
    program = [str(find_program()), "box.toml", "--out", "run", *FOR_HOURS]
    shell = subprocess.Popen(
        ["sh", "-c", f"{shlex.join(program)} & wait"],
        cwd=place.folder,
        env=os.environ | {"SLURM_PROCID": "0"},  # as a launcher tells a rank, of which MPI knows nothing
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for_a_checkpoint(place.folder / "run", shell)
    (rank,) = ranks_of(shell)

    kill(shell.pid)
    shell.wait()

    try:
        wait_for(lambda: not lives(rank))
    finally:
        kill(rank)
    assert sidestream.open(place.folder / "run").status == "aborted"


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + END_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)

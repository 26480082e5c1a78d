"""Runs under a launcher that are watched, hit and waited for, and never left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..launch.launcher import find_program, prepare
from ..machine import available_cores
from .trial import Failure

LIMIT_S = 240.0  # for a run of seconds, on a machine that has much else to do
POLL_S = 0.005
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")


@dataclass(frozen=True)
class Ended:
    """The exit code of a launcher, negative if a signal ended it, and what was said on the error streams."""

    code: int
    said: str


class Running:
    """A launcher and its ranks, in a session of their own."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path, words: Path) -> None:
        self._words = words
        with words.open("wb") as file:
            self._process = subprocess.Popen(
                command,
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
            )

    @property
    def launcher(self) -> int:
        """The process of the launcher."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether the launcher is there."""
        return self._process.poll() is None

    def ranks(self) -> dict[int, int]:
        """The process of each rank that is there."""
        found = {_rank_of(pid): pid for pid in self.members() if pid != self.launcher}
        return {rank: pid for rank, pid in found.items() if rank >= 0}

    def members(self) -> list[int]:
        """The launcher and all that it has started and that lives."""
        return [pid for pid in _living() if _session_of(pid) == self.launcher]

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Waits for something to be so, or for the end of the launcher, or until it takes too long."""
        deadline = time.monotonic() + LIMIT_S
        while self.is_running() and not is_so() and time.monotonic() < deadline:
            time.sleep(POLL_S)

    def kill(self) -> None:
        """Ends all of them at once."""
        for pid in self.members():
            send(pid, signal.SIGKILL)

    def finish(self) -> Ended:
        """Waits for the end of all of them.

        Raises:
            Failure: it takes too long; all are killed then.
        """
        deadline = time.monotonic() + LIMIT_S
        while self.is_running() or self.members():
            if time.monotonic() > deadline:
                raise Failure(f"the run hangs: processes {self.members()} are there after {LIMIT_S:.0f} s")
            time.sleep(POLL_S)
        return Ended(self._process.wait(), self._words.read_text(errors="replace"))


@contextmanager
def started(
    folder: Path, arguments: Sequence[str], ranks: int, before: Sequence[str] = (), name: str = "run"
) -> Iterator[Running]:
    """`sidestream-run` on so many ranks in a folder, each started by the command `before`; killed at the end."""
    words = [*before, str(find_program()), *arguments]
    launch = prepare(Path(words[0]), words[1:], ranks, threads=available_cores())  # who waits leaves its core to others
    running = Running(launch.command, launch.environment, folder, folder / f"{name}.txt")
    try:
        yield running
    finally:
        while running.members():
            running.kill()
            running.is_running()
            time.sleep(POLL_S)


def run(folder: Path, arguments: Sequence[str], ranks: int, before: Sequence[str] = (), name: str = "run") -> Ended:
    """The same, to its end."""
    with started(folder, arguments, ranks, before, name) as running:
        return running.finish()


def send(pid: int, number: int) -> None:
    """A signal to a process that may have ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _living() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _lives(entry)]


def _lives(entry: Path) -> bool:
    try:
        return (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def _rank_of(pid: int) -> int:
    """-1 of what is no rank."""
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return -1
    variables = dict(word.partition("=")[::2] for word in words)
    return next((int(variables[name]) for name in RANK_VARIABLES if name in variables), -1)

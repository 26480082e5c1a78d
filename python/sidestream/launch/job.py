"""A running program: its messages, and how it is stopped so that no rank survives."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO

from ..error import Error
from .launcher import Launch, ending_with_us

GRACE_S = 60.0  # for the step in progress to end and the folder to be closed
TERMINATE_S = 5.0  # between SIGTERM and SIGKILL
POLL_S = 0.1


class Job:
    """The launcher and its ranks, in a session of their own, so that signals reach them only through us.

    They end when we do, however that is.
    """

    def __init__(self, launch: Launch, program: Path, keep_output: bool = False) -> None:
        self._program = str(program)
        self._direct = launch.direct
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._output: queue.SimpleQueue[str] | None = queue.SimpleQueue() if keep_output else None
        try:
            self._process = subprocess.Popen(
                ending_with_us(launch.command),
                env=launch.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as problem:
            raise Error(
                f"`{launch.command[0]}` cannot be started: {problem.strerror}",
                launch.command[0],
                hint="`sidestream doctor` says what is missing; --launcher names another launcher",
            ) from problem
        assert self._process.stdout is not None and self._process.stderr is not None
        shown = self._lines if self._output is None else self._output
        self._readers = [
            threading.Thread(target=self._collect, args=(self._process.stderr, self._lines), daemon=True),
            threading.Thread(target=self._collect, args=(self._process.stdout, shown), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def is_running(self) -> bool:
        """Whether the launcher is still there."""
        return self._process.poll() is None

    def messages(self) -> Iterator[str]:
        """The lines on its error stream since the last call; all that is left once it has ended."""
        return self._taken(self._lines)

    def output(self) -> Iterator[str]:
        """The same of its standard output, which is kept if that was asked for."""
        return self._taken(self._output) if self._output is not None else iter(())

    @property
    def exit_code(self) -> int:
        """The exit code of the launcher, negative if a signal ended it."""
        return self._process.wait()

    def interrupt(self) -> None:
        """Asks the ranks to stop after the step in progress.

        The ranks on this machine are asked directly: `mpirun` itself would answer SIGINT by killing them within a
        second. If none runs here, the launcher has to pass the wish on; SIGUSR1 is what it forwards.
        """
        if self._direct:
            _send(self._process.pid, signal.SIGINT)
            return
        ranks = [pid for pid in self._members() if pid != self._process.pid and self._is_rank(pid)]
        for pid in ranks:
            _send(pid, signal.SIGINT)
        if not ranks:
            _send(self._process.pid, signal.SIGUSR1)

    def terminate(self) -> None:
        """Ends the job without waiting for the step."""
        _send(self._process.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Ends the launcher and every process that descends from it on this machine, and waits for them a while."""
        deadline = time.monotonic() + TERMINATE_S
        while (members := self._members()) and time.monotonic() < deadline:
            for pid in members:
                _send(pid, signal.SIGKILL)
            self.is_running()
            time.sleep(POLL_S / 10)

    def _taken(self, lines: queue.SimpleQueue[str]) -> Iterator[str]:
        if not self.is_running():
            for reader in self._readers:
                reader.join(timeout=2.0)
        while True:
            try:
                yield lines.get_nowait()
            except queue.Empty:
                return

    def _collect(self, stream: IO[bytes], into: queue.SimpleQueue[str] | None) -> None:
        for line in stream:
            if into is not None:
                into.put(line.decode("utf-8", errors="replace"))

    def _members(self) -> list[int]:
        return [pid for pid in _processes() if _session_of(pid) == self._process.pid]

    def _is_rank(self, pid: int) -> bool:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return False
        return self._program in words[:2]  # a script stands behind its interpreter


class StopRequests:
    """Counts Ctrl-C and its like instead of raising, and ends a job more firmly with each.

    A terminal that closes asks once at most, however many tell of it (the kernel, the shell, the kernel again for the
    shell), and not where that is to be ignored, as under `nohup`.
    """

    def __init__(self, job: Job, tell: Callable[[str], None], grace_s: float = GRACE_S) -> None:
        self.count = 0
        self.was_ctrl_c = False
        self._job, self._tell, self._grace_s = job, tell, grace_s
        self._answered = 0
        self._deadline = float("inf")
        self._before: dict[int, object] = {}

    def __enter__(self) -> StopRequests:
        for number in stopping_signals():
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def act(self) -> None:
        """Does what the requests and the clock ask for; to be called often."""
        if time.monotonic() > self._deadline:
            self.count = self._answered + 1
        if self.count == self._answered:
            return
        self._answered = self.count
        if self._answered == 1:
            self._tell("stopping after this step; press Ctrl-C again to end at once")
            self._job.interrupt()
            self._deadline = time.monotonic() + self._grace_s
        elif self._answered == 2:
            self._job.terminate()
            self._deadline = time.monotonic() + TERMINATE_S
        else:
            self._job.kill()
            self._deadline = time.monotonic() + TERMINATE_S

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.was_ctrl_c |= number == signal.SIGINT
        self.count += number != signal.SIGHUP or self.count == 0


def stopping_signals() -> list[signal.Signals]:
    """Those that ask to stop what goes on: under `nohup` the terminal may close."""
    closes = [signal.SIGHUP] if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else []
    return [signal.SIGINT, signal.SIGTERM, *closes]


@contextmanager
def interruptible() -> Iterator[None]:
    """Has Ctrl-C raise `KeyboardInterrupt`, also where SIGINT was ignored, and the second one end the process."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        raise KeyboardInterrupt

    with handled(signal.SIGINT, interrupt):
        yield


@contextmanager
def handled(number: signal.Signals, handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Has a signal call `handler` meanwhile."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _processes() -> list[int]:
    proc = Path("/proc")
    return [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()] if proc.is_dir() else []


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1

"""The command line and the program, called as a user calls them.

Most of the time of a short command is spent on importing. So a server imports everything once and forks a process for
each command: as separate from the tests as any other process, with its own folder, environment, output and exit code.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from sidestream.cli import command_line, run_command
from sidestream.launch.launcher import find_program, mpi_environment

Done = subprocess.CompletedProcess[str]
LIMIT_S = 300.0
# Of what is imported when it is needed only.
LATE = ("colossus.lss.mass_function", "h5netcdf", "netCDF4", "plotly.graph_objects", "plotly.offline", "rich.live")
ENTRY_POINTS = ("sidestream.__main__",)


def command(folder: Path, *words: object, **extra: str) -> Done:
    """`sidestream WORDS` in a folder, with `extra` in its environment.

    Not with what MPI adds to the environment of a process in which a test has started it: that names the wrong job.
    """
    return _call(folder, words, extra)


def unreported(folder: Path, *words: object, **extra: str) -> Done:
    """The same, but what would draw the report of a run draws nothing: it takes longer than most small runs."""
    return _call(folder, words, extra, is_reported=False)


def _call(folder: Path, words: tuple[object, ...], extra: dict[str, str], *, is_reported: bool = True) -> Done:
    environment = os.environ | {"NO_COLOR": "1"} | extra
    return _server().call(folder, list(map(str, words)), environment, is_reported=is_reported)


def program(
    folder: Path, ranks: int, *words: object, limit_s: float = LIMIT_S, name: str = "sidestream-run", **extra: str
) -> Done:
    """`sidestream-run WORDS` on some ranks in a folder: no report, and nothing of Python."""
    line = ["mpirun", "-n", str(ranks), str(find_program(name)), *map(str, words)]
    environment = mpi_environment(os.environ, ranks) | extra
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=limit_s)


@contextmanager
def running(folder: Path, ranks: int, *words: object, name: str = "sidestream-run") -> Iterator[subprocess.Popen[str]]:
    """A program of the package on some ranks, while other things happen; killed if it has not ended by then."""
    with job(folder, ranks, ["mpirun", "-n", ranks, find_program(name), *words]) as process:
        yield process


@contextmanager
def job(folder: Path, ranks: int, line: Sequence[object]) -> Iterator[subprocess.Popen[str]]:
    """A line that starts so many ranks at most, while other things happen; killed if it has not ended by then."""
    words, environment = [str(word) for word in line], mpi_environment(os.environ, ranks)
    with subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def attached(folder: Path, run: object, task: str, ranks: int = 1, *words: object) -> Any:
    """`sidestream-attach RUN --task TASK` on some ranks, with the patience to wait for the run."""
    return running(folder, ranks, run, "--task", task, "--patience", 60, *words, name="sidestream-attach")


def analyze_later(run: Path, ranks: int) -> Done:
    """What `sidestream analyze` does with a run, without the report that it makes anew."""
    return program(run.parent, ranks, run / "config.toml", "--analyze", "--out", run)


class Server:
    """The process that has everything imported, from the side of the tests."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(LIMIT_S)
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()

    def call(self, folder: Path, words: list[str], environment: dict[str, str], *, is_reported: bool) -> Done:
        wanted = {"folder": str(folder), "words": words, "environment": environment, "is_reported": is_reported}
        request = json.dumps(wanted).encode()
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            socket.send_fds(self._channel, [request], [output.fileno(), errors.fileno()])
            try:
                code = int(self._channel.recv(16))
            except BaseException as problem:  # the test may be out of time
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)  # with all that it has started
                _server.cache_clear()
                if isinstance(problem, TimeoutError):
                    raise subprocess.TimeoutExpired(words, LIMIT_S, _text(output), _text(errors)) from None
                raise
            return subprocess.CompletedProcess(words, code, _text(output), _text(errors))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


@cache
def _server() -> Server:
    return Server()


def _serve(channel: socket.socket) -> None:
    """Forks a process for each request, until the tests are over."""
    while True:
        request, streams, _, _ = socket.recv_fds(channel, 1 << 20, 2)
        if not request:
            return
        child = os.fork()
        if child == 0:
            channel.close()
            _become(json.loads(request), streams)
        for stream in streams:
            os.close(stream)
        channel.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _become(request: dict[str, object], streams: list[int]) -> None:
    """This process is the command from now on."""
    for number, stream in zip((1, 2), streams, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    if not request["is_reported"]:
        import_module("sidestream.report").write_report = lambda run, _tell: run.folder / "report.html"
    code = 1
    try:
        code = run_command(request["words"])
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # without taking apart all that was imported


def _import_everything() -> None:
    for module in pkgutil.walk_packages(import_module("sidestream").__path__, "sidestream."):
        if module.name not in ENTRY_POINTS:
            import_module(module.name)
    for name in LATE:
        import_module(name)
    command_line()


if __name__ == "__main__":
    _import_everything()
    gc.freeze()  # what is there already is not looked at by each process anew
    with socket.socket(fileno=int(sys.argv[1])) as tests:
        _serve(tests)

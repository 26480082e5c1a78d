"""Files of any format converted and verified by `sidestream-files`, on as many ranks as wanted."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .error import Error, UsageError
from .job import POLL_S, Job
from .launcher import find_program, prepare
from .messages import MessageFilter
from .opening import is_run, unknown
from .outputs import outputs_in
from .snapshot_file import SnapshotFile, bytes_of, format_of, formats

PROGRAM = "sidestream-files"
PRECISIONS = ("double", "single")
Tell = Callable[[str], None]  # takes a line about what goes on


@dataclass(frozen=True)
class Conversion:
    """What is to be written, from what and how."""

    source: Path
    target: Path
    format: str
    fields: Sequence[str] = ()
    precision: str = "double"
    block: int | None = None
    method: str | None = None
    overwrite: bool = False

    def arguments(self) -> list[str]:
        """The arguments of `sidestream-files`."""
        words = ["convert", str(self.source), str(self.target)]
        words += ["--format", self.format, "--precision", self.precision]
        words += ["--block", str(self.block)] if self.block is not None else []
        words += ["--method", self.method] if self.method is not None else []
        words += ["--overwrite"] * self.overwrite
        return [*words, "--fields", *self.fields] if self.fields else words


def convert(
    conversion: Conversion, ranks: int, launcher: str | None = None, tell: Tell = lambda _: None
) -> dict[str, Any]:
    """Writes the state in a file again in another format; returns what was written and how fast."""
    _check(conversion)
    report: dict[str, Any] = {}
    for line in _lines_of(conversion.arguments(), ranks, launcher, tell):
        report = json.loads(line)
    seconds, size = float(report["write_s"]), bytes_of(conversion.target)
    kept = SnapshotFile(conversion.target).describe()["particles"]
    return report | {
        "bytes": size,
        "megabytes_per_second": size / 1e6 / seconds if seconds > 0 else None,
        "particles": kept,
        "left_out_particles": (report["particles"] or 0) - (kept or 0),
    }


def verify(
    path: Path, ranks: int, launcher: str | None = None, tell: Tell = lambda _: None
) -> Iterator[dict[str, Any]]:
    """Reads a file, or every plot file and checkpoint in the folder of a run, and checks every checksum.

    Yields one dictionary a file as soon as it is read: `path`, `is_good`, `seconds`, and `format`, `kind`, `bytes` or
    `message`.
    """
    paths = _to_verify(path)
    for line in _lines_of(["verify", *map(str, paths)], ranks, launcher, tell, may_fail=True):
        verdict: dict[str, Any] = json.loads(line)
        if verdict["is_good"]:
            verdict["bytes"] = bytes_of(Path(verdict["path"]))
        yield verdict


def _check(conversion: Conversion) -> None:
    known = formats()
    if conversion.format not in known:
        raise UsageError(f"there is no format `{conversion.format}`", hint=f"--format takes {', '.join(known)}")
    if conversion.precision not in PRECISIONS:
        raise UsageError(
            f"there is no precision `{conversion.precision}`", hint=f"--precision takes {' or '.join(PRECISIONS)}"
        )
    if not conversion.source.exists():
        raise Error("there is nothing to convert", conversion.source, "give a plot file or checkpoint of any format")


def _to_verify(path: Path) -> list[Path]:
    if not path.exists():
        raise Error("there is nothing to verify", path, "give a plot file, a checkpoint or the folder of a run")
    if format_of(path):
        return [path]
    if not is_run(path):
        raise unknown(path)
    found = [output.path for output in outputs_in(path)]
    if not found:
        raise Error("the run has written neither plot files nor checkpoints", path)
    return found


def _lines_of(
    arguments: Sequence[str], ranks: int, launcher: str | None, tell: Tell, may_fail: bool = False
) -> Iterator[str]:
    """Runs the program; yields the lines of its standard output as they come.

    Raises:
        Error: what the program complained of, unless it `may_fail` and says why in its lines.
    """
    program = find_program(PROGRAM)
    messages, lines = MessageFilter(), 0
    job = Job(prepare(program, arguments, ranks, launcher), program, keep_output=True)
    with _killed_at_the_end(job):
        while True:
            is_running = job.is_running()
            for message in filter(None, map(messages.feed, job.messages())):
                tell(message)
            for line in job.output():
                lines += 1
                yield line
            if not is_running:
                break
            time.sleep(POLL_S)
    if job.exit_code != 0 and not (may_fail and lines):
        raise _failure(messages, job.exit_code)


def _failure(messages: MessageFilter, exit_code: int) -> Error:
    if messages.errors:
        return Error.from_text(messages.errors[0])
    return messages.diagnosis(exit_code) or Error(f"`{PROGRAM}` ended with exit code {exit_code}")


@contextmanager
def _killed_at_the_end(job: Job) -> Iterator[None]:
    """No rank survives us, however we end."""

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        if job.is_running():
            job.kill()
        signal.signal(signal.SIGTERM, before)

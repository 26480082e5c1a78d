"""Programs that measure: started, followed, and their reports read."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from .. import console
from ..error import Error
from .launcher import find_program, prepare
from .messages import MessageFilter

PROGRESS = re.compile(r"(\d+) of (\d+): (.*)")


def report_of(name: str, arguments: Sequence[str], ranks: int, launcher: str | None) -> dict[str, Any]:
    """Runs the program `name` of the package on `ranks` ranks; returns the JSON object that it prints."""
    program = find_program(name)
    with tempfile.TemporaryFile("w+") as output:
        launch = prepare(program, arguments, ranks, launcher)
        code, said = _follow(launch.command, launch.environment, output)
        output.seek(0)
        text = output.read()
    if code != 0:
        raise Error.from_text(said) if "error: " in said else Error(said or f"`{program.name}` ended with {code}")
    report: dict[str, Any] = json.loads(text)
    return report


def _follow(command: Sequence[str], environment: dict[str, str], output: IO[str]) -> tuple[int, str]:
    """Runs a command and shows its progress; returns its exit code and what else it said."""
    messages, said = MessageFilter(), []
    try:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True
        )
    except OSError as problem:
        raise Error(f"`{command[0]}` cannot be started: {problem.strerror}", command[0]) from problem
    with process, _progress() as show:
        assert process.stderr is not None
        for line in process.stderr:
            progress = PROGRESS.match(line)
            if progress:
                show(int(progress[1]), int(progress[2]), progress[3])
            elif (kept := messages.feed(line.rstrip("\n"))) is not None:
                said.append(kept)
    return process.returncode, "\n".join(said)


@contextmanager
def _progress() -> Iterator[Callable[[int, int, str], None]]:
    """One line on a terminal; silence anywhere else."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.completed} of {task.total}"), TimeRemainingColumn())
    with Progress(
        *columns,
        TextColumn("{task.description}"),
        console=console.err(),
        transient=True,
        disable=not console.err().is_terminal,
    ) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total, text: progress.update(task, completed=done, total=total, description=text)

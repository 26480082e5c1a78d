"""Programs that measure: started, followed, and their reports read."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from ... import console
from ...error import Error, UsageError
from ..launcher import find_program, prepare
from ..messages import MessageFilter
from ..programs import USED_WRONGLY

PROGRESS = re.compile(r"(\d+) of (\d+): (.*)")


def report_of(name: str, arguments: Sequence[str], ranks: int, launcher: str | None) -> dict[str, Any]:
    """Runs the program `name` of the package on `ranks` ranks; returns the JSON object that it prints."""
    program = find_program(name)
    with tempfile.TemporaryFile("w+") as output:
        launch = prepare(program, arguments, ranks, launcher)
        code, said, messages = _follow(launch.command, launch.environment, output)
        output.seek(0)
        text = output.read()
    if code != 0:
        raise _failure(name, code, said, messages)
    for line in said:
        console.say(line)
    report: dict[str, Any] = json.loads(text)
    return report


def _failure(name: str, code: int, said: list[str], messages: MessageFilter) -> Error:
    kind = UsageError if code == USED_WRONGLY else Error
    if messages.errors:
        return kind.from_text(messages.errors[0])
    if code == USED_WRONGLY and said:
        return kind("\n".join(dict.fromkeys(said)))  # each rank says the same
    for line in said:
        console.say(line)
    return messages.diagnosis(code) or kind(f"`{name}` ended with {code}")


def _follow(
    command: Sequence[str], environment: dict[str, str], output: IO[str]
) -> tuple[int, list[str], MessageFilter]:
    """Runs a command and shows its progress; returns its exit code, what else it said, and how that was sorted."""
    messages, said = MessageFilter(), []
    try:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True
        )
    except OSError as problem:
        raise Error(
            f"`{command[0]}` cannot be started: {problem.strerror}",
            command[0],
            hint="`sidestream doctor` says what is missing",
        ) from problem
    with process, _progress() as show:
        assert process.stderr is not None
        for line in process.stderr:
            progress = PROGRESS.match(line)
            if progress:
                show(int(progress[1]), int(progress[2]), progress[3])
            elif (kept := messages.feed(line.rstrip("\n"))) is not None:
                said.append(kept)
    return process.returncode, said, messages


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
        disable=not console.is_screen(),
    ) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total, text: progress.update(task, completed=done, total=total, description=text)

"""Programs that measure: started, followed, and their reports read."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ... import console
from ...error import USED_WRONGLY, Error, UsageError
from ..job import POLL_S, Job
from ..launcher import find_program, prepare
from ..messages import MessageFilter
from ..programs import killed_at_the_end

PROGRESS = re.compile(r"(\d+) of (\d+): (.*)")


def report_of(name: str, arguments: Sequence[str], ranks: int, launcher: str | None) -> dict[str, Any]:
    """Runs the program `name` of the package on `ranks` ranks; returns the JSON object that it prints."""
    program = find_program(name)
    job = Job(prepare(program, arguments, ranks, launcher), program, keep_output=True)
    text, said, messages = _follow(job)
    if job.exit_code != 0:
        raise _failure(name, job.exit_code, said, messages)
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


def _follow(job: Job) -> tuple[str, list[str], MessageFilter]:
    """Shows the progress of a job to its end; returns what it printed, what else it said, and how that was sorted."""
    messages = MessageFilter()
    said: list[str] = []
    printed: list[str] = []
    with killed_at_the_end(job), _progress() as show:
        is_running = True
        while is_running:
            is_running = job.is_running()
            for line in job.messages():
                progress = PROGRESS.match(line)
                if progress:
                    show(int(progress[1]), int(progress[2]), progress[3])
                elif (kept := messages.feed(line)) is not None:
                    said.append(kept)
            printed += job.output()
            time.sleep(POLL_S * is_running)
    return "".join(printed), said, messages


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

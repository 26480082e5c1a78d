"""Running one of the package's programs to its end, line by line."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from .. import console
from ..error import USED_WRONGLY, Error, UsageError
from .job import POLL_S, Job, handled
from .launcher import ATTACH, PROGRAM, find_program, prepare
from .messages import MessageFilter

OF_WARNINGS = ("warning: ", "  --> ", "hint: ")  # how their lines begin
Tell = Callable[[str], None]  # takes a line about what goes on


def lines_of(
    name: str, arguments: Sequence[str], ranks: int, launcher: str | None, tell: Tell, may_fail: bool = False
) -> Iterator[str]:
    """Runs a program; yields the lines of its standard output as they come, and tells those of its error stream; what
    warns is said.

    Raises:
        Error: what the program complained of, unless it `may_fail` and says why in its lines.
    """
    program = find_program(name)
    messages, lines = MessageFilter(), 0
    job = Job(prepare(program, arguments, ranks, launcher), program, keep_output=True)
    with killed_at_the_end(job):
        while True:
            is_running = job.is_running()
            for message in filter(None, map(messages.feed, job.messages())):
                if not any(message in error.split("\n") for error in messages.errors):
                    (console.say if message.startswith(OF_WARNINGS) else tell)(message)
            for line in job.output():
                lines += 1
                yield line
            if not is_running:
                break
            time.sleep(POLL_S)
    has_failed = job.exit_code != 0 and not (may_fail and lines)
    for error in messages.errors[1 if has_failed else 0 :]:
        tell(error)
    if has_failed:
        raise _failure(name, messages, job.exit_code)


def _failure(name: str, messages: MessageFilter, exit_code: int) -> Error:
    if messages.errors:
        kind = UsageError if name.startswith((PROGRAM, ATTACH)) and exit_code == USED_WRONGLY else Error
        return kind.from_text(messages.errors[0])
    return messages.diagnosis(exit_code) or Error(
        f"`{name}` ended with exit code {exit_code}", hint="`sidestream doctor` says what is missing"
    )


@contextmanager
def killed_at_the_end(job: Job) -> Iterator[None]:
    """No rank survives us, however we end."""
    with terminable():
        try:
            yield
        finally:
            if job.is_running():
                job.kill()


@contextmanager
def terminable() -> Iterator[None]:
    """Has SIGTERM raise `KeyboardInterrupt`, as Ctrl-C does."""

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    with handled(signal.SIGTERM, stop):
        yield

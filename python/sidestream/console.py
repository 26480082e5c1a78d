"""The only place that prints: results to stdout, talk to stderr, both free of colour when asked."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import IO, TYPE_CHECKING, Any

from .error import Caution, Error

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PIPE_WIDTH = 140  # columns of a table that no terminal limits
WIDEST = 10_000  # columns of a table whose width is asked for
# What others have written must not give orders to a terminal.
WITHOUT_CONTROL = {
    code: "\N{REPLACEMENT CHARACTER}" for code in [*range(32), *range(127, 160)] if chr(code) not in "\n\t"
}


def out() -> Console:
    """Where results go."""
    return _console(stderr=False)


def err() -> Console:
    """Where talk goes."""
    return _console(stderr=True)


def is_screen() -> bool:
    """Whether what is said can be drawn over: on a terminal, and not where colour alone is wanted, as in notebooks."""
    return sys.stderr.isatty() and err().is_terminal


def print_table(table: Table) -> None:
    """Prints a table whole: rows that are wider than the terminal go on in its next line, and no number is cut off."""
    screen = out()
    needed = screen.measure(table, options=screen.options.update(width=WIDEST)).maximum
    screen.width = max(screen.width, needed)
    screen.print(table)


def print_json(value: Any) -> None:
    """Prints a result for programs."""
    sys.stdout.write(json.dumps(value, indent=2, default=_plain) + "\n")


def print_error(problem: Error) -> None:
    """Prints `error: ...`, with the place and the hint on lines of their own."""
    _print_problem("error: ", "bold red", problem)


@contextmanager
def cautions() -> Iterator[None]:
    """A `Caution` is printed as `warning: ...`, in the form of errors; warnings of others as Python prints them."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if isinstance(message, Caution):
                _print_problem("warning: ", "bold yellow", message.problem)
            else:
                others(message, category, *place, **more)

        warnings.showwarning = show
        yield


def _print_problem(kind: str, style: str, problem: Error) -> None:
    from rich.text import Text

    text = Text(kind, style=style).append(problem.what.translate(WITHOUT_CONTROL), style="not bold default")
    if problem.where:
        text.append(f"\n  --> {problem.where}", style="not bold default")
    if problem.hint:
        text.append("\nhint: ", style="bold cyan").append(problem.hint, style="not bold default")
    err().print(text, soft_wrap=True)


def say(text: str) -> None:
    """One line of talk."""
    err().print(text, soft_wrap=True)


@contextmanager
def lasting() -> Iterator[None]:
    """What goes on is worth more than what is said: once the terminal or the pipe is closed, that goes nowhere."""
    with redirect_stdout(_Lasting(sys.stdout)), redirect_stderr(_Lasting(sys.stderr)):
        yield


class _Lasting:
    """A stream that becomes /dev/null when it can be written no more."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._do(self._stream.write, text) or len(text)

    def flush(self) -> None:
        self._do(self._stream.flush)

    def _do(self, write: Callable[..., Any], *text: str) -> Any:
        try:
            return write(*text)
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            return None


@contextmanager
def status(title: str) -> Iterator[Callable[[str], None]]:
    """What goes on, in one line that changes, where there is a terminal."""
    screen = err()
    if not is_screen():
        yield lambda _: None
        return
    with screen.status(title) as line:
        yield lambda text: line.update(f"{title}: {text}")


def _console(stderr: bool) -> Console:
    from rich.console import Console
    from rich.text import Text

    class Terminal(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(text.translate(WITHOUT_CONTROL), **options)

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    no_color = "NO_COLOR" in os.environ or None
    return Terminal(stderr=stderr, width=width, highlight=False, no_color=no_color, emoji=False, markup=False)


def _plain(value: Any) -> Any:
    for method in ("tolist", "item"):
        if hasattr(value, method):
            return getattr(value, method)()
    return str(value)

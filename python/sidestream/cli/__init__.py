"""The command line `sidestream`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from ..error import DONE, FAILED, INTERRUPTED, USED_WRONGLY, Error, UsageError


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: runs one command and ends the process with its exit code."""
    try:
        code = run_command(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # while it is still being imported
        sys.stderr.write("interrupted: nothing was done\n")
        code = INTERRUPTED
    sys.exit(code)


@cache
def command_line() -> Any:
    """All commands with their options, made once in a process: that takes longer than many a command."""
    import typer

    from .commands import app

    return typer.main.get_command(app)


def run_command(arguments: list[str]) -> int:
    """Runs one command; returns 0 done, 1 failed, 2 used wrongly, 130 interrupted."""
    import typer

    from .. import console

    command = command_line()
    try:
        with console.cautions(), command.make_context("sidestream", arguments or ["--help"]) as context:
            result = command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except Error as problem:
        console.print_error(problem)
        return USED_WRONGLY if isinstance(problem, UsageError) else FAILED
    except KeyboardInterrupt as stop:
        console.say(f"interrupted: {stop}" if stop.args else "interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        return FAILED
    except Exception as problem:
        if not hasattr(problem, "format_message"):  # what all complaints of the parser have in common
            raise
        console.print_error(_usage_error(problem))
        return USED_WRONGLY
    return result if isinstance(result, int) else DONE


def _usage_error(problem: BaseException) -> Error:
    """The parser's complaint in the form of all other errors."""
    text = str(getattr(problem, "format_message", lambda: problem)()).strip()
    what, _, advice = text.partition(" Did you mean ")
    context = getattr(problem, "ctx", None)
    path = getattr(context, "command_path", "sidestream")
    hint = f"did you mean {advice.rstrip('?')}?" if advice else f"`{path} --help` shows what there is"
    what, _, options = what.partition(" (Possible options: ")
    if options:
        hint = f"did you mean {options.rstrip(')')}?"
    what = what.rstrip(".").replace("'", "`")
    return Error(what[:1].lower() + what[1:], hint=hint.replace("'", "`"))

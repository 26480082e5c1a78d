"""The programs `sidestream-run-python` and `sidestream-attach-python`: those without the word, with an interpreter.

Tasks whose analysis is `python` are done by them: `mpirun -n 4 sidestream-run-python config.toml`.
"""

from __future__ import annotations

import io
import os
import signal
import sys

from .core import extension

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)  # signals that ask a run to stop


def run() -> None:
    """What `sidestream-run` does."""
    _do("run_program")


def attach() -> None:
    """What `sidestream-attach` does."""
    _do("attach_program")


def _do(program: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as in any program; runs have handlers of their own
    os.register_at_fork(after_in_child=_end_as_others)
    os.environ["MPLBACKEND"] = "agg"  # tasks draw into files, on threads of their own
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # what a task prints is seen when it does
    sys.exit(getattr(extension(), program)(sys.argv))


def _end_as_others() -> None:
    """Lets processes that a task forks end when they are told to: the handlers are those of the run."""
    for number in CAUGHT:
        signal.signal(number, signal.SIG_DFL)

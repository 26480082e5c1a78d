"""`sidestream.steer`: changes a run that goes on, between two of its steps.

Example:
    >>> run = sidestream.steer("runs/demo")
    >>> run.set("hydro.cfl", 0.3, why="a shock comes")
    121
    >>> run.pause()
"""

from __future__ import annotations

import getpass
import operator
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .error import Error, UsageError
from .streams import ask

__all__ = ["Steering", "steer"]

Place = Sequence[int]  # z, y, x


class Steering:
    """A run that goes on, as those see it who steer it. See `steer`.

    Every change is made by all ranks together between two steps, and is told in `events.jsonl` with who made it, when
    and why. The verbs return the step after which that is: the next one that is possible, or `at`.
    """

    def __init__(self, run: str, keys: str | None, timeout: float) -> None:
        self._run = run
        self._keys = keys
        self._timeout = timeout

    def list(self) -> dict[str, Any]:
        """The `knobs` (`name`, `value`, `type`, `unit`, `minimum`, `maximum`, `choices`, `meaning`) and what is
        `editable`, with all that `status` tells."""
        return self._ask("list")

    def status(self) -> dict[str, Any]:
        """The `step`, the `progress` from 0 to 1, the `state` ("running", "paused", "ended"), the changes that are
        `waiting` for their step, and the last ones `done`, each with its `outcome`."""
        return self._ask("status")

    def set(self, name: str, value: Any, *, at: int | None = None, why: str = "") -> int:
        """Gives a knob another value: a number, a word, a flag, numbers of a vector; with a unit a text ("2 h")."""
        return self._change("set", at, why, name=name, value=_plain(value))

    def edit(
        self,
        quantity: str,
        region: tuple[Place, Place],
        value: float,
        operation: str = "set",
        *,
        at: int | None = None,
        why: str = "",
    ) -> int:
        """Sets a quantity in a box, or adds `value` to it, or multiplies it.

        Args:
            quantity: one of those that `list` names as editable, in its unit.
            region: first cell and end, each `(z, y, x)` in cells of level 0; finer cells inside are edited too.
            value: the number.
            operation: `set`, `add` or `multiply`.
            at: the step after which it is done.
            why: for the events of the run.
        """
        try:
            corners = [[operator.index(cell) for cell in reversed(corner)] for corner in region]
        except TypeError as problem:
            raise UsageError(
                f"{region!r} is no region", hint="give its first cell and its end: ((0, 0, 0), (16, 32, 32))"
            ) from problem
        edit = {"cells": corners, "operation": operation, "value": float(value)}
        return self._change("edit", at, why, name=quantity, edit=edit)

    def pause(self, *, at: int | None = None, why: str = "") -> int:
        """Has the run wait after a step, until `resume`, `step`, `stop`, a signal or its limit of time."""
        return self._change("pause", at, why)

    def resume(self, *, why: str = "") -> int:
        """Has it go on."""
        return self._change("resume", None, why)

    def step(self, count: int = 1, *, why: str = "") -> int:
        """Has it take so many steps, and wait."""
        return self._change("step", None, why, count=count)

    def checkpoint(self, *, at: int | None = None, why: str = "") -> int:
        """Writes a checkpoint."""
        return self._change("checkpoint", at, why)

    def stop(self, *, at: int | None = None, why: str = "") -> int:
        """Ends the run, with a last checkpoint."""
        return self._change("stop", at, why)

    def _change(self, verb: str, at: int | None, why: str, **details: Any) -> int:
        if at is not None:
            details["at"] = operator.index(at)
        return int(self._ask(verb, who=_who(), why=why, **details)["at"])

    def _ask(self, verb: str, **details: Any) -> dict[str, Any]:
        folder = Path(self._run)
        if folder.is_dir() and not (folder / "stream.json").exists():
            raise Error(
                "nobody listens in this run: it is over, or it is not steered",
                self._run,
                "start it with `sidestream run --steer`, which is `run.steering = true` in its configuration",
            )
        answer = ask(self._run, {"kind": "steer", "verb": verb, **details}, self._keys, self._timeout)
        if not answer.get("ok"):
            raise UsageError(str(answer.get("message")), answer.get("where", ""), answer.get("hint", ""))
        return answer


def steer(
    run: str | os.PathLike[str], *, keys: str | os.PathLike[str] | None = None, timeout: float = 10.0
) -> Steering:
    """Steers a run that goes on and was started with `run.steering = true`.

    Args:
        run: its folder, or its address: `tcp://HOST:PORT`, with `#` and its public key if it has one.
        keys: a folder of `sidestream keys`, for a run that asks who steers it.
        timeout: how long to wait for an answer [s].
    """
    return Steering(os.fspath(run), None if keys is None else os.fspath(keys), timeout)


def _who() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()} ({os.getpid()})"


def _plain(value: Any) -> Any:
    """What JSON knows: arrays and numbers of NumPy are taken as those of Python."""
    return value.tolist() if hasattr(value, "tolist") else value

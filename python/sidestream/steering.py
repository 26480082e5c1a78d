"""`sidestream.steer`: changes a run that goes on, between two of its steps.

Example:
    >>> run = sidestream.steer("runs/demo")
    >>> run.set("hydro.cfl", 0.3, why="a shock comes")
    121
    >>> run.pause()
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
from collections.abc import Sequence
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays.blocks import agree, handle_of
from .core import extension, translated_errors
from .error import Error, UsageError
from .streams import Block, ask

__all__ = ["Steering", "steer"]

Place = Sequence[int]  # z, y, x
Corners = tuple[tuple[int, int, int], tuple[int, int, int]]  # x first
LONGEST_CONDITION = 1000  # of a condition in the language of `when`
REGION_HINT = "give its first cell and its end: ((0, 0, 0), (16, 32, 32))"


class Steering:
    """A run that goes on, as those see it who steer it. See `steer`.

    Every change is made by all ranks together between two steps, and is told in `events.jsonl` with who made it, when
    and why. The verbs return the step after which that is: the next one that is possible, or `at`.
    """

    def __init__(self, run: str, keys: str | None, timeout: float) -> None:
        self._run = run
        self._keys = keys
        self._timeout = timeout
        self._last: int | None = None  # the change that was asked for last, by its number

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
        return self._change("set", at, why, name=name, value=_plain(name, value))

    def edit(
        self,
        quantity: str,
        region: tuple[Place, Place] | None,
        value: float | ArrayLike | Sequence[tuple[Place, ArrayLike]],
        operation: str = "set",
        *,
        where: str | ArrayLike | None = None,
        at: int | None = None,
        why: str = "",
        comm: Any = None,
    ) -> int:
        """Sets a quantity in a part of the domain, or adds `value` to it, or multiplies it.

        Args:
            quantity: one of those that `list` names as editable, in its unit.
            region: first cell and end, each `(z, y, x)` in cells of level 0; finer cells inside are edited too. None:
                the whole domain, where one number is given.
            value: a number, an array `[z, y, x]` of the region, or blocks of one: pairs of the first cell `(z, y, x)`
                in the domain and the cells, as `snapshot.blocks` of a stream gives them.
            operation: `set`, `add` or `multiply`.
            where: only there: a condition of a cell (`"gas_density > 2 and pressure < 0.1"`), or an array of truths of
                the region.
            at: the step after which it is done.
            why: for the events of the run.
            comm: an mpi4py communicator whose ranks give the blocks together, each its own: a collective call.
        """
        edit: dict[str, Any] = {"operation": operation}
        if isinstance(where, str):
            edit["where"] = _condition(where)
        if comm is None and not _is_mask(where) and _is_number(value):
            if region is not None:
                edit["cells"] = _corners(region)
            number = _numbers(value)
            _require_finite(number)
            return self._change("edit", at, why, name=quantity, edit=edit | {"value": float(number)})
        problem: Error | None = None
        try:
            if region is None:
                raise UsageError("an array needs a region", hint=REGION_HINT)
            corners = _corners(region)
            blocks = _blocks(corners, value, where, comm)
        except Error as caught:
            if comm is None:
                raise
            problem = caught
        if comm is not None:
            agree(comm, problem)
        return self._send_edit(quantity, edit, corners, blocks, at, why, comm)

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
        """Writes a checkpoint, which is on the disk when `status` tells it among what was `done`."""
        return self._change("checkpoint", at, why)

    def stop(self, *, at: int | None = None, why: str = "") -> int:
        """Ends the run, with a last checkpoint."""
        return self._change("stop", at, why)

    def outcome(self, timeout: float = 10.0) -> str | None:
        """What became of the change that was asked for last: "done", or why it was refused when its step had come.

        Waits for that as long as `timeout` [s]; None if its step is still to come, or the
        run is over.
        """
        deadline = time.monotonic() + timeout
        while True:
            try:
                done = self.status()["done"]
            except Error:  # the run is over
                return None
            for change in reversed(done):
                if change["id"] == self._last:
                    return str(change["outcome"])
            if time.monotonic() > deadline:
                return None
            time.sleep(0.05)

    def _change(self, verb: str, at: int | None, why: str, **details: Any) -> int:
        if at is not None:
            details["at"] = index(at)
        return self._entered(self._ask(verb, who=_who(), why=why, **details))

    def _entered(self, answer: dict[str, Any]) -> int:
        self._last = int(answer["id"])
        return int(answer["at"])

    def _send_edit(
        self,
        quantity: str,
        edit: dict[str, Any],
        corners: Corners,
        blocks: Sequence[Block],
        at: int | None,
        why: str,
        comm: Any,
    ) -> int:
        request: dict[str, Any] = {
            "kind": "steer",
            "verb": "edit",
            "name": quantity,
            "edit": edit,
            "who": _who(),
            "why": why,
        }
        if at is not None:
            request["at"] = index(at)
        if comm is None:
            self._require_listener()
        with translated_errors():
            answer = json.loads(
                extension().send_edit(
                    where=self._run,
                    keys=self._keys or "",
                    request=json.dumps(request),
                    region=corners,
                    arrays=[block.cells for block in blocks],
                    origins=[block.origin for block in blocks],
                    timeout_s=self._timeout,
                    comm=handle_of(comm),
                )
            )
        return self._entered(_accepted(answer))

    def _require_listener(self) -> None:
        folder = Path(self._run)
        if folder.is_dir() and not (folder / "stream.json").exists():
            raise Error(
                "nobody listens in this run: it is over, or it is not steered",
                self._run,
                "start it with `sidestream run --steer`, which is `run.steering = true` in its configuration",
            )

    def _ask(self, verb: str, **details: Any) -> dict[str, Any]:
        self._require_listener()
        return _accepted(ask(self._run, {"kind": "steer", "verb": verb, **details}, self._keys, self._timeout))


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


def _accepted(answer: dict[str, Any]) -> dict[str, Any]:
    if not answer.get("ok"):
        raise UsageError(str(answer.get("message")), answer.get("where", ""), answer.get("hint", ""))
    return answer


def _corners(region: tuple[Place, Place]) -> Corners:
    """First cell and end, x first."""
    try:
        (z0, y0, x0), (z1, y1, x1) = region
        first, end = (index(x0), index(y0), index(z0)), (index(x1), index(y1), index(z1))
    except (TypeError, ValueError) as problem:
        raise UsageError(f"{region!r} is no region", hint=REGION_HINT) from problem
    if not all(lowest < highest for lowest, highest in zip(first, end, strict=True)):
        raise UsageError(f"there are no cells in {region!r}", hint=REGION_HINT)
    return first, end


def _condition(where: str) -> str:
    if len(where) > LONGEST_CONDITION:
        raise UsageError(f"a condition has at most {LONGEST_CONDITION} characters", hint="give a mask")
    return where


def _numbers(value: Any) -> NDArray[np.float64]:
    _require_no_mask(value)
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise UsageError(f"an array of {array.dtype} holds no real numbers", hint="convert it: array.astype(float)")
    with np.errstate(over="ignore"):  # what is too large is found where all have to be finite
        return array.astype(np.float64)


def _require_no_mask(value: Any) -> None:
    if isinstance(value, np.ma.MaskedArray):
        raise UsageError(
            "an edit takes no masked array", hint="leave cells out by a mask: `array.filled(1.0), where=~array.mask`"
        )


def _is_number(value: Any) -> bool:
    return not isinstance(value, list | tuple) and np.ndim(value) == 0


def _is_mask(where: Any) -> bool:
    return where is not None and not isinstance(where, str)


def _blocks(corners: Corners, value: Any, where: Any, comm: Any) -> Sequence[Block]:
    """What this process has of an array; NaN leaves a cell as it is."""
    if isinstance(value, Sequence) and all(isinstance(block, tuple) for block in value):
        if _is_mask(where):
            raise UsageError("blocks take no mask", hint="give a condition as text, or one array")
        return [_block(*pair) for pair in value]
    if comm is not None:
        raise UsageError("several ranks give blocks, each with its first cell", hint="[((z, y, x), cells), ...]")
    (x0, y0, z0), (x1, y1, z1) = corners
    shape = (z1 - z0, y1 - y0, x1 - x0)
    _require_no_mask(where)
    truths = np.asarray(where) if _is_mask(where) else np.True_
    if _is_mask(where) and (truths.dtype != np.bool_ or truths.shape != shape):
        raise UsageError(
            "`where` is no mask of the region", hint="give a condition as text, or a truth for each cell of the region"
        )
    values = _numbers(value)
    if values.ndim > 0 and values.shape != shape:
        raise UsageError(
            f"an array of shape {values.shape} does not fit a region of {shape} cells",
            hint="give a value for each cell [z, y, x]",
        )
    _require_finite(np.broadcast_to(values, truths.shape or shape)[truths])
    return [Block((z0, y0, x0), np.where(truths, values, np.nan))]


def _block(origin: Any, cells: Any) -> Block:
    try:
        z, y, x = (index(cell) for cell in origin)
        array = np.ascontiguousarray(_numbers(cells))
    except (TypeError, ValueError) as problem:
        raise UsageError(f"{origin!r} is no first cell of a block", hint="give (z, y, x), and its cells") from problem
    if array.ndim != 3:
        raise UsageError(f"a block of shape {array.shape} has no three axes", hint="give its cells [z, y, x]")
    _require_finite(array)
    return Block((z, y, x), array)


def _require_finite(values: NDArray[np.float64]) -> None:
    if not np.isfinite(values).all():
        raise UsageError("an edit takes finite numbers", hint="leave cells out by a mask: where=...")


def _plain(name: str, value: Any) -> Any:
    """What JSON knows: arrays and numbers of NumPy are taken as those of Python."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    try:
        json.dumps(plain, allow_nan=False)
    except ValueError as problem:
        raise UsageError(
            f"`{name}` takes finite numbers, and not {value!r}", hint="give a number that is neither infinite nor NaN"
        ) from problem
    except TypeError as problem:
        raise UsageError(
            f"{value!r} is no value of `{name}`", hint="give a number, a word, a flag or a list"
        ) from problem
    return plain

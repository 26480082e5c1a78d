"""`sidestream.stream`: the snapshots of a run that goes on, in another process or another parallel job.

Example:
    >>> for snapshot in sidestream.stream("runs/demo", quantities=["gas_density"]):
    ...     print(snapshot.step, snapshot["gas_density"].max().item())
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays.blocks import handle_of
from .core import extension, translated_errors
from .error import Error
from .files.snapshot import Snapshot

if TYPE_CHECKING:
    from .files.exports import Cells

__all__ = ["Block", "Stream", "StreamSnapshot", "ask", "make_keys", "status", "stream"]

Place = Sequence[int]  # z, y, x
PRECISIONS = ("double", "single")
MOST_CELLS, MOST_LEVELS = 2**30, 31


class Block(NamedTuple):
    """Cells of one rank that lie together."""

    origin: tuple[int, int, int]  #: z, y, x of the first cell, in cells of its level
    cells: NDArray[np.float64]  #: [z, y, x], where they lie: not a copy, and not to be written to


class StreamSnapshot(Snapshot):
    """A step of a stream, as a file of the same state would be: fields, particles, analyses.

    On one rank a field is an array of the whole domain. On several, each rank has blocks of its own, which the
    analyses of arrays take with `comm`:

        >>> blocks = snapshot.blocks("gas_density")
        >>> sidestream.halos([b.cells for b in blocks], origin=[b.origin for b in blocks], comm=comm, box_size=14.2)
    """

    def __init__(self, where: str, step: Any, comm: Any, is_whole: bool, species: Sequence[str] | None = None) -> None:
        self._step = step
        self._comm = comm
        self._is_whole = is_whole
        super().__init__(Path(where), step.describe(species))

    @property
    def step(self) -> int:
        """The step of the run."""
        return int(self._facts["step"])

    def blocks(self, field: str, level: int = 0) -> list[Block]:
        """The cells of a level that this rank has, block by block, without a copy."""
        with translated_errors():
            found = self._step.blocks(self._named(field), self._checked(level))
        return [Block(tuple(origin), cells) for origin, cells in found]

    def _read_covering(self, field: str, level: int, part: Cells | None = None) -> NDArray[np.float64]:
        if self._comm is not None and self._comm.size > 1:
            raise Error(
                "each rank of a reader has a part of a field", field, f"take its parts: snapshot.blocks({field!r})"
            )
        if not self._is_whole:
            raise Error("a region was asked for, not the whole", field, f"take its blocks: snapshot.blocks({field!r})")
        with translated_errors():
            whole = np.asarray(self._step.covering_grid(field, level))
        if part is None:
            return whole
        x, y, z = (slice(first, end) for first, end in zip(*part, strict=True))
        return whole[z, y, x]

    def _read_particles(self, species: str) -> dict[str, Any]:
        with translated_errors():
            return dict(self._step.particles(species))

    def _read_boxes(self, level: int) -> NDArray[np.int32]:
        return np.asarray(self._step.boxes(level))


class Stream:
    """A run seen from another job: goes over its snapshots as they are published. See `stream`."""

    def __init__(self, where: str, reader: Any, comm: Any, is_whole: bool) -> None:
        self._where = where
        self._reader = reader
        self._comm = comm
        self._is_whole = is_whole
        self._last: dict[str, Any] = {}

    def __iter__(self) -> Iterator[StreamSnapshot]:
        return self

    def __next__(self) -> StreamSnapshot:
        """The next step; the one before is acknowledged. Collective on `comm`."""
        if self._reader is None:
            raise StopIteration
        with translated_errors():
            step = self._reader.next()
        if step is None:
            self.close()
            raise StopIteration
        return StreamSnapshot(self._where, step, self._comm, self._is_whole)

    def acknowledge(self) -> None:
        """Says that nothing of the last step is left to do, before the next one is asked for."""
        if self._reader is not None:
            self._reader.acknowledge()

    @property
    def state(self) -> dict[str, Any]:
        """What the reader has had so far.

        Among it `steps`, those that the run `dropped` or that are `lost`, `bytes` and `messages` of this rank, seconds
        and technique of the last transfer, the `configuration` of the run, and its `ending` once it has ended.
        """
        if self._reader is not None:
            self._last = json.loads(self._reader.state())
        return self._last

    def close(self) -> None:
        """Leaves the run, which goes on."""
        if self._reader is not None:
            self._last = json.loads(self._reader.state())
            self._reader.close()
            self._reader = None

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def stream(
    run: str | os.PathLike[str],
    task: str = "",
    *,
    quantities: str | Sequence[str] = "*",
    species: str | Sequence[str] = (),
    region: tuple[Place, Place] | None = None,
    level: int | None = None,
    precision: str = "double",
    compress: str | Mapping[str, str] = "none",
    technique: str = "auto",
    layout: str = "blocks",
    once_as: str = "",
    gateways: int = 0,
    keys: str | os.PathLike[str] | None = None,
    timeout: float = 30.0,
    patience: float = 0.0,
    comm: Any = None,
) -> Stream:
    """Attaches to a run that goes on; what it returns goes over the steps that are published from now on.

    The run has a task with `transport = "stream"`; its moments are those of the steps. Only what readers ask for is
    computed and sent. A reader may leave at any time (`with`, `close`); one that is slow is treated as the run's
    `coupling.when_full` says.

    Args:
        run: the folder of the run, or its address: `tcp://HOST:PORT`, with `#` and its public key if it has one.
        task: whose moments; needed where the run has several such tasks.
        quantities: names of quantities, `"*"` for all there are; a name that ends in `?` may be missing.
        species: names of the species whose particles are wanted, `"*"` for all.
        region: first cell and end, each `(z, y, x)` in cells of level 0; blocks that meet it are given.
        level: the finest level wanted; what is refined further comes as averages there.
        precision: in which cells travel: `double` or `single`.
        compress: how they are made smaller for the way: `"zstd"`, without loss, or `"zfp 1e-3"`, with the largest error
            of a cell; for all quantities, or a mapping from their names, with `"*"` for the others.
        technique: how they come, a name of `sidestream list techniques`.
        layout: how the ranks of `comm` share them, a name of `sidestream list layouts`.
        once_as: a name under which each step is given until it is acknowledged, also to another process of that name.
        gateways: ranks of `comm` that can reach the run, and give the others their cells; 0: all can.
        keys: a folder of `sidestream keys`, for a run that asks who reads it.
        timeout: longest silence of the run [s].
        patience: how long to look for a run that is not there yet, that has gone and is started again, or
            that has let this reader go as silent [s].
        comm: an mpi4py communicator whose ranks read together.

    Raises:
        Error: there is no such run or task, the run refuses the reader, or it does not answer.
    """
    if precision not in PRECISIONS:
        raise Error(f"there is no precision {precision!r}", hint=f"there are: {', '.join(PRECISIONS)}")
    box = None
    if region is not None:
        try:
            (z0, y0, x0), (z1, y1, x1) = region
            box = ((int(x0), int(y0), int(z0)), (int(x1), int(y1), int(z1)))
        except (TypeError, ValueError) as problem:
            raise Error(
                f"{region!r} is no region", hint="give its first cell and its end: ((0, 0, 0), (16, 32, 32))"
            ) from problem
    if not 0 < timeout < float("inf") or not 0 <= patience < float("inf"):
        raise Error(f"timeout={timeout!r}, patience={patience!r} are no times to wait", hint="give seconds")
    if gateways < 0:
        raise Error(f"there cannot be {gateways} gateways", hint="0: all ranks can reach the run")
    if level is not None and (not isinstance(level, int) or not 0 <= level < MOST_LEVELS):
        raise Error(f"there is no level {level!r}", hint="levels are counted from 0")
    if box is not None and any(abs(cell) >= MOST_CELLS for corner in box for cell in corner):
        raise Error(f"{region!r} is no region", hint="it is counted in cells of level 0")
    with translated_errors():
        reader = extension().Stream(
            where=str(run),
            task=task,
            quantities=_names(quantities),
            species=_names(species),
            region=box,
            level=level,
            single=precision == "single",
            technique=technique,
            layout=layout,
            once_as=once_as,
            keys=str(keys or ""),
            compress={} if compress == "none" else {"*": compress} if isinstance(compress, str) else dict(compress),
            gateways=int(gateways),
            timeout_s=float(timeout),
            patience_s=float(patience),
            comm=handle_of(comm),
        )
    return Stream(str(run), reader, comm, box is None)


def ask(
    run: str | os.PathLike[str],
    request: dict[str, Any],
    keys: str | os.PathLike[str] | None = None,
    timeout: float = 10.0,
) -> dict[str, Any]:
    """The answer of a run that goes on to a request: `{"kind": "status"}`, `{"kind": "configuration"}`, ..."""
    with translated_errors():
        answer: dict[str, Any] = json.loads(
            extension().ask_run(str(run), str(keys or ""), json.dumps(request), float(timeout))
        )
    return answer


def status(
    run: str | os.PathLike[str], keys: str | os.PathLike[str] | None = None, timeout: float = 10.0
) -> dict[str, Any]:
    """Who reads a run that goes on: a list of `readers` with what waits for each, and how full the queue is."""
    found: dict[str, Any] = ask(run, {"kind": "status"}, keys, timeout)["status"]
    return found


def make_keys(folder: str | os.PathLike[str]) -> str:
    """Makes a pair of keys in a folder; returns the public one."""
    with translated_errors():
        return str(extension().make_keys(str(folder)))


def _names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else [str(name) for name in given]

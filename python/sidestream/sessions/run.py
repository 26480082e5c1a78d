"""The session of a program that takes its own steps."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import wraps
from os import PathLike
from types import TracebackType
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from ..arrays.blocks import handle_of
from ..core import extension, translated_errors
from ..error import Error
from ..launch.launcher import PROGRAM, find_program
from .arguments import (
    Problem,
    Triple,
    as_blocks,
    as_finite,
    as_flags,
    as_moment,
    as_number,
    as_numbers,
    as_path,
    as_rim,
    as_sides,
    as_text,
    as_triple,
)
from .calls import Method, alone, no_mesh, reason_of, together, wrong_call
from .communicators import OneProcess, reaches_beyond
from .memory import TYPES, as_taken, is_writable, memory_of
from .particles import particles_of

PATIENCE_S = 5.0  # between the first rank that leaves by an exception and the last


#: Sessions that are open, on ranks that compute, in the order of their opening, with their process: also those that
#: nobody else holds, which are closed at the end, but not by a child that the process has forked.
OPEN: dict[Session, int] = {}


def _refuse_beside_sidecars(comm: Any) -> None:
    for run in OPEN:
        if run._has_sidecars and not run._run.is_over and reaches_beyond(comm, run.comm):
            raise Error("the session before has sidecars and is still open", run._folder, "close it first")


@atexit.register
def _end_forgotten() -> None:
    """Before mpi4py finalizes MPI, which is when the interpreter has ended."""
    for run, process in [*OPEN.items()]:
        if process == os.getpid():
            run._leave_at_exit()


def _opened(make: Method) -> Method:
    """The same of the call that opens a session."""

    @wraps(make)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return make(*given, **named)
        except TypeError as error:
            problem = wrong_call(error, make.__qualname__)
            if problem is None:
                raise
            told = (problem.what, problem.where, problem.hint)
            return Session(None, "", named.get("comm"), "host", "refuse", (), False, True, told)

    return cast(Method, call)


@_opened
def session(
    config: str | PathLike[str] | None,
    folder: str | PathLike[str],
    *,
    comm: Any = None,
    name: str = "host",
    existing: str = "refuse",
    overrides: Sequence[str] = (),
    catches_signals: bool = False,
    quiet: bool = False,
) -> Session:
    """Opens a run beside this program. Collective on `comm`; errors are those of all ranks.

    Ranks that the configuration sets aside for analyses (`coupling.sidecars`) return when the run has ended.

    Args:
        config: TOML file of tasks, outputs and coupling, without a simulation.
        folder: of the run.
        comm: an mpi4py communicator; without it this process is alone.
        name: of the program, for reports.
        existing: an earlier run in the folder: "refuse", "overwrite", or "resume" from its newest checkpoint, if any.
        overrides: keys of the configuration: "task.slice.every=5".
        catches_signals: SIGINT, SIGTERM and SIGUSR1 end the run after the present step.
        quiet: no line for each step.
    """
    return Session(config, folder, comm, name, existing, overrides, catches_signals, quiet)


class Session:
    """A run beside a Python program; made by `session`.

    An exception that leaves the `with` on all ranks that compute ends the run as `close` there would, with what was
    published, as one that "stopped" because of it, and goes on to whoever catches it, who may open another session. One
    that leaves it on some ranks alone, or where sidecars wait for what failed half-way, cannot be caught outside: its
    traceback is printed and the job is ended, after some seconds in which the other ranks may come too, as these would
    wait for ever. The same is done where the program ends without having closed its session.
    """

    def __init__(
        self,
        config: str | PathLike[str] | None,
        folder: str | PathLike[str],
        comm: Any,
        name: str,
        existing: str,
        overrides: Sequence[str],
        catches_signals: bool,
        quiet: bool,
        problem: Problem | None = None,
    ) -> None:
        self._arrays: dict[str, Any] = {}  # kept alive while the run may read them
        self._blocks: list[tuple[int, Triple, Triple]] = []  # level, first cell, end: along z, y, x
        self._ghosts: Triple = (0, 0, 0)
        self._refused: Error | None = None  # the newest of what was refused on this rank alone
        self.status: str | None = None  #: how the run ended: "finished", "incomplete", "interrupted" or "stopped"
        _refuse_beside_sidecars(comm)
        words = {"name": "host", "config": "", "overrides": [], "folder": "", "existing": "refuse"}
        try:
            words = {
                "name": as_text(name, "name"),
                "config": "" if config is None else as_path(config, "config"),
                "overrides": [
                    as_text(one, "overrides") for one in ((overrides,) if isinstance(overrides, str) else overrides)
                ],
                "folder": as_path(folder, "folder"),
                "existing": as_text(existing, "existing"),
            }
        except Error as caught:
            problem = problem or (caught.what, caught.where, caught.hint)
        self._folder = words["folder"]
        with translated_errors():
            self._run = extension().Session(
                comm=handle_of(comm),
                **words,
                job_program=_job_program(),
                catches_signals=bool(catches_signals),
                tells_steps=not quiet,
                tell=_tell,
                problem=problem,
            )
            if not self._run.computes:
                self._run.serve()
        self._has_sidecars = False
        self.comm = self._own_comm(comm)  #: of the ranks that compute, to be used instead; None on a sidecar
        if self._run.computes:
            OPEN[self] = os.getpid()

    def _own_comm(self, comm: Any) -> Any:
        if not self._run.computes or comm is None:
            return None if comm is not None else OneProcess()
        own = type(comm).f2py(self._run.compute) if hasattr(type(comm), "f2py") else comm
        self._has_sidecars = own.size < comm.size
        return own

    @together(no_mesh)
    def mesh(
        self,
        shape: Sequence[int],
        *,
        blocks: Any = None,
        levels: Sequence[int] | None = None,
        lengths: Sequence[float] | None = None,
        periodic: bool | Sequence[bool] = True,
        unit: str = "",
        ghosts: int | Sequence[int] = 0,
    ) -> None:
        """Says what the program computes on, before `begin` and where it changes: fields are given anew then.

        Everything is along z, y, x as NumPy's axes are; domains of fewer axes lack the first ones. Collective on
        `comm`.

        Args:
            shape: cells of the whole domain on level 0.
            blocks: of this rank: a tuple of slices, or a list of such tuples; the whole domain without them.
            levels: of each block, 0 the coarsest; cells of a level are half as large as those of the one before, and
                finer blocks hide what they cover.
            lengths: of the domain; by default those of cells of side 1.
            periodic: whether the domain goes on at its opposite faces.
            unit: of lengths; "Mpc" are comoving.
            ghosts: layers of ghost cells around each block in its array.
        """
        problem: Problem | None = None
        cells, sides, are_periodic, rim = (1, 1, 1), (1.0, 1.0, 1.0), (True, True, True), (0, 0, 0)
        found: list[tuple[int, Triple, Triple]] = []
        try:
            shape = as_numbers(shape, "shape", "one to three whole numbers, as arrays have them")
            cells = as_triple(shape, "shape", 1)
            sides = as_sides(lengths, cells, len(shape))
            are_periodic = as_flags(periodic, len(shape))
            rim = as_rim(ghosts, len(shape))
            found = as_blocks(blocks, levels, cells[3 - len(shape) :])
            unit = as_text(unit, "unit")
        except Error as caught:
            problem, unit = (caught.what, caught.where, caught.hint), ""
        with translated_errors():
            self._present.set_mesh(
                cells=cells[::-1],
                lengths=sides[::-1],
                periodic=are_periodic[::-1],
                unit=unit,
                ghosts=rim[::-1],
                blocks=[(level, lo[::-1], hi[::-1]) for level, lo, hi in found],
                problem=problem,
            )
        self._blocks, self._ghosts = found, rim
        self._arrays.clear()

    @alone
    def field(self, name: str, arrays: Any, *, unit: str = "", meaning: str = "", is_state: bool = True) -> None:
        """Says where a quantity lies; again where its array is another. All ranks give the same in the same order.

        The array is read where it lies, and written only by a restart: where it is read-only, `begin` refuses to go on
        from a checkpoint. Where its last axis is contiguous and of single or double precision nothing is ever copied;
        else it is converted when somebody asks for it. Local.

        Args:
            name: "gas_density", "velocity_x", ...: `sidestream list quantities` has those that analyses know.
            arrays: with ghost cells, of the shape of the block of this rank, or a list, one for each block.
            unit: as told; without it none is.
            meaning: in a line.
            is_state: whether checkpoints hold it and a restart fills it.
        """
        given = [arrays] if isinstance(arrays, np.ndarray) else list(arrays) if isinstance(arrays, Sequence) else None
        where = f"field `{name}`"
        if given is None or not all(isinstance(array, np.ndarray) for array in given):
            raise Error(
                "a field that is no array", where=where, hint="give one of NumPy, or a list: one for each block"
            )
        if len(given) != len(self._blocks):
            raise Error(
                f"{len(given)} arrays for {len(self._blocks)} blocks",
                where=where,
                hint="call `mesh` first, then give one for each block of this rank, in its order",
            )
        if any(isinstance(array, np.ma.MaskedArray) for array in given):
            raise Error("masked cells have no number", where=where, hint="give `array.filled(...)`")
        if not all(array.dtype.isnative for array in given):
            raise Error("numbers whose bytes lie the other way", where=where, hint="give `array.astype(float)`")
        types = {array.dtype.name for array in given} or {"float64"}
        if len(types) > 1 or not types <= TYPES:
            hint = "give all of one type" if types <= TYPES else as_taken(given)
            raise Error(f"the arrays are of {', '.join(sorted(types))}", where=where, hint=hint)
        memory = [
            memory_of(where, array, lo, hi, self._ghosts)
            for array, (_, lo, hi) in zip(given, self._blocks, strict=True)
        ]
        with translated_errors():
            self._present.set_field(
                name=as_text(name, "name"),
                unit=as_text(unit, "unit"),
                meaning=as_text(meaning, "meaning"),
                is_state=bool(is_state),
                type=types.pop(),
                blocks=memory,
                is_writable=all(map(is_writable, given)),
            )
        self._arrays[name] = given

    @alone
    def particles(
        self,
        name: str,
        ids: NDArray[np.int64],
        positions: Sequence[NDArray[np.float64]],
        *,
        attributes: Mapping[str, NDArray[np.float64]] | None = None,
        units: Mapping[str, str] | None = None,
        mass: float = 0.0,
    ) -> None:
        """Says where particles lie, on whatever rank; again before each step after which they have moved in memory.

        Local.

        Args:
            name: of their kind.
            ids: whole numbers, different from each other over all ranks.
            positions: along x, y and z, in the unit of `lengths`: an array of one dimension each, as long as `ids`.
            attributes: by name, alike on all ranks: such arrays, too.
            units: of attributes.
            mass: of each, when all are alike.
        """
        numbered, numbers, others = particles_of(f"species `{name}`", ids, positions, attributes)
        with translated_errors():
            self._present.set_particles(
                name=as_text(name, "name"),
                count=len(numbered),
                ids=numbered.ctypes.data,
                positions=tuple(values.ctypes.data for values in numbers),
                attributes=[
                    (key, as_text((units or {}).get(key, ""), "units"), values.ctypes.data)
                    for key, values in others.items()
                ],
                mass=as_number(mass, "mass"),
            )
        self._arrays[f"particles {name}"] = (numbered, numbers, others)

    def restored_particles(self, name: str) -> dict[str, NDArray[Any]]:
        """Those of a kind in the checkpoint that the run went on from: "id", "x", "y", "z" and attributes. Local."""
        with translated_errors():
            found: dict[str, NDArray[Any]] = self._present.restored(as_text(name, "name"))
        return found

    @alone
    def number(self, name: str, value: float) -> None:
        """A number that tasks and files may use, alike on all ranks. Local."""
        with translated_errors():
            self._present.set_number(as_text(name, "name"), as_finite(value, name))

    @alone
    def scale_factor(self, value: float) -> None:
        """Where the universe expands: a = 1 / (1 + z), from before `begin` on. Local."""
        with translated_errors():
            self._present.set_scale_factor(as_number(value, "value"))

    @alone
    def done(self, share: float) -> None:
        """How much of the run is done, from 0 to 1, at which no step follows. Local."""
        with translated_errors():
            self._present.set_progress(as_number(share, "share"))

    @alone
    def add_knob(self, name: str, value: float, low: float, high: float, meaning: str = "") -> None:
        """A number that `sidestream steer` may change; `knob` has its value. Before `begin`. Local."""
        with translated_errors():
            self._present.add_knob(
                as_text(name, "name"),
                as_text(meaning, "meaning"),
                *(as_number(one, name) for one in (low, high, value)),
            )

    def knob(self, name: str) -> float:
        """The present value of a number that may be steered. Local."""
        with translated_errors():
            return float(self._present.knob(as_text(name, "name")))

    @together(lambda run, problem: run.begin(0, 0.0, problem))
    def begin(self, step: int = 0, time: float = 0.0) -> tuple[int, float]:
        """The state before the first step, with what is due there. Returns step and time.

        Where the run goes on from a checkpoint, fields that are state are filled, and step and time are those of it.
        Collective on `comm`.
        """
        with translated_errors():
            found: tuple[int, float] = self._present.begin(*as_moment(step, time))
        return found

    @property
    def is_restarted(self) -> bool:
        """Whether `begin` took a checkpoint."""
        return self.status is None and bool(self._run.is_restarted)

    @property
    def goes_on(self) -> bool:
        """Whether another step is to be taken: not at a limit, at a share of 1, by steering or a signal."""
        return self.status is None and bool(self._run.goes_on)

    def wants(self, name: str) -> bool:
        """Whether tasks that are due by their number of steps read the quantity after the next step. Local."""
        return bool(self._present.wants(as_text(name, "name")))

    def next_time(self, time: float) -> float | None:
        """The next time after `time` that a task wants, to land on. Local."""
        found: float | None = self._present.next_time(as_number(time, "time"))
        return found

    @together(lambda run, problem: run.step(0, 0.0, problem))
    def step(self, step: int, time: float) -> None:
        """Tells that a step has been taken: does what is due. Collective on `comm`."""
        with translated_errors():
            self._present.step(*as_moment(step, time))

    def progress(self) -> None:
        """Lets transfers go on, within long steps. Local and cheap."""
        with translated_errors():
            self._present.progress()

    def close(self) -> None:
        """Ends the run and waits for what it has begun; `status` says how it ended. Collective on `comm`."""
        self._end("")

    def _end(self, problem: str) -> None:
        if self.status is not None or not self._run.computes:
            return
        self.status = "interrupted"
        OPEN.pop(self, None)
        with translated_errors():
            self.status = self._run.end(problem)
        self._arrays.clear()

    @property
    def _present(self) -> Any:
        """The run, as long as there is one and this rank computes."""
        if self.status is not None or self._run.is_over:
            raise Error("the run has ended", hint="open another session, before MPI is finalized")
        if not self._run.computes:
            raise Error("this rank does not compute", hint="leave it out where `comm` is None")
        return self._run

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, where: TracebackType | None
    ) -> None:
        if self.status is not None or not self._run.computes:
            return
        if problem is None:
            self.close()
        else:
            self._leave(problem, is_told=False)

    def _leave_at_exit(self) -> None:
        """The program ends, and has not closed the run."""
        problem: BaseException | None = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        if self.status is not None or self._run.is_over:
            return
        if problem is not None:
            self._leave(problem, is_told=True)
            return
        if self.comm.rank == 0:
            print(
                "warning: the program ends with a session open, which is closed here"
                f"\n  --> {self._folder}\nhint: open it by `with`, or call `close` on all ranks",
                file=sys.stderr,
            )
        if not self._run.all_leave(PATIENCE_S):
            self._end_job(None, "ends with the session open, and not all others do")
        if self._has_sidecars and self._run.has_begun and not self._run.is_whole:
            self._end_job(None, "cannot tell the sidecars, which wait for what failed half-way")
        with suppress(Error):
            self.close()

    def _leave(self, problem: BaseException, is_told: bool) -> None:
        """Ends the run, or the job where others would wait for ever. `is_told`: its traceback is printed already."""
        if self._run.is_over:
            self.close()
            return
        if problem is self._refused and self._refused is not None:
            with suppress(Error), translated_errors():  # the others are told, who wait at the next call that all make
                refused = (self._refused.what, self._refused.where, self._refused.hint)
                _ = self._run.step(0, 0.0, refused) if self._run.has_begun else self._run.begin(0, 0.0, refused)
        shown = None if is_told else problem
        if not self._run.all_leave(PATIENCE_S):
            self._end_job(shown, "has left the session by an exception, and not all others did")
        if self._has_sidecars and self._run.has_begun and not self._run.is_whole:
            self._end_job(shown, "cannot tell the sidecars, which wait for what failed half-way")
        with suppress(Error):  # what went wrong first is what is raised
            self._end(reason_of(problem))

    def _end_job(self, problem: BaseException | None, why: str) -> NoReturn:
        """Other ranks wait for this one: the job ends, with what was wrong here."""
        with suppress(OSError, ValueError):
            if problem is not None:
                sys.excepthook(type(problem), problem, problem.__traceback__)
            print(f"error: rank {self.comm.rank} {why}: the job ends", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
        self._run.abort_job()
        os._exit(1)


def _job_program() -> str:
    try:
        return str(find_program(PROGRAM))
    except Error:
        return ""


def _tell(line: str) -> None:
    """A pipe that nobody reads any more does not end the run."""
    with suppress(OSError, ValueError):
        print(line, flush=True)

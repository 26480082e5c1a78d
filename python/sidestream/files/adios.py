"""Steps of ADIOS2 as snapshots: files (BP) and streams of other codes.

Three-dimensional global arrays are fields. Their names, the spacing of the cells and the time are found by the
conventions of openPMD (`/data/10/meshes/rho`, `gridSpacing`) or of attributes called `spacing`, `origin`, `units` and
`time`; whatever these do not tell, the caller says in a few words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..error import Error
from .snapshot import SnapshotFile
from .unit_names import in_our_spelling

if TYPE_CHECKING:
    from .exports import Cells

_OPEN_PMD = re.compile(r"^/?data/(?:(?P<iteration>\d+)/)?(?:meshes|fields)/(?P<name>.+)$")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # in the messages of ADIOS2
_REALS = ("float", "double")
_RECORDS = ("md.idx", "md.0")  # what the folder of a BP file holds

Facts = Mapping[str, Mapping[str, str]]  # of the variables of a step, as ADIOS2 tells them, by name
Read = Callable[[str, Sequence[int], Sequence[int]], NDArray[Any]]  # variable, first cell and cells, along z, y, x


@dataclass(frozen=True)
class AdiosWords:
    """What the variables of a file or stream of ADIOS2 do not tell by themselves.

    Args:
        fields: variables by the names that they are to have: `{"density": "/data/10/rho"}`; by default all
            three-dimensional global arrays of reals, by their own names.
        box_size: the sides x, y, z of the domain, or one number for a cube of cells; by default from the spacing in the
            file, else cells have a side of 1.
        length_unit: `Mpc`, `cm` or empty, the problem's own.
        units: the unit of each field, by name.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    box_size: float | Sequence[float] | None = None
    length_unit: str = ""
    units: Mapping[str, str] = field(default_factory=dict)


class AdiosSnapshot(SnapshotFile):
    """A step of ADIOS2, with the fields and analyses of any other file of a state.

    Made by `sidestream.open`, which gives the last step of a file, and by `sidestream.adios_steps`.
    """

    def __init__(self, path: Path, step: int, variables: _Variables, read: Read, words: AdiosWords) -> None:
        self.path = path
        self._variables = _chosen(path, variables, words)
        self._read = read
        shape = self._shape()
        self._facts = in_our_spelling(_facts(step, shape, variables, self._variables, words))
        self._derived: dict[str, tuple[Any, str]] = {}

    def boxes(self, level: int = 0) -> NDArray[np.int32]:
        """One box, the whole domain: ADIOS2 gives any part of it."""
        self._checked(level)
        return np.array([[(0, 0, 0), self.cells()]], dtype=np.int32)

    def block(self, name: str, comm: Any) -> tuple[NDArray[Any], tuple[int, int, int]]:
        """The part of a field for this rank of `comm`, a slab along z, and the indices of its first cell.

        Each rank reads its own part and nothing else. On more ranks than planes some have none.

        Args:
            name: of the field.
            comm: an mpi4py communicator.

        Example:
            >>> array, origin = snapshot.block("density", comm)
            >>> sidestream.halos(array, snapshot.box_size, comm=comm, origin=origin)
        """
        z, y, x = self._shape()
        first, end = z * comm.rank // comm.size, z * (comm.rank + 1) // comm.size
        origin = (first, 0, 0)
        if first == end:
            return np.empty((0, y, x)), origin
        return self._part(self._named(name), origin, (end - first, y, x)), origin

    def _shape(self) -> tuple[int, int, int]:
        shapes = {variable.shape for variable in self._variables.values()}
        if len(shapes) > 1:
            sizes = ", ".join(f"{name} {variable.shape}" for name, variable in self._variables.items())
            raise Error("the arrays of the step have different sizes", self.path, f"choose by `fields`: {sizes}")
        z, y, x = shapes.pop()
        return z, y, x

    def _part(self, name: str, start: Sequence[int], count: Sequence[int]) -> NDArray[Any]:
        if name not in self._variables:
            raise Error(f"there is no field `{name}`", self.path, f"there are: {', '.join(self._variables)}")
        with _told(self.path):
            return np.asarray(self._read(self._variables[name].name, start, count))

    def _read_covering(self, field: str, level: int, part: Cells | None = None) -> NDArray[np.float64]:
        low, high = part or ((0, 0, 0), self.cells())
        start, count = low[::-1], [end - first for first, end in zip(low[::-1], high[::-1], strict=True)]
        return self._part(field, start, count).astype(np.float64, copy=False)


def open_adios(path: Path) -> AdiosSnapshot:
    """The last step of a BP file."""
    with _file_of(path) as file:
        return _step_of(file, _steps_in(file, path), path, -1, AdiosWords())


def adios_steps(
    source: str | os.PathLike[str],
    fields: Mapping[str, str] | None = None,
    box_size: float | Sequence[float] | None = None,
    length_unit: str = "",
    units: Mapping[str, str] | None = None,
    engine: str = "BPFile",
    timeout: float = 60.0,
) -> Iterator[AdiosSnapshot]:
    """The steps of a file or stream of ADIOS2, one after the other, as snapshots.

    Snapshots of a file stay as they are; one of a stream can be read until the next is asked for. Each rank of a
    parallel analysis reads for itself, and of a field its own part (`AdiosSnapshot.block`): give the writer of a stream
    `RendezvousReaderCount` for as many readers.

    Args:
        source: a BP file, or the name of a stream.
        fields: variables by the names that they are to have; by default all three-dimensional arrays of reals.
        box_size: the sides x, y, z of the domain, or one number for cubic cells (along x); by default as in the file.
        length_unit: `Mpc`, `cm` or empty, the problem's own.
        units: the unit of each field, by name.
        engine: of ADIOS2: `BPFile`, or `SST` for a stream of a code that is running.
        timeout: of a stream: the longest time to wait for its writer, and for a step [s].

    Example:
        >>> for snapshot in sidestream.adios_steps("simulation.bp", box_size=10.0, length_unit="Mpc"):
        ...     print(snapshot.attrs["time"], float(snapshot["density"].max()))
    """
    words = AdiosWords(fields or {}, box_size, length_unit, units or {})
    path = Path(source)
    return _steps_of_file(path, words) if engine == "BPFile" else _steps_of_stream(path, words, engine, timeout)


def is_adios(path: Path) -> bool:
    """Whether the path looks like a BP file."""
    return path.is_dir() and all((path / name).is_file() for name in _RECORDS)


@dataclass(frozen=True)
class _Variable:
    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class _Variables:
    """All of a step that can be a field, by the names that they have there; attributes and scalars by theirs."""

    arrays: Mapping[str, _Variable]
    numbers: Mapping[str, Any]

    def number(self, *names: str) -> Any:
        return next((self.numbers[name] for name in names if name in self.numbers), None)


def _adios2() -> Any:
    try:
        import adios2
    except ImportError as problem:
        raise Error(
            "ADIOS2 is not installed", hint="`pip install adios2`, or Sidestream with its extra `adios`"
        ) from problem
    return adios2


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Exceptions of ADIOS2 become errors that name the file."""
    try:
        yield
    except (RuntimeError, ValueError, IndexError, KeyError, OSError) as problem:
        reason = _COLOUR.sub("", str(problem)).strip().splitlines()
        raise Error(
            f"ADIOS2 cannot read it: {reason[-1] if reason else type(problem).__name__}",
            path,
            hint="`bpls -l FILE` of ADIOS2 says what is in it; write it again if that fails too",
        ) from problem


@contextmanager
def _file_of(path: Path) -> Iterator[Any]:
    adios2 = _adios2()
    if not is_adios(path):
        raise Error("this is no BP file of ADIOS2", path, 'a stream of a running code takes `engine="SST"`')
    with _told(path):
        file = adios2.FileReader(str(path))
    yield file


def _steps_of_file(path: Path, words: AdiosWords) -> Iterator[AdiosSnapshot]:
    with _file_of(path) as file:
        steps = _steps_in(file, path)
        for step in range(len(steps)):
            yield _step_of(file, steps, path, step, words)


def _steps_in(file: Any, path: Path) -> list[Facts]:
    """What each step of a file holds: not every variable is in each, and a size may change from one to the next."""
    adios2 = _adios2()
    steps = []
    with _told(path):
        io = adios2.Adios().declare_io(f"sidestream steps:{path}")
        io.set_engine("BPFile")
        io.set_parameter("OpenTimeoutSecs", "0")
        with adios2.Stream(io, str(path), "r") as stream:
            for _ in range(file.num_steps()):
                stream.begin_step()
                steps.append(stream.available_variables())
                stream.end_step()
    return steps


def _step_of(file: Any, steps: Sequence[Facts], path: Path, step: int, words: AdiosWords) -> AdiosSnapshot:
    if not steps:
        raise Error("the file has no step", path, "its writer has written nothing yet")
    chosen = range(len(steps))[step]

    def read(name: str, start: Sequence[int] = (), count: Sequence[int] = ()) -> NDArray[Any]:
        number = sum(name in earlier for earlier in steps[:chosen])  # of those steps that have it
        return np.asarray(file.read(name, list(start), list(count), step_selection=[number, 1]))

    with _told(path):
        variables = _variables_of(steps[chosen], file, read)
    return AdiosSnapshot(path, chosen, variables, read, words)


def _steps_of_stream(path: Path, words: AdiosWords, engine: str, timeout: float) -> Iterator[AdiosSnapshot]:
    adios2 = _adios2()
    if not timeout > 0:
        raise Error(f"`timeout` is {timeout!r}, no time to wait", hint="give seconds")
    with _told(path):
        io = adios2.Adios().declare_io(f"sidestream:{path}")
        io.set_engine(engine)
        io.set_parameter("OpenTimeoutSecs", str(timeout))
        stream = adios2.Stream(io, str(path), "r")
    try:
        while _begins(stream, path, timeout):
            with _told(path):
                variables = _variables_of(stream.available_variables(), stream, stream.read)
                number = int(stream.current_step())
            reading = _Reading(stream, path)
            yield AdiosSnapshot(path, number, variables, reading, words)
            reading.is_over = True
            stream.end_step()
    finally:
        stream.close()


def _begins(stream: Any, path: Path, timeout: float) -> bool:
    status = stream.begin_step(timeout=timeout).name
    if status == "NotReady":
        raise Error(f"no step has come for {timeout:g} s", path, "a longer `timeout` waits longer")
    if status == "OtherError":
        raise Error("the writer has gone without ending the stream", path, "the steps of before are whole")
    return bool(status == "OK")


class _Reading:
    """What is read of a step of a stream, as long as it lasts."""

    def __init__(self, stream: Any, path: Path) -> None:
        self._stream, self._path = stream, path
        self.is_over = False

    def __call__(self, name: str, start: Sequence[int], count: Sequence[int]) -> NDArray[Any]:
        if self.is_over:
            raise Error("this step of the stream is over", self._path, "read its fields before the next is asked for")
        return np.asarray(self._stream.read(name, list(start), list(count)))


def _variables_of(known: Facts, reader: Any, read: Callable[..., Any]) -> _Variables:
    arrays: dict[str, _Variable] = {}
    numbers: dict[str, Any] = {}
    for name, facts in known.items():
        shape = tuple(int(length) for length in facts["Shape"].split(",") if length.strip())
        if len(shape) == 3 and facts["Type"] in _REALS:
            arrays[name] = _Variable(name, shape)
        elif facts["SingleValue"] == "true" and facts["Type"] != "string":
            numbers[name] = np.asarray(read(name)).item()
    numbers |= {name: reader.read_attribute(name) for name in reader.available_attributes()}
    return _Variables(arrays, numbers)


def _chosen(path: Path, variables: _Variables, words: AdiosWords) -> dict[str, _Variable]:
    known = variables.arrays
    for variable in words.fields.values():
        if variable not in known:
            raise Error(
                f"the step has no three-dimensional array `{variable}` of reals", path, f"it has: {', '.join(known)}"
            )
    if words.fields:
        return {name: known[variable] for name, variable in words.fields.items()}
    if not known:
        raise Error("the step has no three-dimensional global array of reals", path, "nothing else can be a field")
    named = [(_OPEN_PMD.match(name), variable) for name, variable in known.items()]
    iterations = {match["iteration"] for match, _ in named if match}
    if len(iterations) > 1:
        raise Error(
            f"the step holds {len(iterations)} iterations of openPMD",
            path,
            "name the variables of one by `fields`, such as " + repr(dict([(_plain(n), n) for n in known][:1])),
        )
    chosen = {_plain(variable.name): variable for _, variable in named}
    if len(chosen) < len(named):
        raise Error(
            "several arrays of the step would have one name", path, f"name them by `fields`: {', '.join(known)}"
        )
    return chosen


def _plain(name: str) -> str:
    """The name of a field, from that of its variable."""
    match = _OPEN_PMD.match(name)
    return (match["name"] if match else name).strip("/").replace("/", "_")


def _homes(name: str) -> list[str]:
    """Where attributes of a variable may stand: with it, its mesh, its iteration, or nowhere in particular."""
    parts = name.split("/")
    return ["/".join(parts[:end]) + "/" for end in range(len(parts), 0, -1) if parts[:end] != [""]] + ["/", ""]


def _facts(
    step: int, shape: tuple[int, int, int], variables: _Variables, chosen: Mapping[str, _Variable], words: AdiosWords
) -> dict[str, Any]:
    first = next(iter(chosen.values())).name
    cells = shape[::-1]
    spacing = _triple(variables, first, ("gridSpacing", "spacing"))
    if spacing is None or min(spacing) <= 0:
        spacing = (1.0, 1.0, 1.0)
    origin = _triple(variables, first, ("gridGlobalOffset", "origin")) or (0.0, 0.0, 0.0)
    time = _reals(variables.number(*(home + "time" for home in _homes(first))))
    told_step = _reals(variables.number("step"))
    match = _OPEN_PMD.match(first)
    iteration = match["iteration"] if match else None
    length = _sides(words.box_size, cells) or [side * n for side, n in zip(spacing, cells, strict=True)]
    return {
        "format": "adios",
        "kind": "plot file",
        "seal": "none",
        "step": int(iteration if iteration is not None else told_step[0] if told_step else step),
        "time": time[0] if time else 0.0,
        "scale_factor": 1.0,
        "omega_m": 0.0,
        "omega_lambda": 0.0,
        "hubble": 0.0,
        "gamma": 5.0 / 3.0,
        "fields": [{"name": name, "units": _unit_of(name, chosen[name].name, variables, words)} for name in chosen],
        "levels": [{"cells": list(cells), "boxes": 1}],
        "length": length,
        "origin": list(origin),
        "periodic": [True, True, True],  # files do not say, and plain arrays are
        "length_unit": words.length_unit,
        "particles": None,
        "species": [],
        "particle_reals": [],
        "attributes": {},
    }


def _triple(variables: _Variables, name: str, words: Sequence[str]) -> tuple[float, float, float] | None:
    """Three numbers of an attribute, which has them in the order of the axes of the array: z, y, x."""
    numbers = _reals(variables.number(*(home + word for home in _homes(name) for word in words)))
    if len(numbers) != 3:
        return None
    z, y, x = numbers
    return x, y, z


def _reals(found: Any) -> list[float]:
    """The numbers of an attribute or scalar; none where it is not there, or holds anything else than finite numbers."""
    numbers = np.ravel([] if found is None else np.asarray(found))
    if not np.issubdtype(numbers.dtype, np.number) or not np.all(np.isfinite(numbers)):
        return []
    return [float(number) for number in numbers]


def _sides(box_size: float | Sequence[float] | None, cells: Sequence[int]) -> list[float] | None:
    if box_size is None:
        return None
    sides = [float(side) for side in np.ravel(np.asarray(box_size, dtype=float))]
    if len(sides) == 1:
        sides = [sides[0] * n / cells[0] for n in cells]
    if len(sides) != 3 or not all(np.isfinite(side) and side > 0 for side in sides):
        raise Error(f"`box_size` is {box_size!r}", hint="give one positive number, or three for x, y and z")
    return sides


def _unit_of(name: str, variable: str, variables: _Variables, words: AdiosWords) -> str:
    if name in words.units:
        return words.units[name]
    unit = variables.number(*(f"{variable}/{word}" for word in ("units", "unit")))
    return unit if isinstance(unit, str) else ""

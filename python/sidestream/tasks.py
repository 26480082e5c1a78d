"""Analyses of your own in Python, as tasks of a run: `@sidestream.analysis` marks a function that gets a snapshot.

Example:
    >>> @sidestream.analysis(fields=["gas_density"])
    ... def dense(snapshot, above=100.0):
    ...     cells = [block.cells for block in snapshot.blocks("gas_density")]
    ...     mean = snapshot.sum(*cells) / snapshot.cell_count
    ...     return {"dense": snapshot.sum(*[c > above * mean for c in cells]) / snapshot.cell_count}

    [task.dense]
    analysis = "python"
    file = "dense.py"
    parameters = { above = 200.0 }
    every = 10
    transport = "async"
"""

from __future__ import annotations

import gc
import importlib.util
import inspect
import io
import json
import math
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .core import translated_errors
from .error import Error
from .streams import Block, StreamSnapshot

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["TaskSnapshot", "analysis", "load"]

Function = TypeVar("Function", bound=Callable[..., Any])
MARK = "__sidestream_reads__"
ENDED, SUM, LEAST, LARGEST, HISTOGRAM, GATHER, COVERING = range(7)  # places where ranks meet


@overload
def analysis(function: Function, /) -> Function: ...
@overload
def analysis(*, fields: Sequence[str] = (), species: Sequence[str] = ()) -> Callable[[Function], Function]: ...
def analysis(function: Any = None, /, *, fields: Sequence[str] = (), species: Sequence[str] = ()) -> Any:
    """Marks a function as an analysis that tasks of `analysis = "python"` can name.

    It is called by all ranks with a `TaskSnapshot` and the `parameters` of its task as keywords. What rank 0 returns is
    the result of that moment: a mapping from names to numbers or arrays, each alone or as a pair with its unit; an
    `xarray.Dataset`; a `pandas.DataFrame`; a figure of matplotlib; a tuple of these; or nothing.

    Args:
        fields: names of the quantities it reads; nothing else is computed or sent. A name that ends in `?` may be
            missing.
        species: names of the species whose particles it reads.
    """
    reads = {"fields": _names(fields, "fields"), "species": _names(species, "species")}

    def marked(function: Function) -> Function:
        setattr(function, MARK, reads)
        return function

    return marked if function is None else marked(function)


class TaskSnapshot(StreamSnapshot):
    """The state of a run, as a task has it: on each rank the blocks and particles that lie there, and not copied.

    Blocks are leaves: each part of the domain belongs to one cell of one level, so that nothing has to be masked.
    Arrays are the simulation's own: read-only, and gone when the function ends. `sum`, `min`, `max`, `histogram` and
    `gather` are called by all ranks, in the same order; what one rank raises meanwhile is raised on all of them.
    """

    def __init__(self, step: Any) -> None:
        super().__init__("", step, None, True)
        self.problem: Error | None = None  #: what all ranks have raised together

    @property
    def rank(self) -> int:
        """The number of this process among those that analyse."""
        return int(self._step.rank())

    @property
    def ranks(self) -> int:
        """How many processes analyse."""
        return int(self._step.ranks())

    @property
    def comm(self) -> Any:
        """Their communicator, of mpi4py."""
        try:
            from mpi4py import MPI
        except ImportError as problem:
            raise Error(
                f"mpi4py cannot be loaded ({problem})",
                hint="pip install 'sidestream[mpi]', or use snapshot.sum and the like",
            ) from problem
        return MPI.Comm.f2py(self._step.communicator())

    @property
    def moment(self) -> dict[str, float]:
        """Whatever the simulation says of the moment beside its step and time: a Reynolds number, its cosmology, ..."""
        return {name: float(value) for name, value in self._facts["attributes"].items()}

    @property
    def cell_count(self) -> int:
        """The cells that the domain has in the resolution of level 0."""
        return math.prod(self.cells())

    def cell_size(self, level: int = 0) -> tuple[float, float, float]:
        """The sides x, y, z of a cell of a level [`length_unit`]."""
        x, y, z = (side / n for side, n in zip(self.box_size, self.cells(level), strict=True))
        return x, y, z

    def cell_volume(self, level: int = 0) -> float:
        """The volume of a cell of a level [`length_unit`^3]."""
        return math.prod(self.cell_size(level))

    def centres(self, block: Block, level: int = 0) -> tuple[NDArray[np.float64], ...]:
        """The z, y and x of the cells of a block, of shapes that broadcast against them [`length_unit`]."""
        sizes = reversed(self.cell_size(level))
        return tuple(
            ((first + np.arange(count) + 0.5) * size).reshape([-1 if axis == n else 1 for n in range(3)])
            for axis, (first, count, size) in enumerate(zip(block.origin, block.cells.shape, sizes, strict=True))
        )

    def each_block(self, *fields: str) -> Iterator[tuple[int, tuple[Block, ...]]]:
        """The level of each block of this rank, over all levels, and the block of each of the fields there."""
        for level in range(self.levels):
            for blocks in zip(*(self.blocks(field, level) for field in fields), strict=True):
                yield level, blocks

    def sum(self, *values: ArrayLike) -> float:
        """The sum of all numbers in all these arrays on all ranks: exact, so the same on any number of ranks."""
        self._meet(SUM)
        return float(self._step.sum(_flat(values)))

    def min(self, *values: ArrayLike) -> float:
        """The least number in these arrays on all ranks; infinite where there is none."""
        self._meet(LEAST)
        return float(self._step.min(min((float(np.min(v)) for v in values if np.size(v)), default=math.inf)))

    def max(self, *values: ArrayLike) -> float:
        """The largest number in these arrays on all ranks; minus infinity where there is none."""
        self._meet(LARGEST)
        return float(self._step.max(max((float(np.max(v)) for v in values if np.size(v)), default=-math.inf)))

    def histogram(
        self,
        values: Sequence[ArrayLike] | ArrayLike,
        edges: ArrayLike,
        weights: Sequence[ArrayLike] | ArrayLike | None = None,
    ) -> NDArray[Any]:
        """How many numbers of all ranks lie between each edge and the next, or the sum of their weights.

        Args:
            values: an array, or a list of arrays such as one of each block.
            edges: in rising order; the last one belongs to the last interval.
            weights: one for each value, in arrays of the same shapes.
        """
        ends = np.ascontiguousarray(edges, dtype=np.float64)
        problem = None
        if ends.ndim != 1 or ends.size < 2 or not np.all(np.diff(ends) > 0):
            problem = Error("the edges of a histogram are two numbers or more, each above the one before", f"{ends}")
        flat = _flat(values if isinstance(values, list | tuple) else (values,))
        heavy = _flat(() if weights is None else weights if isinstance(weights, list | tuple) else (weights,))
        if problem is None and weights is not None and heavy.size != flat.size:
            problem = Error(f"there are {heavy.size} weights for {flat.size} values", "histogram")
        self._meet(HISTOGRAM, problem)
        counts, sums = self._step.histogram(flat, heavy, ends)
        return np.asarray(counts if weights is None else sums)

    def gather(self, **columns: ArrayLike) -> dict[str, NDArray[np.float64]]:
        """Rows of all ranks on rank 0, in the order of the ranks, and none elsewhere: for small tables.

        Example:
            >>> peaks = snapshot.gather(x=x, mass=mass)
        """
        rows = {name: _flat((values,)) for name, values in columns.items()}
        lengths = {name: values.size for name, values in rows.items()}
        problem = None
        if len(set(lengths.values())) > 1:
            problem = Error(f"the columns of a table are of different lengths: {lengths}", "gather")
        self._meet(GATHER, problem)
        return {name: np.asarray(self._step.gather(values)) for name, values in rows.items()}

    def _read_covering(self, field: str, level: int, part: Any = None) -> NDArray[np.float64]:
        problem = None
        if self.ranks > 1:
            problem = Error("each rank has a part of a field", field, f"take its parts: snapshot.blocks({field!r})")
        self._meet(COVERING, problem)
        return super()._read_covering(field, level, part)

    def _meet(self, place: int, problem: Error | None = None) -> None:
        """Waits for all ranks, and raises what is wrong on any of them."""
        if self.problem is not None:  # the others have left
            raise self.problem
        try:
            with translated_errors():
                self._step.agree(place, "" if problem is None else _in_one_line(problem))
        except Error as of_any:
            self.problem = of_any
            raise


class _Task:
    """What the compiled part calls: a function with its parameters."""

    def __init__(
        self, function: Callable[..., Any], file: str, parameters: dict[str, Any], reads: Mapping[str, Any]
    ) -> None:
        self._function = function
        self._file = file
        self._parameters = parameters
        self.fields: list[str] = reads["fields"]
        self.species: list[str] = reads["species"]

    def run(self, step: Any) -> dict[str, Any]:
        """The result of a moment, in the words of the compiled part. What goes wrong on a rank is raised on all."""
        snapshot = TaskSnapshot(step)
        problem: BaseException | None = None
        found: dict[str, Any] = {}
        try:
            found = self._found(snapshot)
        except BaseException as raised:  # `sys.exit` in an analysis must not end a run either
            problem = raised
        said = _told(problem, self._file)
        is_of_all = problem is not None and problem is snapshot.problem
        problem = None  # and the arrays in its frames
        with suppress(Error):
            snapshot._meet(ENDED, said)
        said = said if is_of_all else snapshot.problem
        del snapshot
        is_free = _let_go(step)
        if said is not None:
            raise said.with_traceback(None)
        if not is_free:
            raise Error(
                "the function keeps arrays of the state, which are the simulation's and change",
                self._file,
                "keep copies: block.cells.copy()",
            )
        return found

    def _found(self, snapshot: TaskSnapshot) -> dict[str, Any]:
        returned = self._function(snapshot, **self._parameters)
        return Found(returned).as_dict() if snapshot.rank == 0 else Found(None).as_dict()


class Found:
    """What an analysis returned, as columns, attributes and files."""

    def __init__(self, returned: Any) -> None:
        self._columns: list[tuple[str, str, str, list[str], list[int], NDArray[Any], bool]] = []
        self._attributes: dict[str, Any] = {}
        self._attachments: dict[str, bytes] = {}
        self._summary: list[str] = []
        for one in returned if isinstance(returned, tuple) else (returned,):
            self._take(one)

    def as_dict(self) -> dict[str, Any]:
        """In the words of the compiled part."""
        return {
            "columns": self._columns,
            "attributes": self._attributes,
            "attachments": self._attachments,
            "summary": ", ".join(self._summary[:3]),
        }

    def _take(self, one: Any) -> None:
        if one is None:
            return
        if hasattr(one, "savefig"):
            self._take_figure(one)
        elif hasattr(one, "data_vars"):
            self._take_dataset(one)
        elif hasattr(one, "to_xarray"):
            self._take_dataset(
                one.reset_index(drop=one.index.name is None).rename_axis("row").to_xarray().drop_vars("row")
            )
        elif isinstance(one, Mapping):
            self._take_mapping(one)
        else:
            raise Error(
                f"an analysis cannot return a {type(one).__name__}",
                hint="return a mapping from names to numbers or arrays, an xarray.Dataset, a pandas.DataFrame, "
                "a figure of matplotlib, or a tuple of these",
            )

    def _take_figure(self, figure: Any) -> None:
        if "png" in self._attachments:
            raise Error("an analysis returned two figures", hint="draw both as axes of one: plt.subplots(1, 2)")
        picture = io.BytesIO()
        figure.savefig(picture, format="png", bbox_inches="tight", dpi=150)
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close(figure)
        self._attachments["png"] = picture.getvalue()

    def _take_dataset(self, data: Any) -> None:
        for name, array in {**data.coords, **data.data_vars}.items():
            words = {key: str(array.attrs.get(key, "")) for key in ("units", "long_name")}
            self._add(str(name), array.values, words["units"], words["long_name"], [str(d) for d in array.dims])
        for name, value in data.attrs.items():
            self._attributes[str(name)] = value if isinstance(value, str) else _number(value, str(name))

    def _take_mapping(self, columns: Mapping[Any, Any]) -> None:
        rows = None
        for name, given in columns.items():
            if isinstance(given, str):
                self._attributes[str(name)] = given
                continue
            values, unit = given if _is_pair_with_unit(given) else (given, "")
            array = np.asarray(values)
            if array.ndim == 1:
                rows = array.size if rows is None else rows
                dimensions = ["row" if array.size == rows else f"{name}_row"]
            else:
                dimensions = [f"{name}_{axis}" for axis in range(array.ndim)]
            self._add(str(name), array, unit, "", dimensions)

    def _add(self, name: str, values: Any, unit: str, meaning: str, dimensions: list[str]) -> None:
        array = np.asarray(values)
        if array.dtype.kind in "biu":
            flat: NDArray[Any] = np.ascontiguousarray(array, dtype=np.int64).ravel()
        elif array.dtype.kind == "f":
            flat = np.ascontiguousarray(array, dtype=np.float64).ravel()
        else:
            raise Error(
                f"`{name}` is no number and no array of numbers",
                f"type {array.dtype}",
                "return numbers, or text as text",
            )
        if not name.replace("_", "").isalnum():
            raise Error(f"a column cannot be called `{name}`", hint="use letters, digits and `_`")
        if array.ndim == 0:
            self._summary.append(f"{name} {float(array):.6g}" + (f" {unit}" if unit else ""))
        self._columns.append((name, unit, meaning, dimensions, list(array.shape), flat, bool(np.isnan(flat).any())))


def load(file: str, function: str, parameters: str, fields: Sequence[str], species: Sequence[str]) -> _Task:
    """A function of a file as a task has it.

    Args:
        file: the path.
        function: its name; empty: the only one that is marked.
        parameters: its keywords beside the snapshot, an object of JSON.
        fields: quantities it reads instead of those of its mark.
        species: the same of species.

    Raises:
        Error: there is no such file or function, the file fails, or the function does not take the parameters; `where`
            is the key of the task.
    """
    module = _module(Path(file))
    marked = {name: getattr(value, MARK) for name, value in vars(module).items() if hasattr(value, MARK)}
    if not function:
        if len(marked) != 1:
            found = f"there are {len(marked)}: {', '.join(marked)}" if marked else "there is none"
            raise Error(
                f"the file has no single function that is marked as an analysis: {found}",
                "file",
                'name one, function = "...", or mark one with @sidestream.analysis',
            )
        (function,) = marked
    called = getattr(module, function, None)
    if not callable(called):
        raise Error(f"the file has no function `{function}`", "function", f"it marks: {', '.join(marked) or 'none'}")
    given = json.loads(parameters)
    try:
        inspect.signature(called).bind(None, **given)
    except TypeError as problem:
        raise Error(
            f"the function `{function}` does not take these parameters: {problem}",
            "parameters",
            f"it is {function}{inspect.signature(called)}, called with the snapshot first",
        ) from problem
    reads = dict(marked.get(function, {"fields": [], "species": []}))
    reads |= {key: list(names) for key, names in (("fields", fields), ("species", species)) if names}
    return _Task(called, file, given, reads)


def _module(path: Path) -> ModuleType:
    if not path.is_file():
        raise Error(f"there is no file {path}", "file", "the path begins at the folder of the configuration")
    name = f"sidestream_task_{path.stem}_{abs(hash(str(path)))}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Error(f"{path} is no file of Python", "file", "its name ends in .py")
    module = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # what lies beside it may be imported
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as problem:
        del sys.modules[name]
        said = _told(problem, str(path))
        assert said is not None
        raise Error(f"{path.name} cannot be loaded: {said.what}", "file", said.hint) from problem
    return module


def _told(problem: BaseException | None, file: str) -> Error | None:
    """What was raised, with the line of the file in which it was."""
    if problem is None:
        return None
    lines = [frame for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == file]
    if isinstance(problem, SyntaxError) and problem.filename == file:
        where = f"{file}:{problem.lineno}"
    else:
        where = f"{file}:{lines[-1].lineno}" + (f", {lines[-1].line}" if lines[-1].line else "") if lines else file
    if isinstance(problem, Error):
        return Error(problem.what, f"{problem.where}, {where}" if problem.where else where, problem.hint)
    text = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
    return Error(text.replace("\n", " "), where)


def _in_one_line(problem: Error) -> str:
    place = f" ({problem.where})" if problem.where else ""
    return problem.what + place + (f"; {problem.hint}" if problem.hint else "")


def _let_go(step: Any) -> bool:
    """Takes the state away from Python; whether no array of it is left."""
    if step.is_shared():
        gc.collect()  # what refers to itself keeps what it has until then
    is_free = not step.is_shared()
    step.release()
    return is_free


def _flat(values: Sequence[ArrayLike]) -> NDArray[np.float64]:
    arrays = [np.ravel(np.asarray(value)) for value in values]
    whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else np.empty(0)
    return np.ascontiguousarray(whole, dtype=np.float64)


def _number(value: Any, name: str) -> int | float:
    array = np.asarray(value)
    if array.ndim or array.dtype.kind not in "biuf":
        raise Error(f"the attribute `{name}` is no number and no text", f"{value!r}")
    return float(array) if array.dtype.kind == "f" else int(array)


def _is_pair_with_unit(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str)


def _names(given: Sequence[str], what: str) -> list[str]:
    if isinstance(given, str):
        raise Error(f"`{what}` is a text", given, f"give a list of names: {what}=[{given!r}]")
    return [str(name) for name in given]

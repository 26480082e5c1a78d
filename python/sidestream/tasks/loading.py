"""Functions of files, as the compiled part calls them."""

from __future__ import annotations

import gc
import importlib.util
import inspect
import json
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..error import Error
from .found import Found, sendable
from .mark import MARK
from .snapshot import ENDED, TaskSnapshot
from .surroundings import surroundings_kept

if TYPE_CHECKING:
    from types import ModuleType


LONGEST = 2000  # characters of what an exception says


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
        snapshot = TaskSnapshot(step, self.fields, self.species)
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
        with surroundings_kept():
            returned = self._function(snapshot, **self._parameters)
            return Found(returned).as_dict() if snapshot.rank == 0 else Found(None).as_dict()


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
        with surroundings_kept():
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
    frames = traceback.extract_tb(problem.__traceback__)
    lines = [frame for frame in frames if frame.filename == file]
    if isinstance(problem, SyntaxError) and problem.filename == file:
        where = f"{file}:{problem.lineno}"
    else:
        where = f"{file}:{lines[-1].lineno}" + (f", {lines[-1].line}" if lines[-1].line else "") if lines else file
    if frames and frames[-1].filename != file and Path(frames[-1].filename).parent == Path(file).parent:
        where += f", from {Path(frames[-1].filename).name}:{frames[-1].lineno}"
    if isinstance(problem, Error):
        place = f"{problem.where}, {where}" if problem.where else where
        return Error(_line(problem.what), _line(place), _line(problem.hint))
    try:
        text = str(problem)
    except Exception as in_text:
        text = f"its text cannot be had ({type(in_text).__name__})"
    kind = type(problem).__name__
    return Error(_line(f"{kind}: {text}" if text else kind), _line(where))


def _line(text: object) -> str:
    """On one line, of a length that is read."""
    return sendable(text)[:LONGEST].replace("\n", " ")


def _let_go(step: Any) -> bool:
    """Takes the state away from Python; whether no array of it is left."""
    if step.is_shared():
        gc.collect()  # what refers to itself keeps what it has until then
    is_free = not step.is_shared()
    step.release()
    return is_free

"""What goes wrong: calls whose arguments are refused on all ranks, or where the session is left, and exceptions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from ..core import translated_errors
from ..error import Error
from .arguments import Problem

LONGEST_REASON = 300
Method = TypeVar("Method", bound=Callable[..., Any])


def wrong_call(error: TypeError, name: str) -> Error | None:
    """What is wrong with the arguments of a call; None where they were right, and what it did has failed."""
    here = error.__traceback__
    is_ours = here is not None and here.tb_next is not None
    return (
        None
        if is_ours
        else Error(str(error).removeprefix("Session."), hint=f"`help(sidestream.{name})` has its arguments")
    )


def together(refuse: Callable[[Any, Problem], object]) -> Callable[[Method], Method]:
    """A call that all ranks make: wrong arguments on one are refused on all, which would wait for it."""

    def made(method: Method) -> Method:
        @wraps(method)
        def call(self: Any, *given: Any, **named: Any) -> Any:
            try:
                return method(self, *given, **named)
            except TypeError as error:
                problem = wrong_call(error, method.__qualname__)
                if problem is None:
                    raise
                with translated_errors():
                    refuse(self._present, (problem.what, problem.where, problem.hint))

        return cast(Method, call)

    return made


def alone(method: Method) -> Method:
    """A call that each rank makes for itself: what it refuses there is refused on all where the session is left."""

    @wraps(method)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        try:
            return method(self, *given, **named)
        except TypeError as error:
            self._refused = wrong_call(error, method.__qualname__)
            if self._refused is None:
                raise
            raise self._refused from error
        except Error as error:
            self._refused = error
            raise

    return cast(Method, call)


def no_mesh(run: Any, problem: Problem) -> None:
    """How `mesh` is refused."""
    nothing = (0, 0, 0)
    run.set_mesh((1, 1, 1), (1.0, 1.0, 1.0), (True, True, True), "", nothing, [], problem)


def reason_of(problem: BaseException) -> str:
    """Why the run ends; nothing where the program leaves as it means to."""
    if isinstance(problem, (GeneratorExit, SystemExit)) and not getattr(problem, "code", None):
        return ""
    told = " ".join(f"the program ended by {type(problem).__name__}: {problem}".split())
    return told if len(told) <= LONGEST_REASON else told[:LONGEST_REASON] + "..."

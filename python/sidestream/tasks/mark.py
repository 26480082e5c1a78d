"""The mark of a function that tasks can name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from ..error import Error

Function = TypeVar("Function", bound=Callable[..., Any])
MARK = "__sidestream_reads__"


@overload
def analysis(function: Function, /) -> Function: ...
@overload
def analysis(*, fields: Sequence[str] = (), species: Sequence[str] = ()) -> Callable[[Function], Function]: ...
def analysis(function: Any = None, /, *, fields: Sequence[str] = (), species: Sequence[str] = ()) -> Any:
    """Marks a function as an analysis that tasks of `analysis = "python"` can name.

    It is called by all ranks with a `TaskSnapshot` and the `parameters` of its task as keywords. What rank 0 returns is
    the result of that moment: a mapping from names to numbers or arrays, each alone or as a pair with its unit; an
    `xarray.Dataset`; a `pandas.DataFrame`; a figure of matplotlib, a `vtkRenderWindow` or a
    `vtkPolyData`; a tuple of these; or nothing.

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


def _names(given: Sequence[str], what: str) -> list[str]:
    if isinstance(given, str):
        raise Error(f"`{what}` is a text", given, f"give a list of names: {what}=[{given!r}]")
    return [str(name) for name in given]

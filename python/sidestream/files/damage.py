"""Errors of files that are damaged: what to do next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..core import translated_errors
from ..error import Error
from ..runs.outputs import outputs_in

DAMAGE = re.compile(r"damaged|checksum|truncated|not a sound|not written completely")


@contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """Raises whatever the extension throws as `sidestream.Error`; of a damaged file with what to do next."""
    try:
        with translated_errors():
            yield
    except Error as problem:
        if DAMAGE.search(f"{problem.what} {problem.hint}"):
            raise type(problem)(problem.what, problem.where or path, _advice(path)) from problem
        raise


def _advice(path: Path) -> str:
    """Look at all of it, copy it again, take the one before."""
    beside = outputs_in(path.absolute().parent) if path.absolute().parent.is_dir() else []
    own = next((output for output in beside if output.path.name == path.name), None)
    before = [one for one in beside if own is not None and one.kind == own.kind and one.step < own.step]
    another = f"; the {own.kind} before it is {path.parent / before[-1].path.name}" if own and before else ""
    return f"`sidestream verify {path}` names all that is damaged; copy it anew from where it is whole{another}"

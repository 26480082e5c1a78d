"""The door to the compiled extension: loads it on first use and turns its errors into `sidestream.Error`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from .error import Error
from .mpi import refusal


def extension() -> ModuleType:
    """The compiled module `sidestream._core`."""
    try:
        core = import_module("sidestream._core")
    except ImportError as problem:
        raise refusal(str(problem)) or Error(
            f"the compiled part of sidestream cannot be loaded ({problem})",
            hint="install the package with `pip install .` in the source folder",
        ) from problem
    return core


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raises whatever the extension throws as `sidestream.Error`."""
    try:
        yield
    except Error:
        raise
    except MemoryError as problem:
        raise Error("there is not enough memory", hint="use a smaller array") from problem
    except RuntimeError as problem:
        raise Error.from_text(str(problem)) from problem

"""Formats of files: which there are, and which one a file has."""

from __future__ import annotations

from pathlib import Path

from ..core import extension, translated_errors
from ..error import Error
from .damage import errors_of


def format_of(path: Path) -> str:
    """The name of the format of a file or folder; empty when it is of none that is known."""
    with translated_errors():
        return str(extension().format_of_file(str(path)))


def formats() -> list[str]:
    """The names of all formats."""
    return list(extension().file_formats())


def methods_of(form: str) -> list[str]:
    """The methods that write files of a format; none where it has a way of its own."""
    return list(extension().methods_of_format(form))


def damage_of(path: Path) -> Error | None:
    """The error for a file of no known format where its bytes tell what is damaged."""
    try:
        with errors_of(path):
            extension().describe_file(str(path))
    except Error as problem:
        return None if "no known format" in problem.what else problem
    return None


def bytes_of(path: Path) -> int:
    """The size of a file, or of all files below a folder."""
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file()) if path.is_dir() else path.stat().st_size

"""Which program does a configuration: with tasks in Python, the one that has an interpreter."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .launcher import PROGRAM

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WITH_PYTHON = "-python"  # what the name of a program with an interpreter ends in
PYTHON = "python"  # the analysis


def program_for(config: Path, settings: Sequence[str] = (), program: str = PROGRAM) -> str:
    """The name of the program that does the tasks of a configuration, with keys overridden by `settings`.

    A configuration that cannot be read is left to the program, which says what is wrong with it.
    """
    try:
        tables = tomllib.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        tables = {}
    asked = [setting for setting in settings if setting.partition("=")[2].strip("\"' ") == PYTHON]
    return program + WITH_PYTHON if asked or any(map(_is_python, _tasks(tables))) else program


def _tasks(tables: dict[str, Any]) -> list[Any]:
    tasks = tables.get("task", {})
    return list(tasks.values()) if isinstance(tasks, dict) else []


def _is_python(task: Any) -> bool:
    return isinstance(task, dict) and task.get("analysis") == PYTHON

"""What the source of a test says, to know whether it makes the call that it is named for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
FOLDERS = [TESTS / name for name in ("", "python", "cli", "physics")]  # where tests import from
OPTION = r"(?<![\w-])--[a-z][\w-]*"


def says(test: str) -> set[str]:
    """The words and options in the texts of a test, `FILE::NAME`, and of what it uses; in C++ those of its file."""
    file, _, name = test.partition("::")
    path = TESTS.parent / file
    text = "\n".join(_texts(path, name, set())) if path.suffix == ".py" else path.read_text(encoding="utf-8")
    words = re.sub(OPTION, " ", text)
    return set(re.findall(OPTION, text)) | set(re.findall(r"\w+", words)) | set(re.findall(r"[\w-]+", words))


def _texts(path: Path, name: str, seen: set[tuple[Path, str]]) -> Iterator[str]:
    """The texts in what a module calls `name`, and in all that is named there."""
    node = _named(path).get(name)
    if node is None or (path, name) in seen:
        return
    seen.add((path, name))
    if isinstance(node, ast.ImportFrom):
        (original,) = (alias.name for alias in node.names if (alias.asname or alias.name) == name)
        for other in (folder / f"{node.module}.py" for folder in FOLDERS):
            yield from _texts(other, original, seen) if other.is_file() else ()
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.keyword) and part.arg:  # an argument may be a variable of the environment
            yield part.arg
        elif isinstance(part, ast.Name | ast.arg):  # an argument may be a fixture
            yield from _texts(path, part.id if isinstance(part, ast.Name) else part.arg, seen)


@cache
def _named(path: Path) -> dict[str, ast.stmt]:
    """What a module defines and imports, by its names."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            found |= dict.fromkeys((alias.asname or alias.name for alias in node.names), node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
            found |= dict.fromkeys(names, node)
    return found

"""Checks that nothing knows what stands above it, by the tables in layers.toml.

In C++ a module includes, in the Python package a folder or loose module imports, only what its line names. Inside a
folder of the package no modules import each other in a circle. Imports count wherever they stand: in functions, and
for types alone.

usage: check_layers.py REPOSITORY
"""

import ast
import graphlib
import pathlib
import re
import sys
from collections.abc import Iterator

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]sidestream/((\w+)/\w+\.hpp)[>"]', re.MULTILINE)
PACKAGE = "sidestream"

Table = dict[str, list[str]]


def violations(root: pathlib.Path) -> list[str]:
    """One line for each include or import that is not allowed, and for each fault of the tables themselves."""
    layers = tomllib.loads((root / "layers.toml").read_text())
    modules, package = layers["modules"], layers["package"]
    return [
        *_disorder(modules, {path.name for path in (root / "src").iterdir() if path.is_dir()}),
        *_includes(root, modules),
        *_disorder(package, {_layer(path, root) for path in _sources(root)}),
        *_imports(root, package),
        *_circles(root),
    ]


def _disorder(table: Table, present: set[str]) -> Iterator[str]:
    """What the order of a table does not allow, and what has no line in it or only that."""
    before: set[str] = set()
    for name, allowed in table.items():
        for known in allowed:
            if known.split("/")[0] not in before:
                yield f"layers.toml: {name} may not know {known}, which does not stand before it"
        before.add(name)
    yield from (f"layers.toml: there is no line for {name}" for name in sorted(present - before))
    yield from (f"layers.toml: {name} is not there" for name in sorted(before - present))


def _includes(root: pathlib.Path, table: Table) -> Iterator[str]:
    for module, allowed in table.items():
        for folder in (root / "src" / module, root / "include" / "sidestream" / module):
            for file in sorted([*folder.rglob("*.hpp"), *folder.rglob("*.cpp")]):
                for header, target in INCLUDE.findall(file.read_text()):
                    if target != module and target not in allowed and header not in allowed:
                        yield f"{file.relative_to(root)}: {module} may not include {header}"


def _imports(root: pathlib.Path, table: Table) -> Iterator[str]:
    for file in _sources(root):
        layer = _layer(file, root)
        for imported in _imported(file, root):
            target = _layer(imported, root)
            if target != layer and target not in table.get(layer, []):
                yield f"{file.relative_to(root)}: {layer} may not import {target}"


def _circles(root: pathlib.Path) -> Iterator[str]:
    """One line for a circle of modules within a folder; between folders there is none where the table holds."""
    folders: dict[pathlib.Path, dict[pathlib.Path, set[pathlib.Path]]] = {}
    for file in _sources(root):
        own = {path for path in _imported(file, root) if path.parent == file.parent and path != file}
        folders.setdefault(file.parent, {})[file] = own
    for folder, graph in folders.items():
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as problem:
            names = " imports ".join(path.stem for path in reversed(problem.args[1]))
            yield f"{folder.relative_to(root)}: a circle, {names}"


def _package(root: pathlib.Path) -> pathlib.Path:
    return root / "python" / PACKAGE


def _sources(root: pathlib.Path) -> list[pathlib.Path]:
    return sorted(_package(root).rglob("*.py"))


def _layer(file: pathlib.Path, root: pathlib.Path) -> str:
    """The folder of a module in the package, or its own name if it is loose."""
    return file.relative_to(_package(root)).with_suffix("").parts[0]


def _imported(file: pathlib.Path, root: pathlib.Path) -> Iterator[pathlib.Path]:
    """The modules of the package that one imports, wherever in the file."""
    place = file.relative_to(_package(root).parent).parent.parts
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            above = place[: len(place) - node.level + 1] if node.level else ()
            source = (*above, *(node.module or "").split("."))
            for alias in node.names:
                yield from _module(root, (*source, alias.name))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module(root, alias.name.split("."))


def _module(root: pathlib.Path, words: tuple[str, ...] | list[str]) -> Iterator[pathlib.Path]:
    """The file of `package.folder.module.name`, the longest part of it that is one; nothing outside the package."""
    parts = [word for word in words if word]
    while parts and parts[0] == PACKAGE:
        path = _package(root).parent.joinpath(*parts)
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                yield file
                return
        parts.pop()


def main() -> int:
    found = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(found) or "layers: every include and import is allowed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Prints the lengths of files and functions of the C++ and Python sources, the longest first: a mirror, not a gate.

A function of C++ is counted from the line of its opening brace to that of its closing one, one of Python from its first
statement to its last, both without blank lines.
"""

import ast
import os
import pathlib
import re
import statistics
from collections.abc import Callable

FUNCTION = re.compile(
    r"^(?!\s*(?:namespace|class|struct|enum|union|extern)\b)( *)\S.*\) (?:const )?(?:noexcept )?(?:override )?\{$"
)


def function_lengths(path: pathlib.Path) -> list[tuple[int, str]]:
    """Length and place of each function of a C++ file."""
    lines = path.read_text().splitlines()
    found = []
    for number, line in enumerate(lines):
        match = FUNCTION.match(line)
        if not match or re.match(r"\s*(if|for|while|switch|else|\}|do)\b", line):
            continue
        length = depth = 0
        for body in lines[number:]:
            length += bool(body.strip())
            depth += body.count("{") - body.count("}")
            if depth <= 0:
                break
        found.append((length, f"{path}:{number + 1}"))
    return found


def python_function_lengths(path: pathlib.Path) -> list[tuple[int, str]]:
    """Length and place of each function of a Python file."""
    text = path.read_text()
    lines = text.splitlines()
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            whole = lines[body[0].lineno - 1 : body[-1].end_lineno] if body else []
            found.append((sum(bool(line.strip()) for line in whole), f"{path}:{node.lineno}"))
    return found


def show(
    language: str, sources: list[pathlib.Path], lengths_of: Callable[[pathlib.Path], list[tuple[int, str]]]
) -> None:
    files = sorted(((len(p.read_text().splitlines()), str(p)) for p in sources), reverse=True)
    functions = sorted((entry for p in sources for entry in lengths_of(p)), reverse=True)
    lengths = [length for length, _ in functions]
    print(
        f"{language}: {len(files)} files: median {statistics.median(n for n, _ in files):.0f} lines, "
        f"longest {files[0][0]}"
    )
    quantile = sorted(lengths)[int(0.9 * len(lengths))]
    print(
        f"{len(lengths)} functions: median {statistics.median(lengths):.0f} lines, "
        f"90 % below {quantile}, longest {lengths[0]}"
    )
    for length, name in files[:5] + functions[:10]:
        print(f"  {length:5d}  {name}")


def main() -> None:
    os.chdir(pathlib.Path(__file__).parent.parent)
    folders = [pathlib.Path(name) for name in ("src", "include", "apps")]
    show("C++", [p for folder in folders for p in sorted(folder.rglob("*.[ch]pp"))], function_lengths)
    show("Python", sorted(pathlib.Path("python/sidestream").rglob("*.py")), python_function_lengths)


if __name__ == "__main__":
    main()

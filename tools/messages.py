#!/usr/bin/env python3
"""Writes docs/reference/messages.md: every error and warning of the sources, with what it advises.

tools/messages.py          writes the page
tools/messages.py --check  says whether it is that of the sources
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "messages.md"
CPP = ("src", "include", "apps", "python/bindings")
PYTHON = "python/sidestream"
LEFT_OUT = (
    "apps/bench_",
    "apps/io_layer",
    "apps/memory_layer",
    "src/core/error.cpp",
    "include/sidestream/core/error.hpp",
)
CALL = re.compile(r"\b(?:core::)?Error\s*([({])")
WARNING = re.compile(r'(?<![A-Za-z0-9_])"(warning: (?:[^"\\]|\\.)*)"')
LITERAL = re.compile(r'(?:R"\((?P<raw>.*?)\)")|(?:[fF]?"(?P<text>(?:[^"\\]|\\.)*)")', re.DOTALL)
HOLE = "..."
PARTS = {
    "couple": "Tasks, transports, streams, steering",
    "sims": "Configurations and simulations",
    "solvers": "Solvers",
    "analysis": "Analyses",
    "io": "Files",
    "stream": "Sockets and keys",
    "core": "Text, numbers, expressions",
    "fft": "Fourier transforms",
    "amr": "Refined meshes",
    "mesh": "Layouts, fields, results",
    "redistribute": "Redistribution",
    "comm": "MPI",
    "apps": "Programs and interfaces for C and Fortran",
    "bindings": "The compiled part of the Python package",
    "sidestream": "The Python package and its commands",
}
HEAD = """# Messages

Every error and warning of the programs, the library and the Python package, from the sources (`tools/messages.py`
writes this page). `...` stands for what is filled in. An error is printed as

```text
error: what was wrong
  --> where
hint: what to do
```

Errors without a hint are those of damaged files and of callers of the library; the error around them, which names
the file, says what to do.
"""


@dataclass(frozen=True, order=True)
class Message:
    """What an error or warning says, and what it advises."""

    part: str
    what: str
    hint: str
    place: str  # file, from the root


def messages() -> list[Message]:
    """Those of all sources, each once, sorted."""
    found = {(one.part, one.what, one.hint): one for path in sources() for one in in_file(path)}
    return sorted(found.values())


def sources() -> Iterator[Path]:
    """The files that may hold messages of the product; benchmarks and layers of tests are left out."""
    for folder in CPP:
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            if not str(path.relative_to(ROOT)).startswith(LEFT_OUT):
                yield path
    yield from (path for path in sorted((ROOT / PYTHON).rglob("*.py")) if "attack" not in path.parts)


def in_file(path: Path) -> Iterator[Message]:
    """The messages of a file."""
    name = str(path.relative_to(ROOT))
    folders = Path(name).parts[2:] if name.startswith("include/") else Path(name).parts[1:]
    part = next(iter({*folders[:1]} & {*PARTS}), "apps")
    text = path.read_text(encoding="utf-8")
    pairs = in_python(text) if path.suffix == ".py" else in_cpp(text)
    yield from (Message(part, what, hint, name) for what, hint in pairs if what not in ("", HOLE, f"warning: {HOLE}"))


def in_python(text: str) -> Iterator[tuple[str, str]]:
    """What and hint of each call of an error, and warnings that are said."""
    tree = ast.parse(text)
    pieces = {piece for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for piece in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Error", "UsageError"):
            given = dict(enumerate(node.args)) | {keyword.arg: keyword.value for keyword in node.keywords}
            yield in_words(given.get(0, given.get("what"))), in_words(given.get(2, given.get("hint")))
        elif isinstance(node, (ast.Constant, ast.JoinedStr)) and node not in pieces:
            what, _, rest = in_words(node).partition("\n")
            if what.startswith("warning: ") and what != "warning: ":
                yield what, rest.partition("hint: ")[2]


def in_words(node: ast.expr | None) -> str:
    """The text of an expression, with holes for what only the program knows."""
    if isinstance(node, ast.Constant):
        return str(node.value) if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(in_words(value) if isinstance(value, ast.Constant) else HOLE for value in node.values)
    if isinstance(node, ast.BinOp):
        return in_words(node.left) + in_words(node.right)
    if isinstance(node, ast.IfExp):
        return " / ".join(filter(None, (in_words(node.body), in_words(node.orelse))))
    return "" if node is None else HOLE


def in_cpp(text: str) -> Iterator[tuple[str, str]]:
    """What and hint of each error that is made, and warnings that are printed."""
    for call in CALL.finditer(text):
        arguments = list(split(text, call.end()))
        if arguments and '"' in arguments[0]:
            yield literal_words(arguments[0]), literal_words(arguments[2]) if len(arguments) > 2 else ""
    for warning in WARNING.finditer(text):
        what, _, rest = unescaped(warning[1]).partition("\n")
        yield holes(what), holes(rest.partition("hint: ")[2])


def split(text: str, at: int) -> Iterator[str]:
    """The arguments of a call whose bracket was opened just before `at`."""
    begin, depth, quote = at, 1, ""
    while at < len(text):
        letter = text[at]
        if quote:
            at += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter == '"' or (letter == "'" and not text[at - 1].isalnum()):
            quote = letter
        elif letter in "({[":
            depth += 1
        elif letter in ")}]":
            depth -= 1
            if depth == 0:
                yield text[begin:at]
                return
        elif letter == "," and depth == 1:
            yield text[begin:at]
            begin = at + 1
        at += 1


def literal_words(code: str) -> str:
    """The literals of an expression in C++ as one text: parts of one literal joined, holes for what lies between."""
    if code.strip() in ("", '""'):
        return ""
    words, end = "", 0
    for found in LITERAL.finditer(code):
        between = code[end : found.start()].strip()
        joined = not words or not between
        alternative = between == ":"
        words += HOLE if not words and between.endswith("+") else ""
        words += ("" if joined or words == HOLE else " / " if alternative else HOLE) + (
            found["raw"] or unescaped(found["text"] or "")
        )
        end = found.end()
    rest = code[end:].strip()
    return holes(words + (HOLE if words and rest.startswith("+") else "")) or HOLE


def unescaped(text: str) -> str:
    """A literal of C++ as the compiler reads it."""
    return text.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def holes(text: str) -> str:
    """The text of one line, with holes for what is formatted into it."""
    text = text.replace("{{", "\0").replace("}}", "\1")
    text = re.sub(r"\{[^{}]*\}|%[a-z]", HOLE, text)
    return " ".join(text.replace("\0", "{").replace("\1", "}").split())


def page() -> str:
    """The page, a table a part."""
    found = messages()
    lines = [HEAD]
    for part, title in PARTS.items():
        own = [one for one in found if one.part == part]
        if own:
            lines += [f"## {title}", "", "| message | hint |", "|---|---|"]
            lines += [f"| {cell(one.what)} | {cell(one.hint)} |" for one in own]
            lines.append("")
    return "\n".join(lines)


def cell(text: str) -> str:
    """For a table of Markdown, where angle brackets and bars have other meanings."""
    parts = re.split(r"(`[^`]*`)", text.replace("\n", " ").replace("|", "\\|"))
    return "".join(
        part if part.startswith("`") else part.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
        for part in parts
    )


def main() -> int:
    """Writes or checks the page; 1 where it is another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    wanted = page()
    if not parser.parse_args().check:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == wanted:
        return 0
    sys.stderr.write(f"error: {PAGE.relative_to(ROOT)} is not that of the sources\nhint: tools/messages.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())

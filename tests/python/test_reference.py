"""What the reference says of options, events and result columns is what the program says."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomllib

from sidestream.launch.launcher import find_program

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\|(.+)\|$")


@cache
def answer(*words: str) -> Any:
    line = [find_program(), *words, "--json"]
    return json.loads(subprocess.run(line, capture_output=True, text=True, check=True, timeout=60).stdout)


def tables_of_program() -> list[tuple[str, str, dict[str, dict[str, Any]]]]:
    """Of each table whose it is, its name, and its options by name."""
    options = answer("--options")
    groups = [("", options["tables"])]
    for kind in ("simulations", "criteria", "analyses"):
        groups += [(entry["name"], entry["tables"]) for entry in options[kind]]
    return [
        (whose, table["name"], {option["name"]: option for option in table["options"]})
        for whose, tables in groups
        for table in tables
    ]


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def value_of(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def written_defaults(page: Path) -> list[tuple[str, str, str, str]]:
    """Of each row of a table of keys and defaults: heading, first cell of the head, key, default."""
    found, heading, head = [], "", []
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line
        if not ROW.match(line):
            head = []
        elif not head:
            head = cells_of(line)
        elif "default" in head and not line.startswith("|---"):
            cells = cells_of(line)
            keys = re.findall(r"`(?:\w+\.)?([^`]+)`", cells[0])
            values = re.findall(r"`([^`]+)`", cells[head.index("default")])
            if len(values) == len(keys):
                found += [(heading, head[0], key, value) for key, value in zip(keys, values, strict=True)]
            elif len(values) == 1:
                found += [(heading, head[0], key, values[0]) for key in keys]
    return found


# Defaults that are no text of TOML: in words, by another option, or shortened.
IN_WORDS = {"length", "number", "rescale"}


def test_defaults_that_are_written_are_those_of_the_program() -> None:
    known: dict[str, list[Any]] = {}
    for _, _, options in tables_of_program():
        for name, option in options.items():
            known.setdefault(name, []).append(value_of(option.get("default", "")))

    written = [row for page in sorted((ROOT / "docs/reference").glob("*.md")) for row in written_defaults(page)]
    checked = [row for row in written if row[2] not in IN_WORDS]
    wrong = [row for row in checked if not any(agree(value_of(row[3]), value) for value in known.get(row[2], []))]

    assert len(checked) > 100
    assert wrong == []


def test_tables_of_the_reference_are_those_of_the_program() -> None:
    """A table that is headed `[amr]` has the options of `[amr]`, all of them, with their defaults."""
    tables: dict[str, dict[str, list[Any]]] = {}
    for _, table, options in tables_of_program():
        for name, option in options.items():
            tables.setdefault(table, {}).setdefault(name, []).append(value_of(option.get("default", "")))
    page = ROOT / "docs/reference/configuration.md"
    text = page.read_text(encoding="utf-8")
    headed = [table for table in tables if f"| `[{table}]` | default | meaning |" in text]
    rows: dict[str, dict[str, str]] = {table: {} for table in headed}
    for _, head, key, value in written_defaults(page):
        if head.strip("`[]") in rows:
            rows[head.strip("`[]")].setdefault(key, value)
    named = {table: names_in(text, table) for table in headed}

    assert len(headed) >= 8
    assert named == {table: set(tables[table]) for table in headed}
    assert [
        (table, key, value, tables[table].get(key))
        for table in headed
        for key, value in rows[table].items()
        if key not in IN_WORDS and not any(agree(value_of(value), one) for one in tables[table].get(key, []))
    ] == []


def names_in(text: str, table: str) -> set[str]:
    """The keys in the first column of all tables with this head."""
    found: set[str] = set()
    for part in text.split(f"| `[{table}]` | default | meaning |\n")[1:]:
        for line in part.split("\n\n")[0].splitlines():
            found |= set(re.findall(r"`([^`]+)`", cells_of(line)[0]))
    return found


def agree(written: Any, value: Any) -> bool:
    if isinstance(written, float) and isinstance(value, float):
        return written == pytest.approx(value, rel=1e-3)  # round numbers of people
    return bool(written == value) and isinstance(written, bool) == isinstance(value, bool)


def test_every_option_is_in_the_reference() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/reference").glob("*.md"))
    text += "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/guides").glob("*.md"))

    missing = {
        (whose, table, name)
        for whose, table, options in tables_of_program()
        for name in options
        if not re.search(rf"`(\w+\.)?{name}`", text) and not re.search(rf"\b{name} = ", text)
    }

    assert missing == set()


def test_every_option_says_what_it_is() -> None:
    assert [
        name for _, _, options in tables_of_program() for name, option in options.items() if not option["documentation"]
    ] == []


def test_every_event_that_is_written_is_listed() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.cpp")]
    call = r"""(?:log_?(?:\(\))?(?:->|\.)write|tell_)\(\s*(?:[^",()]*\? )?"(\w+)"(?: : "(\w+)")?"""
    written = {name for text in sources for found in re.findall(call, text) for name in found if name}
    files = {
        f"{what}{end}" for what in ("plotfile", "checkpoint") for end in ("", "_failed")
    }  # src/sims/run/outputs.cpp

    assert written | files == set(answer("--list", "events")["events"])

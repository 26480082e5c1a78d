"""The commands and configurations that README, guides and reference show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAM = re.compile(
    r"(?:make|mpicc|mpif90|gdb|sidestream(?:-\w+)?|mpirun|python|pytest|cmake|ctest|pip|source|export|sbatch|ld\.so"
    r"|[A-Z_]+=\S+|build/release/\S+|tools/\S+|examples/\S+\.sh)(?: |$)"
)
FENCE = re.compile(r"^```(\w*)")
SHELL = ("", "bash", "sh")
NAMED_ONLY = re.compile(r"\.\.\.|\b[A-Z]{2,}\b")  # what stands in a table for a word that is to be filled in


class Command(NamedTuple):
    """A line of a shell, and where it stands."""

    page: str
    line: str


def commands() -> list[Command]:
    """What shells are told in blocks and in tables, without comments; each once a page."""
    shown = [*lines_of_shells(), *in_tables()]
    return list(dict.fromkeys(command for command in shown if PROGRAM.match(command.line)))


def lines_of_shells() -> list[Command]:
    """Those of blocks of code that no language is named for; where some begin with `$`, the others are what it says."""
    found = []
    for page in PAGES:
        for language, text in blocks(page):
            lines = [line.strip() for line in text.splitlines() if line.strip()] if language in SHELL else []
            said = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
            for line in said or lines:
                line = re.sub(r"(^|\s+)# .*$", "", line)
                found += [Command(page.relative_to(ROOT).as_posix(), line)] if line else []
    return found


def in_tables() -> list[Command]:
    """Whole commands in tables, but those that pages of messages and decisions name."""
    found = []
    for page in PAGES:
        if page.name == "messages.md" or page.parent.name == "decisions":
            continue
        rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
        for line in re.findall(r"`([^`]+)`", "\n".join(rows)):
            if PROGRAM.match(line) and len(line.split()) > 2 and not NAMED_ONLY.search(line):
                found.append(Command(page.relative_to(ROOT).as_posix(), line))
    return found


def configurations() -> list[tuple[str, str]]:
    """The page and the text of each block of TOML that is a whole configuration."""
    return [
        (page.relative_to(ROOT).as_posix(), text)
        for page in PAGES
        for language, text in blocks(page)
        if language == "toml" and re.search(r"^simulation = ", text, re.MULTILINE)
    ]


def blocks(page: Path) -> list[tuple[str, str]]:
    """Of each block of code, fenced or indented, its language and its text."""
    found: list[tuple[str, str]] = []
    language: str | None = None
    lines: list[str] = []
    for line in [*page.read_text(encoding="utf-8").splitlines(), ""]:
        fence = FENCE.match(line)
        if fence or (language is None and lines and not line.startswith("    ")):
            if lines:
                found.append((language or "", "\n".join(lines)))
            lines = []
            if fence:
                language = None if language is not None else fence[1]
        elif language is not None or line.startswith("    "):
            lines.append(line)
    return found

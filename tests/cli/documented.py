"""The commands and configurations that README, guides and reference show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAM = re.compile(
    r"(?:make|mpicc|sidestream(?:-\w+)?|mpirun|python|pytest|cmake|ctest|pip|source|export|sbatch|ld\.so|[A-Z_]+=\S+"
    r"|build/release/\S+|tools/\S+|examples/\S+\.sh)(?: |$)"
)
FENCE = re.compile(r"^```(\w*)")


class Command(NamedTuple):
    """A line of a shell, and where it stands."""

    page: str
    line: str


def commands() -> list[Command]:
    """Those of blocks of code that no language is named for, without their comments; each once a page."""
    found: dict[Command, None] = {}
    for page in PAGES:
        for language, text in blocks(page):
            for line in text.splitlines() if language in ("", "bash", "sh") else []:
                line = re.sub(r"(^\$ |\s+# .*$)", "", line.strip())
                line = re.sub(r"\s+# .*$", "", line).strip()
                if PROGRAM.match(line):
                    found[Command(page.relative_to(ROOT).as_posix(), line)] = None
    return list(found)


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

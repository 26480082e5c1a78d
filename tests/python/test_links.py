"""Links, anchors and paths of the project's Markdown lead to what is there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("apps", "bench", "data", "docs", "examples", "include", "python", "src", "tests", "tools")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`+[^`\n]+`+")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
# Files of the project that text names without a link: `src/couple/session.cpp`, `docs/guides/` and the like.
OF_OTHERS = ("CHANGELOG.md", "data/uvb/ORIGIN.md", "tests/data/README.md")  # earlier versions, other projects
NO_FILES = ("tools/templates/KIND", "include/sidestream.f90")  # a word to replace, and what is installed
PATH = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[\w./+-]*\w/?)`")


@cache
def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """Those that GitHub and the site make of headings: words in small letters with hyphens between them."""
    found: set[str] = set()
    for heading in HEADING.findall(prose(page)):
        text = re.sub(r"\]\([^)]*\)", "]", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        repeats = sum(
            other == anchor or re.fullmatch(rf"{re.escape(anchor)}-\d+", other) is not None for other in found
        )
        found.add(anchor if not repeats else f"{anchor}-{repeats}")
    return found


def complaints(page: Path, root: Path = ROOT) -> list[str]:
    """What is wrong with the links of a page."""
    wrong, name = [], page.relative_to(root)
    for link in LINK.findall(CODE.sub("", prose(page))):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            wrong.append(f"{name}, {link}: there is no such file")
        elif not target.is_relative_to(root):
            wrong.append(f"{name}, {link}: not a file of the project")
        elif anchor and anchor not in anchors(target):
            wrong.append(f"{name}, {link}: no heading has this anchor")
    return wrong


def test_links_lead_somewhere() -> None:
    assert [complaint for page in PAGES for complaint in complaints(page)] == []


def test_files_that_are_named_are_there() -> None:
    ours = [page for page in PAGES if page.relative_to(ROOT).as_posix() not in OF_OTHERS]
    named = {(str(page.relative_to(ROOT)), path) for page in ours for path in PATH.findall(prose(page))}

    assert len(named) > 100
    assert [(page, path) for page, path in named if path not in NO_FILES and not (ROOT / path).exists()] == []


@pytest.mark.parametrize("link", ["nowhere.md", "page.md#two", "#two", "../../../../../../etc/passwd", "folder/a.cpp"])
def test_a_link_that_leads_nowhere_is_found(link: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# One `x`: and\n\n[a](#one-x-and) `[b](c)`\n\n```\n# two\n[d](e)\n```\n\nThis [is]({link}).\n")

    [complaint] = complaints(page, tmp_path)

    assert complaint.startswith(f"page.md, {link}: ")

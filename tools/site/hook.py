"""What the site has beside `docs/`: pages that the program writes, files that pages link to, the list of decisions.

On GitHub a link to a source file opens it. The site works without a network, so it has a page of each such file, below
`sources/`.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
import reference  # noqa: E402  (of this folder, which is no package)

ROOT = Path(__file__).parents[2]
MADE = {
    "reference/options.md": reference.options_page,
    "reference/names.md": reference.names_page,
    "reference/columns.md": reference.columns_page,
}
LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".py": "python", ".sh": "bash", ".toml": "toml", ".f90": "fortran"}
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lists the decisions in the navigation."""
    pages = sorted(path.name for path in (ROOT / "docs/decisions").glob("*.md"))
    assert config.nav is not None
    config.nav[-1] = {"Decisions": ["decisions/README.md", *(f"decisions/{name}" for name in pages)]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are made, and those of all files that pages link to, and so on."""
    files.append(File.generated(config, "decisions/README.md", content=_decisions()))
    for name, write in MADE.items():
        files.append(File.generated(config, name, content=write()))
    for name in ("iframe-worker.js", "site.css"):
        files.append(File.generated(config, f"assets/{name}", content=_text(f"tools/site/{name}")))
    to_read = [f"docs/{file.src_uri}" for file in files.documentation_pages() if file.generated_by is None]
    seen = set(to_read)
    while to_read:
        for target in _targets(to_read.pop()):
            if target not in seen and not target.startswith("docs/") and (ROOT / target).is_file():
                seen.add(target)
                to_read += [target] if target.endswith(".md") else []
                files.append(File.generated(config, _uri(target), content=_page(target)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turns links between files of the project into links between pages of the site."""
    here = page.file.src_uri
    place = here.removeprefix("sources/") if here.startswith("sources/") else f"docs/{here}"

    def moved(found: re.Match[str]) -> str:
        target = _resolved(place, found[1])
        return f"]({posixpath.relpath(_uri(target), posixpath.dirname(here) or '.')}{found[2] or ''})"

    return LINK.sub(moved, markdown)


def _targets(path: str) -> list[str]:
    return [_resolved(path, found[1]) for found in LINK.finditer(_text(path))]


def _resolved(path: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))


def _uri(path: str) -> str:
    """Where the site has a file of the project, by its path there."""
    if (ROOT / path).is_dir():
        path += "/README.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"sources/{path}" if path.endswith(".md") else f"sources/{path}.md"


def _page(path: str) -> str:
    text = _text(path)
    if path.endswith(".md"):
        return UNSEARCHED + text
    return f"{UNSEARCHED}# `{path}`\n\n~~~~{LANGUAGES.get(Path(path).suffix, 'text')}\n{text}\n~~~~\n"


def _decisions() -> str:
    lines = []
    for path in sorted((ROOT / "docs/decisions").glob("*.md")):
        number, title = re.sub(r"^# 0*(\d+)[.:]", r"\1.", path.read_text().split("\n")[0]).split(". ", 1)
        lines.append(f"| {number} | [{title}]({path.name}) |")
    what = "What was chosen, what was given up for it, and what would change our mind."
    return f"# Decisions\n\n{what}\n\n| | |\n|---|---|\n" + "\n".join(lines) + "\n"


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")

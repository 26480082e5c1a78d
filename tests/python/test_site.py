"""The documentation as a site: built without a warning, whole without a network, searched from the disk."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
# What a browser fetches by itself, as links are not.
FETCHED = re.compile(r"""<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)\s*=\s*["']?([^"'\s>]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--quiet",
            "--config-file",
            ROOT / "mkdocs.yml",
            "--site-dir",
            folder,
        ],
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_of_the_docs_is_there(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    renamed = {page.with_name("index.html") if page.stem == "README" else page for page in pages}

    assert [page for page in sorted(renamed) if not (site / page).is_file()] == []


def test_nothing_comes_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    fetched = [(page.name, address) for page in pages for address in FETCHED.findall(page.read_text(encoding="utf-8"))]
    styles = [style.read_text(encoding="utf-8") for style in site.rglob("*.css")]

    assert len(fetched) > len(pages)
    assert [entry for entry in fetched if re.match(r"(\w+:)?//", entry[1])] == []
    assert [
        found for style in styles for found in re.findall(r"(?:url\(|@import)\s*['\"]?(?:\w+:)?//[^)]*", style)
    ] == []
    # The theme would fetch a script for these.
    assert [page.name for page in pages if 'class="mermaid"' in page.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize(("word", "found"), [("zstd", "guides/compression.html"), ("t_boundary", "guides/halos.html")])
def test_search_works_from_the_disk(site: Path, word: str, found: str, tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    assert browser, "tools/system_packages_slow.txt has it"
    line = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]

    done = subprocess.run(
        [*line, "--virtual-time-budget=10000", f"file://{site}/index.html?q={word}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    results = re.findall(r'href="([^"]+)"[^>]*class="md-search-result__link"', done.stdout)
    assert any(found in result for result in results), (results, done.stderr)

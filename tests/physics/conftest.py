"""Runs of the program, the bounds that figures must hold, and the page that tells of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure

import book
from book import Chapter
from program import Program

matplotlib.use("Agg")

PROBLEMS = pytest.StashKey[list[str]]()
MEASURED = pytest.StashKey[dict[str, dict[str, list[float]]]]()
DOTS_PER_INCH = 80  # pictures of less than 100 kB


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="write what is measured and its pictures to the docs")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[MEASURED] = {}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """While the page is written anew, it is not what it will be."""
    return True if collection_path.name == "test_page.py" and config.getoption("--record") else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not session.config.getoption("--record"):
        return
    from page import chapters, page

    book.merge_figures(session.config.stash[MEASURED], chapters())
    book.PAGE.write_text(page(), encoding="utf-8")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Program:
    """Runs of a module, each in a folder of its own below one."""
    return Program(tmp_path_factory.mktemp(request.module.__name__))


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Takes a figure, or a list of them, by the name of its bound in one of the module's `CHAPTERS`.

    All are recorded; those that are out of bounds fail the test at its end, so that one does not hide the others.
    """
    problems = request.node.stash.setdefault(PROBLEMS, [])

    def take(name: str, figure: float | Sequence[float]) -> None:
        values = [float(value) for value in (figure if isinstance(figure, Sequence) else [figure])]
        chapter, bound = _bound_named(request.module.CHAPTERS, name)
        request.config.stash[MEASURED].setdefault(chapter.title, {}).setdefault(name, []).extend(values)
        assert values
        if not all(map(bound.holds, values)):
            problems.append(f"{name}: {values}, must be from {bound.low} to {bound.high}: {bound.reason}")

    return take


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    yield
    problems = item.stash.get(PROBLEMS, [])
    assert not problems, "\n".join(problems)


def _bound_named(chapters: Sequence[Chapter], name: str) -> tuple[Chapter, book.Bound]:
    return next((chapter, bound) for chapter in chapters for bound in chapter.bounds if bound.name == name)


@pytest.fixture
def picture(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str, Figure], None]:
    """Keeps a figure under a name of its chapter's `plots`."""

    def keep(name: str, figure: Figure) -> None:
        assert any(name in chapter.plots for chapter in request.module.CHAPTERS), name
        folder = book.IMAGES if request.config.getoption("--record") else tmp_path
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.png", dpi=DOTS_PER_INCH)

    return keep

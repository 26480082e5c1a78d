"""The page in the docs is the one that tables and figures make, and every figure on it holds."""

from __future__ import annotations

import book
from page import chapters, page


def test_the_page_is_that_of_the_tables_and_the_figures_measured_last() -> None:
    assert book.PAGE.read_text(encoding="utf-8") == page(), "`make test-physics-docs` writes it anew"


def test_every_figure_on_the_page_holds() -> None:
    figures = book.load_figures()
    for chapter in chapters():
        for bound in chapter.bounds:
            values = figures.get(chapter.title, {}).get(bound.name, [])
            may_be_missing = chapter.is_slow and chapter.title not in figures  # never run: then all of it is
            assert values or may_be_missing, f"{chapter.title}: {bound.name} was never recorded"
            assert all(map(bound.holds, values)), f"{chapter.title}: {bound.name}"


def test_bounds_and_pictures_have_names_of_their_own() -> None:
    titles = [chapter.title for chapter in chapters()]
    pictures = [plot for chapter in chapters() for plot in chapter.plots]

    assert len(set(titles)) == len(titles)
    assert len(set(pictures)) == len(pictures)
    for chapter in chapters():
        assert len({bound.name for bound in chapter.bounds}) == len(chapter.bounds)
        for plot in chapter.plots if chapter.title in book.load_figures() else ():
            assert 0 < (book.IMAGES / f"{plot}.png").stat().st_size < 100_000


def test_no_other_module_takes_the_place_of_one_of_these() -> None:
    names = [path.name for path in book.HERE.parent.rglob("test_*.py")]

    assert len(set(names)) == len(names)

"""What the tests of physics must hold, and what they measured: the chapters of docs/reference/physics.md."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
PAGE = HERE.parent.parent / "docs" / "reference" / "physics.md"
IMAGES = HERE.parent.parent / "docs" / "images" / "physics"


@dataclass(frozen=True)
class Bound:
    """What one measured figure, or each of a list of them, must lie between, and why."""

    name: str
    low: float
    high: float
    reason: str
    is_slow: bool = False  # of a test that only `make test-slow` runs

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high  # false for a NaN


@dataclass(frozen=True)
class Chapter:
    """One test, or a few of one set-up: the table at the top of its module."""

    title: str
    text: str  # what is run and what it is compared with
    bounds: Sequence[Bound]
    plots: Sequence[str] = field(default=())  # names of pictures
    is_slow: bool = False

    def bound(self, name: str) -> Bound:
        return next(bound for bound in self.bounds if bound.name == name)


def load_figures() -> dict[str, dict[str, list[float]]]:
    """What was measured last, by the titles of chapters and the names of bounds."""
    if not FIGURES.is_file():
        return {}
    return dict(json.loads(FIGURES.read_text(encoding="utf-8")))


def merge_figures(new: dict[str, dict[str, list[float]]], chapters: Sequence[Chapter]) -> None:
    """Figures that were measured take the place of those before; what no table has any more goes."""
    old, figures = load_figures(), {}
    for chapter in chapters:
        both = old.get(chapter.title, {}) | new.get(chapter.title, {})
        kept = {bound.name: both[bound.name] for bound in chapter.bounds if bound.name in both}
        if kept:
            figures[chapter.title] = kept
    FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")

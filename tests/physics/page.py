"""docs/reference/physics.md, made from the chapters of the tests and the figures that they measured last."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence

from book import HERE, Bound, Chapter, load_figures

HEAD = """# Physics: what the tests measure

Made by `make test-physics-docs` and `make test-slow` from the tests in `tests/physics`; do not edit. Each test runs
`sidestream-run` on a configuration with the default options of its simulation and reads the results and plot files of
the run; what is expected comes from NumPy and SciPy alone. `(slow)`: measured by `make test-slow` only.
Tolerances were set from theory before anything was measured; the reasons stand beside them, and where one was changed
later, its chapter says so. How the expectations of growing waves and of the energy are derived:
[what the tests of physics expect](../concepts/physics_tests.md).
"""


def chapters() -> list[Chapter]:
    """Those of all test modules of this folder but that of the page, in the order of their names."""
    names = sorted({path.stem for path in HERE.glob("test_*.py")} - {"test_page"})
    modules = [importlib.import_module(name) for name in names]
    return [chapter for module in modules for chapter in module.CHAPTERS]


def page() -> str:
    figures = load_figures()
    return "\n".join([HEAD, *(_chapter(chapter, figures.get(chapter.title, {})) for chapter in chapters())])


def _chapter(chapter: Chapter, measured: dict[str, list[float]]) -> str:
    tier = "\n\nIn the slow tier." if chapter.is_slow else ""
    rows = [_row(bound, measured.get(bound.name, [])) for bound in chapter.bounds]
    plots = chapter.plots if measured else ()
    pictures = [f"\n![{chapter.title}](../images/physics/{plot}.png)\n" for plot in plots]
    table = "\n".join(["| what | measured | must hold | why |", "|---|---|---|---|", *rows])
    return f"## {chapter.title}\n\n{chapter.text.strip()}{tier}\n\n{table}\n{''.join(pictures)}"


def _row(bound: Bound, values: Sequence[float]) -> str:
    measured = ", ".join(_text(value) for value in values) or "not yet"
    tier = " (slow)" if bound.is_slow else ""
    return f"| {bound.name}{tier} | {measured} | {_interval(bound)} | {bound.reason} |"


def _interval(bound: Bound) -> str:
    if math.isinf(bound.low):
        return f"at most {_text(bound.high)}"
    if math.isinf(bound.high):
        return f"at least {_text(bound.low)}"
    if bound.low == -bound.high:
        return f"within {_text(bound.high)}"
    return f"{_text(bound.low)} to {_text(bound.high)}"


def _text(value: float) -> str:
    return f"{value:.4g}" if abs(value - 1.0) > 0.3 or value == 1.0 else f"{value:.4f}".rstrip("0").rstrip(".")

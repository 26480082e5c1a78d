"""A plot in three dimensions, to be turned in a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scene:
    """A figure of Plotly with what a page needs to show it."""

    name: str
    title: str
    caption: str
    plot: str  # JSON: `data` and `layout`

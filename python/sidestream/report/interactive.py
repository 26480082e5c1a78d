"""Scenes in a page: the library that draws them is part of it, once, and unpacked when it is needed."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path

from ..figures import Scene


def stage(shown: Sequence[Scene]) -> str:
    """Scenes below each other, with their captions; the library and what starts it behind them."""
    if not shown:
        return ""
    figures = [
        f'<figure class="wide"><div class="scene" title="{escape(scene.title)}"></div>'
        f'<script type="application/json">{_harmless(scene.plot)}</script>'
        f"<figcaption>{escape(scene.caption)}</figcaption></figure>\n"
        for scene in shown
    ]
    start = (Path(__file__).parent / "scenes.js").read_text(encoding="utf-8")
    return (
        f'<div class="gallery">{"".join(figures)}</div>\n'
        f'<script type="text/plain" id="plotly">{_library()}</script>\n<script>\n{start}</script>\n'
    )


@cache
def _library() -> str:
    """Plotly's script, which begins with its licence, gzipped and in base64: two fifths of its size."""
    from plotly.offline import get_plotlyjs

    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()


def _harmless(json: str) -> str:
    return json.replace("<", "\\u003c")

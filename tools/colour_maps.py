#!/usr/bin/env python3
"""Writes data/colour_maps/matplotlib.txt: the colours of all colour maps of the installed matplotlib.

A line is a name, the number of colours and these, six hexadecimal digits each. A map that is reversed has a line of its
own, as its colours may differ by one from those of the other, backwards.
"""

from pathlib import Path

import numpy as np
from matplotlib import colormaps

TABLE = Path(__file__).resolve().parents[1] / "data" / "colour_maps" / "matplotlib.txt"


def line_of(name: str) -> str:
    """The line of one map."""
    colours = colormaps[name](np.arange(colormaps[name].N), bytes=True)
    return f"{name} {len(colours)} {colours[:, :3].tobytes().hex()}\n"


if __name__ == "__main__":
    TABLE.write_text("".join(line_of(name) for name in sorted(colormaps, key=str.lower)))

"""What code of others leaves behind in the process of a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def surroundings_kept() -> Iterator[None]:
    """Gives back what a function changes for the whole process: the folder, and pyplot's list of open figures.

    Results lie in a folder that may be named from where the run began, and figures that nobody closes are kept by
    matplotlib until the run ends.
    """
    folder, figures = os.open(".", os.O_RDONLY), _open_figures()
    try:
        yield
    finally:
        os.fchdir(folder)
        os.close(folder)
        for number in _open_figures() - figures:
            sys.modules["matplotlib.pyplot"].close(number)


def _open_figures() -> set[int]:
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    return set(pyplot.get_fignums()) if hasattr(pyplot, "get_fignums") else set()

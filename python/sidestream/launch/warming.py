"""What draws the report, imported while the run goes on: it takes as long as many of the drawings."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from importlib import import_module

MODULES = ("sidestream.report", "colossus.cosmology.cosmology", "colossus.lss.mass_function")
NICENESS = 10  # the ranks come first


class Warming:
    """Imports in a thread that steps back for the ranks, once and between two of our own looks at the run."""

    def __init__(self) -> None:
        self._is_over = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begins; nothing the second time."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._import, daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Returns once nothing is being imported; what has not begun is left to whoever needs it."""
        self._is_over = True
        if self._thread is not None:
            self._thread.join()

    def _import(self) -> None:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        for module in MODULES:
            if self._is_over:
                return
            with suppress(Exception):  # whoever needs it says what is wrong with it
                import_module(module)

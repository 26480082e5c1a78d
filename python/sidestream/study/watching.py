"""Where a run stands, in a notebook or a script, while it goes on."""

from __future__ import annotations

import html
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import console
from ..runs.events import read_events
from ..runs.lock import is_held
from ..runs.progress import EventTail, Progress

if TYPE_CHECKING:
    from ..runs.run import Run

LINE_EVERY_SHARE = 0.05  # of the run, where lines stay


class Watching:
    """The state of a run as a line; a notebook shows it with a bar."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._tail = EventTail(run.folder)
        self.progress = Progress()
        self.is_running = True
        for event in read_events(run.folder):
            self._take(event)

    def update(self) -> bool:
        """Reads what is new in the logs; returns whether the run goes on."""
        self.is_running = is_held(self._run.folder)  # asked first: what a run writes before it lets go is then seen
        for event in self._tail.new_events():
            self._take(event)
        return self.is_running

    def _take(self, event: dict[str, Any]) -> None:
        if event["event"] == "run_start" and event.get("group", "compute") == "compute":
            self.progress = Progress()
        self.progress.take(event)

    def __str__(self) -> str:
        state = self.progress.details if self.is_running else self._run.status
        return f"{self.progress.headline}  {state}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        share = f'<progress max="1" value="{self.progress.done:.4f}" style="vertical-align: middle"></progress>'
        return f'<div style="font-variant-numeric: tabular-nums">{share} {html.escape(str(self))}</div>'


def watch(run: Run, every_s: float) -> Watching:
    """Follows a run to its end; see `OpenedRun.watch`."""
    watching = Watching(run)
    show = _shown_in_notebook(watching) if "IPython" in sys.modules else _Lines(watching)
    with suppress(KeyboardInterrupt):
        while watching.update():
            show()
            time.sleep(every_s)
    show()
    return watching


class _Lines:
    """A line each time that enough more is done."""

    def __init__(self, watching: Watching) -> None:
        self._watching, self._told = watching, -1.0

    def __call__(self) -> None:
        done = self._watching.progress.done
        if done >= self._told + LINE_EVERY_SHARE or not self._watching.is_running:
            self._told = done
            console.say(str(self._watching))


def _shown_in_notebook(watching: Watching) -> Any:
    """A display that is drawn over; lines where IPython runs without a notebook around it."""
    shell = sys.modules["IPython"].get_ipython()
    if not hasattr(shell, "kernel"):
        return _Lines(watching)
    handle = import_module("IPython.display").display(watching, display_id=True)
    return lambda: handle.update(watching)

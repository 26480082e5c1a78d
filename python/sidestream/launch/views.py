"""What the user sees while a run goes on: a live bar on a terminal, single lines anywhere else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from .. import console
from ..runs.progress import Progress

if TYPE_CHECKING:
    from rich.console import Group

LINE_EVERY_S = 10.0
LINE_EVERY_SHARE = 0.05
BAR_WIDTH = 16
QUIET_LINE_EVERY_S = 30.0  # where no step ends: silence would look like a run that hangs


class View(Protocol):
    """Shows the progress of a run."""

    def __enter__(self) -> View: ...
    def __exit__(self, *_: object) -> None: ...
    def show(self, progress: Progress) -> None:
        """Brings the picture up to date."""

    def tell(self, text: str) -> None:
        """One line that stays."""

    def happened(self, text: str) -> None:
        """One line about what an analysis or the output did."""


def choose_view() -> View:
    """The live bar if stderr is a terminal."""
    return LiveView() if console.is_screen() else LineView()


class LineView:
    """One line now and then, for logs."""

    def __init__(self) -> None:
        self._last_time = 0.0
        self._last_done = -1.0

    def __enter__(self) -> LineView:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, progress: Progress) -> None:
        """Prints a line if enough was done or time has passed since the last one."""
        now = time.monotonic()
        if progress.step is None:
            return
        since = now - self._last_time
        is_fresh = progress.done > self._last_done
        is_far = progress.done >= self._last_done + LINE_EVERY_SHARE
        is_quiet = progress.done < 1.0 and since > QUIET_LINE_EVERY_S
        if is_fresh and (is_far or since > LINE_EVERY_S) or is_quiet:
            self._last_time, self._last_done = now, progress.done
            console.say(f"{progress.headline}  {progress.details}")

    def tell(self, text: str) -> None:
        """Prints the line."""
        console.say(text)

    def happened(self, text: str) -> None:
        """Prints the line, indented."""
        console.say(f"  {text}")


class LiveView:
    """A bar with step and redshift, and where the run stands; below it what each analysis did last."""

    def __init__(self) -> None:
        from rich.live import Live

        self._progress = Progress()
        self._live = Live(get_renderable=self._render, console=console.err(), refresh_per_second=8, transient=True)

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, progress: Progress) -> None:
        """Keeps the state for the next refresh."""
        self._progress = progress

    def tell(self, text: str) -> None:
        """Prints the line above the bar."""
        self._live.console.print(text, soft_wrap=True, markup=False)

    def happened(self, text: str) -> None:
        """Nothing: the lines below the bar say it."""

    def _render(self) -> Group:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.spinner import Spinner
        from rich.table import Column, Table
        from rich.text import Text

        progress = self._progress
        row = Table.grid(Column(), Column(no_wrap=True), Column(), Column(), padding=(0, 2))
        bar = ProgressBar(total=1.0, completed=progress.done, width=BAR_WIDTH, pulse=progress.step is None)
        row.add_row(Spinner("dots"), Text(progress.headline, style="bold"), bar, Text(progress.details))
        tasks = [
            Text(f"   {text}", style="dim", no_wrap=True, overflow="ellipsis") for text in progress.analyses.values()
        ]
        return Group(row, *tasks)

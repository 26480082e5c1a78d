"""`sidestream display`: a wall of screens, each a page of a browser, that all show the same step."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any

from ..error import Error
from ..runs.events import read_events
from ..runs.lock import is_held
from .folder import Pictures
from .server import PictureServer, Query, as_json, page

SCREEN = re.compile(r"/screen/(\d{1,3})/(\d{1,3})")
ANSWER_WITHIN_S = 20.0  # a page that has waited so long is told what it knows already, and asks again
LOOK_EVERY_S = 0.2
Screen = tuple[int, int]


@dataclass(frozen=True)
class Shown:
    """A step that all screens have shown: how long after it was made, and after its pictures were there [s]. In a run
    that has ended, as if its pictures had been made when the screens were told to load them."""

    step: int
    at_s: float
    delay_s: float
    display_s: float


@dataclass
class Wall:
    """Which screens there are, and what they show: `loading` is the step that all load, `showing` that which all show.

    A step is shown once every screen has loaded it, and the next is loaded once every screen has said that it shows
    this one. Screens that say nothing for `patience_s` are left out until they ask again.
    """

    columns: int
    rows: int
    patience_s: float = 10.0
    clock: Callable[[], float] = time.monotonic
    loading: int = -1
    showing: int = -1
    loaded: dict[Screen, int] = field(default_factory=dict)
    shown: dict[Screen, int] = field(default_factory=dict)
    heard: dict[Screen, float] = field(default_factory=dict)
    missed: set[Screen] = field(default_factory=set)

    def screens(self) -> list[Screen]:
        """All of them, row by row."""
        return [(column, row) for row in range(self.rows) for column in range(self.columns)]

    def hear(self, screen: Screen, loaded: int, shown: int) -> None:
        """Takes what a screen says."""
        self.loaded[screen], self.shown[screen], self.heard[screen] = loaded, shown, self.clock()
        self.missed.discard(screen)

    def has_news(self, loaded: int, shown: int) -> bool:
        """Whether a screen has something to do: a step to load, or the one that it has loaded to show."""
        return loaded != self.loading or shown != self.showing == self.loading

    def is_complete(self) -> bool:
        """Whether every screen has been heard of."""
        return len(self.heard) == self.columns * self.rows

    def all_there(self, steps: dict[Screen, int], step: int) -> bool:
        """Whether all screens that answer are at `step`."""
        now = self.clock()
        for screen, heard in self.heard.items():
            if steps[screen] != step and now - heard > self.patience_s:
                self.missed.add(screen)
        there = [screen for screen in self.heard if screen not in self.missed]
        return self.is_complete() and bool(there) and all(steps[screen] == step for screen in there)


class WallServer(PictureServer):
    """Gives each screen its page, and keeps all of them at the same step."""

    def __init__(self, pictures: Pictures, columns: int, rows: int, bezel: int, tell: Callable[[str], None]) -> None:
        super().__init__(pictures)
        self.wall = Wall(columns, rows)
        self.frames: list[Shown] = []
        self.skipped = 0
        self._bezel, self._tell = bezel, tell
        self._changed = threading.Condition()
        self._is_open = True
        self._unreadable: set[int] = set()
        self._since = 0.0

    def answer(self, path: str, query: Query) -> tuple[str, bytes] | None:
        """The page `/` with the addresses of all screens, `/screen/COLUMN/ROW`, and `/next` for a screen."""
        wall = self.wall
        if path == "/":
            links = [f"/screen/{column}/{row}" for column, row in wall.screens()]
            return page("wall.html", columns=wall.columns, screens=links, run=str(self.pictures.run.folder))
        screen = SCREEN.fullmatch(path)
        if screen is not None and (int(screen[1]), int(screen[2])) in wall.screens():
            place = {"column": int(screen[1]), "row": int(screen[2])}
            return page("screen.html", **place, columns=wall.columns, rows=wall.rows, bezel=self._bezel)
        if path == "/next":
            return self._next(query)
        return None

    def _next(self, query: Query) -> tuple[str, bytes] | None:
        """Takes what a screen has loaded and shows, and answers when there is something else for it to do."""
        try:
            screen = int(query["column"]), int(query["row"])
            loaded, shown = int(query["loaded"]), int(query["shown"])
        except (KeyError, ValueError):
            return None
        if screen not in self.wall.screens():
            return None
        deadline = time.monotonic() + ANSWER_WITHIN_S
        with self._changed:
            self.wall.hear(screen, loaded, shown)
            self._changed.notify_all()
            while self._is_open and not self.wall.has_news(loaded, shown):
                rest = deadline - time.monotonic()
                if rest <= 0:
                    break
                self._changed.wait(rest)
                self.wall.heard[screen] = self.wall.clock()
            load, show = self.wall.loading, self.wall.showing
        about = self.about(load) if load >= 0 else None
        return as_json({"load": about, "show": show, "is_open": self._is_open})

    def close(self) -> None:
        """Lets the screens go."""
        with self._changed:
            self._is_open = False
            self._changed.notify_all()

    def play(self, once: bool = False) -> None:
        """Shows step after step: the newest while the run goes on, every one of a run that has ended.

        With `once` it returns when the last step of a run that has ended is shown.
        """
        missed: set[Screen] = set()
        while True:
            going_on = is_held(self.pictures.run.folder)  # asked first: what comes before the end is then seen
            steps = [step for step in self.pictures.steps() if step > self.wall.showing]
            steps = [step for step in steps if step not in self._unreadable]
            with self._changed:
                is_settled = self.wall.loading == self.wall.showing
                if is_settled and steps and self.wall.is_complete():
                    self._show(steps, going_on)
                elif not is_settled:
                    self._go_on()
                elif once and not going_on and not steps:
                    return
                if self.wall.missed != missed:
                    missed = set(self.wall.missed)
                    self._tell(_words_for(missed))
                self._changed.wait(LOOK_EVERY_S)

    def _show(self, steps: list[int], going_on: bool) -> None:
        step = steps[-1] if going_on else steps[0]
        try:
            self.pictures.about(step)
        except Error as problem:
            self._unreadable.add(step)
            self._tell(f"warning: step {step} is left out: {problem.what}")
            return
        self.skipped += steps.index(step)
        self._since = 0.0 if going_on else time.time()  # pictures of a run that has ended have not waited for screens
        self.wall.loading = step
        self._changed.notify_all()

    def _go_on(self) -> None:
        wall = self.wall
        step = wall.loading
        while not wall.all_there(wall.loaded, step):
            if not self._changed.wait(LOOK_EVERY_S):
                return
        wall.showing = step
        self._changed.notify_all()
        while not wall.all_there(wall.shown, step):
            if not self._changed.wait(LOOK_EVERY_S) and not self._is_open:
                return
        now = time.time()
        about = self.pictures.about(step)
        display = max(0.0, now - max(about["moment"], self._since))
        self.frames.append(Shown(step, now, display + self._time_to_make(step), display))
        self._tell(
            f"step {step} on {wall.columns} x {wall.rows} screens, {self.frames[-1].delay_s:.2f} s after it was reached"
        )

    def _time_to_make(self, step: int) -> float:
        """From the moment that a step was handed to the analysis until its pictures were there [s]."""
        for event in reversed(read_events(self.pictures.run.folder)):
            if event["event"] != "analysis":
                continue
            if event.get("step") == step and event.get("task") == self.pictures.task:
                return float(event.get("wait_s", 0.0)) + float(event.get("compute_s", 0.0))
        return 0.0

    def report(self) -> dict[str, Any]:
        """Frames, frame rate [1/s] and delays [s], for a file and for the end."""
        frames = self.frames
        if not frames:
            raise Error("no step was shown on all screens", self.pictures.run.folder, "open the page of every screen")
        spans = [later.at_s - earlier.at_s for earlier, later in zip(frames, frames[1:], strict=False)]
        delays = [frame.delay_s for frame in frames]
        return {
            "task": self.pictures.task,
            "wall": [self.wall.columns, self.wall.rows],
            "bezel": self._bezel,
            "frames": len(frames),
            "skipped": self.skipped,
            "frame_rate": 1 / mean(spans) if spans else None,
            "delay_s": {"median": median(delays), "largest": max(delays)},
            "display_s": {"median": median(f.display_s for f in frames), "largest": max(f.display_s for f in frames)},
            "steps": [{"step": f.step, "delay_s": f.delay_s, "display_s": f.display_s} for f in frames],
        }


def size_of(wall: str) -> tuple[int, int]:
    """The columns and rows of "4x2"; `Error` for anything else."""
    found = re.fullmatch(r"(\d{1,3})x(\d{1,3})", wall)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(1 <= side <= 100 for side in size):
        raise Error(f"`{wall}` is no size of a wall", hint="columns and rows, from 1 to 100: `--wall 4x2`")
    return size


def _words_for(missed: set[Screen]) -> str:
    if not missed:
        return "all screens answer again"
    names = ", ".join(f"{column}/{row}" for column, row in sorted(missed))
    return f"warning: no answer from the screens {names}: the others go on without them"

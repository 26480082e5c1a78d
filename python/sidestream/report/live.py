"""`live.html`: the newest result of every task of a run, drawn while the run goes on."""

from __future__ import annotations

import time
from html import escape
from pathlib import Path

from ..error import Error
from ..figures import pictures
from ..quantities import percent
from ..runs.events import Event, read_events
from ..runs.lock import is_held
from ..runs.progress import EventTail, Progress
from ..runs.run import Run
from ..streams import status
from .drawing import Shown
from .page import document, gallery, head_of, notes, table, write_page

NAME = "live.html"
STREAM = "stream.json"  # where readers come to, while the run goes on
LOOK_EVERY_S = 2.0  # between two looks at the run folder, and between two at the page in a browser
WRITE_EVERY_S = 20.0  # at least, so that a page that nobody keeps up to date is known by its age
FORSAKEN_S = 60.0  # the age at which it says so


class LivePage:
    """The page of one run; each result is read and drawn once, when it appears."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._tail = EventTail(run.folder)
        self._progress = Progress()
        self._start: Event = {}
        self._written = -WRITE_EVERY_S  # on the monotonic clock
        self._drawn: dict[str, tuple[int, str]] = {}  # task: step and pictures of its newest result
        for event in read_events(run.folder):
            self._take(event)

    @property
    def path(self) -> Path:
        """Where the page is."""
        return self._run.folder / NAME

    def update(self) -> bool:
        """Writes the page if there is anything new, and returns whether the run goes on."""
        held = is_held(self._run.folder)  # asked first: what a run writes before it lets go is then seen
        events = self._tail.new_events()
        for event in events:
            self._take(event)
        fresh = [self._draw(task) for task in self._run.tasks]
        state = "running" if held else str(self._progress.end.get("status", "aborted"))
        is_old = time.monotonic() - self._written > WRITE_EVERY_S
        if events or any(fresh) or is_old or state != "running" or not self.path.exists():
            write_page(self.path, self._render(state))
            self._written = time.monotonic()
        return state == "running"

    def _take(self, event: Event) -> None:
        if event["event"] == "run_start" and event.get("group", "compute") == "compute":
            self._start, self._progress = event, Progress()
        self._progress.take(event)

    def _draw(self, task: str) -> bool:
        newest = _Newest(self._run.folder)
        steps = newest.steps(task)
        if not steps or self._drawn.get(task, (None,))[0] == steps[-1]:
            return False
        try:
            drawn = gallery(list(map(Shown.of, pictures(newest, task))))
        except Error:  # removed or replaced meanwhile: the picture before it stays
            return False
        except Exception as problem:  # an unusual result must not end the watching
            drawn = f"<p>No picture could be drawn ({escape(str(problem))}).</p>\n"
        self._drawn[task] = (steps[-1], drawn)
        return True

    def _streams(self) -> list[str]:
        """Who reads the run, as a section; nothing where it streams nothing or does not answer."""
        if not (self._run.folder / STREAM).exists():
            return []
        try:
            found = status(self._run.folder, timeout=LOOK_EVERY_S)
        except Error:
            return []
        rows = [
            [
                str(reader["who"]),
                str(reader["task"]),
                int(reader["ranks"]),
                int(reader["given"]),
                int(reader["waiting"]),
                int(reader["dropped"]),
                f"{reader['bytes'] / 2**20:.1f} MiB",
                f"{reader['silence_s']:.1f} s ago" if reader["is_here"] else "away",
            ]
            for reader in found["readers"]
        ]
        full = f"{found['queue_bytes'] / 2**20:.1f} of {found['queue_most_bytes'] / 2**20:.0f} MiB"
        headers = ["reader", "task", "ranks", "steps given", "waiting", "dropped", "taken", "last sign"]
        text = f"<p>The queue holds {full}; when it is full: {found['when_full']}.</p>"
        readers = table(headers, rows, 2) if rows else "<p>Nobody reads the run.</p>"
        return [f"<section><h2>Streams</h2>\n{text}\n{readers}</section>\n"]

    def _render(self, state: str) -> str:
        going_on = state == "running"
        refresh = f'<meta http-equiv="refresh" content="{LOOK_EVERY_S:.0f}">\n{_age_script()}' if going_on else ""
        about = self._progress.details if going_on else percent(self._progress.done)
        where = f"{self._progress.headline}, {about}"
        if "reason" in self._progress.end:
            where += f": {self._progress.end['reason']}"
        tasks = [[task, step, self._progress.analyses.get(task, "")] for task, (step, _) in self._drawn.items()]
        sections = [
            head_of(self._run, self._start, state, where),
            notes(self._progress.problems),
            *(self._streams() if going_on else []),
            *(
                f"<section><h2>{escape(task)}, step {step}</h2>\n{drawn}</section>\n"
                for task, (step, drawn) in self._drawn.items()
                if drawn
            ),
            f"<section><h2>Newest results</h2>\n{table(['task', 'step', 'result'], tasks, 1)}</section>\n"
            if tasks
            else "<p>There is no result yet.</p>\n",
        ]
        return document(self._run, self._start, sections, refresh)


def _age_script() -> str:
    """Has a page that was left behind, by a watch or a machine that ended, say so instead of `running`."""
    return (
        f"<script>addEventListener('DOMContentLoaded',()=>{{const age=Date.now()/1000-{time.time():.0f};"
        f"if(age<{FORSAKEN_S:.0f})return;const status=document.querySelector('.status');"
        "status.className='status aborted';"
        "status.textContent='not watched for '+Math.round(age/60)+' min: `sidestream watch RUN` tells more'})"
        "</script>\n"
    )


class _Newest(Run):
    """A run of which only the newest result of each task is seen."""

    def steps(self, task: str) -> list[int]:
        return super().steps(task)[-1:]


def watch(run: Run, once: bool = False) -> Path:
    """Keeps `live.html` of a run up to date until the run ends (or brings it up to date once); returns its path."""
    page = LivePage(run)
    while page.update() and not once:
        time.sleep(LOOK_EVERY_S)
    return page.path

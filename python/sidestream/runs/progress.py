"""Following the event logs of a run while it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..error import Error
from ..quantities import duration, percent
from .events import Event, Events, group_of, log_files, number, parse_lines
from .pace import Left, Pace
from .sidecars import Sidecars

QUIET_S = 5.0  # without a step, at least, before that is told


class EventTail:
    """Reads what is appended to the logs of a folder, from the moment of its construction on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, tuple[int, int]] = {}  # log: (inode, bytes read)
        for path in log_files(folder):
            status = path.stat()
            self._read[path] = (status.st_ino, status.st_size)

    def new_events(self) -> list[Event]:
        """The events that were completed since the last call."""
        return [event for path in log_files(self._folder) for event in self._new_in(path)]

    def _new_in(self, path: Path) -> Iterator[Event]:
        try:
            status = path.stat()
            inode, offset = self._read.get(path, (status.st_ino, 0))
            if inode != status.st_ino or status.st_size < offset:  # the log was started anew
                offset = 0
            with path.open("rb") as file:
                file.seek(offset)
                data = file.read()
        except OSError:  # removed meanwhile by a run that overwrites
            return
        complete = data[: data.rfind(b"\n") + 1]
        self._read[path] = (status.st_ino, offset + len(complete))
        for event in parse_lines(path, complete, offset):
            event.setdefault("group", group_of(path))
            yield event


@dataclass
class Progress:
    """Where a run stands, fed with its events."""

    step: int | None = None
    redshift: float | None = None
    done: float = 0.0  # 0 to 1
    elapsed_s: float = 0.0
    ranks: int = 0
    analyses: dict[str, str] = field(default_factory=dict)  # task: what it did last
    under_way: dict[str, str] = field(default_factory=dict)  # task that ranks of the run are at: since when, in words
    end: Event = field(default_factory=dict)
    steps_seen: int = 0
    writing: str = ""  # the checkpoint that is being made
    pace: Pace = field(default_factory=Pace)
    sidecars: Sidecars = field(default_factory=Sidecars)
    clock: Callable[[], float] = time.monotonic
    problems: list[str] = field(default_factory=list)  # that the program itself prints as well
    _seen: float | None = None  # on the clock, when the newest event came
    _stepped_s: float | None = None  # when the newest step ended

    def take(self, event: Event) -> str | None:
        """Brings the state up to date; returns a line worth telling about this event, if there is one."""
        self.elapsed_s = max(self.elapsed_s, event["t"])
        self._seen = self.clock()
        self.sidecars.take(event)
        handler = getattr(self, f"_on_{event['event']}", None)
        return handler(event) if handler else None

    @property
    def now_s(self) -> float:
        """Seconds since the start, also while no event comes."""
        return self.elapsed_s + (self.clock() - self._seen if self._seen is not None else 0.0)

    @property
    def left(self) -> Left | None:
        """What the run still takes, as its progress so far lets expect."""
        return self.pace.left(self.now_s) if self.done < 1.0 else None

    @property
    def estimate(self) -> str:
        """The share that is done and what is left, such as `41 %  3 min 20 s left`."""
        return f"{percent(self.done)}  {self.left} left" if self.left else percent(self.done)

    @property
    def state(self) -> str:
        """How the run goes: its rate, those who analyse, and what is waited for."""
        parts = [self._rate(), self.sidecars.in_words(self.step, self.now_s), self._waits()]
        return "  ".join(part for part in parts if part)

    @property
    def details(self) -> str:
        """All that stands behind the headline."""
        return "  ".join(part for part in (self.estimate, self.state) if part)

    def _rate(self) -> str:
        if self.pace.step_s is None:
            return ""
        least, most = self.pace.step_s
        return f"{duration(most) if most <= 1.5 * least else f'{duration(least)} to {duration(most)}'} a step"

    def _waits(self) -> str:
        """What the ranks that compute are at, where that is no step; what they have waited for room so far."""
        now, parts = self.now_s, []
        own = [what for task, what in self.under_way.items() if task not in self.sidecars.busy]
        if own:
            parts.append(f"in {', '.join(own)}")
        if self.writing:
            parts.append(f"writing {self.writing}")
        longest = self.pace.step_s[1] if self.pace.step_s else 0.0
        quiet = now - self._stepped_s if self._stepped_s is not None else 0.0
        if self.step is not None and not self.end and quiet > max(QUIET_S, 3.0 * longest):
            parts.append(f"no step for {duration(quiet)}")
        if self.sidecars.waited_s >= 0.1:
            parts.append(f"waited {duration(self.sidecars.waited_s)}")
        return "  ".join(parts)

    @property
    def headline(self) -> str:
        """Step and redshift, such as `step 120  z 3.02`."""
        step = "starting" if self.step is None else f"step {self.step}"
        return step if self.redshift is None else f"{step}  z {self.redshift:.3g}"

    def _on_run_start(self, event: Event) -> str | None:
        self.ranks = int(number(event, "ranks"))
        sidecars = int(number(event, "sidecars"))
        cells = event.get("cells")
        size = " x ".join(map(str, cells)) + " cells, " if isinstance(cells, list) else ""
        aside = f", of which {sidecars} for analyses" if sidecars else ""
        return f"{event.get('simulation', 'simulation')}: {size}{self.ranks} rank{'s' * (self.ranks != 1)}{aside}"

    def _on_step(self, event: Event) -> None:
        self.step = int(number(event, "step"))
        self.redshift = number(event, "redshift") if "redshift" in event else None
        self.steps_seen += 1
        self.done = min(1.0, number(event, "progress", self.done))
        self._stepped_s = event["t"]
        self.pace.take(event["t"], self.done)

    def _on_analysis_begun(self, event: Event) -> None:
        if event.get("group") != "isolated":
            what = f"task `{event.get('task', '?')}` ({event.get('analysis', '?')}) at step {event.get('step', '?')}"
            self.under_way[str(event.get("task", "?"))] = what

    def _on_analysis(self, event: Event) -> str:
        text = what_it_did(event)
        self.analyses[str(event.get("task", "?"))] = text
        self.under_way.pop(str(event.get("task", "?")), None)
        return text

    def _on_analysis_failed(self, event: Event) -> None:
        # The program itself prints why.
        task = str(event.get("task", "?"))
        self.under_way.pop(task, None)
        self.analyses[task] = f"{task}: failed at step {event.get('step', '?')}"

    def _on_plotfile(self, event: Event) -> str:
        return f"wrote {file_name(event)} ({number(event, 'write_s'):.2g} s)"

    def _on_checkpoint(self, event: Event) -> str:
        self.writing = ""
        return self._on_plotfile(event)

    def _on_checkpoint_begun(self, event: Event) -> None:
        self.writing = f"the checkpoint of step {event.get('step', '?')}"

    def _on_checkpoint_put_off(self, event: Event) -> str:
        return f"checkpoint of step {event.get('step', '?')} put off: {file_name(event)} is still pending"

    def _on_checkpoint_staged(self, event: Event) -> str:
        return f"{file_name(event)} counts: it is on disks of the nodes, and is written behind the run"

    def _on_checkpoint_refused(self, event: Event) -> str:
        return f"checkpoint of step {event.get('step', '?')} does not count: results of before it could not be written"

    def _on_plotfile_failed(self, event: Event) -> None:
        self.problems.append(problem_with_file(event))

    def _on_checkpoint_failed(self, event: Event) -> None:
        self.writing = ""
        self._on_plotfile_failed(event)

    _on_checkpoint_skipped = _on_plotfile_failed

    def _on_warning(self, event: Event) -> None:
        self.problems.append(warning_of(event))

    def _on_run_end(self, event: Event) -> None:
        if event.get("group", "compute") == "compute":
            self.end = event


def file_name(event: Event) -> str:
    """The name of the file that an event is about, without its folder."""
    return Path(str(event.get("path") or "a file")).name


def problem_with_file(event: Event) -> str:
    """A file that was not written, or passed over by a restart, and why, in one line."""
    why = Error.from_text(str(event.get("message") or "no reason given"))
    what = "was passed over" if event["event"] == "checkpoint_skipped" else "was not written"
    return f"{file_name(event)} {what}: {why.what}" + (f" ({why.where})" if why.where else "")


def warning_of(event: Event) -> str:
    """What the simulation warned of, and where it was, in one line."""
    where = event.get("where", "")
    return f"{event.get('message', 'a warning without words')}" + (f" ({where})" if where else "")


def found_nothing(events: Events) -> list[str]:
    """The tasks whose newest result is empty, and why, a line each."""
    newest = {str(event.get("task")): event for event in events.of("analysis")}
    return [what_it_did(event) for event in newest.values() if str(event.get("summary")).startswith("no ")]


def what_it_did(event: Event) -> str:
    """One analysis in words: `halos: 214 halos at z 2.5 (0.8 s)`."""
    what = event.get("summary") or "done"
    moment = f"z {number(event, 'redshift'):.3g}" if "redshift" in event else f"step {event.get('step', '?')}"
    return f"{event.get('task', '?')}: {what} at {moment} ({number(event, 'compute_s'):.2g} s)"

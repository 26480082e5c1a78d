"""What those who analyse beside a run are busy with, and what waits for them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..quantities import duration, size
from .events import Event, number

APART = ("in-transit", "async")  # transports that take a copy and let the run go on


@dataclass
class _Publish:
    """What was sent at a step and has not been received."""

    time_s: float
    size_bytes: float = 0.0


@dataclass
class Sidecars:
    """Fed with the events of a run, told in one phrase."""

    busy: dict[str, tuple[int, float]] = field(default_factory=dict)  # task: step, and since when [s]
    waiting: dict[int, _Publish] = field(default_factory=dict)  # step: what waits
    waited_s: float = 0.0  # that the run itself has waited for room
    are_there: bool = False
    _received: int = -1  # the newest step that has arrived

    def take(self, event: Event) -> None:
        """Brings the state up to date."""
        kind, step = event["event"], int(number(event, "step", -1))
        if kind == "publish":
            self._publish(event, step)
        elif kind == "withdrawn":
            self.waiting.pop(step, None)
        elif event.get("group") in ("sidecar", "async"):
            self._of_sidecar(event, kind, step)

    def in_words(self, step: int | None, now_s: float) -> str:
        """Such as `sidecars: halos of step 110 (4.1 s), 2 waiting (42 MB), 10 steps behind`; empty without any."""
        if not self.are_there:
            return ""
        doing = ", ".join(f"{task} of step {of} ({duration(now_s - since)})" for task, (of, since) in self.busy.items())
        parts = [doing or "idle"]
        if self.waiting:
            total = sum(publish.size_bytes for publish in self.waiting.values())
            parts.append(f"{len(self.waiting)} waiting" + (f" ({size(total)})" if total else ""))
        at = [*(of for of, _ in self.busy.values()), *self.waiting]
        behind = step - min(at) if at and step is not None else 0
        if behind > 0:
            parts.append(f"{behind} step{'s' * (behind != 1)} behind")
        return f"sidecars: {', '.join(parts)}"

    def _publish(self, event: Event, step: int) -> None:
        self.waited_s += number(event, "wait_s")
        if event.get("transport") in APART:
            self.are_there = True
            if event.get("action") == "sent" and step > self._received:
                publish = self.waiting.setdefault(step, _Publish(event["t"]))
                publish.size_bytes += number(event, "bytes")

    def _of_sidecar(self, event: Event, kind: str, step: int) -> None:
        task = str(event.get("task", "?"))
        if kind in ("receive", "analysis_begun", "analysis", "analysis_failed"):
            self.are_there, self._received = True, max(step, self._received)
            self.waiting = {of: publish for of, publish in self.waiting.items() if of > step}
        if kind == "analysis_begun":
            self.busy[task] = step, event["t"]
        elif kind in ("analysis", "analysis_failed"):
            self.busy.pop(task, None)

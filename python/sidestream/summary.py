"""Sums over the events of a run: the bill of each task and what the analyses cost the simulation."""

from __future__ import annotations

from dataclasses import dataclass

from .events import Event, Events, number


@dataclass
class TaskBill:
    """What one task did and what it cost, over the whole run."""

    name: str
    results: int = 0
    failed: int = 0
    dropped: int = 0
    pack_s: float = 0.0  # lost by the simulation: copying
    wait_s: float = 0.0  # lost by the simulation: waiting for room in the queue
    in_situ_s: float = 0.0  # lost by the simulation: analyses on its own ranks
    transfer_s: float = 0.0  # receiving, on the sidecars
    compute_s: float = 0.0
    bytes: float = 0.0
    transport: str = ""

    @property
    def lost_s(self) -> float:
        """Seconds by which the task delayed the simulation."""
        return self.pack_s + self.wait_s + self.in_situ_s


def bills(events: Events, tasks: list[str]) -> list[TaskBill]:
    """One bill a task, in the order of `tasks`."""
    found = {name: TaskBill(name) for name in tasks}
    for event in events:
        name = event.get("task")
        if isinstance(name, str):
            _charge(found.setdefault(name, TaskBill(name)), event)
    return list(found.values())


def wall_seconds(events: Events) -> float:
    """The wall time of the run so far, over all its restarts."""
    ends = events.of("run_end", group="compute")
    starts = len(events.of("run_start", group="compute"))
    if ends and len(ends) == starts and all("wall_s" in end for end in ends):
        return ends.sum("wall_s")
    return max((event["t"] for event in events), default=0.0)


def seconds_by_part(events: Events) -> dict[str, float]:
    """Where the simulation's time went, most first."""
    total: dict[str, float] = {}
    for end in events.of("run_end"):
        parts = end.get("seconds_by_part")
        for name, seconds in parts.items() if isinstance(parts, dict) else ():
            if isinstance(seconds, (int, float)):
                total[name] = total.get(name, 0.0) + float(seconds)
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def share_lost(events: Events, tasks: list[str]) -> float:
    """The share of the wall time that the simulation lost to the analyses."""
    wall = wall_seconds(events)
    return sum(bill.lost_s for bill in bills(events, tasks)) / wall if wall > 0 else 0.0


def _charge(bill: TaskBill, event: Event) -> None:
    bill.transport = str(event.get("transport") or bill.transport)
    if event["event"] == "publish":
        bill.pack_s += number(event, "pack_s")
        bill.wait_s += number(event, "wait_s")
        bill.bytes += number(event, "bytes")
        bill.dropped += event.get("action") == "dropped"
    elif event["event"] == "analysis":
        bill.results += 1
        bill.compute_s += number(event, "compute_s")
        if event.get("group") == "compute":
            bill.in_situ_s += number(event, "compute_s")
        else:
            bill.transfer_s += number(event, "wait_s")
    elif event["event"] == "analysis_failed":
        bill.failed += 1

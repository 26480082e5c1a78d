"""The bill of a run: where the wall time of each group of ranks went, line by line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..error import Error
from ..quantities import duration
from .events import Event, Events, number

if TYPE_CHECKING:
    from .run import Run

GROUPS = {"compute": "ranks that compute", "sidecar": "sidecars", "async": "threads that analyse"}


@dataclass
class BillLine:
    """What was done and for whom, in seconds of a rank: the mean of the group, and its slowest rank's."""

    what: str
    whom: str
    mean_s: float = 0.0
    max_s: float = 0.0


@dataclass
class GroupBill:
    """The lines of one group, the largest first. Their means add up to `wall_s`, the wall time of a rank."""

    group: str
    ranks: int = 0
    wall_s: float = 0.0
    lines: list[BillLine] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The group as people call it, with its size."""
        return f"{GROUPS.get(self.group, self.group)} ({self.ranks})"

    def share(self, line: BillLine) -> float:
        """The part of the wall time that a line took."""
        return line.mean_s / self.wall_s if self.wall_s > 0 else 0.0

    def add(self, event: Event) -> None:
        """Adds the bill of one start of the run."""
        known = {(line.what, line.whom): line for line in self.lines}
        self.ranks = max(self.ranks, int(number(event, "ranks")))
        self.wall_s += number(event, "wall_s")
        for entry in event["lines"]:
            key = str(entry["line"]), str(entry["for"])
            line = known.setdefault(key, BillLine(*key))
            line.mean_s += number(entry, "mean_s")
            line.max_s += number(entry, "max_s")
        self.lines = sorted(known.values(), key=lambda line: (-line.mean_s, line.what, line.whom))


def group_bills(events: Events) -> list[GroupBill]:
    """One bill a group that left any, the ranks that compute first; restarts are added up."""
    found: dict[str, GroupBill] = {}
    for event in events.of("bill"):
        if isinstance(event.get("lines"), list):
            found.setdefault(event["group"], GroupBill(event["group"])).add(event)
    return sorted(found.values(), key=lambda bill: bill.group != "compute")


def bills_of(run: Run) -> list[GroupBill]:
    """The bills of a run that has ended at least once."""
    found = group_bills(run.events)
    if not found:
        raise Error(
            "the run has no bill", Path(run.folder), "it is written when a run ends; one that was killed has none"
        )
    return found


def as_json(bills: list[GroupBill]) -> list[dict[str, Any]]:
    """The bills for programs."""
    return [
        {
            "group": bill.group,
            "ranks": bill.ranks,
            "wall_s": bill.wall_s,
            "lines": [
                {"line": line.what, "for": line.whom, "mean_s": line.mean_s, "max_s": line.max_s} for line in bill.lines
            ],
        }
        for bill in bills
    ]


def rows_of(bill: GroupBill) -> list[list[str]]:
    """The lines in words, with their sum: what, for whom, mean, slowest rank, share."""
    rows = [
        [line.what, line.whom, duration(line.mean_s), duration(line.max_s), f"{100 * bill.share(line):.1f} %"]
        for line in bill.lines
    ]
    total = sum(line.mean_s for line in bill.lines)
    share = f"{100 * total / bill.wall_s:.1f} %" if bill.wall_s > 0 else ""
    return [*rows, ["sum", "", duration(total), "", share]]


HEAD = ["line", "for", "mean", "slowest", "share"]


def print_bills(bills: list[GroupBill]) -> None:
    """Prints a table a group."""
    from rich.table import Table

    from .. import console

    for index, bill in enumerate(bills):
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
        for column, name in enumerate(HEAD):
            table.add_column(name, justify="left" if column < 2 else "right")
        for row in rows_of(bill):
            table.add_row(*row)
        if index:
            console.out().print()
        console.out().print(f"{bill.title}: {duration(bill.wall_s)}")
        console.print_table(table)

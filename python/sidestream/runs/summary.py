"""Sums over the events of a run: the bills of tasks and files, and what they cost the simulation."""

from __future__ import annotations

from dataclasses import dataclass, field

from .events import Event, Events, number


@dataclass
class TaskBill:
    """What one task did and what it cost, over the whole run."""

    name: str
    steps: set[float] = field(default_factory=set)  # of its results; what a restart makes again counts once
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
    def results(self) -> int:
        """How many results were made and are there."""
        return len(self.steps)

    @property
    def lost_s(self) -> float:
        """Seconds by which the task delayed the simulation."""
        return self.pack_s + self.wait_s + self.in_situ_s


# The bins of sizes of writes [bytes], those of Darshan, as the events name them.
WRITE_SIZES = (
    *("<100", "100-1K", "1K-10K", "10K-100K", "100K-1M"),
    *("1M-4M", "4M-10M", "10M-100M", "100M-1G", ">1G"),
)
FILE_KINDS = {"checkpoint": "checkpoints", "plotfile": "plot files"}


@dataclass
class FileBill:
    """What the files of one kind took, over the whole run. Times are those of the slowest rank, counts of all ranks."""

    kind: str  # that of the events: "checkpoint", "plotfile"
    count: int = 0
    failed: int = 0
    bytes: float = 0.0
    write_s: float = 0.0
    lost_s: float = 0.0  # by the simulation: writing, or where that goes on behind it, copying and waiting
    writes: int = 0
    bytes_written: float = 0.0
    metadata_s: float = 0.0
    data_s: float = 0.0
    sync_s: float = 0.0
    exchange_s: float = 0.0  # with copies, and waiting for what others send
    write_sizes: dict[str, int] = field(default_factory=dict)  # of WRITE_SIZES

    @property
    def title(self) -> str:
        """The kind as people call it."""
        return FILE_KINDS[self.kind]

    @property
    def mean_write(self) -> float:
        """The mean size of a write [bytes]."""
        return self.bytes_written / self.writes if self.writes else 0.0


def file_bills(events: Events) -> list[FileBill]:
    """One bill a kind of which anything was written or failed."""
    found = {kind: FileBill(kind) for kind in FILE_KINDS}
    for event in events:
        kind = event["event"].removesuffix("_failed")
        if kind not in found:
            continue
        if event["event"] == kind:
            _charge_file(found[kind], event)
        else:
            found[kind].failed += 1
    return [bill for bill in found.values() if bill.count or bill.failed]


def bills(events: Events, tasks: list[str]) -> list[TaskBill]:
    """One bill a task, in the order of `tasks`."""
    found = {name: TaskBill(name) for name in tasks}
    for event in events:
        name = event.get("task")
        if isinstance(name, str):
            _charge(found.setdefault(name, TaskBill(name)), event)
    for event in lost_results(events):
        found[str(event["task"])].failed += 1
    return list(found.values())


def lost_results(events: Events) -> Events:
    """One event `analysis_failed` for each result that is not there; a restart may have made it since."""
    made = {(event.get("task"), event.get("step")) for event in events.of("analysis")}
    failed = {
        (event.get("task"), event.get("step")): event for event in events.of("analysis_failed") if "task" in event
    }
    return Events(event for moment, event in failed.items() if moment not in made)


def wall_seconds(events: Events) -> float:
    """The wall time of the run so far, over all its restarts."""
    ends = events.of("run_end", group="compute")
    starts = len(events.of("run_start", group="compute"))
    if ends and len(ends) == starts and all("wall_s" in end for end in ends):
        return ends.sum("wall_s")
    return max((event["t"] for event in events), default=0.0)


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
    elif event["event"] == "withdrawn":
        bill.dropped += 1
    elif event["event"] == "analysis":
        bill.steps.add(number(event, "step"))
        bill.compute_s += number(event, "compute_s")
        if event.get("group") == "compute":
            bill.in_situ_s += number(event, "compute_s")
        else:
            bill.transfer_s += number(event, "wait_s")


def _charge_file(bill: FileBill, event: Event) -> None:
    access: Event = event["io"] if isinstance(event.get("io"), dict) else {}
    bill.count += 1
    bill.bytes += number(event, "bytes")
    bill.write_s += number(event, "write_s")
    bill.lost_s += file_lost_s(event)
    bill.writes += int(number(access, "writes"))
    bill.bytes_written += number(access, "bytes_written")
    for name in ("metadata_s", "data_s", "sync_s", "exchange_s"):
        setattr(bill, name, getattr(bill, name) + number(access, name))
    bill.exchange_s += number(access, "copy_s") + number(access, "wait_s")
    sizes: Event = access["write_sizes"] if isinstance(access.get("write_sizes"), dict) else {}
    for name in sizes:
        bill.write_sizes[name] = bill.write_sizes.get(name, 0) + int(number(sizes, name))


def file_lost_s(event: Event) -> float:
    """The seconds by which writing a file delayed the simulation."""
    if event.get("asynchronous"):
        return number(event, "copy_s") + number(event, "wait_s")
    return number(event, "write_s")

"""The I/O study of ENZO: an initial read and a dump of refined grids, by the model beside what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .hierarchy import ARRAYS, FIELDS, PARTICLE_BYTES, SIZES, Hierarchy, initial, refined
from .machine import CHIBA, CHIBA_DISKS, ORIGIN, SP, Machine
from .methods import Workload, aligned, domains, doors_of, spread_doors
from .queues import Indices
from .schedule import Exchange, Order, Round, Schedule, simulate
from .storage import Requests, Striping

RANKS = (16, 32, 64)
HDF5_HEADER_BYTES = 272  # before the numbers of an array, which nothing aligns
HDF5_TABLES = 1.4  # small writes an array, as counted in `sidestream bench io --case enzo`
OWN_DISK = Striping(1, 2**62)


@dataclass(frozen=True)
class Task:
    """A hierarchy to be written, or read, on so many ranks."""

    machine: Machine
    grids: Hierarchy
    ranks: int
    reads: bool

    @property
    def root_arrays(self) -> Indices:
        """Bytes of each array of the root."""
        return self.grids.array_bytes(0)

    @property
    def particle_bytes(self) -> int:
        """Of the root."""
        return int(self.grids.particles[0]) * PARTICLE_BYTES

    def doors(self, ranks: Indices) -> Indices:
        """Through which these ranks go."""
        return doors_of(self.machine, self.ranks, ranks)

    def nodes(self, ranks: Indices) -> Indices:
        """On which these ranks are."""
        return ranks // self.machine.ranks_a_node

    def schedule(self, rounds: Iterator[Round], order: Order, creates: int = 0, **more: Any) -> Schedule:
        """With files made where it writes and opened where it reads; nothing small at the end."""
        opened = {"creates": 0, "opens": creates} if self.reads else {"creates": creates}
        if self.machine.local_disks:
            more["striping"] = OWN_DISK
        return Schedule(rounds, order, **(opened | {"tables": 0} | more))


def gathered(task: Task) -> Iterator[Schedule]:
    """One rank has the root grid come to it, or deals it; each grid is a file of its owner."""
    sizes = task.root_arrays
    zeros = np.zeros(ARRAYS, np.int64)
    total, others = int(sizes.sum()), task.ranks - 1
    own = total / task.ranks
    exchange = Exchange(own, ARRAYS, 1, others * own, ARRAYS * others)
    requests = Requests(zeros, zeros, zeros, np.cumsum(sizes) - sizes, sizes, task.reads)
    yield task.schedule(iter([Round(requests, exchange)]), Order.together, creates=1)
    if task.reads:
        return
    owners = task.grids.owners(task.ranks)
    files = task.nodes(owners) if task.machine.local_disks else 1 + np.arange(len(owners))
    busiest = int(np.bincount(owners).max()) if task.machine.local_disks else len(owners)
    offsets = np.zeros((len(owners), ARRAYS), np.int64)
    yield task.schedule(_subgrids(task, files, offsets), Order.chained, creates=busiest, chains=task.ranks)


def _subgrids(task: Task, files: Indices, offsets: Indices) -> Iterator[Round]:
    """Each rank writes its subgrids one after another, an array at a time; arrays of a grid together count as one
    request of so many parts where no lock can come between."""
    owners = task.grids.owners(task.ranks)
    turns = _turns(owners)
    arrays = np.array([task.grids.array_bytes(1 + grid) for grid in range(len(owners))])
    is_torn = task.machine.handover_s > 0 and len(np.unique(files)) == 1
    for turn in range(int(turns.max()) + 1):
        which = np.flatnonzero(turns == turn)
        ranks = owners[which]
        doors = task.doors(ranks)
        if not is_torn:
            sizes = arrays[which].sum(axis=1)
            yield Round(Requests(doors, ranks, files[which], offsets[which, 0], sizes, parts=ARRAYS))
            continue
        for array in range(ARRAYS):
            yield Round(Requests(doors, ranks, files[which], offsets[which, array], arrays[which, array]))


def _turns(owners: Indices) -> Indices:
    """The how manieth of its owner's each is."""
    order = np.argsort(owners, kind="stable")
    ordered = owners[order]
    turns = np.empty(len(owners), np.int64)
    turns[order] = np.arange(len(owners)) - np.searchsorted(ordered, ordered)
    return turns


def two_phase(task: Task, header_bytes: int = 0, calls: int = 1, fixed_s: float = 0.0) -> Iterator[Schedule]:
    """One file: fields of the root collectively, its particles sorted by number and then written in even shares,
    subgrids by their owners. On disks of nodes each rank keeps its part there."""
    if task.machine.local_disks:
        yield from _apart(task)
        return
    table = np.array([task.grids.array_bytes(grid) + header_bytes for grid in range(len(task.grids.cells))])
    offsets = (np.cumsum(table.ravel()) - table.ravel()).reshape(table.shape) + header_bytes
    opens = task.machine.doors(task.ranks)
    yield task.schedule(
        _shared_root(task, offsets[0], calls), Order.together, creates=1 if not task.reads else opens, fixed_s=fixed_s
    )
    if not task.reads:
        one_file = np.zeros(len(table) - 1, np.int64)
        yield task.schedule(_subgrids(task, one_file, offsets[1:]), Order.chained, chains=task.ranks)


def _shared_root(task: Task, offsets: Indices, calls: int) -> Iterator[Round]:
    writers = min(task.ranks, task.machine.nodes(task.ranks))
    doors = spread_doors(task.machine, task.ranks, writers)
    for field in range(FIELDS):
        size = int(task.root_arrays[field])
        lows, highs = domains(int(offsets[field]), size, writers, 1)
        file = np.zeros(writers, np.int64)
        requests = Requests(doors, np.arange(writers), file, lows, highs - lows, task.reads)
        exchange = Exchange(size / task.ranks, writers, writers, size / writers, task.ranks)
        yield Round(requests, exchange, calls)
    yield Round(_shares(task, offsets[FIELDS:], task.root_arrays[FIELDS:]), _all_to_all(task, task.particle_bytes))


def _shares(task: Task, offsets: Indices, sizes: Indices) -> Requests:
    """An even share of each of these arrays on every rank."""
    ranks = np.repeat(np.arange(task.ranks), len(sizes))
    shares = np.tile(sizes, task.ranks) // task.ranks
    places = np.tile(offsets, task.ranks) + ranks * shares
    return Requests(task.doors(ranks), ranks, np.zeros(len(ranks), np.int64), places, shares, task.reads)


def _all_to_all(task: Task, total: int) -> Exchange:
    own = total / task.ranks
    return Exchange(own, task.ranks - 1, task.ranks, own, task.ranks - 1)


def _apart(task: Task, parts: int = ARRAYS) -> Iterator[Schedule]:
    """Each rank moves its part of the root and its subgrids in a file of its own, in so many requests a grid."""
    ranks = np.arange(task.ranks)
    rooms = np.full(task.ranks, int(task.root_arrays.sum()) // task.ranks)

    def rounds() -> Iterator[Round]:
        exchange = _all_to_all(task, task.particle_bytes)
        zeros = np.zeros(task.ranks, np.int64)
        yield Round(Requests(task.doors(ranks), ranks, task.nodes(ranks), zeros, rooms, task.reads, parts), exchange)

    yield task.schedule(rounds(), Order.together, creates=1)
    if not task.reads:
        owners = task.grids.owners(task.ranks)
        offsets = np.zeros((len(owners), ARRAYS), np.int64)
        yield task.schedule(_subgrids(task, task.nodes(owners), offsets), Order.chained, chains=task.ranks)


def parallel_hdf5(task: Task) -> Iterator[Schedule]:
    """The same through HDF5: arrays are made and closed by all ranks together, and lie behind headers."""
    arrays = ARRAYS * len(task.grids.cells)
    fixed_s = task.machine.library_seconds(task.ranks) + task.machine.calls_seconds(task.ranks, 2 * arrays)
    first, *rest = two_phase(task, HDF5_HEADER_BYTES, 2, fixed_s)
    yield replace(first, tables=0 if task.reads else round(HDF5_TABLES * arrays))
    yield from rest


def sidestream(task: Task) -> Iterator[Schedule]:
    """A dump: all arrays through aggregators on whole stripes and locks, particles unsorted. A read: an even share of
    each array on every rank, then one exchange. On disks of nodes a file a rank, in large pieces."""
    if task.machine.local_disks:
        yield from _one_piece(task)
    elif task.reads:
        sizes = task.root_arrays
        exchange = _all_to_all(task, int(sizes.sum()))
        rounds = iter([Round(_shares(task, np.cumsum(sizes) - sizes, sizes), exchange)])
        yield task.schedule(rounds, Order.together, creates=task.machine.doors(task.ranks))
    else:
        own = task.grids.bytes // (task.ranks * ARRAYS)
        yield aligned(task.machine, Workload(task.ranks, own, ARRAYS))


def _one_piece(task: Task) -> Iterator[Schedule]:
    ranks = np.arange(task.ranks)
    own = np.full(task.ranks, task.grids.bytes // task.ranks)
    zeros = np.zeros(task.ranks, np.int64)
    requests = Requests(task.doors(ranks), ranks, task.nodes(ranks), zeros, own, task.reads)
    yield task.schedule(iter([Round(requests)]), Order.chained, creates=1, chains=task.ranks)


OURS = "Sidestream"
METHODS: dict[str, Callable[[Task], Iterator[Schedule]]] = {
    "gathered on a root": gathered,
    "two-phase MPI-IO": two_phase,
    "parallel HDF5": parallel_hdf5,
    OURS: sidestream,
}
MACHINES = {"XFS": ORIGIN, "GPFS": SP, "PVFS": CHIBA, "local disks": CHIBA_DISKS}


def has(machine: Machine, method: str) -> bool:
    """Whether there is such a way: parallel HDF5 wants a file that all nodes see."""
    return not (machine.local_disks and method == "parallel HDF5")


def seconds(machine: Machine, grids: Hierarchy, ranks: int, method: str, reads: bool) -> float:
    """Of one initial read or one dump."""
    task = Task(machine, grids, ranks, reads)
    return sum(simulate(machine, ranks, schedule).seconds for schedule in METHODS[method](task))


def rows_of(system: str, size: str, ranks: int) -> list[dict[str, Any]]:
    """Times of an initial read and a dump by every method that there is."""
    machine, start, dump = MACHINES[system], initial(SIZES[size]), refined(SIZES[size])
    rows = []
    for method in METHODS:
        if not has(machine, method):
            continue
        times = {
            "read_s": seconds(machine, start, ranks, method, True),
            "dump_s": seconds(machine, dump, ranks, method, False),
        }
        rows.append({"system": system, "size": size, "ranks": ranks, "method": method} | times)
    return rows


@dataclass(frozen=True)
class Finding:
    """That one way of reading and dumping was faster than another."""

    system: str
    faster: str
    slower: str

    @property
    def text(self) -> str:
        """In words."""
        return f"{self.system}: {self.faster} faster than {self.slower}"


FINDINGS = (
    Finding("XFS", "two-phase MPI-IO", "gathered on a root"),
    Finding("local disks", "two-phase MPI-IO", "gathered on a root"),
    Finding("GPFS", "gathered on a root", "two-phase MPI-IO"),
    *(Finding(system, "two-phase MPI-IO", "parallel HDF5") for system in ("XFS", "GPFS", "PVFS")),
)


def judged(finding: Finding, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many times as fast the faster way is in the model, a size and number of ranks."""
    times = {
        (row["size"], row["ranks"], row["method"]): row["read_s"] + row["dump_s"]
        for row in rows
        if row["system"] == finding.system
    }
    places = dict.fromkeys((size, ranks) for size, ranks, _ in times)
    return [
        {
            "text": finding.text,
            "size": size,
            "ranks": ranks,
            "factor": (factor := times[size, ranks, finding.slower] / times[size, ranks, finding.faster]),
            "holds": factor > 1,
        }
        for size, ranks in places
    ]


ASSUMED = ("handover_s", "create_s", "request_s", "message_s")
STRETCH = 4.0


def reversals(finding: Finding, size: str, ranks: int) -> list[str]:
    """Which assumed times would have to be four times as long, or a fourth, for the finding not to be that of the
    model."""
    start, dump = initial(SIZES[size]), refined(SIZES[size])

    def took(machine: Machine, method: str) -> float:
        return seconds(machine, start, ranks, method, True) + seconds(machine, dump, ranks, method, False)

    found = []
    for name in ASSUMED:
        now = getattr(MACHINES[finding.system], name)
        for factor in (1 / STRETCH, STRETCH) if now > 0 else ():
            machine = replace(MACHINES[finding.system], **{name: now * factor})
            if took(machine, finding.slower) <= took(machine, finding.faster):
                found.append(f"{name} x {factor:g}")
    return found


def study(sizes: tuple[str, ...] = tuple(SIZES), most_ranks: int = RANKS[-1]) -> dict[str, Any]:
    """Every method on every system, and whether the ways come out in the order that was found."""
    ranks = [count for count in RANKS if count <= most_ranks]
    rows = [row for size in sizes for count in ranks for system in MACHINES for row in rows_of(system, size, count)]
    findings = [
        {"text": finding.text, "cases": judged(finding, rows), "reversed_by": reversals(finding, sizes[0], ranks[0])}
        for finding in FINDINGS
    ]
    return {
        "machines": {system: asdict(machine) for system, machine in MACHINES.items()},
        "rows": rows,
        "findings": findings,
    }

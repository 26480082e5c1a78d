"""Ways of writing variables of all ranks, as schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from .file_domains import BUFFER_BYTES, chosen_aggregators, file_domains
from .machine import KIB, Machine
from .queues import Indices, shuffled
from .schedule import Exchange, Order, Outcome, Round, Schedule, simulate
from .storage import Requests, Striping

HEADER_BYTES = 64 * KIB  # before the first variable
DIRECT_RANKS = 512  # up to so many, the engine writes pieces of a buffer and more directly


@dataclass(frozen=True)
class Workload:
    """Variables that lie one after another in a file; each rank has one piece of each."""

    ranks: int
    piece_bytes: int  # of a variable on a rank
    variables: int
    ranks_an_aggregator: int = 32  # in libraries
    buffer_bytes: int = BUFFER_BYTES

    @property
    def variable_bytes(self) -> int:
        """Of all ranks."""
        return self.ranks * self.piece_bytes

    @property
    def file_bytes(self) -> int:
        """Of all variables."""
        return self.variables * self.variable_bytes

    @property
    def aggregators(self) -> int:
        """Ranks that write in libraries."""
        return max(1, self.ranks // self.ranks_an_aggregator)


@dataclass(frozen=True)
class Choice:
    """Who writes for others: so many ranks, on domains of whole stripes (`aligned`), through so large buffers."""

    aggregators: int
    buffer_bytes: int = BUFFER_BYTES
    striping: Striping | None = None


def doors_of(machine: Machine, ranks: int, which: Indices) -> Indices:
    """Through which door these ranks go."""
    if not machine.ranks_a_forwarder:
        return which // machine.ranks_a_node
    return shuffled(which // machine.ranks_together, machine.doors(ranks))


def spread_doors(machine: Machine, ranks: int, count: int) -> Indices:
    """Doors of `count` writers spread over all of them, neighbours in the file through the same one."""
    doors = machine.doors(ranks)
    return np.arange(count) * doors // count if count >= doors else np.arange(count)


def independent(machine: Machine, work: Workload) -> Schedule:
    """Each rank writes its piece of one variable after another."""
    ranks = np.arange(work.ranks)
    doors, sizes = doors_of(machine, work.ranks, ranks), np.full(work.ranks, work.piece_bytes)

    def rounds() -> Iterator[Round]:
        for variable in range(work.variables):
            offsets = HEADER_BYTES + variable * work.variable_bytes + ranks * work.piece_bytes
            yield Round(Requests(doors, ranks, np.zeros(work.ranks, np.int64), offsets, sizes))

    return Schedule(rounds(), Order.chained, chains=work.ranks, opens=machine.doors(work.ranks))


def file_per_rank(machine: Machine, work: Workload) -> Schedule:
    """Each rank makes a file of its own, on one server."""
    return files_in_turns(machine, work, work.ranks)


def files_in_turns(machine: Machine, work: Workload, files: int, parts: int = 1) -> Schedule:
    """So many files of one stripe, each written by its ranks one after another, a rank in `parts` requests."""
    files = min(files, work.ranks)
    turns = -(-work.ranks // files)
    own = work.variables * work.piece_bytes

    def rounds() -> Iterator[Round]:
        for turn in range(turns):
            which = np.arange(files)[np.arange(files) * turns + turn < work.ranks]
            doors = doors_of(machine, work.ranks, which * turns + turn)
            offsets = np.full(len(which), turn * own)
            yield Round(Requests(doors, which, which, offsets, np.full(len(which), own), parts=parts))

    striping = Striping(1, machine.stripe_bytes)
    opens = work.ranks - files
    return Schedule(
        rounds(),
        Order.chained,
        chains=files,
        creates=files,
        opens=opens,
        handoff_s=machine.message_s,
        striping=striping,
    )


def domains(start: int, size: int, count: int, align: int) -> tuple[Indices, Indices]:
    """First bytes and ends of `count` even parts of bytes [start, start + size), cut at multiples of `align`."""
    cuts = start + np.arange(count + 1) * size // count
    cuts[1:-1] = -(-cuts[1:-1] // align) * align
    cuts = np.minimum(cuts, start + size)
    return cuts[:-1], cuts[1:]


def _exchange(work: Workload, moved: float, writers: int, largest: float, pieces: int) -> Exchange:
    own = moved / work.ranks
    return Exchange(own, pieces, writers, largest, max(1.0, largest / max(own / pieces, 1.0)))


def _rounds_of_domains(
    doors: Indices, lows: Indices, highs: Indices, buffer: int, work: Workload, pieces: int, calls: int
) -> Iterator[Round]:
    """A buffer at a time of each writer's domain; `calls` are those before the first round."""
    count = max(1, -(-int((highs - lows).max()) // buffer))
    for number in range(count):
        begins = lows + number * buffer
        mask = begins < highs
        ends = np.minimum(begins + buffer, highs)
        sizes = (ends - begins)[mask]
        writers = np.flatnonzero(mask)
        requests = Requests(doors[mask], writers, np.zeros(len(writers), np.int64), begins[mask], sizes)
        share = -(-pieces // count)
        exchange = _exchange(work, float(sizes.sum()), len(writers), float(sizes.max()), share)
        yield Round(requests, exchange, calls if number == 0 else 0)


def collective(machine: Machine, work: Workload, library_s: float = 0.0) -> Schedule:
    """Two-phase writing by a library, one variable after another, on domains of whole stripes."""
    doors = spread_doors(machine, work.ranks, work.aggregators)

    def rounds() -> Iterator[Round]:
        for variable in range(work.variables):
            start = HEADER_BYTES + variable * work.variable_bytes
            lows, highs = domains(start, work.variable_bytes, work.aggregators, machine.stripe_bytes)
            yield from _rounds_of_domains(doors, lows, highs, work.buffer_bytes, work, 1, 1)

    return Schedule(rounds(), Order.together, opens=machine.doors(work.ranks), fixed_s=library_s)


def combined(machine: Machine, work: Workload, library_s: float = 0.0) -> Schedule:
    """All variables in one request of a library."""
    doors = spread_doors(machine, work.ranks, work.aggregators)
    lows, highs = domains(HEADER_BYTES, work.file_bytes, work.aggregators, machine.stripe_bytes)
    rounds = _rounds_of_domains(doors, lows, highs, work.buffer_bytes, work, work.variables, 1)
    return Schedule(rounds, Order.together, opens=machine.doors(work.ranks), fixed_s=library_s)


def one_dataset(machine: Machine, work: Workload, library_s: float = 0.0) -> Schedule:
    """The 5-D layout: a rank's cells of all variables lie together in the file."""
    whole = replace(work, piece_bytes=work.variables * work.piece_bytes, variables=1)
    return collective(machine, whole, library_s)


def engine_windows(machine: Machine, work: Workload, choice: Choice, align: int) -> Schedule:
    """Sidestream's writers: in each round everyone writes a window of its domain, while the next is exchanged."""
    begin, end = HEADER_BYTES // align * align, HEADER_BYTES + work.file_bytes
    cut = file_domains(end - begin, choice.aggregators, align, choice.buffer_bytes)
    doors = spread_doors(machine, work.ranks, cut.writers)
    pieces = -(-work.variables // cut.turns)

    def rounds() -> Iterator[Round]:
        for first in range(0, cut.domains, cut.writers):
            lows = begin + cut.domain_bytes * np.arange(first, min(first + cut.writers, cut.domains))
            highs = np.minimum(lows + cut.domain_bytes, end)
            yield from _rounds_of_domains(
                doors[: len(lows)], np.maximum(lows, HEADER_BYTES), highs, cut.window_bytes, work, pieces, 0
            )

    return Schedule(rounds(), Order.overlapped, opens=machine.doors(work.ranks), striping=choice.striping)


def default_choice(machine: Machine, work: Workload) -> Choice:
    """Of the engine."""
    servers = (machine.stripes or machine.servers) if machine.names_servers else 0
    nodes = machine.nodes(work.ranks)
    return Choice(chosen_aggregators(work.file_bytes, unit_bytes(machine), work.ranks, nodes, servers))


def engine(machine: Machine, work: Workload) -> Schedule:
    """Sidestream's default: few ranks with large pieces write themselves, others through `aligned`."""
    if work.ranks <= DIRECT_RANKS and (work.ranks == 1 or work.piece_bytes >= BUFFER_BYTES):
        return independent(machine, work)
    return aligned(machine, work)


def unit_bytes(machine: Machine) -> int:
    """In which the file system keeps and locks files."""
    return max(machine.stripe_bytes, machine.lock_bytes)


def aligned(machine: Machine, work: Workload, choice: Choice | None = None) -> Schedule:
    """A bounded number of Sidestream's writers, on domains of whole stripes and locks."""
    return engine_windows(machine, work, choice or default_choice(machine, work), unit_bytes(machine))


Method = Callable[[Machine, Workload], Schedule]
METHODS: dict[str, Method] = {
    "independent": independent,
    "HDF5 independent": lambda machine, work: replace(
        independent(machine, work), fixed_s=machine.library_seconds(work.ranks)
    ),
    "HDF5 collective": lambda machine, work: collective(machine, work, machine.library_seconds(work.ranks)),
    "HDF5 collective 5-D": lambda machine, work: one_dataset(machine, work, machine.library_seconds(work.ranks)),
    "PnetCDF blocking": collective,
    "PnetCDF nonblocking": combined,
    "PnetCDF 5-D": one_dataset,
    "file a rank": file_per_rank,
    "64 files in turns": lambda machine, work: files_in_turns(machine, work, 64),
    "Sidestream": engine,
}


def outcome(machine: Machine, work: Workload, method: str) -> Outcome:
    """How long a method takes."""
    return simulate(machine, work.ranks, METHODS[method](machine, work))


@dataclass(frozen=True)
class Staged:
    """A file that goes to burst buffers first."""

    held_s: float  # until each part is in the buffer of its node, and its copy in that of the next one
    drained_s: float  # from then on, until the one file is there
    node_bytes: int  # in a buffer


def staged(machine: Machine, work: Workload) -> Staged:
    """As `stage` does it: with a copy where there is another node, then read again and written by the engine."""
    own = min(work.ranks, machine.ranks_a_node) * work.variables * work.piece_bytes
    copies = 1 if machine.nodes(work.ranks) > 1 else 0
    held_s = (1 + copies) * own / machine.burst_bandwidth + copies * own / machine.node_bandwidth
    drained_s = own / machine.burst_bandwidth + outcome(machine, work, "Sidestream").seconds
    return Staged(held_s, drained_s, (1 + copies) * own)

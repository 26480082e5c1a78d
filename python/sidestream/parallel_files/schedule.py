"""What ranks do one after another to write a file, and how long that takes on a machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from .machine import Machine
from .storage import Requests, Storage, Striping


@dataclass(frozen=True)
class Exchange:
    """Messages of one round: those of the busiest sender and receiver, `receivers` spread over the nodes."""

    sender_bytes: float
    sender_messages: float
    receivers: int
    receiver_bytes: float
    receiver_messages: float


class Order(Enum):
    """When a round begins."""

    chained = "chained"  # each chain goes on as soon as its own request is done
    together = "together"  # all ranks wait for each other
    overlapped = "overlapped"  # the next exchange is under way while a round is written


@dataclass(frozen=True)
class Round:
    """An exchange, then writes."""

    requests: Requests
    exchange: Exchange | None = None
    calls: int = 0  # collective calls of a library


@dataclass(frozen=True)
class Schedule:
    """A way of writing: `rounds` in `order`, after `creates` files were made and opened by `opens` further clients."""

    rounds: Iterable[Round]
    order: Order
    chains: int = 0  # how many, where they are chained
    creates: int = 1
    opens: int = 0
    fixed_s: float = 0.0
    tables: int = 1  # small writes of one rank at the end
    handoff_s: float = 0.0  # from one rank of a chain to the next
    striping: Striping | None = None


@dataclass
class Outcome:
    """Where the time goes [s], and what reached the file system."""

    seconds: float = 0.0
    names_s: float = 0.0  # creating and opening
    calls_s: float = 0.0  # in libraries, tables included
    exchange_s: float = 0.0  # not hidden behind writes
    write_s: float = 0.0
    bytes: int = 0
    requests: int = 0
    pieces: int = 0
    handovers: int = 0

    @property
    def bandwidth(self) -> float:
        """Bytes a second."""
        return self.bytes / self.seconds


def exchange_seconds(machine: Machine, ranks: int, exchange: Exchange) -> float:
    """The busiest of sender, receiver, interface of a node and the middle of the machine."""
    nodes = machine.nodes(ranks)
    sender = exchange.sender_messages * machine.message_s + exchange.sender_bytes / machine.rank_bandwidth
    receiver = exchange.receiver_messages * machine.message_s + exchange.receiver_bytes / machine.rank_bandwidth
    out = min(ranks, machine.ranks_a_node) * exchange.sender_bytes / machine.node_bandwidth
    into = -(-exchange.receivers // nodes) * exchange.receiver_bytes / machine.node_bandwidth
    middle = 0.5 * exchange.receivers * exchange.receiver_bytes / (nodes * machine.bisection_bandwidth)
    return max(sender, receiver, out, into, middle) if nodes > 1 else max(sender, receiver)


def simulate(machine: Machine, ranks: int, schedule: Schedule) -> Outcome:
    """How long the schedule takes on so many ranks."""
    storage = Storage(machine, ranks, schedule.striping)
    names_s = schedule.creates * machine.create_s + schedule.opens * machine.open_s
    outcome = Outcome(names_s=names_s, calls_s=schedule.fixed_s)
    now = names_s + schedule.fixed_s
    chained = {Order.chained: _chained, Order.together: _together, Order.overlapped: _overlapped}[schedule.order]
    now = chained(machine, ranks, schedule, storage, outcome, now)
    tables_s = schedule.tables * (machine.request_s + machine.message_s)
    outcome.calls_s += tables_s
    outcome.seconds = now + tables_s
    outcome.bytes, outcome.pieces, outcome.handovers = storage.written, storage.pieces, storage.handovers
    return outcome


def _chained(machine: Machine, ranks: int, plan: Schedule, storage: Storage, out: Outcome, begin: float) -> float:
    ready = np.full(plan.chains, begin)
    now = begin
    for step in plan.rounds:
        done = storage.process(step.requests, ready[step.requests.chains])
        out.requests += len(done)
        ready[step.requests.chains] = done + plan.handoff_s
        now = max(now, float(done.max()))
    out.write_s += now - begin
    return now


def _together(machine: Machine, ranks: int, plan: Schedule, storage: Storage, out: Outcome, now: float) -> float:
    for step in plan.rounds:
        calls_s = machine.calls_seconds(ranks, step.calls)
        moved_s = exchange_seconds(machine, ranks, step.exchange) if step.exchange else 0.0
        begin = now + calls_s + moved_s
        done = storage.process(step.requests, np.full(len(step.requests.sizes), begin))
        out.requests += len(done)
        out.calls_s += calls_s
        out.exchange_s += moved_s
        now = float(done.max())
        out.write_s += now - begin
    return now


def _overlapped(machine: Machine, ranks: int, plan: Schedule, storage: Storage, out: Outcome, begin: float) -> float:
    """Two buffers: a round is exchanged when the one before it is, and the one before that is written; a writer writes
    one buffer after the other."""
    exchanged, written = begin, [begin, begin]
    writers = np.full(ranks, begin)
    for step in plan.rounds:
        moved_s = exchange_seconds(machine, ranks, step.exchange) if step.exchange else 0.0
        start = max(exchanged, written[-2])
        exchanged = start + moved_s
        chains = step.requests.chains
        writers[chains] = done = storage.process(step.requests, np.maximum(exchanged, writers[chains]))
        out.requests += len(done)
        out.exchange_s += max(0.0, exchanged - max(start, written[-1]))
        written.append(max(written[-1], float(done.max())))
    out.write_s += written[-1] - begin - out.exchange_s
    return written[-1]

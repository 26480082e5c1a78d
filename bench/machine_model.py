"""A machine of nodes on a 3-D torus, and the time that transforms and steps of turbulence take on it.

Messages cost what LogGP says (Alexandrov et al. 1995): latency L, overhead o at either end, a gap g between messages
and G a byte; besides that nodes share a network interface and messages share links. Nothing overlaps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from schedules import Case, Exchange, Load, Schedule, flows_of, load_of, partners
from torus import Indices, Loads, Torus, all_to_all, best_shape, cuboid, link_loads, link_seconds, message_loads

SAMPLED_STEPS = 24


@dataclass(frozen=True)
class Machine:
    name: str
    torus: Torus
    ranks_a_node: int
    nodes_a_site: int
    latency_s: float  # L
    overhead_s: float  # o, of sender and of receiver
    gap_s: float  # g, between messages of a rank
    rank_bandwidth: float  # 1 / G [bytes/s]
    nic_bandwidth: float  # of a node [bytes/s]
    nic_gap_s: float  # between messages of a node
    memory_bandwidth: float  # of a node [bytes/s]
    rank_flops: float  # of lines in double precision [1/s]
    node_speed: float = 1.0  # what the fit multiplies memory_bandwidth and rank_flops by
    network_speed: float = 1.0  # the same for links, interfaces and G

    @property
    def ranks_a_site(self) -> int:
        return self.ranks_a_node * self.nodes_a_site


@dataclass(frozen=True)
class Allocation:
    """The sites of a job in the order of its nodes, and those of other jobs that exchange as much a node meanwhile."""

    name: str
    sites: Indices
    neighbours: Indices

    def site_of_rank(self, ranks: int, ranks_a_site: int) -> Indices:
        return self.sites[np.arange(ranks) // ranks_a_site]


NOBODY: Indices = np.zeros(0, dtype=np.int64)


def sites_needed(machine: Machine, ranks: int) -> int:
    return -(-ranks // machine.ranks_a_site)


def compact(machine: Machine, ranks: int) -> Allocation:
    """The best cuboid, which no message leaves or enters where it is no longer than half the torus or all of it."""
    count = sites_needed(machine, ranks)
    return Allocation("compact", cuboid(machine.torus, best_shape(machine.torus, count))[:count], NOBODY)


def shuffled(machine: Machine, ranks: int, seed: int = 1) -> Allocation:
    """The same cuboid with its sites in random order."""
    return Allocation("shuffled", np.random.default_rng(seed).permutation(compact(machine, ranks).sites), NOBODY)


def spare(machine: Machine, ranks: int, share: float = 0.25) -> Allocation:
    """A cuboid of so many more sites, of which the idle ones are spread evenly."""
    count = sites_needed(machine, ranks)
    room = min(machine.torus.sites, round(count * (1 + share)))
    sites = cuboid(machine.torus, best_shape(machine.torus, room))[:room]
    return Allocation("spare", sites[np.arange(count) * room // count], NOBODY)


def scattered(machine: Machine, ranks: int, seed: int = 1) -> Allocation:
    """Random sites of the whole torus in its order; on the others run jobs that exchange as we do."""
    order = np.random.default_rng(seed).permutation(machine.torus.sites)
    count = sites_needed(machine, ranks)
    return Allocation("scattered", np.sort(order[:count]), order[count:])


ALLOCATIONS = {"compact": compact, "shuffled": shuffled, "spare": spare, "scattered": scattered}


@dataclass(frozen=True)
class Application:
    """A step as so many one-way transforms of one variable, and work on points beside them."""

    name: str
    element_bytes: int  # of a complex number
    transforms: int
    pointwise: float  # time of the work on points, as a part of that of the lines


@dataclass(frozen=True)
class Times:
    """Parts of the time of a transform or a step [s]."""

    lines: float
    pointwise: float
    packing: float  # both ends, what goes through the memory of the node included
    messages: float  # latencies, overheads and gaps beyond what bytes take
    network: float  # bytes through interfaces and links

    @property
    def node(self) -> float:
        return self.lines + self.pointwise + self.packing

    @property
    def total(self) -> float:
        return self.node + self.messages + self.network

    @property
    def communication(self) -> float:
        """Share of everything that exists because there are several ranks."""
        return (self.packing + self.messages + self.network) / self.total


class Order(Enum):
    """How the messages of a transpose follow each other."""

    together = "together"  # all at once, sharing links without loss: the least that a schedule takes
    pairwise = "pairwise"  # each rank one partner a step (place + step), each step as long as its busiest link


@dataclass(frozen=True)
class Demand:
    """What one transpose asks of a machine and an allocation, whatever the width of an element."""

    load: Load
    order: Order
    link_seconds: float  # of the busiest link, for each byte of an element


def demands_of(machine: Machine, schedule: Schedule, allocation: Allocation, order: Order) -> tuple[Demand, ...]:
    return tuple(demand_of(machine, exchange, allocation, order) for exchange in schedule.exchanges.values())


def demand_of(machine: Machine, exchange: Exchange, allocation: Allocation, order: Order) -> Demand:
    load = load_of(exchange, machine.ranks_a_node)
    sites = allocation.site_of_rank(exchange.ranks, machine.ranks_a_site)
    others = None
    if len(allocation.neighbours):
        others = link_loads(machine.torus, all_to_all(allocation.neighbours, machine.nodes_a_site * load.node_cells))
    seconds = _together if order is Order.together else _pairwise
    return Demand(load, order, seconds(machine.torus, exchange, sites, others))


def _together(torus: Torus, exchange: Exchange, sites: Indices, others: Loads | None) -> float:
    flows = flows_of(exchange, sites)
    return link_seconds(torus, _sum(link_loads(torus, flows), others, 1.0)) if flows.groups else 0.0


def _pairwise(torus: Torus, exchange: Exchange, sites: Indices, others: Loads | None) -> float:
    """Of many steps only some, chosen at random, stand for all."""
    places = exchange.cells.shape[1]
    steps = np.arange(1, places)
    if len(steps) > SAMPLED_STEPS:
        steps = np.random.default_rng(1).choice(steps, SAMPLED_STEPS, replace=False)
    seconds = 0.0
    for step in steps:
        partner, cells = partners(exchange, int(step))
        away = sites != sites[partner]
        if away.any():
            ours = message_loads(torus, sites[away], sites[partner][away], cells[away])
            seconds += link_seconds(torus, _sum(ours, others, 1.0 / (places - 1)))
    return float(seconds * (places - 1) / len(steps))


def _sum(ours: Loads, others: Loads | None, share: float) -> Loads:
    if others is None:
        return ours
    x, y, z = (mine + share * theirs for mine, theirs in zip(ours, others, strict=True))
    return x, y, z


def loggp_seconds(machine: Machine, demand: Demand, element_bytes: int) -> float:
    """One rank alone: a latency, then a message every max(2 o, g), for it sends and receives as many, and its bytes.
    Pairwise each message waits for the one before: L + 2 o each."""
    load = demand.load
    if load.rank_messages == 0:
        return 0.0
    bytes_s = element_bytes * load.rank_cells_outside / (machine.rank_bandwidth * machine.network_speed)
    if demand.order is Order.pairwise:
        return load.rank_messages * (machine.latency_s + 2 * machine.overhead_s) + bytes_s
    return machine.latency_s + load.rank_messages * max(2 * machine.overhead_s, machine.gap_s) + bytes_s


def exchange_seconds(machine: Machine, demand: Demand, element_bytes: int) -> tuple[float, float]:
    """Messages and network of one transpose: whichever of rank, interface of the node and links takes longest."""
    load = demand.load
    interface = element_bytes * load.node_cells / (machine.nic_bandwidth * machine.network_speed)
    links = element_bytes * demand.link_seconds / machine.network_speed
    network = max(interface, links)
    messages = load.node_messages * machine.nic_gap_s
    return max(loggp_seconds(machine, demand, element_bytes), interface + messages, links) - network, network


def packing_seconds(machine: Machine, load: Load, element_bytes: int) -> float:
    """What is sent is read and written at both ends (within a node through a shared window), what stays is copied."""
    moved = element_bytes * (4 * load.rank_cells + 2 * load.rank_cells_that_stay)
    return machine.ranks_a_node * moved / (machine.memory_bandwidth * machine.node_speed)


def lines_seconds(machine: Machine, case: Case, element_bytes: int) -> float:
    """The lines along x, y and z of the busiest rank: their flops, or a read and a write of their memory if that is
    slower. Single precision has twice the numbers in a vector."""
    n = case.cells
    kept_x, kept_y = case.kept or (n // 2 + 1, n)
    rows, columns = case.rows, case.columns
    part = -(-n // columns)
    flops_a_line = 5 * n * np.log2(n)
    lines = (
        (0.5 * flops_a_line, n // 2 + 1, -(-n // rows) * part),
        (flops_a_line, n, -(-kept_x // rows) * part),
        (flops_a_line, n, -(-kept_x // rows) * -(-kept_y // columns)),
    )
    rank_memory = machine.memory_bandwidth / machine.ranks_a_node
    rank_flops = machine.rank_flops * 16 / element_bytes
    seconds = [
        count * max(flops / rank_flops, 2 * element_bytes * length / rank_memory) for flops, length, count in lines
    ]
    return float(sum(seconds)) / machine.node_speed


def step_times(machine: Machine, case: Case, demands: tuple[Demand, ...], application: Application) -> Times:
    """A step of the application; `demands` are those of the transposes of one transform."""
    width, count = application.element_bytes, application.transforms
    lines = count * lines_seconds(machine, case, width)
    outside = [exchange_seconds(machine, demand, width) for demand in demands]
    return Times(
        lines=lines,
        pointwise=application.pointwise * lines,
        packing=count * sum(packing_seconds(machine, demand.load, width) for demand in demands),
        messages=count * sum(messages for messages, _ in outside),
        network=count * sum(network for _, network in outside),
    )


def fitted(machine: Machine, times: list[Times], seconds: float) -> Machine:
    """The machine with the speed of its nodes such that the best of these steps takes so long."""
    speeds = [part.node / (seconds - part.total + part.node) for part in times if part.total - part.node < seconds]
    if not speeds:
        raise ValueError(f"the network alone takes more than {seconds} s")
    return replace(machine, node_speed=min(speeds))

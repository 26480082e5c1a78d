"""Machines of the model, as named constants with their sources."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2

KIB, MIB, GIB = 2**10, 2**20, 2**30


@dataclass(frozen=True)
class Machine:
    """A cluster with its file system. Times in seconds, sizes in bytes, bandwidths in bytes a second.

    A request passes the client, a forwarder (or the interface of the node where there is none) and the servers of the
    stripes that it touches; each serves one at a time, in the order of arrival.
    """

    name: str
    source: str
    ranks_a_node: int
    rank_bandwidth: float  # that one rank reaches alone, to the file system or to another rank
    node_bandwidth: float  # of a node's interface, each way
    bisection_bandwidth: float  # that a node brings to the exchange between two halves of the machine
    message_s: float  # a message of a rank, beside its bytes
    servers: int
    server_bandwidth: float
    request_s: float  # a piece at a server, beside its bytes
    stripe_bytes: int  # unless chosen
    stripes: int  # of a file unless chosen; 0: all servers
    lock_bytes: int  # extent that one client holds at a time
    handover_s: float  # of an extent that another client wrote last
    create_s: float  # a file, at the one server for names
    open_s: float  # the same by each further client
    call_s: float = 0.0  # a collective call of a library, each doubling of ranks, beside its messages and writes
    library_s: float = 0.0  # HDF5 beside that, a file, each doubling of ranks
    shuffled: bool = False  # each round of stripes over the servers begins at another one
    ranks_a_forwarder: int = 0  # 0: there are none
    forwarder_bandwidth: float = 0.0
    forwarder_request_s: float = 0.0
    ranks_together: int = 1  # neighbours in number that share a forwarder, before those of the next one
    names_servers: bool = False  # to programs, as Lustre does
    burst_bandwidth: float = 0.0  # of a node's burst buffer; 0: there is none
    local_disks: bool = False  # each node has its own, as its server and behind its forwarder: nothing is shared

    def calls_seconds(self, ranks: int, calls: int = 1) -> float:
        """Of collective calls of a library."""
        return calls * self.call_s * log2(max(2, ranks))

    def library_seconds(self, ranks: int) -> float:
        """Of HDF5, beside its collective calls, a file."""
        return self.library_s * log2(max(2, ranks))

    def nodes(self, ranks: int) -> int:
        """That so many ranks fill."""
        return -(-ranks // self.ranks_a_node)

    def doors(self, ranks: int) -> int:
        """Ways of a job to the file system, which hold its locks: forwarders, or nodes where there are none."""
        return -(-ranks // self.ranks_a_forwarder) if self.ranks_a_forwarder else self.nodes(ranks)

    @property
    def door_bandwidth(self) -> float:
        """Of a forwarder, or of a node where there are none."""
        return self.forwarder_bandwidth if self.ranks_a_forwarder else self.node_bandwidth

    @property
    def door_request_s(self) -> float:
        """A piece at a forwarder, beside its bytes; nothing where there are none."""
        return self.forwarder_request_s if self.ranks_a_forwarder else 0.0


INTREPID = Machine(
    name="Blue Gene/P (Intrepid), GPFS",
    source="Latham et al. 2012: a forwarder of some 300 MiB/s for 64 nodes, IOR 40 GiB/s at 65,536 cores. 128 servers "
    "(as commonly given), links of 425 MB/s (ALCF). handover_s, call_s and library_s fitted (`flash.FITTED`); the "
    "rest assumed",
    ranks_a_node=4,
    rank_bandwidth=300 * MIB,
    node_bandwidth=425e6,
    bisection_bandwidth=100e6,
    message_s=10e-6,
    servers=128,
    server_bandwidth=40 * GIB / 128,
    request_s=1e-3,
    stripe_bytes=4 * MIB,
    stripes=0,
    lock_bytes=4 * MIB,
    handover_s=1.782,
    create_s=5e-3,
    open_s=1e-3,
    call_s=0.0708,
    library_s=0.874,
    shuffled=True,
    ranks_a_forwarder=256,
    forwarder_bandwidth=300 * MIB,
    forwarder_request_s=0.2e-3,
    ranks_together=4,
)

EDISON = Machine(
    name="Cray XC30 (Edison), Lustre",
    source="Friesen et al. 2016: 20 GiB/s are 45 % of the peak, 16 ranks on each of 512 nodes, whose peak is "
    "116 MiB/s / 3 %. 96 targets as commonly given. request_s and create_s fitted (`nyx.BEST_GIB_PER_S`); the rest "
    "assumed",
    ranks_a_node=16,
    rank_bandwidth=0.4e9,
    node_bandwidth=116 * MIB / 0.03,
    bisection_bandwidth=2e9,
    message_s=3e-6,
    servers=96,
    server_bandwidth=20 * GIB / 0.45 / 96,
    request_s=4.12e-3,
    stripe_bytes=1 * MIB,
    stripes=0,
    lock_bytes=1 * MIB,
    handover_s=10e-3,
    create_s=8.29e-3,
    open_s=0.1e-3,
    call_s=4e-3,
    library_s=8e-3,
    names_servers=True,
    burst_bandwidth=1.5e9,
)

ORIGIN = Machine(
    name="SGI Origin 2000, XFS",
    source="assumed: one system with nodes of two processors, which keeps locks in memory, and striped disks",
    ranks_a_node=2,
    rank_bandwidth=150e6,
    node_bandwidth=600e6,
    bisection_bandwidth=300e6,
    message_s=10e-6,
    servers=16,
    server_bandwidth=20e6,
    request_s=0.3e-3,
    stripe_bytes=64 * KIB,
    stripes=0,
    lock_bytes=64 * KIB,
    handover_s=0.0,
    create_s=2e-3,
    open_s=0.5e-3,
    call_s=0.5e-3,
    library_s=1e-3,
)

SP = Machine(
    name="IBM SP, GPFS",
    source="assumed: nodes of eight processors, blocks of 512 KiB that a node locks as a whole and writes back when "
    "another wants them",
    ranks_a_node=8,
    rank_bandwidth=100e6,
    node_bandwidth=350e6,
    bisection_bandwidth=150e6,
    message_s=20e-6,
    servers=12,
    server_bandwidth=50e6,
    request_s=1e-3,
    stripe_bytes=512 * KIB,
    stripes=0,
    lock_bytes=512 * KIB,
    handover_s=20e-3,
    create_s=5e-3,
    open_s=1e-3,
    call_s=1e-3,
    library_s=2e-3,
)

CHIBA = Machine(
    name="Linux cluster, PVFS",
    source="fast Ethernet (100 Mbit/s) to nodes and to eight servers; stripes of 64 KiB, no locks; times of a request "
    "and of a message assumed",
    ranks_a_node=1,
    rank_bandwidth=12.5e6,
    node_bandwidth=12.5e6,
    bisection_bandwidth=12.5e6,
    message_s=100e-6,
    servers=8,
    server_bandwidth=12.5e6,
    request_s=1e-3,
    stripe_bytes=64 * KIB,
    stripes=0,
    lock_bytes=64 * KIB,
    handover_s=0.0,
    create_s=5e-3,
    open_s=2e-3,
    call_s=1e-3,
    library_s=2e-3,
)

CHIBA_DISKS = replace(
    CHIBA,
    name="Linux cluster, local disks",
    source="the same nodes, each with a disk of 20 MB/s (assumed)",
    servers=64,
    server_bandwidth=20e6,
    request_s=0.5e-3,
    stripes=1,
    ranks_a_forwarder=1,
    forwarder_bandwidth=100e6,
    local_disks=True,
)

MACHINES = {"intrepid": INTREPID, "edison": EDISON}

"""How Sidestream's engine cuts a file for the ranks that write for others, as `src/io/methods/aggregated` does."""

from __future__ import annotations

from dataclasses import dataclass

from .machine import KIB, MIB

BUFFER_BYTES = 16 * MIB  # of a writer, unless chosen
WRITERS_A_SERVER, WRITERS_A_NODE = 4, 2  # at most
LARGE_UNIT_BYTES = 256 * KIB  # of a file system that many nodes share
LEAST_ROUNDS, LEAST_WINDOW_BYTES = 6, MIB  # wanted, about, if windows are not smaller for it
PAGE_BYTES = 4 * KIB  # whole ones in the windows of a domain
MOST_DIVIDED = 64  # domains, which are written in several windows where there would be fewer rounds


@dataclass(frozen=True)
class FileDomains:
    """Domains of equal size, dealt to the writers in turns; each is written in some windows."""

    domain_bytes: int
    domains: int
    turns: int
    windows: int  # of a domain

    @property
    def writers(self) -> int:
        """None that the last turn leaves out in all."""
        return ceil_div(self.domains, self.turns)

    @property
    def rounds(self) -> int:
        """In each of them every writer fills one window."""
        return self.turns * self.windows

    @property
    def window_bytes(self) -> int:
        """Of one that is full."""
        return min(ceil_div(ceil_div(self.domain_bytes, self.windows), PAGE_BYTES) * PAGE_BYTES, self.domain_bytes)

    def writes(self, total: int) -> int:
        """Of a file of so many bytes, whose last domain may be shorter."""
        whole, rest = divmod(total, self.domain_bytes)
        return whole * self.windows + ceil_div(rest, self.window_bytes)


def file_domains(total: int, aggregators: int, unit: int, buffer: int = BUFFER_BYTES) -> FileDomains:
    """Of `total` bytes that begin with a unit of the file system; a buffer holds a unit or more."""
    largest = buffer // unit * unit
    most_rounds = max(1, total // (aggregators * LEAST_WINDOW_BYTES))
    rounds = max(ceil_div(total, aggregators * largest), min(LEAST_ROUNDS, most_rounds))
    even = ceil_div(total, aggregators * rounds)
    domain = min(ceil_div(even, unit) * unit, largest)
    domains = ceil_div(total, domain)
    turns = ceil_div(domains, aggregators)
    wanted = 1 if domains > MOST_DIVIDED else LEAST_ROUNDS // turns
    return FileDomains(domain, domains, turns, max(1, min(domain // LEAST_WINDOW_BYTES, wanted)))


def chosen_aggregators(total: int, unit: int, ranks: int, nodes: int, servers: int = 0) -> int:
    """A writer for each unit of the file system, or where units are small for each buffer; at most so many a server,
    or a node where the file system names no servers (0)."""
    portion = unit if unit >= LARGE_UNIT_BYTES else BUFFER_BYTES
    most = min(ranks, WRITERS_A_SERVER * servers if servers else WRITERS_A_NODE * nodes)
    return max(1, min(ceil_div(total, portion), most))


def ceil_div(a: int, b: int) -> int:
    """How many parts of `b` hold `a`."""
    return -(-a // b)

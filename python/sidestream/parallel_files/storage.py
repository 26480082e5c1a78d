"""The file system of a machine: doors, locks of extents and servers, with what they are doing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .machine import Machine
from .queues import Indices, Numbers, serve, shuffled, ticks

EXTENT_BITS = 32  # of the number of an extent within its file


@dataclass(frozen=True)
class Requests:
    """Requests of ranks to files, each to contiguous bytes. All arrays have one entry a request."""

    doors: Indices  # through which way to the file system; also who holds locks
    chains: Indices  # requests of one chain follow each other: that of a rank, or of a file written in turns
    files: Indices
    offsets: Indices
    sizes: Indices
    reads: bool = False
    parts: int = 1  # each is handed over in so many, of which each costs a request

    @property
    def bytes(self) -> int:
        """Of all of them."""
        return int(self.sizes.sum())


@dataclass(frozen=True)
class Striping:
    """Over how many servers a file lies, and in pieces of which size; `shift` servers from one file to the next."""

    stripes: int
    stripe_bytes: int
    shift: int = 1


class Storage:
    """Requests go through it in batches; times go on from batch to batch."""

    def __init__(self, machine: Machine, ranks: int, striping: Striping | None = None) -> None:
        self.machine = machine
        wanted = striping or Striping(machine.stripes or machine.servers, machine.stripe_bytes)
        self.striping = Striping(min(wanted.stripes, machine.servers), wanted.stripe_bytes, wanted.shift)
        self.server_free = np.zeros(machine.servers)
        self.door_free = np.zeros(machine.doors(ranks))
        self.held = np.zeros(0, np.int64)  # extents of files, ascending
        self.holders = np.zeros(0, np.int64)  # the doors that hold them
        self.written = 0
        self.pieces = 0
        self.handovers = 0

    def process(self, requests: Requests, ready: Numbers) -> Numbers:
        """When each request is done that was ready at `ready`."""
        which, offsets, sizes = self._pieces(requests)
        machine = self.machine
        clients = requests.chains[which]
        own_free = np.zeros(int(clients.max()) + 1)
        sent = serve(clients, ready[which], sizes / machine.rank_bandwidth, own_free)
        doors = requests.doors[which]
        at_door = serve(doors, sent, machine.door_request_s + sizes / machine.door_bandwidth, self.door_free)
        service = machine.request_s * requests.parts + sizes / machine.server_bandwidth
        files = requests.files[which]
        if not requests.reads:
            service = service + machine.handover_s * self._changes(files, offsets, sizes, doors, at_door)
        striping = self.striping
        stripes = offsets // striping.stripe_bytes
        dealt = shuffled(stripes, striping.stripes) if machine.shuffled else stripes % striping.stripes
        places = dealt + files * striping.shift
        served = serve(places % machine.servers, at_door, service, self.server_free)
        self.written += int(sizes.sum())
        self.pieces += len(sizes)
        done = np.zeros(len(requests.sizes))
        np.maximum.at(done, which, served)
        return done

    def _pieces(self, requests: Requests) -> tuple[Indices, Indices, Indices]:
        """The requests cut at the borders of stripes: which request, offset and size of each piece."""
        stripe = self.striping.stripe_bytes
        ends = requests.offsets + requests.sizes
        if self.striping.stripes == 1:
            return np.arange(len(ends)), requests.offsets, requests.sizes
        first = requests.offsets // stripe
        counts = np.maximum(1, (ends - 1) // stripe - first + 1)
        which = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        lows = np.maximum(requests.offsets[which], (first[which] + number) * stripe)
        highs = np.minimum(ends[which], (first[which] + number + 1) * stripe)
        return which, lows, highs - lows

    def _changes(self, files: Indices, offsets: Indices, sizes: Indices, doors: Indices, at: Numbers) -> Numbers:
        """How many locks of its first and last extent each piece takes from another holder; those between it covers
        alone."""
        extent = self.machine.lock_bytes
        taken = np.zeros(len(sizes))
        first, last = offsets // extent, (offsets + sizes - 1) // extent
        partly = [(first, (offsets % extent != 0) | (offsets + sizes < (first + 1) * extent))]
        partly.append((last, (last > first) & ((offsets + sizes) % extent != 0)))
        pieces = np.concatenate([np.flatnonzero(mask) for _, mask in partly])
        extents = np.concatenate([numbers[mask] for numbers, mask in partly])
        if len(pieces) == 0:
            return taken
        order = np.lexsort((ticks(at[pieces]), extents, files[pieces]))
        pieces, extents = pieces[order], extents[order]
        file, door = files[pieces], doors[pieces]
        begins = np.r_[True, (extents[1:] != extents[:-1]) | (file[1:] != file[:-1])]
        changed = np.r_[False, door[1:] != door[:-1]] & ~begins
        keys = (file << EXTENT_BITS) + extents
        changed[begins] = self._taken_over(keys[begins], door[begins])
        ends = np.r_[begins[1:], True]
        self._hold(keys[ends], door[ends])
        np.add.at(taken, pieces, changed)
        self.handovers += int(changed.sum())
        return taken

    def _taken_over(self, keys: Indices, doors: Indices) -> NDArray[np.bool_]:
        """Which of these ascending extents another door holds."""
        if len(self.held) == 0:
            return np.zeros(len(keys), bool)
        place = np.minimum(np.searchsorted(self.held, keys), len(self.held) - 1)
        taken: NDArray[np.bool_] = (self.held[place] == keys) & (self.holders[place] != doors)
        return taken

    def _hold(self, keys: Indices, doors: Indices) -> None:
        kept = ~np.isin(self.held, keys, assume_unique=True)
        held, holders = np.r_[self.held[kept], keys], np.r_[self.holders[kept], doors]
        order = np.argsort(held, kind="stable")
        self.held, self.holders = held[order], holders[order]

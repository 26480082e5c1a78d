"""Refined grids of a state like one of ENZO: those of `apps/bench_io/hierarchy.cpp`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .queues import Indices

FIELDS = 10
CELL_BYTES = 4 * FIELDS
COLUMN_BYTES = (8, 8, 8, 4, 4, 4, 4, 4)  # of an attribute of a particle
PARTICLE_BYTES = sum(COLUMN_BYTES)
ARRAYS = FIELDS + len(COLUMN_BYTES)  # of a grid
SMALLEST_SIDE = 6


@dataclass(frozen=True)
class Size:
    """A size of the study: bytes as published, and how they are made up here."""

    name: str
    read_bytes: int
    dump_bytes: int
    root_cells: int
    largest: int  # cells of a subgrid along an axis


SIZES = {
    size.name: size
    for size in (
        Size("AMR64", 2_780_000, 13_120_000, 32, 16),
        Size("AMR128", 22_150_000, 66_420_000, 64, 24),
        Size("AMR256", 177_210_000, 525_270_000, 128, 32),
    )
}


@dataclass(frozen=True)
class Hierarchy:
    """Grids by their cells and particles, the root first."""

    cells: Indices
    particles: Indices

    @property
    def grid_bytes(self) -> Indices:
        """Of each grid."""
        return self.cells * CELL_BYTES + self.particles * PARTICLE_BYTES

    @property
    def bytes(self) -> int:
        """Of all grids."""
        return int(self.grid_bytes.sum())

    def array_bytes(self, grid: int) -> Indices:
        """Of each array of a grid: fields, then particles."""
        widths = np.array(COLUMN_BYTES)
        return np.concatenate([np.full(FIELDS, 4 * self.cells[grid]), self.particles[grid] * widths])

    def owners(self, ranks: int) -> Indices:
        """Of all subgrids: each goes to the rank that has fewest cells of them."""
        loads, found = np.zeros(ranks, np.int64), []
        for cells in self.cells[1:]:
            found.append(int(loads.argmin()))
            loads[found[-1]] += cells
        return np.array(found, np.int64)


def initial(size: Size) -> Hierarchy:
    """The root grid with all particles."""
    cells = size.root_cells**3
    return Hierarchy(np.array([cells]), np.array([(size.read_bytes - cells * CELL_BYTES) // PARTICLE_BYTES]))


def refined(size: Size) -> Hierarchy:
    """The root grid and its subgrids, which take a share of the particles."""
    root, total = size.root_cells**3, int(initial(size).particles[0])
    all_cells = left = (size.dump_bytes - size.read_bytes) // CELL_BYTES
    cells, particles = [root], [total]
    while left >= 64:
        number = len(cells)
        own = _subgrid_cells(number, size.largest, left)
        wanted = (0.3 + 0.6 * _fraction(_mixed(5, number, 0))) * total * own / all_cells
        cells.append(own)
        particles.append(int(wanted))
        particles[0] -= int(wanted)
        left -= own
    return Hierarchy(np.array(cells), np.array(particles))


def _subgrid_cells(number: int, largest: int, left: int) -> int:
    choices = (largest - SMALLEST_SIDE) // 2 + 1
    x, y, z = (SMALLEST_SIDE + 2 * (_mixed(4, axis, number) % choices) for axis in range(3))
    return x * y * z if x * y * z <= left else 64 * min(largest, left // 64)


def _fraction(bits: int) -> float:
    return (bits >> 11) * 2.0**-53


def _mixed(first: int, second: int, third: int) -> int:
    return _mix(_mix(first * 64 + second) ^ third)


def _mix(number: int) -> int:
    number = (number + 0x9E3779B97F4A7C15) % 2**64
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB % 2**64
    return number ^ (number >> 31)

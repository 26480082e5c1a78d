"""A plane wave that collapses along x (Zel'dovich 1970): exact until streams cross."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nyx_files import State
from universe import Universe

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pancake:
    """x = q - b sin(k q) / k with b = D(a) / D(a_crossing), in a box one wavelength long."""

    universe: Universe
    side: float  # Mpc
    a_crossing: float
    warmth: float  # specific internal energy at the start, where the density is the mean [(km/s)^2]
    a_start: float

    @property
    def k(self) -> float:
        return 2.0 * np.pi / self.side

    def height(self, a: float) -> float:
        return self.universe.growth(a) / self.universe.growth(self.a_crossing)

    def position(self, q: Array, a: float) -> Array:
        return q - self.height(a) * np.sin(self.k * q) / self.k

    def velocity(self, q: Array, a: float) -> Array:
        """Proper peculiar velocity [km/s]."""
        speed = a * self.universe.hubble_rate(a) * self.universe.growth_rate(a) * self.height(a) / self.k
        return -speed * np.sin(self.k * q)

    def compression(self, q: Array, a: float) -> Array:
        """Density over the mean."""
        return 1.0 / (1.0 - self.height(a) * np.cos(self.k * q))

    def energy(self, q: Array, a: float) -> Array:
        """Specific internal energy on the adiabat of gamma = 5/3 [(km/s)^2]."""
        return self.warmth * (self.a_start / a) ** 2 * self.compression(q, a) ** (2.0 / 3.0)

    def lagrangian(self, x: Array, a: float) -> Array:
        """The q of a place x."""
        b, q = self.height(a), np.array(x, dtype=float)
        for _ in range(200):
            q -= (q - b * np.sin(self.k * q) / self.k - x) / (1.0 - b * np.cos(self.k * q))
        return q

    def cell_means(self, cells: int, a: float) -> tuple[Array, Array, Array]:
        """Density over the mean, and the means by mass of velocity and internal energy, of cells along x."""
        nodes, weights = np.polynomial.legendre.leggauss(5)
        edges = self.lagrangian(self.side * np.arange(cells + 1) / cells, a)
        width = np.diff(edges)
        q = edges[:-1, None] + 0.5 * width[:, None] * (nodes + 1.0)
        mean = 0.5 * weights
        return width * cells / self.side, self.velocity(q, a) @ mean, self.energy(q, a) @ mean

    def state(self, cells: int, width: int, particles: int) -> State:
        """The start: gas in cell means, and so many `particles` a cell along x, at rest across."""
        shape = (width, width, cells)
        density, velocity, energy = (np.broadcast_to(f, shape) for f in self.cell_means(cells, self.a_start))
        rho = self.universe.gas * density
        fields = {
            "density": rho,
            "xmom": rho * velocity,
            "ymom": np.zeros(shape),
            "zmom": np.zeros(shape),
            "rho_e": rho * energy,
        }
        size = self.side / cells
        k, j, i = np.indices((width, width, particles * cells)).reshape(3, -1)
        q = (i + 0.5) * size / particles
        positions = np.stack([self.position(q, self.a_start) % self.side, (j + 0.5) * size, (k + 0.5) * size], axis=1)
        velocities = np.stack([self.velocity(q, self.a_start), 0.0 * q, 0.0 * q], axis=1)
        mass = np.full(q.size, (self.universe.matter - self.universe.gas) * size**3 / particles)
        return State(self.a_start, (self.side, width * size, width * size), fields, positions, velocities, mass)

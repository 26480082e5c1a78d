"""A particle mesh of NumPy: dark matter that gathers and leaves mass by clouds in cells, gas to first order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad

from universe import Universe

Array = NDArray[np.float64]
Cloud = tuple[NDArray[np.int64], Array]


@dataclass
class ParticleMesh:
    """A cube in comoving Mpc; fields are (z, y, x), vectors have their axis first, in the order x, y, z."""

    universe: Universe
    side: float
    positions: Array  # (axis, particle)
    momenta: Array  # a times the proper peculiar velocity [km/s], (axis, particle)
    contrast: Array  # of gas
    flow: Array  # a times its velocity

    @property
    def size(self) -> float:
        return self.side / self.contrast.shape[0]

    def advance(self, a0: float, a1: float, steps: int) -> None:
        """Kick, drift, kick with steps even in ln a; the integrals of the background are exact."""
        epochs = np.exp(np.linspace(np.log(a0), np.log(a1), steps + 1))
        self._kick(epochs[0], np.sqrt(epochs[0] * epochs[1]))
        for n in range(steps):
            self._drift(self._integral(3, epochs[n], epochs[n + 1]))
            following = epochs[min(n + 2, steps)]
            self._kick(np.sqrt(epochs[n] * epochs[n + 1]), np.sqrt(epochs[n + 1] * following))

    def dark_contrast(self) -> Array:
        return self._deposited(self._clouds())

    def _deposited(self, clouds: list[Cloud]) -> Array:
        count = self.contrast.size
        density = sum(np.bincount(cells, weights, count) for cells, weights in clouds)
        return np.reshape(density, self.contrast.shape) / np.mean(density) - 1.0

    def _integral(self, power: int, a0: float, a1: float) -> float:
        """Of dt / a^(power - 1) [Mpc / (km/s)]."""
        return quad(lambda a: 1.0 / (a**power * self.universe.hubble_rate(a)), a0, a1, epsrel=1e-10)[0]

    def _drift(self, time: float) -> None:
        self.positions += time * self.momenta
        for axis in range(3):  # velocities at faces are cubic through four cells
            v = self.flow[axis]
            faces = (7.0 * (v + shifted(v, axis, 1)) - shifted(v, axis, -1) - shifted(v, axis, 2)) / 12.0
            self.contrast -= time / self.size * (faces - shifted(faces, axis, -1))

    def _kick(self, a0: float, a1: float) -> None:
        clouds = self._clouds()
        pull = self._integral(2, a0, a1) * self._force(self._deposited(clouds))
        self.flow += pull
        for cells, weights in clouds:
            self.momenta += weights * pull.reshape(3, -1)[:, cells]

    def _force(self, dark: Array) -> Array:
        """a times it: central differences of the potential of the seven-point Laplacian."""
        share = self.universe.omega_b / self.universe.omega_m
        total = np.fft.rfftn(share * self.contrast + (1.0 - share) * dark)
        n = self.contrast.shape[0]
        s, r = np.sin(np.pi * np.fft.fftfreq(n)) ** 2, np.sin(np.pi * np.fft.rfftfreq(n)) ** 2
        laplacian = 4.0 / self.size**2 * (s[:, None, None] + s[:, None] + r)
        laplacian[0, 0, 0] = np.inf
        strength = 1.5 * self.universe.omega_m * (100.0 * self.universe.hubble) ** 2
        potential = np.fft.irfftn(-strength * total / laplacian, s=self.contrast.shape, axes=(0, 1, 2))
        slopes = [shifted(potential, axis, -1) - shifted(potential, axis, 1) for axis in range(3)]
        return np.stack(slopes) / (2.0 * self.size)

    def _clouds(self) -> list[Cloud]:
        """The eight cells of each particle, and the shares of its mass there."""
        n = self.contrast.shape[0]
        place = self.positions / self.size - 0.5
        low = np.floor(place).astype(np.int64)
        above = place - low
        near = [((low % n), 1.0 - above), ((low + 1) % n, above)]
        return [
            ((near[k][0][2] * n + near[j][0][1]) * n + near[i][0][0], near[k][1][2] * near[j][1][1] * near[i][1][0])
            for k in range(2)
            for j in range(2)
            for i in range(2)
        ]


def shifted(field: Array, axis: int, cells: int) -> Array:
    """The values of the cells so many further along x, y or z."""
    return np.roll(field, -cells, axis=2 - axis)

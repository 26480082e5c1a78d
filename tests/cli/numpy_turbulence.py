"""Statistics of turbulence by NumPy alone, after their definitions: what the program's are compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass
class Box:
    """A velocity (component, z, y, x) in a periodic box with sides along x, y, z."""

    velocity: Array
    sides: tuple[float, float, float]

    def waves(self) -> tuple[Array, Array, Array]:
        """Wave numbers along x, y, z, each on the grid of all modes."""
        shape = self.velocity.shape[1:]
        own = [2 * np.pi / side * np.fft.fftfreq(n) * n for side, n in zip(self.sides, shape[::-1], strict=True)]
        kz, ky, kx = np.meshgrid(own[2], own[1], own[0], indexing="ij")
        return kx, ky, kz

    def amplitudes(self) -> NDArray[np.complex128]:
        cells = self.velocity[0].size
        return np.fft.fftn(self.velocity, axes=(1, 2, 3)) / cells

    def gradient(self, component: int, axis: int) -> Array:
        """d u_i / d x_j; the wave that turns from cell to cell has none."""
        k = self.waves()[axis].copy()
        n = self.velocity.shape[3 - axis]
        if n % 2 == 0:
            k[np.isclose(np.abs(k), np.pi * n / self.sides[axis])] = 0.0
        spectrum = np.fft.fftn(self.velocity[component])
        return np.asarray(np.fft.ifftn(1j * k * spectrum).real)


def energy_spectrum(box: Box) -> tuple[Array, Array]:
    """E(k) and the sum of k^2 E in shells of whole wave numbers of the longest side."""
    k2 = sum(k**2 for k in box.waves())
    fundamental = 2 * np.pi / max(box.sides)
    shell = np.floor(np.sqrt(k2) / fundamental + 0.5).astype(int)
    energy = 0.5 * np.sum(np.abs(box.amplitudes()) ** 2, axis=0)
    count = shell.max() + 1
    return (
        np.bincount(shell.ravel(), energy.ravel(), count) / fundamental,
        np.bincount(shell.ravel(), (k2 * energy).ravel(), count) / fundamental,
    )


def integral_scale(box: Box) -> float:
    """pi / (2 u'^2) times the sum of E / k over all modes."""
    k = np.sqrt(sum(k**2 for k in box.waves()))
    energy = 0.5 * np.sum(np.abs(box.amplitudes()) ** 2, axis=0)
    moving = k > 0
    squared = 2 * energy[moving].sum() / 3
    return float(np.pi / (2 * squared) * np.sum(energy[moving] / k[moving]))


def moment_ratio(values: Array, power: int) -> float:
    """The mean of a power over the standard deviation to it, of numbers of mean zero."""
    return float(np.mean(values**power) / np.mean(values**2) ** (power / 2))


def vorticity(box: Box) -> Array:
    gradient = box.gradient
    return np.stack([gradient((a + 2) % 3, (a + 1) % 3) - gradient((a + 1) % 3, (a + 2) % 3) for a in range(3)])


def structure_function(box: Box, component: int, axis: int, separation: int, order: int) -> float:
    u = box.velocity[component]
    return float(np.mean((np.roll(u, -separation, axis=2 - axis) - u) ** order))

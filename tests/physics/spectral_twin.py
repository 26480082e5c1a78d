"""A pseudo-spectral solver in a few lines of NumPy: classical RK4 with an integrating factor, waves below a third of
the cells, a rotating frame by matrix exponentials, scalars with mean gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

Array = NDArray[np.float64]
Modes = NDArray[np.complex128]  # (field, z, y, x >= 0): those of `rfftn` over the number of cells
WHOLE = (2.0 * np.pi,) * 3


@dataclass(frozen=True)
class Scalar:
    """What is carried, spread and made from a mean gradient."""

    diffusivity: float
    gradient: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Twin:
    """A periodic box, by its cells and sides along x, y, z, and what flows in it."""

    cells: tuple[int, int, int]
    viscosity: float
    length: tuple[float, float, float] = WHOLE
    rotation: float = 0.0
    scalars: Sequence[Scalar] = ()

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.cells[::-1]

    def whole_waves(self) -> Array:
        """(axis, z, y, x): how often each wave fits into the sides of the box."""
        nx, ny, nz = self.cells
        along = [np.fft.fftfreq(nz, 1.0 / nz), np.fft.fftfreq(ny, 1.0 / ny), np.arange(nx // 2 + 1.0)]
        return np.array(np.meshgrid(*along, indexing="ij"))[::-1]

    def waves(self) -> Array:
        return self.whole_waves() * (2.0 * np.pi / np.array(self.length))[:, None, None, None]

    def unpacked(self, few: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """The modes of one field of a checkpoint, which has the waves that are kept alone."""
        places = [
            np.r_[0 : n // 2 + 1, cells - n // 2 : cells]
            for n, cells in zip(few.shape[:2], self.shape[:2], strict=True)
        ]
        modes = np.zeros((*self.shape[:2], self.cells[0] // 2 + 1), dtype=complex)
        modes[np.ix_(places[0], places[1], np.arange(few.shape[2]))] = few
        return modes

    def in_space(self, modes: Modes) -> Array:
        return np.fft.irfftn(modes, s=self.shape, axes=(1, 2, 3)) * np.prod(self.shape)

    def mean(self, values: Array) -> float:
        """Of a product of two fields, from that of their modes: those of x > 0 stand for two."""
        return float(2.0 * values.sum() - values[..., 0].sum())

    def advance(self, u: Modes, dt: float, steps: int) -> Modes:
        """Three velocities and the scalars after some steps."""
        k = self.waves()
        k2 = (k**2).sum(axis=0)
        along = k / np.where(k2 > 0.0, k2, 1.0)
        kept = (3.0 * abs(self.whole_waves()) < np.array(self.cells)[:, None, None, None]).all(axis=0)
        diffusivities = [self.viscosity] * 3 + [scalar.diffusivity for scalar in self.scalars]
        decay = np.exp(-0.5 * dt * np.array(diffusivities)[:, None, None, None] * k2)
        projector = np.eye(3)[:, :, None, None, None] - k[:, None] * along[None]
        coriolis = -2.0 * self.rotation * np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        turn = expm(0.5 * dt * np.einsum("ijzyx,jl->zyxil", projector, coriolis))

        def half(v: Modes) -> Modes:
            """Half a step of what is linear."""
            return decay * np.concatenate([np.einsum("zyxij,jzyx->izyx", turn, v[:3]), v[3:]])

        def rate(v: Modes) -> Modes:
            space = self.in_space(v)
            flux = np.fft.rfftn(space[:, None] * space[None, :3], axes=(2, 3, 4)) / np.prod(self.shape)
            force = -1j * (k[None] * flux).sum(axis=1) * kept
            force[:3] -= along * (k * force[:3]).sum(axis=0)
            for number, scalar in enumerate(self.scalars):
                force[3 + number] -= np.einsum("i,izyx->zyx", np.array(scalar.gradient), v[:3])
            return np.asarray(force)

        for _ in range(steps):
            a = rate(u)
            b = rate(half(u + 0.5 * dt * a))
            c = rate(half(u) + 0.5 * dt * b)
            d = rate(half(half(u) + dt * c))
            u = half(half(u + dt / 6.0 * a) + dt / 3.0 * (b + c)) + dt / 6.0 * d
        return u

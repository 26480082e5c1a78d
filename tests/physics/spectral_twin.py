"""A pseudo-spectral solver in a few lines of NumPy: classical RK4 with an integrating factor, cube truncation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Modes = NDArray[np.complex128]


def advance(u: Modes, viscosity: float, dt: float, steps: int) -> Modes:
    """The modes (component, z, y, x >= 0; of `rfftn` over the number of cells) of a flow in a box of side 2 pi."""
    n = u.shape[1]
    k1 = np.fft.fftfreq(n, 1.0 / n)
    k = np.array(np.meshgrid(k1, k1, np.arange(n // 2 + 1.0), indexing="ij"))[::-1]
    k2 = (k**2).sum(axis=0)
    kept = (3.0 * np.abs(k) < n).all(axis=0)
    decay = np.exp(-0.5 * viscosity * k2 * dt)

    def rate(v: Modes) -> Modes:
        space = np.fft.irfftn(v, s=(n, n, n), axes=(1, 2, 3)) * n**3
        flux = np.fft.rfftn(space[:, None] * space[None], axes=(2, 3, 4)) / n**3
        force = -1j * (k[None] * flux).sum(axis=1) * kept
        return np.asarray(force - k * (k * force).sum(axis=0) / np.where(k2 > 0.0, k2, 1.0))

    for _ in range(steps):
        a = rate(u)
        b = rate(decay * (u + 0.5 * dt * a))
        c = rate(decay * u + 0.5 * dt * b)
        d = rate(decay**2 * u + dt * decay * c)
        u = decay**2 * u + dt / 6.0 * (decay**2 * a + 2.0 * decay * (b + c) + d)
    return u

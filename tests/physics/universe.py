"""The expanding background, growth and units, by SciPy: nothing of the program's own arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad, solve_ivp

Array = NDArray[np.float64]

GRAVITY = 4.300917e-9  # Mpc (km/s)^2 / Msun
CRITICAL = 2.775366e11  # h^2 Msun / Mpc^3, today
PROTON_OVER_BOLTZMANN = 121.147  # K / (km/s)^2
NEUTRAL = 1.2195  # mean molecular weight of neutral primordial gas, the program's default


@dataclass(frozen=True)
class Universe:
    """Flat, without radiation."""

    omega_m: float
    omega_b: float
    hubble: float

    @property
    def matter(self) -> float:
        """Comoving mean density of all matter [Msun/Mpc^3]."""
        return self.omega_m * CRITICAL * self.hubble**2

    @property
    def gas(self) -> float:
        return self.omega_b * CRITICAL * self.hubble**2

    def expansion(self, a: float) -> float:
        """H / H0."""
        return float(np.sqrt(self.omega_m / a**3 + 1.0 - self.omega_m))

    def hubble_rate(self, a: float) -> float:
        """H [km/s/Mpc]."""
        return 100.0 * self.hubble * self.expansion(a)

    def matter_share(self, a: float) -> float:
        """Omega_m at the scale factor `a`."""
        return self.omega_m / a**3 / self.expansion(a) ** 2

    def growth(self, a: float) -> float:
        """D+, with D+ = a early (Heath 1977)."""
        integral = quad(lambda x: (x * self.expansion(x)) ** -3.0, 0.0, a, epsrel=1e-10)[0]
        return 2.5 * self.omega_m * self.expansion(a) * integral

    def growth_rate(self, a: float) -> float:
        """d ln D / d ln a."""
        step = 1e-4
        return float(np.log(self.growth(a * (1 + step)) / self.growth(a * (1 - step))) / (2 * np.arctanh(step)))

    def coupled_growth(self, forces: Array, shares: Array, a0: float, a1: float, start: Array, speed: Array) -> Array:
        """Amplitudes at `a1` of waves in several species that begin with `start` and d/dln a = `speed` at `a0`.

        The acceleration of species i by species j is `forces[i, j]` times Newton's; `shares` are those of the mass.
        """
        count = len(shares)

        def rate(ln_a: float, y: Array) -> Array:
            a = np.exp(ln_a)
            drag = 2.0 - 1.5 * self.matter_share(a)  # 2 + dlnH/dlna
            pull = 1.5 * self.matter_share(a) * (forces * shares) @ y[:count]
            return np.concatenate([y[count:], pull - drag * y[count:]])

        span = (np.log(a0), np.log(a1))
        solution = solve_ivp(rate, span, np.concatenate([start, speed]), rtol=1e-9, atol=1e-14)
        return np.asarray(solution.y[:count, -1])

"""The lognormal density fields on which halo finders were compared (see docs/reference/halo_performance.md).

usage: lognormal_field.py N FILE   (writes N^3 doubles in z, y, x order)

White noise of the seed 7, filtered with the square root of k^0.96 T(k)^2 exp(-(0.15 k)^2), T the transfer function of
Bardeen, Bond, Kaiser & Szalay 1986 with Gamma h = 0.275 * 0.702^2 / Mpc, in a box of 28.49 Mpc; scaled to a standard
deviation of 2.2, exponentiated, divided by its mean, rounded to single precision.
"""

import sys

import numpy as np

BOX_MPC = 28.49


def lognormal_field(n: int) -> np.ndarray:
    """The field of n^3 cells, in means."""
    noise = np.fft.rfftn(np.random.default_rng(7).standard_normal((n, n, n)))
    along = 2 * np.pi * np.fft.fftfreq(n, BOX_MPC / n)
    k = np.sqrt(
        along[:, None, None] ** 2
        + along[None, :, None] ** 2
        + (2 * np.pi * np.fft.rfftfreq(n, BOX_MPC / n))[None, None, :] ** 2
    )
    k[0, 0, 0] = 1.0
    q = k / (0.275 * 0.702**2)
    transfer = np.log(1 + 2.34 * q) / (2.34 * q)
    transfer *= (1 + 3.89 * q + (16.1 * q) ** 2 + (5.46 * q) ** 3 + (6.71 * q) ** 4) ** -0.25
    power = k**0.96 * transfer**2 * np.exp(-((0.15 * k) ** 2))
    power[0, 0, 0] = 0.0
    field = np.fft.irfftn(noise * np.sqrt(power), s=(n, n, n), axes=(0, 1, 2))
    density = np.exp(2.2 / field.std() * field)
    return (density / density.mean()).astype(np.float32)


if __name__ == "__main__":
    lognormal_field(int(sys.argv[1])).astype(np.float64).tofile(sys.argv[2])

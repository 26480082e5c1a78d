"""Optical depths of a line of sight beside those of fake_spectra (Bird et al. 2015, MNRAS 447, 1834).

The tests of C++ hold the kernels of Sidestream to 1e-8 of the table that this one reads.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

TABLE = Path(__file__).parents[1] / "data" / "lya_skewer64.csv"
PIXEL, HUBBLE, SCALE_FACTOR = 11.7386766130, 300.510121, 0.25  # of the table: [km/s], [km/s/Mpc]
CM_PER_MPC = 3.0856775814913673e24
LYMAN_ALPHA = (1215.6701e-8, 6.265e8, 0.4164, 1.00794)  # wavelength [cm], damping [1/s], strength, mass [amu]
PARTS, FINE = 4, 8  # of a cell, each a particle; of a pixel, since fake_spectra averages and the table has the middle
TOP_HAT, TOP_HAT_VOLUME = 0, 4 * math.pi / 3
COUNTED = 7 / 8  # of a top hat: fake_spectra integrates with eight steps, and its rim does not count


@pytest.mark.slow
def test_optical_depths_are_those_of_fake_spectra() -> None:
    private = pytest.importorskip("fake_spectra._spectra_priv")
    _, density, velocity, temperature, *_, expected = np.loadtxt(TABLE, delimiter=",", unpack=True)
    cells, particles = len(density), len(density) * PARTS
    span = cells * PIXEL
    position = np.full((particles, 3), span / 2)
    position[:, 0] = (np.arange(particles) + 0.5) * PIXEL / PARTS
    motion = np.zeros_like(position)
    motion[:, 0] = np.repeat(velocity, PARTS)
    column = np.repeat(density, PARTS) * CM_PER_MPC / HUBBLE * TOP_HAT_VOLUME / COUNTED  # [1/cm^2] of 1 km/s
    size = np.full(particles, PIXEL / PARTS / 2)

    fine = private._Particle_Interpolate(
        1,
        FINE * cells,
        TOP_HAT,
        span,
        1.0,  # positions are in km/s
        SCALE_FACTOR,
        *LYMAN_ALPHA,
        1e-9,  # optical depth from which on wings are left out
        position,
        motion,
        column,
        np.repeat(temperature, PARTS),
        size,
        np.array([1], dtype=np.int32),  # along x
        np.full((1, 3), span / 2),
    )[0].reshape(cells, FINE)
    found = fine[:, FINE // 2 - 1 : FINE // 2 + 1].mean(axis=1)  # about the middle

    np.testing.assert_allclose(found, expected, rtol=0.02)
    np.testing.assert_allclose(np.exp(-found), np.exp(-expected), rtol=0.02, atol=1e-4)
    assert np.exp(-found).mean() == pytest.approx(np.exp(-expected).mean(), rel=0.02)

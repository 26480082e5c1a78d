"""Warm dark matter through the program: the start is the cold one, each wave times the transfer function."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import program
from configs import universe

CELLS, BOX_MPC, MASS_KEV = 32, 8.0, 0.85
OMEGA_M, OMEGA_B, HUBBLE = 0.3096, 0.04897, 0.6766  # the defaults
CONFIG = (
    universe(cells=CELLS, block=16, box=f"{BOX_MPC} Mpc", z_start=50, z_end=40, seed=5)
    + """[task.spectra]
analysis = "power_spectrum"
at_start = true
at_end = true

[output]
plotfile = { at_start = true, variables = ["gas_density"], precision = "double" }
checkpoint = { every = 2 }
"""
)
# Round-off of the transforms, as a share of the largest mode; and of each mode what a spline through the amplitude
# does, with 200 values in each e-fold of k: its second derivative is zero at the last one, that of k^-11 is not, which
# is 121 / 200^2 / 12 there, and smaller by 0.27 with each of the four values to the second last mode.
ROUND_OFF, SPLINE = 1e-12, 2e-6


def transfer(k: np.ndarray) -> np.ndarray:
    """Viel et al. 2005 (PRD 71, 063534), equations 6 and 7, at k in h/Mpc."""
    alpha = 0.049 * MASS_KEV**-1.11 * ((OMEGA_M - OMEGA_B) / 0.25) ** 0.11 * (HUBBLE / 0.7) ** 1.22
    return (1 + (alpha * k) ** 2.24) ** (-5 / 1.12)


def modes(run: Path) -> np.ndarray:
    """Of the contrast of the gas at the start."""
    density = np.asarray(sidestream.open(run / "plt00000")["gas_density"])
    return np.fft.rfftn(density / density.mean() - 1)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs `cold`, `warm` and, on two ranks, `warm2`."""
    folder = tmp_path_factory.mktemp("warm")
    (folder / "box.toml").write_text(CONFIG)
    warm = ("--set", f"cosmology.wdm_mass={MASS_KEV} keV")
    for name, ranks, words in (("cold", 1, ()), ("warm", 1, warm), ("warm2", 2, warm)):
        done = program(folder, ranks, "box.toml", "--quiet", "--out", name, *words)
        assert done.returncode == 0, done.stderr
    return folder


def test_each_wave_is_the_cold_one_times_the_transfer_function(place: Path) -> None:
    full, half = np.fft.fftfreq(CELLS, 1 / CELLS), np.fft.rfftfreq(CELLS, 1 / CELLS)
    squared = full[:, None, None] ** 2 + full[None, :, None] ** 2 + half[None, None, :] ** 2
    expected = modes(place / "cold") * transfer(2 * np.pi / (BOX_MPC * HUBBLE) * np.sqrt(squared))

    for name in ("warm", "warm2"):
        found = modes(place / name)
        np.testing.assert_allclose(found, expected, rtol=SPLINE, atol=ROUND_OFF * np.abs(expected).max())
    assert transfer(np.pi * CELLS / (BOX_MPC * HUBBLE)) < 0.1  # the box holds waves that are much weaker


def test_results_are_those_of_any_ranks_and_state_the_mass(place: Path) -> None:
    one, two, cold = (sidestream.open(place / name).result("spectra", -1) for name in ("warm", "warm2", "cold"))

    for name, values in one.variables.items():
        assert values.values.tobytes() == two[name].values.tobytes()
    assert one.attrs["wdm_mass_kev"] == MASS_KEV
    assert "wdm_mass_kev" not in cold.attrs
    assert sidestream.open(place / "warm").events.last("run_start")["wdm_mass_kev"] == MASS_KEV


def test_a_restart_goes_on_with_the_same_universe(place: Path) -> None:
    words = ("--quiet", "--out", "on", "--set", f"cosmology.wdm_mass={MASS_KEV} keV")
    for ranks, more in ((2, ("--set", "run.max_steps=3")), (1, ("--restart",))):
        done = program(place, ranks, "box.toml", *words, *more)
        assert done.returncode == 0, done.stderr

    whole, parts = (sidestream.open(place / name).result("spectra", -1) for name in ("warm", "on"))
    assert whole.attrs["redshift"] == parts.attrs["redshift"] == pytest.approx(40.0)
    assert parts.attrs["wdm_mass_kev"] == MASS_KEV
    for name, values in whole.variables.items():
        assert values.values.tobytes() == parts[name].values.tobytes()


def test_what_makes_no_sense_is_refused_before_the_run(place: Path) -> None:
    for words, complaint in (
        (("cosmology.wdm_mass=30 eV",), "no unit for `cosmology.wdm_mass`"),
        (("cosmology.wdm_mass=200 keV",), "must be between 0.05 and 100"),
        (("cosmology.wdm_mass=1 keV", "simulation=nbody", "cosmology.omega_b=0.3096", "cosmology.power=eisenstein-hu"),
         "no dark matter that could be warm"),
    ):  # fmt: skip
        done = program(place, 1, "box.toml", "--check", *(word for pair in words for word in ("--set", pair)))
        assert done.returncode != 0
        assert complaint in done.stderr

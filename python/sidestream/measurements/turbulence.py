"""Published spectra and decays of turbulence, as NumPy arrays.

`ORIGIN.md` beside the tables says where the numbers come from.

Example:
    >>> from sidestream.measurements import turbulence
    >>> for spectrum in turbulence.energy_spectra():
    ...     k_eta, energy = spectrum.in_kolmogorov_units()
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from .tables import column, rows

_SPECTRA = {  # label with the moment, its column, kinematic viscosity in the units of the table
    "isotropic_comte_bellot1971": ("Comte-Bellot & Corrsin 1971, $U_0t/M$ = {}", "station", 0.15),
    "isotropic_wray1997": ("Wray 1997 ($512^3$), t = {}", "time", 3.5014006e-4),
}


@dataclass(frozen=True)
class EnergySpectrum:
    """A three-dimensional energy spectrum of isotropic turbulence, in the units of its paper; arrays (points,)."""

    label: str
    k: np.ndarray
    energy: np.ndarray
    dissipation: float
    viscosity: float
    is_measured: bool  # in a wind tunnel; else computed

    def in_kolmogorov_units(self) -> tuple[np.ndarray, np.ndarray]:
        """k eta, and E over (dissipation viscosity^5)^(1/4)."""
        eta = (self.viscosity**3 / self.dissipation) ** 0.25
        return self.k * eta, self.energy / (self.dissipation * self.viscosity**5) ** 0.25


@dataclass(frozen=True)
class Decay:
    """Energy <u.u>/2, dissipation and enstrophy <w.w>/2 of a decaying flow against time; arrays (points,)."""

    label: str
    viscosity: float
    time: np.ndarray
    energy: np.ndarray
    dissipation: np.ndarray
    enstrophy: np.ndarray


@cache
def energy_spectra() -> tuple[EnergySpectrum, ...]:
    """Spectra at three stations of a wind tunnel, and of a simulation at three times."""
    return tuple(spectrum for name in _SPECTRA for spectrum in _spectra_of(name))


@cache
def taylor_green() -> Decay:
    """The Taylor-Green vortex at Re = 1600 by 512^3 waves: u = sin x cos y cos z, ... in a box of 2 pi."""
    table = rows("taylor_green_1600")
    values = [column(table, name) for name in ("time", "energy", "dissipation", "enstrophy")]
    return Decay("512³ reference", 1.0 / 1600.0, *values)


def _spectra_of(name: str) -> list[EnergySpectrum]:
    label, moment, viscosity = _SPECTRA[name]
    table = rows(name)
    spectra = []
    for when in dict.fromkeys(row[moment] for row in table):
        own = [row for row in table if row[moment] == when]
        spectra.append(
            EnergySpectrum(
                label.format(f"{float(when):.3g}"),
                column(own, "k"),
                column(own, "E"),
                float(own[0]["dissipation"]),
                viscosity,
                moment == "station",
            )
        )
    return spectra

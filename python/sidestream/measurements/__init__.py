"""Published measurements of the Lyman-alpha forest and of the gas between galaxies, as NumPy arrays.

`ORIGIN.md` beside the tables says where the numbers come from.

Example:
    >>> from sidestream import measurements
    >>> measured = measurements.flux_power()["karacayli2022"].near(4.2)
    >>> measured.k, measured.power, measured.error
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..error import Error
from .tables import column, rows

_FLUX_POWER = {
    "chabanier2019": "Chabanier et al. 2019 (eBOSS)",
    "walther2018": "Walther et al. 2018",
    "irsic2017": "Irsic et al. 2017 (XQ-100)",
    "karacayli2022": "Karacayli et al. 2022 (KODIAQ, SQUAD, XQ-100)",
    "karacayli2024": "Karacayli et al. 2024 (DESI)",
}
_THERMAL_STATE = {
    "walther2019": "Walther et al. 2019",
    "gaikwad2021": "Gaikwad et al. 2021",
    "boera2019": "Boera et al. 2019",
}


@dataclass(frozen=True)
class FluxPower:
    """Power of F / mean - 1 along lines of sight, as one paper has it; all arrays have the shape (points,)."""

    label: str
    redshift: np.ndarray
    k: np.ndarray  # s/km
    power: np.ndarray  # km/s
    error: np.ndarray  # km/s, one sigma; statistical and systematic ones added in quadrature
    covariance: np.ndarray | None = None  # (km/s)^2, (points, points); None: the points are independent

    def near(self, redshift: float, within: float = 0.1) -> FluxPower | None:
        """The points at the measured redshift nearest to `redshift`; None if it is not `within` that distance."""
        distance = np.abs(self.redshift - redshift)
        nearest = distance.min()
        if nearest > within + 1e-9:  # of the rounding of redshifts
            return None
        return self.only(distance == nearest)

    def only(self, chosen: np.ndarray) -> FluxPower:
        """The points that are chosen by flags or places, with their own part of the covariance."""
        own = None if self.covariance is None else self.covariance[chosen][:, chosen]
        return FluxPower(self.label, self.redshift[chosen], self.k[chosen], self.power[chosen], self.error[chosen], own)


@dataclass(frozen=True)
class ThermalState:
    """Temperature T0 at the mean density and slope gamma of T = T0 (density / mean)^(gamma - 1); arrays (points,)."""

    label: str
    redshift: np.ndarray
    temperature: np.ndarray  # K
    temperature_error: np.ndarray  # K, (2, points): one sigma downwards and upwards
    gamma: np.ndarray  # NaN where the paper's table has none
    gamma_error: np.ndarray  # one sigma


@dataclass(frozen=True)
class MeanFluxFit:
    """A fit to the mean flux of the forest and the redshifts that it was made for.

    `effective_depth(z)` is -ln of it at any redshift, as the key `mean_flux` of the analysis `flux` takes it.
    """

    label: str
    first_redshift: float
    last_redshift: float
    effective_depth: Callable[[np.ndarray], np.ndarray]

    def __call__(self, redshift: np.ndarray) -> np.ndarray:
        """The mean flux, with the shape of `redshift`.

        Raises:
            Error: a redshift is not one that the fit was made for.
        """
        z = np.asarray(redshift, dtype=float)
        if not ((z >= self.first_redshift) & (z <= self.last_redshift)).all():
            raise Error(
                f"the fit of {self.label} holds from redshift {self.first_redshift} to {self.last_redshift}",
                hint="np.exp(-fit.effective_depth(z)) goes on beyond them",
            )
        return np.asarray(np.exp(-self.effective_depth(z)))


@cache
def flux_power() -> dict[str, FluxPower]:
    """The measured one-dimensional power spectra of the flux, by the name of the paper."""
    return {name: _read_flux_power(name, label) for name, label in _FLUX_POWER.items()}


@cache
def thermal_state() -> dict[str, ThermalState]:
    """The measured temperatures and slopes, by the name of the paper."""
    table = rows("thermal_state")
    return {
        name: _read_thermal_state([row for row in table if row["source"] == name], label)
        for name, label in _THERMAL_STATE.items()
    }


def mean_flux() -> dict[str, MeanFluxFit]:
    """Fits to the observed mean flux by name: those that the key `mean_flux` of the analysis `flux` takes."""
    return {
        "becker2013": MeanFluxFit("Becker et al. 2013", 2.15, 4.85, lambda z: 0.751 * ((1 + z) / 4.5) ** 2.90 - 0.132),
        "faucher-giguere2008": MeanFluxFit("Faucher-Giguère et al. 2008", 2.0, 4.2, lambda z: 0.0018 * (1 + z) ** 3.92),
        "kim2007": MeanFluxFit("Kim et al. 2007", 1.7, 4.0, lambda z: 0.0023 * (1 + z) ** 3.65),
    }


def _read_flux_power(name: str, label: str) -> FluxPower:
    table = rows(f"flux_power_{name}")
    errors = [title for title in table[0] if title.startswith("sigma_")]
    error = np.sqrt(sum(column(table, title) ** 2 for title in errors))
    return FluxPower(label, column(table, "z"), column(table, "k_s_km"), column(table, "P_km_s"), error)


def _read_thermal_state(table: list[dict[str, str]], label: str) -> ThermalState:
    error = np.stack([column(table, "T0_down"), column(table, "T0_up")])
    return ThermalState(
        label, column(table, "z"), column(table, "T0_K"), error, column(table, "gamma"), column(table, "gamma_error")
    )

"""Theory curves, by Colossus, for the cosmology that a result states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

PLANCK_SIGMA8, PLANCK_NS = 0.811, 0.965  # where a result does not state them
_POINTS_A_BIN = 17  # of the integral of a mass function over a bin


@dataclass(frozen=True)
class Fit:
    """A halo mass function of the literature, and the definition of mass that it is for."""

    model: str  # in Colossus
    definition: str  # in Colossus
    label: str


PRESS_SCHECHTER = Fit("press74", "fof", "Press & Schechter 1974 (spherical collapse)")
SHETH_TORMEN = Fit("sheth99", "fof", "Sheth & Tormen 1999 (FOF)")
WARREN = Fit("warren06", "fof", "Warren et al. 2006 (FOF, b = 0.2)")
TINKER = Fit("tinker08", "200m", "Tinker et al. 2008 (200 means)")
FITS = (PRESS_SCHECHTER, SHETH_TORMEN, WARREN, TINKER)


class Theory:
    """The linear spectrum and the halo mass functions of one cosmology."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self._parameters = {
            "flat": True,
            "H0": 100 * float(attributes["hubble"]),
            "Om0": float(attributes["omega_m"]),
            "Ob0": max(float(attributes.get("omega_b", 0.0)), 1e-4),
            "sigma8": float(attributes.get("sigma8", PLANCK_SIGMA8)),
            "ns": float(attributes.get("ns", PLANCK_NS)),
        }
        self._wdm_mass_kev = float(attributes.get("wdm_mass_kev", np.inf))  # cold: infinitely heavy
        self.assumed = "" if "sigma8" in attributes else rf" ($\sigma_8={PLANCK_SIGMA8}$ assumed)"

    @classmethod
    def of(cls, attributes: Mapping[str, Any], config: Mapping[str, Any] | None = None) -> Theory | None:
        """The theory for these attributes, or None if they state no cosmology or Colossus is missing.

        A run without gas states no baryons, but the spectrum that it began with has them: that of `config`, the
        configuration of the run, counts.
        """
        baryons = (config or {}).get("cosmology", {}).get("omega_b")
        try:
            import colossus.cosmology.cosmology  # noqa: F401

            return cls(attributes if baryons is None else {**attributes, "omega_b": baryons})
        except (ImportError, KeyError, ValueError, TypeError):
            return None

    @property
    def is_warm(self) -> bool:
        """Whether small waves are smoothed, of which the fits to halos know nothing."""
        return bool(np.isfinite(self._wdm_mass_kev))

    def linear_power(self, k: np.ndarray, redshift: float) -> np.ndarray:
        """P(k) in (Mpc/h)^3 at k in h/Mpc, of warm dark matter where the result states its mass."""
        return np.asarray(self._cosmology().matterPowerSpectrum(k, z=redshift) * self._warm_transfer(k) ** 2)

    def _warm_transfer(self, k: np.ndarray) -> np.ndarray:
        """Viel et al. 2005 (PRD 71, 063534), equations 6 and 7."""
        omega = self._parameters["Om0"] - self._parameters["Ob0"]
        hubble = self._parameters["H0"] / 100
        alpha = 0.049 * self._wdm_mass_kev**-1.11 * (omega / 0.25) ** 0.11 * (hubble / 0.7) ** 1.22
        return np.asarray((1 + (alpha * k) ** 2.24) ** (-5 / 1.12))

    def mass_function(self, mass: np.ndarray, redshift: float, fit: Fit = WARREN) -> np.ndarray:
        """dn/dlnM in (h/Mpc)^3 at masses in Msun/h."""
        from colossus.lss import mass_function

        self._cosmology()
        return np.asarray(
            mass_function.massFunction(mass, redshift, mdef=fit.definition, model=fit.model, q_in="M", q_out="dndlnM")
        )

    def halos_between(self, low: np.ndarray, high: np.ndarray, redshift: float, fit: Fit = WARREN) -> np.ndarray:
        """Halos in (h/Mpc)^3 with masses from `low` to `high` [Msun/h], bin by bin."""
        log_mass = np.linspace(np.log(low), np.log(high), _POINTS_A_BIN)
        density = self.mass_function(np.exp(log_mass).ravel(), redshift, fit).reshape(log_mass.shape)
        return np.asarray(np.sum(0.5 * (density[1:] + density[:-1]) * np.diff(log_mass, axis=0), axis=0))

    def _cosmology(self) -> Any:
        from colossus.cosmology import cosmology

        current = _known_cosmology(tuple(self._parameters.items()))
        cosmology.setCurrent(current)
        return current


@cache  # with the variances that it has computed, which take seconds
def _known_cosmology(parameters: tuple[tuple[str, Any], ...]) -> Any:
    from colossus.cosmology import cosmology

    # No persistence: nothing is written to the user's home.
    return cosmology.setCosmology("sidestream", params=dict(parameters), persistence="")

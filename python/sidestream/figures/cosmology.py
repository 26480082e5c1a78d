"""Theory curves, by Colossus, for the cosmology that a result states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

PLANCK_SIGMA8, PLANCK_NS = 0.811, 0.965  # where a result does not state them


class Theory:
    """The linear spectrum and the halo mass function of one cosmology."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self._parameters = {
            "flat": True,
            "H0": 100 * float(attributes["hubble"]),
            "Om0": float(attributes["omega_m"]),
            "Ob0": max(float(attributes.get("omega_b", 0.0)), 1e-4),
            "sigma8": float(attributes.get("sigma8", PLANCK_SIGMA8)),
            "ns": float(attributes.get("ns", PLANCK_NS)),
        }
        self.assumed = "" if "sigma8" in attributes else rf" ($\sigma_8={PLANCK_SIGMA8}$ assumed)"

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> Theory | None:
        """The theory for these attributes, or None if they state no cosmology or Colossus is missing."""
        try:
            import colossus.cosmology.cosmology  # noqa: F401

            return cls(attributes)
        except (ImportError, KeyError, ValueError, TypeError):
            return None

    def linear_power(self, k: np.ndarray, redshift: float) -> np.ndarray:
        """P(k) in (Mpc/h)^3 at k in h/Mpc."""
        return np.asarray(self._cosmology().matterPowerSpectrum(k, z=redshift))

    def mass_function(self, mass: np.ndarray, redshift: float) -> np.ndarray:
        """dn/dlnM of Sheth & Tormen (1999) in (h/Mpc)^3 at masses in Msun/h."""
        from colossus.lss import mass_function

        self._cosmology()
        return np.asarray(
            mass_function.massFunction(mass, redshift, mdef="fof", model="sheth99", q_in="M", q_out="dndlnM")
        )

    def _cosmology(self) -> Any:
        from colossus.cosmology import cosmology

        # No persistence: nothing is written to the user's home.
        return cosmology.setCosmology("sidestream", params=self._parameters, persistence="")

"""Units as people write them, and densities and velocities in ours: `g cm^-3`, `g/cm**3` and `g/cm3` are `g/cm^3`."""

from __future__ import annotations

from typing import Any

from ..core import extension
from .analysis_units import CM_PER_MPC, DENSITY_UNIT, GRAMS_PER_MSUN

PER_MPC = {"Mpc": 1.0, "kpc": 1e3, "pc": 1e6, "km": CM_PER_MPC / 1e5, "m": CM_PER_MPC / 1e2, "cm": CM_PER_MPC}
_PER_MSUN = {"Msun": 1.0, "kg": GRAMS_PER_MSUN / 1e3, "g": GRAMS_PER_MSUN}
_KM_PER_S = {"km/s": 1.0, "m/s": 1e-3, "cm/s": 1e-5}
_OTHERS = ("K", "eV", "keV", "s")
# What stays as it is where lengths are in Mpc, beside units that are known by their parts.
_OURS = ("(km/s)^2", f"{DENSITY_UNIT} km/s", f"{DENSITY_UNIT} (km/s)^2")


def canonical(unit: str) -> str:
    """A unit in the spelling of ours, `Msun/kpc^3`; as it is where it has parts that are not known, or two readings."""
    own: str = extension().canonical_unit(unit)
    return own


def in_our_spelling(facts: dict[str, Any]) -> dict[str, Any]:
    """What a file tells of itself, with its units in the spelling of ours."""
    of_numbers = {
        of: [one | {"units": canonical(one["units"])} for one in facts[of]] for of in ("fields", "particle_reals")
    }
    return facts | of_numbers | {"length_unit": canonical(facts["length_unit"])}


def in_ours(unit: str) -> tuple[str, float]:
    """The unit in which numbers go with lengths in Mpc, and the factor: of densities Msun/Mpc^3, of velocities km/s.

    Others stay what they are.
    """
    own = canonical(unit)
    mass, _, volume = own.partition("/")
    length = volume.removesuffix("^3")
    if mass in _PER_MSUN and volume != length and length in PER_MPC:
        return DENSITY_UNIT, PER_MPC[length] ** 3 / _PER_MSUN[mass]
    return ("km/s", _KM_PER_S[own]) if own in _KM_PER_S else (own, 1.0)


def goes_with_mpc(unit: str) -> bool:
    """Whether numbers in a unit go with lengths in Mpc: lengths in it are Mpc, or km of velocities, and masses Msun."""
    parts = extension().unit_powers(unit)
    if parts is None:
        return unit in _OURS
    powers = dict(parts)
    return set(powers) - {"km"} <= {*_OTHERS, "Mpc", "Msun"} and powers.get("km", 0) in (0, -powers.get("s", 0))

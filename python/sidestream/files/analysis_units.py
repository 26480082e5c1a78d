"""Units of files in those that the analyses work in: Mpc, Msun and Msun/Mpc^3."""

from __future__ import annotations

from typing import Any

CM_PER_MPC = 3.085677580962325e24
GRAMS_PER_MSUN = 1.98841586e33

MPC = {"Mpc": 1.0, "cm": 1.0 / CM_PER_MPC}
MSUN = {"Msun": 1.0, "g": 1.0 / GRAMS_PER_MSUN}
DENSITY_UNIT = "Msun/Mpc^3"
MSUN_PER_MPC3 = {DENSITY_UNIT: 1.0, "g/cm^3": CM_PER_MPC**3 / GRAMS_PER_MSUN}
MASS_UNIT = {"Mpc": "Msun", "cm": "g"}  # of a file with lengths in these


def unit_attribute(name: str) -> dict[str, Any]:
    """For `attrs` of an array; nothing where no unit is told."""
    return {"units": name} if name else {}

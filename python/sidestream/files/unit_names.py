"""Units as people write them, and densities and velocities in ours: `g cm^-3`, `g/cm**3` and `g/cm3` are `g/cm^3`."""

from __future__ import annotations

import re
from typing import Any

from .analysis_units import CM_PER_MPC, DENSITY_UNIT, GRAMS_PER_MSUN

PER_MPC = {"Mpc": 1.0, "kpc": 1e3, "pc": 1e6, "km": CM_PER_MPC / 1e5, "m": CM_PER_MPC / 1e2, "cm": CM_PER_MPC}
_PER_MSUN = {"Msun": 1.0, "kg": GRAMS_PER_MSUN / 1e3, "g": GRAMS_PER_MSUN}
_KM_PER_S = {"km/s": 1.0, "m/s": 1e-3, "cm/s": 1e-5}
_OTHERS = ("K", "eV", "keV", "s")
_OTHER_NAMES = {
    "Msun": (
        "M_sun",
        "M_Sun",
        "MSun",
        "msun",
        "Msol",
        "M_sol",
        "Msolar",
        "solMass",
        "solar_mass",
        "M☉",
        "M_☉",
        "M⊙",
        "M_⊙",
    ),
    "g": ("gr", "gram", "grams"),
    "kg": ("kilogram", "kilograms"),
    "cm": ("centimeter", "centimeters"),
    "m": ("meter", "meters"),
    "km": ("kilometer", "kilometers"),
    "pc": ("parsec", "parsecs"),
    "kpc": ("Kpc", "kiloparsec", "kiloparsecs"),
    "Mpc": ("megaparsec", "megaparsecs"),
    "s": ("sec", "second", "seconds"),
    "K": ("kelvin", "Kelvin"),
}
_NAMES = {name: name for name in (*PER_MPC, *_PER_MSUN, *_OTHERS)}
_NAMES |= {name: own for own, names in _OTHER_NAMES.items() for name in names}
_ON_THE_LINE = str.maketrans({"⁻": "-", "−": "-", "·": " ", "⋅": " "} | {c: str(n) for n, c in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")})
_FACTOR = re.compile(r"\(?([^\W\d]+|M_?[☉⊙])(?:\^?[({]?([+-]?\d+)(?:\.0*)?[)}]?)?\)?")
_INNER_QUOTIENT = re.compile(r"/\s*\((?:[^()]|\([^()]*\))*/")  # `1/(g/cm^3)`, not `g/(cm^3)/K`
# What stays as it is where lengths are in Mpc, beside what `_powers` knows.
_OURS = ("(km/s)^2", f"{DENSITY_UNIT} km/s", f"{DENSITY_UNIT} (km/s)^2")


def canonical(unit: str) -> str:
    """A unit in the spelling of ours, `Msun/kpc^3`; as it is where it has parts that are not known, or two readings."""
    powers = _powers(unit)
    if not powers:
        return unit
    above = [_power(name, power) for name, power in powers.items() if power > 0]
    below = [f"/{_power(name, -power)}" for name, power in powers.items() if power < 0]
    return (" ".join(above) or "1") + "".join(below)


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
    powers = _powers(unit)
    if powers is None:
        return unit in _OURS
    return set(powers) - {"km"} <= {*_OTHERS, "Mpc", "Msun"} and powers.get("km", 0) in (0, -powers.get("s", 0))


def _powers(unit: str) -> dict[str, int] | None:
    """The power of each part; none where one is not known, or quotients go on: `g/cm^3 cm/s`, `K/(g/cm^3)`."""
    text = unit.translate(_ON_THE_LINE).replace("**", "^").replace("*", " ")
    parts = re.findall(r"/|[^\s/]+", re.sub(r"\s*\^\s*", "^", text))
    powers: dict[str, int] = {}
    if _INNER_QUOTIENT.search(text):
        return None
    is_quotient = False
    for before, part in zip(["", *parts], parts, strict=False):
        is_quotient |= part == "/"
        if part == "/" or (part == "1" and not before):
            continue
        factor = _FACTOR.fullmatch(part)
        if factor is None or factor[1] not in _NAMES or (is_quotient and before != "/"):
            return None
        name = _NAMES[factor[1]]
        powers[name] = powers.get(name, 0) + (-1 if before == "/" else 1) * int(factor[2] or 1)
    return {name: power for name, power in powers.items() if power}


def _power(name: str, power: int) -> str:
    return name if power == 1 else f"{name}^{power}"

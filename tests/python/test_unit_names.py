"""Units in the spellings of other programs."""

from __future__ import annotations

import pytest

from sidestream.files.unit_names import canonical, goes_with_mpc, in_ours

CM, GRAMS = 3.085677581491367e24, 1.988409870698051e33  # of a Mpc (IAU 2015) and of the Sun (CODATA 2018)
SPELLINGS = {
    "g/cm^3": [
        "g cm^-3",
        "g/cm**3",
        "g/cm3",
        "g cm-3",
        "g*cm**-3",
        "g·cm⁻³",
        "gram / centimeter ** 3",
        "g/(cm^3)",
        "cm^-3 g",
    ],
    "kg/m^3": ["kg m^-3", "kg/m3", "kg m^{-3}", "kilogram/meter**3"],
    "Msun/kpc^3": ["Msun kpc^-3", "Msun/kpc**3", "M_sun/kpc^3", "solMass / kpc3", "Msun*kpc**(-3)", "M☉/kpc³"],
    "Msun/Mpc^3": ["Msun Mpc^-3", "Msun/Mpc3", "Msol/megaparsec^3", "(Msun/Mpc^3)"],
    "km/s": ["km s^-1", "km*s**-1", "kilometer/second"],
    "K": ["K", "Kelvin"],
    "km/s/Mpc": ["km/s/Mpc", "km s^-1 Mpc^-1"],
    "1/cm^3": ["cm^-3", "1/cm3"],
    "g/cm^3/K": ["(g/cm^3)/K", "g/(cm^3)/K"],
}
FACTORS = {
    "g/cm^3": CM**3 / GRAMS,
    "kg/m^3": (CM / 100) ** 3 / (GRAMS / 1000),
    "Msun/kpc^3": 1e9,
    "Msun/pc^3": 1e18,
    "Msun/Mpc^3": 1.0,
    "km/s": 1.0,
    "m/s": 1e-3,
    "cm/s": 1e-5,
}


@pytest.mark.parametrize(("own", "given"), [(own, given) for own, some in SPELLINGS.items() for given in some])
def test_a_unit_is_the_same_in_all_spellings(own: str, given: str) -> None:
    assert canonical(given) == canonical(own) == own
    assert in_ours(given) == in_ours(own)


@pytest.mark.parametrize(
    "unit",
    ["", "1", "foo", "g/cm^3 cm/s", "g/cm s", "1e10 Msun/kpc^3", "Msun h^2/kpc^3", "g/cm^1.5"]
    + ["K/(g/cm^3)", "1/(g/cm^3)", "1/ (cm^(3)/g)"],
)
def test_what_is_not_known_or_has_two_readings_stays(unit: str) -> None:
    assert canonical(unit) == unit
    assert in_ours(unit)[1] == 1.0


@pytest.mark.parametrize("unit", FACTORS)
def test_densities_and_velocities_become_ours(unit: str) -> None:
    own, factor = in_ours(unit)
    assert own == ("km/s" if unit.endswith("/s") else "Msun/Mpc^3")
    assert factor == pytest.approx(FACTORS[unit], rel=1e-5)
    assert goes_with_mpc(own)


def test_what_does_not_go_with_mpc_is_known() -> None:
    go = ["", "K", "1", "keV", "(km/s)^2", "km^2/s^2", "1/Mpc^3", "km/s/Mpc", "Mpc", "Msun", "Msun/Mpc^3 km/s"]
    do_not = ["foo", "g/cm^2", "kpc", "cm^-3", "km", "km/s^2", "g", "Msun/kpc^3"]
    assert [unit for unit in go + do_not if goes_with_mpc(unit)] == go

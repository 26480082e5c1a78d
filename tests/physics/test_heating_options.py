"""Options of heating: more of it, more of it in dense gas, and light that does not reach dense gas."""

from __future__ import annotations

import numpy as np

from book import Bound, Chapter
from configs import universe
from nyx_files import write
from nyx_statistics import GRAM_PER_CM3, HYDROGEN_SHARE, PROTON, neutral_share
from program import Program, plot_files
from test_heating import UNIVERSE, gas_at_rest, specific_energy

IONIZATION = (9.1431e-13, 5.29603e-13, 2.23012e-15)  # of H I, He I, He II [1/s]: `onorbe17_middle` at z = 3
HEATING = (5.79191e-24, 6.00671e-24, 7.77342e-26)  # [erg/s]
SAME = "the same physics by two ways, but for rounding"

CHAPTERS = [
    Chapter(
        "Heating follows its factors",
        """Uniform gas at rest at 10 K and z = 20 in a box of 16 x 8 x 8 cells, in a light that does not change from z =
15.8 on, to z = 3. With `heating_factor = 2` it is as warm as under a table with twice the heat; gas of twice the mean
density with `heating_exponent = 1` is as warm as with `heating_factor = 2`. Photoheating falls as T^-0.7 and what
takes energy, expansion and Compton scattering, grows as T, so the temperature is as the factor to the power 1 / 1.7
(Hui & Gnedin 1997, MNRAS 292, 27).""",
        [
            Bound("twice the heat by the factor over that by the table: temperature, less 1", -1e-9, 1e-9, SAME),
            Bound(
                "A = B = 1 over A = 2 at twice the mean density: temperature, less 1",
                -1e-5,
                1e-5,
                "the same, but for the mean density, whose constants differ by 1e-6",
            ),
            Bound(
                "power of the factor in the temperature",
                0.56,
                0.62,
                "1 / 1.7 = 0.588; recombination, which cools a tenth as much as expansion, is no power law",
            ),
        ],
    ),
    Chapter(
        "Dense gas shields itself",
        """Gas of 5000 K and 1e-4 to 0.1 hydrogen nuclei in a cm^3 at z = 3 with `self_shielding`, as the run begins:
neutral hydrogen against equilibrium by NumPy, with the light of H I and He I that equation 14 of Rahmati et al. 2013
(MNRAS 430, 2427) leaves. (The bound without shielding was 0.07 at first, by the recombination of case B; the
fits are of case A.)""",
        [
            Bound("neutral hydrogen over that of NumPy, less 1", -1e-4, 1e-4, "rates are tabulated to 1e-5"),
            Bound(
                "neutral share at 0.1 / cm^3", 0.5, 1.0, "two thousandths of the light: x^2 / (1 - x) = 0.03, x ionised"
            ),
            Bound("the same without shielding", 0.0, 0.1, "n_e times recombination over ionisation: 0.08"),
        ],
    ),
]

UNIFORM = (
    universe(
        cells=[16, 8, 8],
        steps=1000,
        box="8 Mpc",
        z_start=20,
        z_end=3,
        omega_m=UNIVERSE.omega_m,
        omega_b=UNIVERSE.omega_b,
        hubble=UNIVERSE.hubble,
        t_cmb=2.725,
        power="eisenstein-hu",
    )
    + """[heating]
uv_background = "light.txt"

[output]
plotfile = { format = "nyx", at_end = true, variables = ["density", "Temp", "neutral_hydrogen"] }
"""
)


def write_table(program: Program, name: str, factor: float = 1.0) -> str:
    rates = " ".join(map(repr, (*IONIZATION, *(factor * heat for heat in HEATING))))
    (program.folder / name).write_text(f"0.0 {rates}\n1.225 {rates}\n", encoding="utf-8")
    return name


def temperature(program: Program, name: str, overdensity: float = 1.0, **options: object) -> float:
    """At the end of a run of uniform gas with these options of heating."""
    density = np.full((8, 8, 16), overdensity * UNIVERSE.gas)
    state = gas_at_rest(1.0 / 21.0, (8.0, 4.0, 4.0), density, specific_energy(10.0, 1.2195))
    start = write(program.folder / f"{name}_start", state)
    words = [word for key, value in options.items() for word in ("--set", f"heating.{key}={value}")]

    run = program.run(name, UNIFORM, "--from", start, *words)

    return float(plot_files(run)[-1]["Temp"].values.mean())


def test_heating_follows_its_factors(program: Program, measured) -> None:
    write_table(program, "light.txt")
    plain = temperature(program, "plain")
    double = temperature(program, "double", heating_factor=2.0)
    table = temperature(program, "table", uv_background=write_table(program, "warm.txt", 2.0))
    dense = temperature(program, "dense", 2.0, heating_factor=2.0)
    slope = temperature(program, "slope", 2.0, heating_exponent=1.0)

    measured("twice the heat by the factor over that by the table: temperature, less 1", double / table - 1.0)
    measured("A = B = 1 over A = 2 at twice the mean density: temperature, less 1", slope / dense - 1.0)
    measured("power of the factor in the temperature", float(np.log2(double / plain)))


def test_dense_gas_shields_itself(program: Program, measured) -> None:
    write_table(program, "light.txt")
    per_density = HYDROGEN_SHARE / PROTON * GRAM_PER_CM3 * 4.0**3
    nuclei = np.geomspace(1e-4, 0.1, 16) * np.ones((8, 8, 1))
    state = gas_at_rest(0.25, (8.0, 4.0, 4.0), nuclei / per_density, specific_energy(5000.0, 0.9))
    start = write(program.folder / "column_start", state)
    config = UNIFORM.replace("max_steps = 1000", "max_steps = 0").replace("z_end = 3", "z_end = 2")
    config = config.replace("at_end", "at_start")
    shares = {}
    for name, shields in (("shielded", "true"), ("bare", "false")):
        run = program.run(name, config, "--from", start, "--set", f"heating.self_shielding={shields}")
        (plot,) = plot_files(run)
        kelvin = plot["Temp"].values
        shares[name] = plot["neutral_hydrogen"].values / nuclei
        if name == "shielded":
            expected = neutral_share(nuclei, kelvin, shielded(nuclei, kelvin))
            ratio = shares[name] / expected - 1.0
            measured("neutral hydrogen over that of NumPy, less 1", [float(ratio.min()), float(ratio.max())])

    measured("neutral share at 0.1 / cm^3", float(shares["shielded"].max()))
    measured("the same without shielding", float(shares["bare"].max()))


def shielded(nuclei: np.ndarray, kelvin: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The rates of H I, He I and He II by equations 13 and 14 of Rahmati et al. 2013."""
    gas_share = UNIVERSE.omega_b / UNIVERSE.omega_m
    threshold = 6.73e-3 * (kelvin / 1e4) ** 0.17 * (IONIZATION[0] / 1e-12) ** (2 / 3) * (gas_share / 0.17) ** (-1 / 3)
    s = nuclei / threshold
    light = 0.98 * (1 + s**1.64) ** -2.28 + 0.02 * (1 + s) ** -0.84
    return IONIZATION[0] * light, IONIZATION[1] * light, IONIZATION[2]

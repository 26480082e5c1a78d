"""Gas in the heaviest halos of a box in which they are resolved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray

import sidestream
from book import Bound, Chapter
from program import Program, plot_files
from universe import CRITICAL, GRAVITY, NEUTRAL, PROTON_OVER_BOLTZMANN

Array = NDArray[np.float64]

SEEDS = (7, 3)
LEAST_CELLS, LEAST_PARTICLES, LEAST_HALOS = 10, 1000, 4  # finest cells in R_200m, particles within it
RADII = np.linspace(0.25, 2.0, 15)  # of the profiles, in R_200m
FRENK = (
    "the codes of the Santa Barbara comparison lie between 0.85 and 1 at the virial radius (Frenk et al. 1999, "
    "ApJ 525, 554)"
)
TEMPERATURE = (
    "the isothermal sphere has 1; simulations normalise with 0.75 to 1.1 (Bryan & Norman 1998, ApJ 495, 80, f_T of "
    "several codes)"
)
CODES = "codes differ by 10 to 20 % in one cluster (Frenk et al. 1999)"

CHAPTERS = [
    Chapter(
        "Gas of clusters",
        f"""The cluster example in {len(SEEDS)} boxes of 16 Mpc, refined to the same depth where a cell holds 48 times
the mean mass of a coarsest one (the example: ninety-six), adiabatic, at z = 0. Halos: those of the task `halos` that
are no part of another one, with R_200m of at least {LEAST_CELLS} finest cells and {LEAST_PARTICLES} particles within
it. Within R_200m around each peak, leaves of the plot file and particles are counted by NumPy. T is the mean by mass,
against T_vir = mu m_p G M_200m / (2 k R_200m).

The whole box begins on level 1, with 64^3 cells and particles.

The bounds were set before the first run, the sample and the mesh after it: that run had one box, a start of 32^3, a
buffer of one cell, two halos of so many cells, and a mean of 1.043. By one change at a time, for the heaviest halos
of seed 7, before shocks that are carried fast were told (the fourth row after it: 1.063, 0.953):

| start | levels | refined above | buffer | gas fraction | T / T_vir |
|---|---|---|---|---|---|
| 32^3 | 2 | 8 | 1, lost at the next change of the mesh | 1.062, 0.974, 0.949 | 0.76, 0.66, 0.64 |
| `hydro.dual_energy_eta = 0` | 2 | 8 | the same | 1.042, 0.961, 0.935 | 0.78, 0.66, 0.63 |
| 32^3 | 2 | 48 | 1 that stays | 1.058, 0.944, 0.922 | 0.78, 0.68, 0.63 |
| 32^3 | 2 | 48 | 3 | 1.064, 0.953 | 0.77, 0.76 |
| 64^3 with the same waves | 2 | 48 | 3 | 1.012, 0.936 | 0.79, 0.74 |
| 32^3 | 3 | 48 | 3 | 1.082, 0.979 | 0.80, 0.79 |
| 32^3, seed 3 | 3 | 48 | 3 | 0.988, 0.977, 0.927 | 0.83, 0.74, 0.74 |

With a start of 32^3 this test has a mean of 0.991, and one halo misses its bound by 0.0015: the start is too coarse, in
particles and in cells, by 0.05 for this halo (fifth row against the fourth). The total energy alone gives 0.013 to
0.034 less (the six heaviest halos; 0.02 % of the heat is unresolved), and finer cells about as few particles give more.
The rest is in the state of that halo: in the fourth row it has 1.4 and 1.2 times as much gas as dark matter, in cosmic
shares, from 0.5 to 0.75 and to 1 R_200m, and 0.72 and 0.6 times as much out to 1.25 and 1.5, where (on three levels) a
third of the dark matter moves outwards; within 1.5
R_200m its fraction is 0.98 to 0.99 in all rows.

The mesh matters more for the masses. In a root of 24^3 with two levels (halos of 350 particles, refined above 8) three
halos have 3.97, 3.87 and 3.63e12 Msun where all cells are fine; 2.64, 3.63 and 1.70 with a buffer of one cell that was
lost; 3.88, 3.71 and 3.53 with one of three that stays.""",
        [
            Bound("gas fraction over the cosmic one, mean of the halos", 0.85, 1.0, FRENK),
            Bound(
                "gas fraction over the cosmic one, each halo",
                0.72,
                1.08,
                "0.90 with a scatter from halo to halo of 0.06, adiabatic, at any mass (Crain et al. 2007, MNRAS "
                "377, 41): three times that",
            ),
            Bound("T / T_vir, mean of the halos", 0.68, 1.21, f"{TEMPERATURE}; {CODES}: 10 %"),
            Bound("T / T_vir, each halo", 0.6, 1.32, f"{TEMPERATURE}; {CODES}: 20 %"),
            Bound(
                "mass within R_200m over M_200m, each halo",
                0.9,
                1.1,
                "the same sphere by another program: cells belong to it by their centres, at some ten cells a radius",
            ),
        ],
        plots=["clusters"],
        is_slow=True,
    )
]

CLUSTER = """simulation = "cosmology"

[mesh]
cells = [32, 32, 32]
block = 8

[amr]
max_level = 3
regrid_every = 4
buffer = 3

[refine.matter]
criterion = "threshold"
fields = ["gas_overdensity", "dark_matter_overdensity"]
refine_above = 48
coarsen_below = 24
level_factor = 8

[refine.start]
criterion = "region"
lower = [0, 0, 0]
upper = [16, 16, 16]
max_level = 1

[cosmology]
box = "16 Mpc"
z_start = 50
z_end = 0
largest_expansion = 0.05

[task.halos]
analysis = "halos"
at_redshift = [0]
t_boundary = "81.66 mean"
t_halo = "200 mean"

[output]
plotfile = { format = "nyx", at_redshift = [0] }
"""


@dataclass(frozen=True)
class Sphere:
    """What NumPy counts within R_200m of a halo."""

    mass: float  # M_200m of the catalogue [Msun]
    counted: float
    fraction: float  # of gas, over the cosmic one
    warmth: float  # T / T_vir
    particles: int
    profile: Array  # `fraction` within RADII


class Universe:
    """The leaves and particles of a plot file."""

    def __init__(self, plot: sidestream.SnapshotFile, omega_b: float, omega_m: float, hubble: float) -> None:
        self.level = plot.levels - 1
        self.density = plot.covering_grid("density", self.level).values
        self.temperature = plot.covering_grid("Temp", self.level).values
        self.side = plot.box_size[0]
        self.cell = self.side / plot.cells(self.level)[0]
        particles = plot.particles()
        self.positions = np.stack([particles[axis].values for axis in "xyz"], axis=1).astype(float)
        self.masses = particles["mass"].values.astype(float)
        self.cosmic = omega_b / omega_m
        self.threshold = 200.0 * omega_m * CRITICAL * hubble**2

    def sphere(self, centre: Array, mass: float) -> Sphere:
        radius = (3.0 * mass / (4.0 * np.pi * self.threshold)) ** (1.0 / 3.0)
        squares, gas, heat = self._gas(centre, RADII[-1] * radius)
        away = (self._shortest(self.positions - centre) ** 2).sum(axis=1)
        gas_of = [gas[squares < r**2].sum() for r in RADII * radius]
        dark_of = [self.masses[away < r**2].sum() for r in RADII * radius]
        profile = np.array([g / (g + d) / self.cosmic for g, d in zip(gas_of, dark_of, strict=True)])
        inside, bound = squares < radius**2, away < radius**2
        mass_of_gas, dark = gas[inside].sum(), self.masses[bound].sum()
        virial = NEUTRAL * PROTON_OVER_BOLTZMANN * GRAVITY * mass / (2.0 * radius)
        return Sphere(
            mass=mass,
            counted=float(mass_of_gas + dark),
            fraction=float(mass_of_gas / (mass_of_gas + dark) / self.cosmic),
            warmth=float(heat[inside].sum() / mass_of_gas / virial),
            particles=int(bound.sum()),
            profile=profile,
        )

    def _gas(self, centre: Array, radius: float) -> tuple[Array, Array, Array]:
        """Of the cells about a place: squares of their distances, masses, and these times their temperatures."""
        n = self.density.shape[0]
        x = (np.arange(n) + 0.5) * self.side / n
        squares = [self._shortest(x - c) ** 2 for c in centre]
        near = [np.flatnonzero(square < radius**2) for square in squares]
        part = np.ix_(near[2], near[1], near[0])
        r2 = squares[2][near[2]][:, None, None] + squares[1][near[1]][:, None] + squares[0][near[0]]
        mass = self.density[part] * (self.side / n) ** 3
        return r2, mass, mass * self.temperature[part]

    def _shortest(self, distance: Array) -> Array:
        return distance - self.side * np.round(distance / self.side)


def resolved(run: sidestream.Run) -> list[Sphere]:
    """The halos of a run that are no part of another one, of enough cells and particles."""
    parameters = run.config["cosmology"]
    universe = Universe(plot_files(run)[-1], *(parameters[name] for name in ("omega_b", "omega_m", "hubble")))
    halos = run.result("halos", -1, "halo")
    wide = np.flatnonzero((halos["inside"] < 0) & (halos["r200m"] >= LEAST_CELLS * universe.cell))
    spheres = [
        universe.sphere(np.array([float(halos[f"peak_{axis}"][n]) for axis in "xyz"]), float(halos["m200m"][n]))
        for n in wide
    ]
    return [sphere for sphere in spheres if sphere.particles >= LEAST_PARTICLES]


@pytest.mark.slow
def test_gas_of_clusters_is_that_of_published_comparisons(program: Program, measured, picture) -> None:
    spheres = [
        sphere
        for seed in SEEDS
        for sphere in resolved(program.run(f"cluster{seed}", CLUSTER, "--set", f"cosmology.seed={seed}", minutes=60))
    ]
    assert len(spheres) >= LEAST_HALOS, f"the runs resolve too few halos: {spheres}"

    measured("mass within R_200m over M_200m, each halo", [sphere.counted / sphere.mass for sphere in spheres])
    measured("gas fraction over the cosmic one, each halo", [sphere.fraction for sphere in spheres])
    measured("gas fraction over the cosmic one, mean of the halos", np.mean([sphere.fraction for sphere in spheres]))
    measured("T / T_vir, each halo", [sphere.warmth for sphere in spheres])
    measured("T / T_vir, mean of the halos", np.mean([sphere.warmth for sphere in spheres]))
    picture("clusters", draw(spheres))


def draw(spheres: list[Sphere]) -> Figure:
    figure = Figure(figsize=(7.5, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for sphere in spheres:
        left.plot(RADII, sphere.profile, label=f"{sphere.mass:.2g} Msun")
    left.axhspan(0.85, 1.0, alpha=0.2)
    left.axvline(1.0, color="0.5", linewidth=0.8)
    left.set(xlabel="r / R_200m", ylabel="gas fraction within r over the cosmic one")
    left.legend(fontsize="x-small")
    right.plot([sphere.mass for sphere in spheres], [sphere.warmth for sphere in spheres], "o")
    right.axhspan(0.75, 1.1, alpha=0.2)
    right.set(xscale="log", xlabel="M_200m [Msun]", ylabel="T / T_vir")
    return figure

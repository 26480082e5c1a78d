"""A run at z = 0 whose halos, found by two finders, have the masses, spins and shapes that halos have.

As a program it makes one to look at: python synthetic_halos.py DIR
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import synthetic
from sidestream.figures.cosmology import WARREN, Theory

HUBBLE, SIDE, CELLS = 0.70, 64.0, 256  # of a box of 64 Mpc/h
COSMOLOGY = {"hubble": HUBBLE, "omega_m": 0.30, "omega_b": 0.05, "sigma8": 0.80, "ns": 0.96}
BOX = SIDE / HUBBLE
MEAN = 2.775366e11 * HUBBLE**2 * COSMOLOGY["omega_m"]  # Msun/Mpc^3
PARTICLE = MEAN * (BOX / 128) ** 3
STEP = 150
TASKS = {"groups": "halos", "halos": "halos", "picture": "projection"}


def write_run(folder: Path) -> Path:
    """The results of one step, without events."""
    random = np.random.default_rng(7)
    folder.mkdir(parents=True, exist_ok=True)
    tables = [f'[task.{name}]\nanalysis = "{analysis}"\n' for name, analysis in TASKS.items()]
    (folder / "config.toml").write_text('simulation = "nbody"\n' + "\n".join(tables))
    image, places = _density(random)
    for task, finder in (("groups", "fof"), ("halos", "iso-density")):
        write(folder, task, halo_table(random, places, finder), finder=finder)
    write(folder, "picture", image, axis="z")
    return folder


def write(folder: Path, task: str, table: synthetic.Table, **attributes: object) -> Path:
    state = {"box_mpc": BOX, "mean_density": MEAN} | COSMOLOGY
    return synthetic.write_result(folder, task, TASKS[task], STEP, 0.0, table, **state, **attributes)


def masses(random: np.random.Generator, smallest: float) -> np.ndarray:
    """Masses [Msun] of Warren's fit down to `smallest`, in descending order."""
    edges = np.geomspace(smallest, 3e15, 400) * HUBBLE
    expected = Theory(COSMOLOGY).halos_between(edges[:-1], edges[1:], 0.0, WARREN) * SIDE**3
    counts = random.poisson(expected)
    logs = np.repeat(np.log(edges[:-1]), counts) + random.random(counts.sum()) * np.repeat(
        np.diff(np.log(edges)), counts
    )
    return np.sort(np.exp(logs) / HUBBLE)[::-1]


def halo_table(random: np.random.Generator, places: np.ndarray, finder: str) -> synthetic.Table:
    mass = masses(random, 20 * PARTICLE)
    if finder == "iso-density":  # the mesh misses small ones
        mass = mass[random.random(mass.size) < 0.8 / (1 + (3e12 / mass) ** 2)]
    n = mass.size
    rows = ("halo",)
    columns = {"id": (np.sort(random.choice(CELLS**3, n, replace=False)), "1"), "mass": (mass, "Msun")}
    chosen = places[random.integers(0, len(places), n)] if len(places) else random.uniform(0, BOX, (n, 3))
    columns |= {axis: (chosen[:, i], "Mpc") for i, axis in enumerate("xyz")}
    if finder == "fof":
        number = np.maximum(np.round(mass / PARTICLE), 20).astype(np.int64)
        columns |= {"particles": (number, "1"), "mass_warren": (mass * (1 - number**-0.6), "Msun")}
    else:
        volume = mass / (245 * MEAN)
        cells = np.maximum(np.round(volume / (BOX / CELLS) ** 3), 1).astype(np.int64)
        columns |= {"cells": (cells, "1"), "volume": (volume, "Mpc^3")}
    return {name: (rows, values, unit) for name, (values, unit) in (columns | _properties(random, mass)).items()}


def _properties(random: np.random.Generator, mass: np.ndarray) -> dict[str, tuple[np.ndarray, str]]:
    n = mass.size
    within = {name: mass * share * random.lognormal(0, 0.08, n) for name, share in (("m200m", 1.0), ("m200c", 0.8))}
    densities = {"m200m": 200 * MEAN, "m200c": 200 * MEAN / COSMOLOGY["omega_m"]}
    radii = {f"r{name[1:]}": np.cbrt(3 * m / (4 * np.pi * densities[name])) for name, m in within.items()}
    b = np.clip(random.normal(0.78, 0.1, n), 0.3, 1.0)
    c = b * np.clip(random.normal(0.85, 0.08, n), 0.3, 1.0)
    return (
        {name: (values, "Msun") for name, values in within.items()}
        | {name: (values, "Mpc") for name, values in radii.items()}
        | {"spin": (random.lognormal(np.log(0.035), 0.5, n), "1")}
        | {f"axis_{name}": (values * radii["r200m"], "Mpc") for name, values in (("a", 1.0), ("b", b), ("c", c))}
    )


def _density(random: np.random.Generator) -> tuple[synthetic.Table, np.ndarray]:
    """The projection of a lognormal field, and places where it is dense."""
    n = 128
    k = np.sqrt(sum(np.square(f) for f in np.meshgrid(*[np.fft.fftfreq(n, 1 / n)] * 3, indexing="ij")))
    k[0, 0, 0] = np.inf
    field = np.fft.ifftn(np.fft.fftn(random.normal(size=(n, n, n))) * k**-1.0 * np.exp(-((k / 50) ** 2))).real
    density = np.exp(1.6 * field / field.std())
    share = np.where(density > 8, density, 0).ravel() ** 1.2
    cells = random.choice(n**3, 4000, p=share / share.sum(), replace=False)
    places = (np.column_stack(np.unravel_index(cells, (n, n, n))[::-1]) + random.random((cells.size, 3))) * BOX / n
    centres = (np.arange(n) + 0.5) * BOX / n
    column = density.mean(axis=0) / density.mean() * MEAN
    table: synthetic.Table = {"y": (("y",), centres, "Mpc"), "x": (("x",), centres, "Mpc")}
    return table | {"dark_matter_density": (("y", "x"), column, "Msun/Mpc^3")}, places


if __name__ == "__main__":
    write_run(Path(sys.argv[1]))

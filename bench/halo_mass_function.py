"""Halo mass functions of an N-body box at z = 0 by two finders, against Warren et al. 2006 and a reference experiment.

usage: halo_mass_function.py RUN   (a finished run of bench/nbody_z0.toml)

Prints JSON. For each finder and each bin of mass [Msun/h]: the number of halos, its ratio to Warren's fit, the ratio
that the reference experiment found (a particle-mesh code of its own with as many particles and cells, another seed),
and whether the two agree: within 15 per cent, for the reference and the fit, and two standard deviations of the count.
The number of halos and their share of the mass are compared likewise. Friends of friends (linking length 0.2) count by
masses with Warren's correction. Iso-density halos (81.66 and 200 times the mean) follow the fit above some 1e13 Msun/h
only: a smaller one has fewer than 100 cells of this mesh. The last part compares the power on the largest scales with
linear growth.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from sidestream.figures.mass_function import is_friends_of_friends, mass_column

import sidestream
from sidestream.figures.cosmology import WARREN, Theory

# low, high: count over Warren's fit, and the error of the reference itself where it was given.
FRIENDS_OF_FRIENDS = {
    (5e11, 1e12): (0.76, 0.0),  # 50 to 100 particles: too few for a mass
    (1e12, 2e12): (0.90, 0.0),
    (2e12, 5e12): (0.91, 0.0),
    (5e12, 1e13): (0.95, 0.0),
    (1e13, 3e13): (0.96, 0.0),
}
ISO_DENSITY = {
    (2e12, 5e12): (0.66, 0.0),
    (5e12, 1e13): (0.83, 0.0),
    (1e13, 3e13): (0.79, 0.0),
    (3e13, 1e14): (0.75, 0.21),
    (1e14, 1e16): (1.3, 0.3),
}
TOLERANCE = 0.15
PARTICLES = {20: 3795, 100: 1013}  # friends-of-friends groups of at least so many particles
HALOS, SHARE_OF_MASS = 812, 0.272  # iso-density


def bins(mass: np.ndarray, volume: float, theory: Theory, reference: dict) -> list[dict[str, Any]]:
    """Counts of masses [Msun/h] in a volume [(Mpc/h)^3] over Warren's, bin by bin."""
    rows = []
    for (low, high), (expected, error) in reference.items():
        count = int(((mass >= low) & (mass < high)).sum())
        edges = np.geomspace(low, high, 60)
        warren = float(theory.halos_between(edges[:-1], edges[1:], 0.0, WARREN).sum() * volume)
        scatter = TOLERANCE * expected + 2 * np.hypot(np.sqrt(max(count, 1)) / warren, error)
        rows.append(
            {"from": low, "to": high, "halos": count, "ratio_to_warren": count / warren, "reference": expected}
            | {"agrees": bool(abs(count / warren - expected) < scatter)}
        )
    return rows


def number(found: float, reference: float) -> dict[str, Any]:
    """A total that the reference experiment has too."""
    return {
        "found": found,
        "reference": reference,
        "agrees": bool(abs(found / reference - 1) < TOLERANCE + 2 / np.sqrt(max(found, reference, 1))),
    }


def by_friends(table: Any, volume: float, theory: Theory) -> dict[str, Any]:
    particles = table["particles"].values
    totals = {f"groups_of_{least}_particles": int((particles >= least).sum()) for least in PARTICLES}
    return {
        name: number(found, reference)
        for (name, found), reference in zip(totals.items(), PARTICLES.values(), strict=True)
    } | {
        "mass_bins": bins(table[mass_column(table)].values * table.attrs["hubble"], volume, theory, FRIENDS_OF_FRIENDS)
    }


def by_density(table: Any, volume: float, theory: Theory) -> dict[str, Any]:
    mass = table["mass"].values
    share = float(mass.sum() / (table.attrs["mean_density"] * table.attrs["box_mpc"] ** 3))
    return {
        "halos": number(int(mass.size), HALOS),
        "share_of_mass": {
            "found": share,
            "reference": SHARE_OF_MASS,
            "agrees": bool(abs(share / SHARE_OF_MASS - 1) < TOLERANCE),
        },
        "mass_bins": bins(mass * table.attrs["hubble"], volume, theory, ISO_DENSITY),
    }


def power_over_linear_growth(run: Any, theory: Theory) -> list[dict[str, float]]:
    first, last = (run.result("spectra", step) for step in (run.steps("spectra")[0], run.steps("spectra")[-1]))
    k = last["k"].values
    growth = theory.linear_power(k, 0.0) / theory.linear_power(k, float(first.attrs["redshift"]))
    ratio = (last["dark_matter_density_power"] / first["dark_matter_density_power"]).values / growth
    return [{"k_h_per_mpc": float(k[i]), "ratio": float(ratio[i])} for i in range(6)]


def agrees(part: Any) -> bool:
    """Whether everything below agrees."""
    if isinstance(part, dict):
        return bool(part.get("agrees", True)) and all(agrees(value) for value in part.values())
    return all(agrees(row) for row in part) if isinstance(part, list) else True


def main() -> None:
    run = sidestream.open(sys.argv[1])
    report: dict[str, Any] = {}
    for task in run.tasks:
        if run.analysis(task) != "halos" or not run.steps(task):
            continue
        table = run.result(task, -1)
        theory = Theory.of(table.attrs, run.config)
        volume = (table.attrs["box_mpc"] * table.attrs["hubble"]) ** 3
        kind, measure = (
            ("friends_of_friends", by_friends) if is_friends_of_friends(table) else ("iso_density", by_density)
        )
        report[kind] = measure(table, volume, theory)
        report[kind]["agrees"] = agrees(report[kind])
    if "spectra" in run and run.steps("spectra"):
        report["power_over_linear_growth"] = power_over_linear_growth(run, theory)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()

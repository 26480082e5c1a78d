"""The halo mass function and the power spectrum of an N-body box at z = 0 against Warren et al. 2006 and linear theory.

usage: halo_mass_function.py RUN   (a finished run of bench/nbody_z0.toml)

Prints JSON: for each bin of mass the number of halos, its ratio to Warren's fit, and the ratio that a reference
experiment at the same resolution found (iso-density halos at 81.66 / 200 times the mean; a mesh this coarse misses
small ones).
"""

import json
import sys

import numpy as np
from colossus.cosmology import cosmology
from colossus.lss import mass_function

import sidestream

REFERENCE = {(2e12, 5e12): 0.66, (5e12, 1e13): 0.83, (1e13, 3e13): 0.79}


def expected(low: float, high: float, volume: float) -> float:
    """Halos of Warren's fit between two masses [Msun/h] in a volume [(Mpc/h)^3]."""
    mass = np.geomspace(low, high, 200)
    density = mass_function.massFunction(mass, 0.0, mdef="fof", model="warren06", q_out="dndlnM")
    return float(np.trapezoid(density, np.log(mass)) * volume)


def main() -> None:
    run = sidestream.open(sys.argv[1])
    halos = run.result("halos", run.steps("halos")[-1])
    h, box = halos.attrs["hubble"], halos.attrs["box_mpc"] * halos.attrs["hubble"]
    parameters = {
        "flat": True,
        "H0": 100 * h,
        "Om0": halos.attrs["omega_m"],
        "Ob0": 0.05,
        "sigma8": halos.attrs["sigma8"],
    }
    cosmology.setCosmology("run", **parameters, ns=halos.attrs["ns"])
    mass = halos["mass"].values * h
    report: dict = {"halos": int(mass.size), "mass_bins": []}
    for (low, high), reference in REFERENCE.items():
        count = int(((mass >= low) & (mass < high)).sum())
        warren = expected(low, high, box**3)
        scatter = 0.15 * reference + 2 * np.sqrt(count) / warren
        report["mass_bins"].append(
            {"from": low, "to": high, "halos": count, "ratio_to_warren": count / warren, "reference": reference}
            | {"agrees": bool(abs(count / warren - reference) < scatter)}
        )
    first, last = (run.result("spectra", step) for step in (run.steps("spectra")[0], run.steps("spectra")[-1]))
    growth = cosmology.getCurrent().growthFactor(0.0) / cosmology.getCurrent().growthFactor(first.attrs["redshift"])
    ratio = last["dark_matter_density_power"] / first["dark_matter_density_power"] / growth**2
    report["power_over_linear_growth"] = [
        {"k_h_per_mpc": float(k), "ratio": float(r)}
        for k, r in zip(last["k"].values[:6], ratio.values[:6], strict=True)
    ]
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()

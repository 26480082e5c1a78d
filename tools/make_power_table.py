#!/usr/bin/env python3
"""Computes the linear matter power spectrum that is shipped as data/linear_power_planck2018.csv.

Needs CAMB (pip install camb). Usage: python tools/make_power_table.py > data/linear_power_planck2018.csv
Neutrinos are massless. Radiation is in the transfer function alone: the code scales P(k, z = 0) back in time
with its own growth factor.
"""

import camb
import numpy as np

COSMOLOGY = {"omega_m": 0.3096, "omega_b": 0.04897, "hubble": 0.6766, "ns": 0.9665, "sigma8": 0.8102, "t_cmb": 2.7255}
K_MIN, K_MAX, ROWS = 1e-4, 500.0, 560  # h/Mpc


def linear_power(cosmology: dict[str, float], k: np.ndarray) -> np.ndarray:
    """P(k) in (Mpc/h)^3 at z = 0 for k in h/Mpc, scaled to sigma8."""
    h = cosmology["hubble"]
    parameters = camb.CAMBparams()
    parameters.set_cosmology(
        H0=100.0 * h,
        ombh2=cosmology["omega_b"] * h**2,
        omch2=(cosmology["omega_m"] - cosmology["omega_b"]) * h**2,
        mnu=0.0,
        nnu=3.046,
        omk=0.0,
        TCMB=cosmology["t_cmb"],
    )
    parameters.InitPower.set_params(ns=cosmology["ns"], As=2.1e-9)
    parameters.set_matter_power(redshifts=[0.0], kmax=1.2 * K_MAX * h, k_per_logint=60)
    parameters.set_accuracy(AccuracyBoost=1.5)
    parameters.NonLinear = camb.model.NonLinear_none
    results = camb.get_results(parameters)
    power = results.get_matter_power_interpolator(nonlinear=False, hubble_units=True, k_hunit=True).P(0.0, k)
    return power * (cosmology["sigma8"] / results.get_sigma8_0()) ** 2


def main() -> None:
    k = np.geomspace(K_MIN, K_MAX, ROWS)
    print("# Linear power spectrum of all matter at z = 0 for a Planck-2018-like cosmology with massless neutrinos.")
    print(
        f"# Computed with CAMB {camb.__version__} (Lewis, Challinor & Lasenby 2000, ApJ 538, 473) "
        "by tools/make_power_table.py."
    )
    for name, value in COSMOLOGY.items():
        print(f"# {name} = {value}")
    print("# columns: k [h/Mpc], P [(Mpc/h)^3]")
    for wavenumber, power in zip(k, linear_power(COSMOLOGY, k), strict=True):
        print(f"{wavenumber:.8e},{power:.8e}")


if __name__ == "__main__":
    main()

"""Results of the statistics of turbulence in a run folder, made up after what is known of it.

As a program it makes one to look at: python synthetic_turbulence.py DIR
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from sidestream.measurements import turbulence as measured

CONFIG = """simulation = "turbulence"
[task.flow]
analysis = "turbulence"
every = 1
[task.pairs]
analysis = "structure_functions"
every = 1
"""
VISCOSITY, CONSTANT = 1.0 / 1600.0, 1.6
SEPARATIONS = 2.0 ** np.arange(6) * 2 * np.pi / 64


def write_turbulence(folder: Path, times: Sequence[float], viscosity: float | None = VISCOSITY) -> Path:
    """A run with results at each time; without a viscosity those of a fluid of which none is known."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(CONFIG)
    (folder / "events.jsonl").write_text('{"t": 0.0, "event": "run_start"}\n')
    for step, time in enumerate(times, 1):
        for task, table in (("flow", flow(time, viscosity)), ("pairs", pairs())):
            path = folder / "results" / task / f"{step:05d}.nc"
            path.parent.mkdir(parents=True, exist_ok=True)
            table.assign_attrs(step=step, time=time).to_netcdf(path, engine="h5netcdf")
    return folder


def flow(time: float, viscosity: float | None = VISCOSITY) -> xr.Dataset:
    """The decay of Taylor and Green, with a spectrum after Pao and gradients of wide tails."""
    reference = measured.taylor_green()
    energy = float(np.interp(time, reference.time, reference.energy))
    enstrophy = float(np.interp(time, reference.time, reference.enstrophy))
    dissipation = 2 * VISCOSITY * enstrophy
    eta = (VISCOSITY**3 / dissipation) ** 0.25
    k = np.arange(65.0)
    spectrum = CONSTANT * dissipation ** (2 / 3) * np.exp(-1.5 * CONSTANT * (k * eta) ** (4 / 3))
    spectrum *= np.where(k > 0, np.maximum(k, 1.0) ** (-5 / 3), 0.0)
    deviation = np.linspace(-10, 10, 101)
    tails = np.exp(-np.sqrt(1 + 2 * deviation**2))
    pdf = ("deviation_bin", tails / tails.sum() / 0.2)
    table = xr.Dataset(
        {
            "k": ("shell", k, {"units": "1"}),
            "energy_spectrum": ("shell", spectrum, {"units": "1"}),
            "deviation": ("deviation_bin", deviation, {"units": "1"}),
            "longitudinal_gradient_pdf": pdf,
            "transverse_gradient_pdf": pdf,
            "vorticity_pdf": pdf,
        },
        attrs={
            "kinetic_energy": energy,
            "enstrophy": enstrophy,
            "longitudinal_skewness": -0.5,
            "longitudinal_flatness": 4.2,
            "transverse_flatness": 5.5,
        },
    )
    if viscosity is None:
        return table
    return table.assign_attrs(
        viscosity=viscosity,
        dissipation=dissipation,
        enstrophy_dissipation=dissipation,
        kolmogorov_scale=eta,
        taylor_reynolds_number=110.0,
    )


def pairs() -> xr.Dataset:
    """Powers of the separation."""
    r = np.tile(SEPARATIONS, (3, 1))
    names = ("axis", "separation_bin")
    deviation = np.linspace(-10, 10, 101)
    pdf = np.tile(np.exp(-(deviation**2) / 2) / np.sqrt(2 * np.pi), (len(SEPARATIONS), 1))
    columns = {
        "separation": (names, r, {"units": "1"}),
        "longitudinal_2": (names, 2.0 * r ** (2 / 3)),
        "transverse_2": (names, 8.0 / 3.0 * r ** (2 / 3)),
        "longitudinal_3": (names, -0.008 * r),
        "transverse_3": (names, 0.0 * r),
        "longitudinal_4": (names, 12.0 * r ** (4 / 3)),
        "transverse_4": (names, 18.0 * r ** (4 / 3)),
        "deviation": ("deviation_bin", deviation),
        "longitudinal_pdf": (("separation_bin", "deviation_bin"), pdf),
        "transverse_pdf": (("separation_bin", "deviation_bin"), pdf),
    }
    return xr.Dataset(columns)


if __name__ == "__main__":
    write_turbulence(Path(sys.argv[1]), (0.0, 4.0, 9.0, 14.0))

"""Results of the Lyman-alpha analyses in a run folder, made up after what was measured.

As a program it makes one to look at: python synthetic_forest.py DIR
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from sidestream import measurements

CONFIG = """simulation = "cosmology"
[task.forest]
analysis = "flux"
every = 1
[task.lines]
analysis = "flux_skewers"
every = 1
[task.gas]
analysis = "phase"
every = 1
"""
CELLS, BOX_MPC_H = 64, 10.0
Columns = dict[str, tuple[object, np.ndarray]]


def write_forest(folder: Path, redshifts: Sequence[float], **of: Callable[[float], xr.Dataset]) -> Path:
    """A run with results of `forest`, `lines` and `gas` at each redshift; `of` has other makers for some of them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(CONFIG)
    (folder / "events.jsonl").write_text('{"t": 0.0, "event": "run_start"}\n')
    for task, make in ({"forest": forest, "lines": lines, "gas": gas} | of).items():
        for step, redshift in enumerate(redshifts, 1):
            path = folder / "results" / task / f"{step:05d}.nc"
            path.parent.mkdir(parents=True, exist_ok=True)
            make(redshift).assign_attrs(step=step, redshift=redshift).to_netcdf(path, engine="h5netcdf")
    return folder


def velocity_span(redshift: float) -> float:
    """Of the box in km/s."""
    return BOX_MPC_H * 100 * np.sqrt(0.3 * (1 + redshift) ** 3 + 0.7) / (1 + redshift)


def forest(redshift: float) -> xr.Dataset:
    """Power that falls as measured, different by a tenth along the axes, and the mean flux of Becker et al."""
    random = np.random.default_rng(round(100 * redshift))
    k = np.tile(2 * np.pi / velocity_span(redshift) * np.arange(1, CELLS // 2 + 1), (3, 1))
    kp = (
        0.003
        * (1 + redshift) ** 2.2
        * (k / 0.01) ** 0.6
        * np.exp(-((k / 0.045) ** 1.3))
        * random.normal(1, 0.1, k.shape)
    )
    mean = float(np.exp(-measurements.mean_flux()["becker2013"].effective_depth(redshift)))
    flux = (np.arange(50) + 0.5) / 50
    pdf = np.tile(0.3 + 5 * mean * flux**8 + (1 - mean) * np.exp(-flux / 0.05) * 8, (3, 1))
    columns: Columns = {
        "axis": ("axis", np.arange(3)),
        "mean_flux": ("axis", mean * np.array([0.99, 1.0, 1.02])),
        "flux": ("flux_bin", flux),
        "flux_pdf": (("axis", "flux_bin"), pdf),
        "k_velocity": (("axis", "mode"), k),
        "dimensionless_power": (("axis", "mode"), kp),
        "mean_dimensionless_power": ("mode", kp.mean(axis=0)),
    } | space()
    return dataset(columns, analysis="flux", ion="H I", slice_line_axis="x", slice_pixel_axis="z")


def space() -> Columns:
    """A plane of waves, and power in three dimensions with Kaiser's angles, of opposite sign with the gas."""
    shell_k, mu = 0.9 * np.arange(1, 33), (np.arange(4) + 0.5) / 4
    places = (np.arange(CELLS) + 0.5) * BOX_MPC_H / 0.7 / CELLS
    by_angle = 5.0 * shell_k[:, None] ** -2.2 * (1 + mu**2) ** 2
    modes = np.tile(np.round(30 * shell_k**2)[:, None], (1, 4))
    columns: Columns = {
        "shell_k": ("shell", shell_k),
        "mu": ("mu_bin", mu),
        "mu_modes": (("axis", "shell", "mu_bin"), np.tile(modes, (3, 1, 1))),
        "mu_k": (("axis", "shell", "mu_bin"), np.tile(shell_k[:, None], (3, 1, 4))),
        "slice_line": ("slice_line", places),
        "slice_pixel": ("slice_pixel", places),
        "flux_slice": (("slice_line", "slice_pixel"), 0.5 + 0.4 * np.sin(places)[:, None] * np.sin(2 * places)),
    }
    for prefix, name, sign in (("flux", "mu_power", 1), ("flux_gas_density_cross", "flux_gas_density_cross_mu", -2)):
        columns[name] = (("axis", "shell", "mu_bin"), sign * np.tile(by_angle, (3, 1, 1)))
        for pole, share in (("monopole", 1.9), ("quadrupole", 1.8), ("hexadecapole", 0.2)):
            columns[f"{prefix}_{pole}"] = (("axis", "shell"), sign * share * np.tile(by_angle[:, 0], (3, 1)))
    return columns


def lines(redshift: float) -> xr.Dataset:
    """Nine lines, each darker than the one before."""
    random = np.random.default_rng(7)
    overdensity = np.exp(np.cumsum(random.normal(0, 0.5, (9, CELLS)), axis=1) / 2 - 1)
    darkness = np.geomspace(0.01, 100, 9)[:, None]
    velocity = (np.arange(CELLS) + 0.5) * velocity_span(redshift) / CELLS
    columns: Columns = {
        "velocity": ("pixel", velocity),
        "wavelength": ("pixel", 1215.67 * (1 + redshift) * np.exp(velocity / 299792.458)),
        "neutral_hydrogen": (("line", "pixel"), 1e-11 * overdensity**1.6),
        "temperature": (("line", "pixel"), 1.2e4 * overdensity**0.5),
        "peculiar_velocity": (("line", "pixel"), random.normal(0, 60, (9, CELLS))),
        "flux": (("line", "pixel"), np.exp(-darkness * overdensity / overdensity.mean(axis=1, keepdims=True))),
    }
    return dataset(columns, analysis="flux_skewers", axis="z", ion="H I")


def gas(redshift: float) -> xr.Dataset:
    """Gas on a power law with scatter, and the fit to it."""
    temperature, slope = 9000 + 3000 * np.exp(-((redshift - 3) ** 2)), 1.3 + 0.05 * abs(redshift - 3.5)
    random = np.random.default_rng(3)
    density = np.exp(random.normal(-0.5, 1.2, 40000))
    heat = temperature * density ** (slope - 1) * np.exp(np.abs(random.normal(0, 0.3, density.size)))
    d_edges, t_edges = np.geomspace(1e-3, 1e4, 71), np.geomspace(1e2, 1e7, 101)
    columns: Columns = {
        "density_low": ("density_bin", d_edges[:-1]),
        "density_high": ("density_bin", d_edges[1:]),
        "temperature_low": ("temperature_bin", t_edges[:-1]),
        "temperature_high": ("temperature_bin", t_edges[1:]),
        "count": (("temperature_bin", "density_bin"), np.histogram2d(heat, density, bins=(t_edges, d_edges))[0]),
    }
    return dataset(columns, analysis="phase", mean_density_temperature=temperature, temperature_slope=slope)


def dataset(columns: Columns, **attributes: object) -> xr.Dataset:
    units = {"temperature_low": "K", "temperature_high": "K"}
    named = {name: (*column, {"units": units.get(name, "1")}) for name, column in columns.items()}
    return xr.Dataset(named, attrs=attributes)


if __name__ == "__main__":
    write_forest(Path(sys.argv[1]), [5.0, 4.2, 3.6, 3.0, 2.4, 2.0])

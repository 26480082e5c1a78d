"""One cell of any size leaves the other halos as they are, through `sidestream run` and in files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sidestream as ss
from calls import program
from configs import universe
from fixtures import CommandLine
from nyx_files import State, write

N, SIDE = 16, 16.0
MEAN = 6.0e9  # Msun/Mpc^3, of the gas
CONFIG = (
    universe(
        cells=N,
        steps=0,
        box=f"{SIDE} Mpc",
        z_start=1,
        z_end=0,
        omega_m=0.3,
        omega_b=0.05,
        hubble=0.7,
        power="eisenstein-hu",
    )
    + f"""[task.halos]
analysis = "halos"
field = "gas_density"
every = 1
t_boundary = "{20 * MEAN}"
t_halo = "{40 * MEAN}"
spherical_overdensity = ["200c"]
"""
)
ABSURD = (3, 4, 5)
USUAL = 1e6  # times the mean: the heaviest already


def plot_file(folder: Path, factor: float) -> Path:
    """Four halos of gas and one cell of `factor` times the mean."""
    density = np.full((N, N, N), MEAN)
    for n, (k, j, i) in enumerate([(9, 9, 9), (1, 10, 2), (13, 2, 12), (10, 3, 3)]):
        density[k : k + 3, j : j + 2, i : i + 3] *= 50.0 + 7.0 * n + np.arange(18).reshape(3, 2, 3)
    density[ABSURD] *= factor
    zero = np.zeros_like(density)
    fields = {"density": density, "xmom": zero, "ymom": zero, "zmom": zero, "rho_e": density}
    k, j, i = np.indices(density.shape).reshape(3, -1)
    positions = (np.stack([i, j, k], axis=1) + 0.5) * SIDE / N
    state = State(0.5, (SIDE,) * 3, fields, positions, zero.reshape(-1, 1) * np.ones(3), np.full(N**3, 3e10))
    return write(folder / f"plt{factor:g}", state)


def others(columns: dict[str, list[float]]) -> dict[str, list[float]]:
    """The columns without the heaviest halo, but for spheres that the mean density bounds, in which it counts."""
    return {name: values[1:] for name, values in columns.items() if not name.endswith("200m")}


@pytest.mark.parametrize("factor", [1e25])
def test_the_halos_of_a_run_are_the_others_to_the_bit(factor: float, tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(CONFIG)
    tables = []
    for name, value in (("usual", USUAL), ("absurd", factor)):
        start = plot_file(tmp_path, value)
        done = program(tmp_path, 2, "box.toml", "--quiet", "--from", start, "--out", name)
        assert done.returncode == 0, done.stderr
        table = ss.open(tmp_path / name).result("halos", 0, "halo")
        tables.append({str(column): table[column].values.tolist() for column in table})

    usual, absurd = tables
    assert len(usual["mass"]) == 5
    assert absurd["mass"][0] == pytest.approx(factor * MEAN, rel=1e-12)
    assert others(absurd) == others(usual)
    assert min(others(absurd)["mass"]) > 0.0


@pytest.mark.parametrize("factor", [1e25, 1e250])
def test_the_halos_in_a_file_are_the_others_to_the_bit(
    factor: float, tmp_path: Path, real_sidestream: CommandLine
) -> None:
    words = ("--t-boundary", 20 * MEAN, "--t-halo", 40 * MEAN, "--field", "density", "--json")
    usual, absurd = (
        json.loads(real_sidestream("halos", "find", plot_file(tmp_path, value), *words).stdout)["columns"]
        for value in (USUAL, factor)
    )

    assert len(usual["mass"]) == 5
    assert others(absurd) == others(usual)

"""Power of the Lyman-alpha flux in runs with dark matter of different masses, beside what was measured.

Usage: python lya_wdm.py COLD WARM... [--out PNG]; folders of runs of lya_wdm.toml, the cold one first.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import xarray as xr

import sidestream
from sidestream import measurements

mpl.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

TASK = "forest"


def mass_label(table: xr.Dataset) -> str:
    """The mass that a result states, or that there is none."""
    return f"{table.attrs['wdm_mass_kev']:g} keV" if "wdm_mass_kev" in table.attrs else "cold"


def draw(tables: list[xr.Dataset]) -> Any:
    """Powers of the tables and measured ones above, ratios to the first table below."""
    k = np.asarray(tables[0]["k_velocity"][0])
    powers = [np.asarray(table["mean_dimensionless_power"]) for table in tables]
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(6.4, 7.2), sharex=True, height_ratios=(2, 1), layout="constrained"
    )
    draw_measured(above, tables[0].attrs["redshift"], k)
    for table, power in zip(tables, powers, strict=True):
        (line,) = above.plot(k, power, label=mass_label(table))
        below.plot(k, power / powers[0], color=line.get_color())
    for axes in (above, below):
        axes.axvspan(k[-1] / 4, k[-1], color="0.93", zorder=0)  # waves of less than eight cells
    above.set(xscale="log", yscale="log", ylabel=r"$k\,P(k)/\pi$", title=f"z = {tables[0].attrs['redshift']:.3g}")
    above.set_ylim(bottom=max(above.get_ylim()[0], 1e-3 * powers[0].max()))
    above.legend(fontsize=8)
    below.set(xlabel="wave number k [s/km]", ylabel="over the first", ylim=(0, 1.4))
    return figure


def draw_measured(axes: Any, redshift: float, k: np.ndarray) -> None:
    """What was measured near the redshift, within the wave numbers of the runs."""
    for power in measurements.flux_power().values():
        near = power.near(redshift)
        if near is not None:
            shown = (near.k > 0.8 * k[0]) & (near.k < k[-1])
            scale = near.k[shown] / np.pi
            points = (near.k[shown], scale * near.power[shown], scale * near.error[shown])
            axes.errorbar(*points, fmt=".", lw=1, alpha=0.7, label=power.label)


def main() -> None:
    """Reads the arguments, draws and says what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path("lya_wdm.png"))
    arguments = parser.parse_args()
    draw([sidestream.open(folder).result(TASK, -1) for folder in arguments.runs]).savefig(arguments.out, dpi=160)
    print(arguments.out)


if __name__ == "__main__":
    main()

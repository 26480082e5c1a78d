"""Pictures of the Lyman-alpha flux in space: a plane of it, its power by the angle to the line of sight, and its cross
spectra with densities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ..picture import BLUE, RED, TEAL, Picture, field_name, look, moment, redshift_colours, unit_label

if TYPE_CHECKING:
    import xarray as xr

_CROSS, _POLE = "_cross", "_monopole"
_POLES = (("monopole", BLUE), ("quadrupole", TEAL), ("hexadecapole", RED))


def pictures(table: xr.Dataset, task: str) -> Iterator[Picture]:
    """What a result of `flux` has of these, with the spectra as the mean over its axes."""
    if "flux_slice" in table:
        yield _slice(table, task)
    if "mu_power" in table:
        yield _spectrum(table, task, "flux", "mu_power", "Power of the flux in three dimensions")
    for name in map(str, table.data_vars):
        if name.endswith(_CROSS + _POLE):
            prefix = name.removesuffix(_POLE)
            density = field_name(prefix.removeprefix("flux_").removesuffix(_CROSS))
            yield _spectrum(table, task, prefix, f"{prefix}_mu", f"Cross power of the flux and {density}")


def _slice(table: xr.Dataset, task: str) -> Picture:
    along, line = np.asarray(table["slice_pixel"]), np.asarray(table["slice_line"])
    title = "A plane of the flux"
    sight = str(table.attrs.get("slice_pixel_axis", "line of sight"))
    half = [0.5 * (values[1] - values[0]) if len(values) > 1 else values[0] for values in (along, line)]
    extent = (along[0] - half[0], along[-1] + half[0], line[0] - half[1], line[-1] + half[1])
    with look():
        figure = Figure(figsize=(6.0, 4.8))
        axes = figure.subplots()
        image = axes.imshow(table["flux_slice"], origin="lower", extent=extent, vmin=0, vmax=1, cmap="cividis")
        axes.grid(False)
        axes.set(xlabel=f"{sight} [Mpc], along the line of sight")
        axes.set_ylabel(f"{table.attrs.get('slice_line_axis', 'across it')} [Mpc]")
        axes.set_title(f"{title}, {moment(table)}")
        figure.colorbar(image, ax=axes, label="flux")
    caption = f"Light that comes through on lines of sight along {sight}, in a plane through the middle of the box."
    return Picture(f"{task}-flux-slice", title, caption, figure)


def _spectrum(table: xr.Dataset, task: str, prefix: str, by_angle: str, title: str) -> Picture:
    with look():
        figure = Figure(figsize=(8.8, 4.2))
        angles, poles = figure.subplots(1, 2)
        _draw_angles(angles, table, by_angle)
        k = np.asarray(table["shell_k"])
        for pole, colour in _POLES:
            power = np.asarray(table[f"{prefix}_{pole}"].mean("axis"))
            poles.plot(k, k**3 * power / (2 * np.pi**2), color=colour, label=pole)
        poles.set(xscale="log", xlabel=f"wave number k{unit_label(table, 'shell_k')}")
        poles.set_ylabel(r"$k^3 P_\ell(k) / 2\pi^2$")
        poles.legend()
        figure.suptitle(moment(table))
    caption = "By the angle to the line of sight, mu = |k along it| / k, and its multipoles; the mean over the axes."
    if prefix.endswith(_CROSS):
        caption += " Dashed: where it is negative."
    return Picture(f"{task}-{prefix.replace('_', '-')}-space", title, caption, figure, wide=True)


def _draw_angles(axes: Any, table: xr.Dataset, name: str) -> None:
    """A line for each bin of mu: the mean over axes and modes, dashed where it is negative."""
    modes = table["mu_modes"]
    number = modes.sum("axis")
    k = (table["mu_k"] * modes).sum("axis") / number
    power = (table[name] * modes).sum("axis") / number
    for index, colour in enumerate(redshift_colours([float(mu) for mu in table["mu"]])):
        x, y = np.asarray(k.isel(mu_bin=index)), np.asarray(power.isel(mu_bin=index))
        label = f"mu = {float(table['mu'][index]):.3g}"
        axes.plot(x, np.where(y > 0, y, np.nan), color=colour, label=label)
        axes.plot(x, np.where(y < 0, -y, np.nan), "--", color=colour, label=f"_{label}, negative")
    axes.set(xscale="log", yscale="log", xlabel=f"wave number k{unit_label(table, 'shell_k')}")
    axes.set_ylabel(rf"|P(k, $\mu$)|{unit_label(table, name)}")
    axes.legend()

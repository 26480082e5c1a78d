"""Pictures of what halos are like: spin, shape, and spherical-overdensity mass against that of the halo."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from ..picture import AMBER, BLUE, INK, MUTED, TEAL, VIOLET, Picture, look, moment, unit_label
from .mass_function import FINE_SPHERE, RESOLVED, size_column, with_fine_spheres

if TYPE_CHECKING:
    import xarray as xr

FEWEST = 8  # halos that make a distribution
_SPHERES = ("200c", "200m", "500c", "vir")


def properties(task: str, halos: xr.Dataset) -> Picture | None:
    """A panel for each property that the table has; nothing when it has none or too few halos are resolved."""
    resolved = _resolved(halos)
    panels: list[tuple[Callable[[Any, xr.Dataset], str], bool]] = [
        (_spin, "spin" in halos),
        (_shape, {"axis_a", "axis_b", "axis_c"} <= set(halos)),
        (_overdensity_masses, any({f"m{name}", f"r{name}"} <= set(halos) for name in _SPHERES)),
    ]
    drawn = [panel for panel, is_there in panels if is_there]
    if not drawn or resolved.sizes["halo"] < FEWEST:
        return None
    with look():
        figure = Figure(figsize=(4.4 * len(drawn), 4.1))
        captions = [
            panel(axes, resolved)
            for panel, axes in zip(drawn, figure.subplots(1, len(drawn), squeeze=False)[0], strict=True)
        ]
        first = figure.axes[0]
        first.set_title(f"{first.get_title(loc='left')}, {moment(halos)}")
    share = (
        f"{resolved.sizes['halo']} of {halos.sizes['halo']} halos, those of at least {RESOLVED} {size_column(halos)}. "
    )
    caption = (share if size_column(halos) else "") + " ".join(captions)
    return Picture(f"{task}-properties", "What they are like", caption, figure, wide=len(drawn) > 1)


def lognormal_fit(values: np.ndarray) -> tuple[float, float]:
    """Median and width of the lognormal distribution of greatest likelihood: mean and scatter of the logarithm."""
    logarithm = np.log(values)
    return float(np.exp(logarithm.mean())), float(logarithm.std())


def _resolved(halos: xr.Dataset) -> xr.Dataset:
    size = size_column(halos)
    return halos.isel(halo=np.flatnonzero(np.asarray(halos[size]) >= RESOLVED)) if size else halos


def _spin(axes: Any, halos: xr.Dataset) -> str:
    spin = np.asarray(halos["spin"], dtype=float)
    spin = spin[np.isfinite(spin) & (spin > 0)]
    axes.set(xscale="log", xlabel=r"spin parameter $\lambda$", ylabel=r"$dN/d\ln\lambda$ per halo")
    axes.set_title("Spin")
    if spin.size < FEWEST:
        return ""
    median, width = lognormal_fit(spin)
    if width == 0:
        return ""
    edges = np.linspace(np.log(spin.min()) - 1e-9, np.log(spin.max()) + 1e-9, _bins(spin.size) + 1)
    counts, _ = np.histogram(np.log(spin), edges)
    axes.stairs(counts / (spin.size * np.diff(edges)), np.exp(edges), fill=True, color=TEAL, alpha=0.35, label="_halos")
    x = np.linspace(np.log(median) - 3.5 * width, np.log(median) + 3.5 * width, 160)
    bell = np.exp(-0.5 * ((x - np.log(median)) / width) ** 2) / (width * np.sqrt(2 * np.pi))
    axes.plot(np.exp(x), bell, color=TEAL, label="_lognormal fit")
    return rf"Curve: lognormal fit to the spins, median {median:.3g}, width {width:.2g} in ln λ."


def _shape(axes: Any, halos: xr.Dataset) -> str:
    a, b, c = (np.asarray(halos[f"axis_{name}"], dtype=float) for name in "abc")
    good = np.isfinite(a + b + c) & (a > 0)
    middle, short = b[good] / a[good], c[good] / a[good]
    axes.fill_between([0, 1], [0, 1], [1, 1], color=MUTED, alpha=0.1, lw=0)
    marks = {"s": 12, "lw": 0, "alpha": float(np.clip(300 / max(middle.size, 1), 0.15, 0.7))}
    axes.scatter(middle, short, color=VIOLET, **marks)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="middle axis over longest, b/a", ylabel="shortest over longest, c/a")
    axes.set_title("Shape")
    for x, y, text, align in (
        (0.97, 0.93, "ball", "right"),
        (0.97, 0.05, "disc", "right"),
        (0.06, 0.1, "needle", "left"),
    ):
        axes.text(x, y, text, color=MUTED, fontsize=8.5, ha=align)
    if middle.size == 0:
        return ""
    return f"Median axis ratios: b/a {np.median(middle):.2g}, c/a {np.median(short):.2g}."


def _overdensity_masses(axes: Any, halos: xr.Dataset) -> str:
    mass = np.asarray(halos["mass"], dtype=float)
    known = [name for name in _SPHERES if {f"m{name}", f"r{name}"} <= set(halos)]
    for name, colour in zip(known, (BLUE, TEAL, AMBER, VIOLET), strict=False):
        found = halos.isel(halo=np.flatnonzero(np.asarray(halos[f"r{name}"]) > 0))
        fine = with_fine_spheres(halos, name)
        label = _mass_label(name)
        axes.scatter(found["mass"], found[f"m{name}"], s=9, color=colour, alpha=0.18, lw=0, label=f"_{label}, all")
        axes.scatter(fine["mass"], fine[f"m{name}"], s=13, color=colour, alpha=0.8, lw=0, label=label)
    axes.set(xscale="log", yscale="log")
    span = np.array([mass.min() / 1.3, mass.max() * 1.3])
    axes.plot(span, span, color=INK, lw=0.9, zorder=0, label="_equal masses")
    axes.set(
        xlabel=f"mass of the halo{unit_label(halos, 'mass')}", ylabel=f"mass within a radius{unit_label(halos, 'mass')}"
    )
    if span[1] < 100 * span[0]:  # few enough labels to stand beside each other
        axes.xaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    axes.set_title("Spherical overdensity")
    axes.legend(loc="upper left")
    return f"Pale: spheres of fewer than {FINE_SPHERE:.0f} cells in radius. Line: equal masses."


def _mass_label(name: str) -> str:
    return rf"$M_\mathrm{{{name}}}$"


def _bins(count: int) -> int:
    return int(np.clip(np.sqrt(count), 5, 30))

"""Pictures of the statistics of turbulence: spectra, decay, gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ..measurements import turbulence as measured
from .margins import Margins
from .picture import (
    AMBER,
    FAINT,
    INK,
    MUTED,
    RED,
    VIOLET,
    Picture,
    legend_outside,
    look,
    moment,
    redshift_colours,
    spread,
    unit_label,
)

if TYPE_CHECKING:
    import xarray as xr

    from ..runs.run import Run

_MOMENTS = 5
_ROWS = 12  # of a table
_KOLMOGOROV_CONSTANT = 1.6
_OVERLAYS = ((RED, "o"), (AMBER, "s"), (VIOLET, "^"))
_FEW = 40  # moments whose marks do not run into each other
_SAME = 1e-3  # of viscosity and energy, for a run to be the one of the reference


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """Energy spectra, the decay where there are several moments, histograms of gradients."""
    steps = run.steps(task)
    tables = [run.result(task, step) for step in spread(steps, _MOMENTS)]
    yield _spectra(task, tables)
    if len(steps) > 1:
        yield _decay(task, [run.result(task, step) for step in steps])
    if "longitudinal_gradient_pdf" in tables[-1]:
        yield _gradients(task, tables)


def number(table: xr.Dataset, name: str) -> float:
    """An attribute, NaN where there is none."""
    return float(table.attrs.get(name, np.nan))


def draw_normal(axes: Any, deviations: np.ndarray) -> None:
    """The density of a normal distribution."""
    axes.plot(deviations, np.exp(-(deviations**2) / 2) / np.sqrt(2 * np.pi), "--", color=MUTED, lw=1.1, label="normal")


def show_densities(axes: Any) -> None:
    """Logarithmic axes for lines of probability densities, the last of which is that of a normal distribution."""
    drawn = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines[:-1]]
    lowest = min((float(np.nanmin(y)) for y in drawn if np.isfinite(y).any()), default=1e-3)
    axes.set(yscale="log", ylim=(0.3 * lowest, 2.0), xlabel="in standard deviations")


def _spectra(task: str, tables: Sequence[xr.Dataset]) -> Picture:
    is_viscous = all(number(table, "kolmogorov_scale") > 0 for table in tables)
    with look():
        figure = Figure(figsize=(9.6 if is_viscous else 6.4, 4.6))
        if is_viscous:
            plain, compensated = figure.subplots(1, 2)
            _in_kolmogorov_units(plain, compensated, tables)
            handles, labels = plain.get_legend_handles_labels()
            legend_outside(figure, handles, labels, above=False, columns=3)
        else:
            _in_own_units(figure.subplots(), tables)
    caption = "Kinetic energy by wave number." + (
        " In units of Kolmogorov's scale and velocity, beside spectra measured in a wind tunnel (marks) and computed "
        f"(grey); on the right over the law of the inertial range, dashed: the constant {_KOLMOGOROV_CONSTANT}."
        if is_viscous
        else ""
    )
    return Picture(f"{task}-energy-spectrum", "Energy spectrum", caption, figure, wide=is_viscous)


def _in_own_units(axes: Any, tables: Sequence[xr.Dataset]) -> None:
    for table, colour in zip(tables, redshift_colours([0.0] * len(tables)), strict=True):
        k, energy = _shown(table["k"], table["energy_spectrum"])
        axes.plot(k, energy, color=colour, label=moment(table))
    axes.set(xscale="log", yscale="log", xlabel=f"wave number k{unit_label(tables[-1], 'k')}")
    axes.set(ylabel=f"energy spectrum E(k){unit_label(tables[-1], 'energy_spectrum')}")
    axes.legend()


def _in_kolmogorov_units(plain: Any, compensated: Any, tables: Sequence[xr.Dataset]) -> None:
    marks = iter(_OVERLAYS)
    for spectrum in measured.energy_spectra():
        k_eta, energy = spectrum.in_kolmogorov_units()
        colour, style = next(marks) if spectrum.is_measured else (FAINT, "-")
        for axes, scale in ((plain, 1.0), (compensated, k_eta ** (5 / 3))):
            axes.plot(k_eta, scale * energy, style, color=colour, ms=3.2, lw=1.2, label=spectrum.label, zorder=1.5)
    for table, colour in zip(tables, redshift_colours([0.0] * len(tables)), strict=True):
        eta, viscosity, dissipation = (number(table, n) for n in ("kolmogorov_scale", "viscosity", "dissipation"))
        k, energy = _shown(table["k"], table["energy_spectrum"])
        k_eta, energy = k * eta, energy / (dissipation * viscosity**5) ** 0.25
        label = f"{moment(table)}, $R_\\lambda$ = {number(table, 'taylor_reynolds_number'):.3g}"
        plain.plot(k_eta, energy, color=colour, label=label)
        compensated.plot(k_eta, k_eta ** (5 / 3) * energy, color=colour, label=label)
    compensated.axhline(_KOLMOGOROV_CONSTANT, ls="--", lw=1.0, color=MUTED)
    highest = max(line.get_ydata().max() for line in plain.lines)
    plain.set(xscale="log", yscale="log", xlabel=r"$k\eta$", ylabel=r"$E(k)\,/\,(\epsilon\nu^5)^{1/4}$")
    plain.set(xlim=(None, 3.0), ylim=(1e-9 * highest, 3 * highest))
    compensated.set(xscale="log", yscale="log", xlabel=r"$k\eta$", xlim=(None, 3.0))
    highest = max(float(line.get_ydata().max()) for line in compensated.lines[:-1])
    compensated.set_ylim(1e-3, min(max(10.0, 2 * highest), 1e4))
    compensated.set_ylabel(r"$E(k)\,k^{5/3}\,\epsilon^{-2/3}$")


def _shown(k: Any, energy: Any) -> tuple[np.ndarray, np.ndarray]:
    waves, values = np.asarray(k, dtype=float), np.asarray(energy, dtype=float)
    shown = (waves > 0) & (values > 0)
    return waves[shown], values[shown]


def _decay(task: str, tables: Sequence[xr.Dataset]) -> Picture:
    time = np.array([number(table, "time") for table in tables])
    reference = measured.taylor_green() if _is_taylor_green(tables) else None
    is_viscous = any("dissipation" in table.attrs for table in tables)
    with look():
        figure = Figure(figsize=(9.6 if is_viscous else 6.4, 4.2))
        panels = figure.subplots(1, 2 if is_viscous else 1, squeeze=False)[0]
        _against_time(panels[0], time, tables, {"kinetic_energy": r"$\langle u\cdot u\rangle/2$"})
        panels[0].set_ylabel("kinetic energy of a mass")
        if is_viscous:
            names = {"dissipation": r"$\epsilon$", "enstrophy_dissipation": r"$2\nu\Omega$"}
            _against_time(panels[1], time, tables, names)
            panels[1].set_ylabel("dissipation")
        if reference is not None:
            within = reference.time <= max(1.05 * time.max(), 1.0)
            for axes, values in zip(panels, (reference.energy, reference.dissipation), strict=False):
                axes.plot(reference.time[within], values[within], "--", color=RED, lw=1.2, label=reference.label)
        for axes in panels:
            axes.legend()
    caption = "Energy and its dissipation against time" + (
        ", beside the Taylor-Green vortex at Re = 1600 of the reference (dashed)." if reference is not None else "."
    )
    numbers = _beside(reference, tables) if reference is not None else ()
    return Picture(f"{task}-decay", "Energy and dissipation", caption, figure, wide=is_viscous, numbers=numbers)


def _beside(reference: measured.Decay, tables: Sequence[xr.Dataset]) -> list[list[str]]:
    """Some moments of the run and of the reference, which has a moment each hundredth or so."""
    rows = [["t", "energy", "less the reference", "dissipation", "over the reference"]]
    for n in spread(range(len(tables)), _ROWS):
        time, energy, loss = (number(tables[n], name) for name in ("time", "kinetic_energy", "dissipation"))
        if time > reference.time[-1]:
            break
        expected = float(np.interp(time, reference.time, reference.energy))
        ratio = loss / float(np.interp(time, reference.time, reference.dissipation))
        rows.append([f"{time:.3f}", f"{energy:.6f}", f"{energy - expected:+.1e}", f"{loss:.6f}", f"{ratio:.4f}"])
    return rows


def _against_time(axes: Any, time: np.ndarray, tables: Sequence[xr.Dataset], names: dict[str, str]) -> None:
    """Marks at the moments that there are; lines between them, which nobody has measured, are thin."""
    size = 5.0 if len(time) <= _FEW else 2.5
    for (name, label), style in zip(names.items(), ("o-", "s:"), strict=False):
        values, face = [number(table, name) for table in tables], INK if style == "o-" else "none"
        axes.plot(time, values, style, color=INK, ms=size, mfc=face, lw=0.7, label=label)
    axes.set(xlabel="time t")


def _is_taylor_green(tables: Sequence[xr.Dataset]) -> bool:
    """Whether the run has the viscosity of the reference, and at its first moment the energy and the enstrophy."""
    reference, first = measured.taylor_green(), tables[0]
    time = number(first, "time")
    if not reference.time[0] <= time <= reference.time[-1]:
        return False
    wanted = {
        "viscosity": reference.viscosity,
        "kinetic_energy": float(np.interp(time, reference.time, reference.energy)),
        "enstrophy": float(np.interp(time, reference.time, reference.enstrophy)),
    }
    tolerance = {"enstrophy": 0.05}  # of a coarse run
    return all(abs(number(first, n) / value - 1) < tolerance.get(n, _SAME) for n, value in wanted.items())


def _gradients(task: str, tables: Sequence[xr.Dataset]) -> Picture:
    panels_of = {
        "longitudinal_gradient_pdf": r"$\partial u_i/\partial x_i$",
        "transverse_gradient_pdf": r"$\partial u_i/\partial x_j$",
        "vorticity_pdf": r"vorticity $\omega_i$",
    }
    with look():
        figure = Figure(figsize=(10.8, 4.8))
        panels = figure.subplots(1, 3, sharey=True)
        for axes, (name, title) in zip(panels, panels_of.items(), strict=True):
            deviations = np.asarray(tables[-1]["deviation"])
            for table, colour in zip(tables, redshift_colours([0.0] * len(tables)), strict=True):
                density = np.asarray(table[name], dtype=float)
                label = _label(table, name)
                axes.plot(table["deviation"], np.where(density > 0, density, np.nan), color=colour, label=label)
            draw_normal(axes, deviations)
            show_densities(axes)
            axes.set_title(title)
            axes.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.17))  # below: curves fill the panel
        panels[0].set_ylabel("probability density")
        figure.set_layout_engine(Margins(bottom=0.15 * (len(tables) + 1) + 0.15))
    caption = (
        "How often gradients and vorticity are how large, of all axes together; S: skewness, F: flatness. "
        "Dashed: a normal distribution, of skewness 0 and flatness 3."
    )
    return Picture(f"{task}-gradients", "Velocity gradients", caption, figure, wide=True)


def _label(table: xr.Dataset, name: str) -> str:
    parts = [moment(table)]
    if name == "longitudinal_gradient_pdf":
        parts.append(f"S {number(table, 'longitudinal_skewness'):.2f}, F {number(table, 'longitudinal_flatness'):.2f}")
    elif name == "transverse_gradient_pdf":
        parts.append(f"F {number(table, 'transverse_flatness'):.2f}")
    return ": ".join(parts)

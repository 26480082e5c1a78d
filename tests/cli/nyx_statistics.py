"""Statistics of the intergalactic medium in a plot file of Nyx, by NumPy alone: nothing of the package is used.

The formulas are those of `docs/reference/analyses.md` and `docs/reference/heating_cooling.md`, the units those of Nyx.
Gas is too cold for electrons to ionise it, in a background that does not change with redshift.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

Array = NDArray[np.float64]

GRAM_PER_CM3 = 6.7679e-41  # of Msun / Mpc^3
KM_PER_MPC = 3.0856775814913673e19
PROTON, HYDROGEN_SHARE = 1.67262e-24, 0.76
HELIUM = (1.0 - HYDROGEN_SHARE) / (4.0 * HYDROGEN_SHARE)  # nuclei for each of hydrogen
BOLTZMANN, HYDROGEN_ATOM = 1.380649e-16, 1.6735575e-24
STRENGTH = np.pi * 2.8179403262e-13 * 2.99792458e10 * 0.4164 * 1215.6701e-8  # of Lyman alpha [cm^3/s]
HOTTEST = 6000.0  # [K]: electrons ionise nothing, and there is no dielectronic recombination
RECOMBINATION = {  # Verner & Ferland 1996: a, b, T0, T1
    "HII": (7.982e-11, 0.7480, 3.148, 7.036e5),
    "HeII": (3.294e-11, 0.6910, 1.554e1, 3.676e7),
    "HeIII": (1.891e-10, 0.7524, 9.370, 2.774e6),
}


@dataclass(frozen=True)
class PlotFile:
    """A plot file of one level: fields (z, y, x) by name, and the universe that they are of."""

    fields: dict[str, Array]
    side: float  # comoving [Mpc]
    scale_factor: float
    omega_m: float
    hubble: float

    @property
    def hubble_rate(self) -> float:
        """H(z) of a flat universe [km/s/Mpc]."""
        cube = self.omega_m / self.scale_factor**3
        return 100.0 * self.hubble * float(np.sqrt(cube + 1.0 - self.omega_m))


def read(folder: Path) -> PlotFile:
    """A plot file of Nyx with one level of boxes in doubles."""
    header = (folder / "Header").read_text().splitlines()
    names = header[2 : 2 + int(header[1])]
    lower, upper = (np.array(line.split(), float) for line in header[5 + len(names) : 7 + len(names)])
    lines = (folder / "Level_0" / "Cell_H").read_text().splitlines()
    places = [line.split()[1:] for line in lines if line.startswith("FabOnDisk")]
    boxes = [line for line in lines if line.startswith("((")]
    fields: dict[str, Array] = {}
    for (name, offset), box in zip(places, boxes, strict=True):
        first, last = (np.array(part.split(","), int) for part in box.strip("()").split(") (")[:2])
        shape = (len(names), *(last - first + 1)[::-1])
        with (folder / "Level_0" / name).open("rb") as file:
            file.seek(int(offset))
            file.readline()
            values = np.fromfile(file, "<f8", int(np.prod(shape))).reshape(shape)
        region = tuple(slice(a, b + 1) for a, b in zip(first[::-1], last[::-1], strict=True))
        for field, value in zip(names, values, strict=True):
            fields.setdefault(field, np.full((32, 32, 32), np.nan))[region] = value
    said = dict(line.split(":") for line in (folder / "job_info").read_text().splitlines() if "(comoving):" in line)
    return PlotFile(
        fields,
        float(upper[0] - lower[0]),
        float((folder / "comoving_a").read_text()),
        float(said["Omega_m (comoving)"]),
        float(said["h (comoving)"]),
    )


def neutral_hydrogen(file: PlotFile, ionization: tuple[float, float, float]) -> Array:
    """Atoms in a proper cm^3 in equilibrium with a background that ionises H I, He I and He II at these rates [1/s]."""
    nuclei = HYDROGEN_SHARE / PROTON * GRAM_PER_CM3 / file.scale_factor**3 * file.fields["density"]
    return nuclei * neutral_share(nuclei, file.fields["Temp"], ionization)


def neutral_share(nuclei: Array, temperature: Array, ionization: Sequence[Array | float]) -> Array:
    """H I for each of the hydrogen `nuclei` [1/cm^3] of gas of so many K; rates of H I, He I and He II [1/s]."""
    assert temperature.max() < HOTTEST
    back = {ion: _recombination(temperature, *fit) for ion, fit in RECOMBINATION.items()}
    electrons = np.full_like(nuclei, 1.0 + HELIUM)
    for _ in range(200):
        light = [rate / (nuclei * electrons) for rate in ionization]
        once, twice = light[1] / back["HeII"], light[1] / back["HeII"] * light[2] / back["HeIII"]
        charges = HELIUM * (once + 2.0 * twice) / (1.0 + once + twice)
        electrons = light[0] / (light[0] + back["HII"]) + charges
    return back["HII"] / (light[0] + back["HII"])


def _recombination(temperature: Array, a: float, b: float, t0: float, t1: float) -> Array:
    one, other = np.sqrt(temperature / t0), np.sqrt(temperature / t1)
    return a / (one * (1.0 + one) ** (1.0 - b) * (1.0 + other) ** (1.0 + b))


def counts(values: Array, low: float, high: float, bins: int) -> NDArray[np.int64]:
    """Cells in bins of equal width in the logarithm."""
    return np.histogram(values, np.geomspace(low, high, bins + 1))[0]


def phase(file: PlotFile) -> NDArray[np.int64]:
    """Cells by temperature and overdensity, in the standard bins."""
    density = file.fields["density"]
    edges = np.geomspace(1e-4, 1e8, 241), np.geomspace(1e-3, 1e5, 161)
    return np.histogram2d(file.fields["Temp"].ravel(), (density / density.mean()).ravel(), edges)[0].astype(int)


def contrast(density: Array, clouds: bool = False) -> NDArray[np.complex128]:
    """The transform of density / mean - 1 over the number of cells, freed of the window of clouds if it was made so."""
    delta = np.fft.fftn(density / density.mean() - 1.0) / density.size
    if clouds:
        window = np.sinc(np.fft.fftfreq(len(density))) ** 2
        delta /= window[:, None, None] * window[None, :, None] * window[None, None, :]
    return delta


def power(one: NDArray[np.complex128], other: NDArray[np.complex128], side: float) -> Array:
    """Mean power in shells about multiples of the fundamental mode, in units of side^3."""
    n = len(one)
    wave = np.fft.fftfreq(n, 1.0 / n)
    shell = np.floor(
        np.sqrt(wave[:, None, None] ** 2 + wave[None, :, None] ** 2 + wave[None, None, :] ** 2) + 0.5
    ).astype(int)
    inside = (shell >= 1) & (shell <= n // 2)
    sums = np.bincount(shell[inside], (one * other.conj()).real[inside])[1:]
    return sums / np.bincount(shell[inside])[1:] * side**3


def flux(file: PlotFile, atoms: Array) -> Iterator[Array]:
    """The transmitted flux along x, y and z, each (line, pixel), with velocities and thermal widths."""
    for axis in range(3):
        lines = [np.moveaxis(one, 2 - axis, 2).reshape(-1, 32) for one in (atoms, *_motion(file, axis))]
        yield np.exp(-_depth(file, *lines))


def _motion(file: PlotFile, axis: int) -> tuple[Array, Array]:
    """Velocity along the axis and Doppler parameter [km/s]."""
    velocity = file.fields["xyz"[axis] + "mom"] / file.fields["density"]
    return velocity, np.sqrt(2.0 * BOLTZMANN * file.fields["Temp"] / HYDROGEN_ATOM) / 1e5


def _depth(file: PlotFile, atoms: Array, velocity: Array, doppler: Array) -> Array:
    n = atoms.shape[1]
    pixel = file.hubble_rate * file.scale_factor * file.side / n
    middle = (np.arange(n) + 0.5) * pixel
    depth = np.zeros_like(atoms)
    for image in range(-3, 4):
        distance = middle[None, :, None] - (middle + velocity)[:, None, :] + image * n * pixel
        width = doppler[:, None, :]
        covered = erf((distance + 0.5 * pixel) / width) - erf((distance - 0.5 * pixel) / width)
        depth += (0.5 * atoms[:, None, :] * covered).sum(axis=2)
    return STRENGTH / (file.hubble_rate / KM_PER_MPC) * depth


def flux_power(along: Array) -> Array:
    """Mean over lines of the power of flux / mean - 1 along them, in units of the length of a line."""
    modes = np.fft.rfft(along / along.mean() - 1.0, axis=1)[:, 1:] / along.shape[1]
    return (np.abs(modes) ** 2).mean(axis=0)

"""Plot files in the AMReX/Nyx directory layout: the headers in Python, the fields through the extension."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .core import extension, translated_errors
from .error import Error

if TYPE_CHECKING:
    import xarray as xr

_UNITS = {
    "density": "Msun/Mpc^3",
    "particle_mass_density": "Msun/Mpc^3",
    "total_density": "Msun/Mpc^3",
    "Temp": "K",
    "phi_grav": "(km/s)^2",
} | {f"{axis}mom": "Msun/Mpc^3 km/s" for axis in "xyz"}


@dataclass
class PlotfileHeader:
    """What the text headers of a plot file say, without touching its data."""

    fields: list[str]
    cells: list[int]  # x, y, z of the coarsest level
    time: float
    levels: int
    low: list[float]
    high: list[float]
    boxes: int
    scale_factor: float | None = None
    particles: int | None = None
    cosmology: dict[str, float] = field(default_factory=dict)

    @property
    def redshift(self) -> float | None:
        """The redshift, if the file has a scale factor."""
        return 1 / self.scale_factor - 1 if self.scale_factor else None


def read_header(folder: Path) -> PlotfileHeader:
    """Reads the text headers of a plot file directory."""
    try:
        header = _parse_header((folder / "Header").read_text(encoding="ascii", errors="replace").split("\n"))
        header.scale_factor = _number_in(folder / "comoving_a")
        header.particles = _particles(folder / "DM" / "Header")
        header.cosmology = _cosmology(folder / "job_info")
    except (OSError, ValueError, IndexError) as problem:
        raise Error(
            "the header of the plot file is damaged", folder / "Header", "write the plot file again"
        ) from problem
    return header


def load_plotfile(folder: Path) -> xr.Dataset:
    """Reads all fields of a plot file into a dataset on `[z, y, x]`, with cell centres in Mpc as coordinates."""
    import xarray as xr

    header = read_header(folder)
    with translated_errors():
        content: dict[str, Any] = extension().read_plotfile(str(folder))
    fields = content.get("fields", content)
    arrays = {name: np.asarray(a) for name, a in fields.items() if getattr(a, "ndim", 0) == 3}
    variables = {name: (("z", "y", "x"), a, {"units": _UNITS.get(name, "1")}) for name, a in arrays.items()}
    attributes = {"time": header.time, **header.cosmology}
    if header.scale_factor:
        attributes |= {"scale_factor": header.scale_factor, "redshift": 1 / header.scale_factor - 1}
    return xr.Dataset(variables, coords=_centres(header), attrs=attributes)


def _parse_header(lines: list[str]) -> PlotfileHeader:
    count = int(lines[1])
    fields = [line.strip() for line in lines[2 : 2 + count]]
    dimension, time, finest = lines[2 + count : 5 + count]
    low, high = ([float(x) for x in line.split()] for line in lines[5 + count : 7 + count])
    first_box = re.match(r"\s*\(\(([-\d,]+)\)\s*\(([-\d,]+)\)", lines[8 + count])
    if first_box is None or int(dimension) != 3:
        raise ValueError("no index box of a three-dimensional domain")
    lo, hi = ([int(i) for i in text.split(",")] for text in first_box.groups())
    levels = int(finest) + 1
    grids = lines[12 + count + levels].split() if len(lines) > 12 + count + levels else []
    cells = [b - a + 1 for a, b in zip(lo, hi, strict=True)]
    return PlotfileHeader(fields, cells, float(time), levels, low, high, int(grids[1]) if len(grids) > 1 else 0)


def _number_in(path: Path) -> float | None:
    return float(path.read_text().split()[0]) if path.is_file() else None


def _particles(path: Path) -> int | None:
    if not path.is_file():
        return None
    lines = path.read_text(encoding="ascii", errors="replace").split("\n")
    reals = int(lines[2])
    integers = int(lines[3 + reals])
    return int(lines[5 + reals + integers])


def _cosmology(path: Path) -> dict[str, float]:
    if not path.is_file():
        return {}
    text = path.read_text(encoding="utf-8", errors="replace")
    names = {
        "omega_m": r"Omega_m \(comoving\)",
        "omega_lambda": r"Omega_lambda \(comoving\)",
        "hubble": r"\bh \(comoving\)",
    }
    found = {name: re.search(rf"{pattern}:\s*([-+.\deE]+)", text) for name, pattern in names.items()}
    return {name: float(match.group(1)) for name, match in found.items() if match}


def _centres(header: PlotfileHeader) -> dict[str, Any]:
    coords = {}
    for axis, n, low, high in zip("xyz", header.cells, header.low, header.high, strict=True):
        centres = low + (np.arange(n) + 0.5) * (high - low) / n
        coords[axis] = (axis, centres, {"units": "Mpc", "long_name": f"comoving {axis}"})
    return coords

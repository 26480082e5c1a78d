"""Plot files in the AMReX/Nyx directory layout: the headers in Python, boxes and fields through the extension."""

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
    from numpy.typing import NDArray

_BOX = r"\(\(([-\d,]+)\)\s*\(([-\d,]+)\)\s*\([-\d,]+\)\)"  # first cell, last cell and centring

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
    level_cells: list[list[int]]  # x, y, z of the whole domain at the resolution of each level
    boxes: list[int]  # number of each level
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


class Plotfile:
    """A plot file. Opening reads its text headers; a field is read when it is asked for.

    Fields come as `xarray.DataArray` on `[z, y, x]` with the centres of the cells in Mpc as coordinates. On a refined
    mesh the coarsest level holds averages where it is refined; `covering_grid` gives any level.

    Example:
        >>> plot = sidestream.open("runs/demo/plt00120")
        >>> plot["density"].mean()
        >>> plot.levels, plot.cells(1), plot.boxes(1).shape
        (3, (128, 128, 128), (96, 2, 3))
        >>> fine = plot.covering_grid("density", level=2)
        >>> halos = plot.halos(level=1, t_halo="200 mean")
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._header = read_header(folder)

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.cells()))
        levels = f", {self.levels} levels" if self.levels > 1 else ""
        return f"<sidestream.Plotfile {str(self.folder)!r}, {size} cells{levels}, fields: {', '.join(self.fields)}>"

    @property
    def fields(self) -> list[str]:
        """The names of the fields."""
        return list(self._header.fields)

    @property
    def levels(self) -> int:
        """The number of levels of refinement; 1 on a uniform grid."""
        return self._header.levels

    @property
    def box_size(self) -> tuple[float, float, float]:
        """The sides x, y, z of the whole domain [Mpc]."""
        x, y, z = (high - low for low, high in zip(self._header.low, self._header.high, strict=True))
        return x, y, z

    @property
    def attrs(self) -> dict[str, float]:
        """Time, scale factor, redshift and cosmology, as far as the file tells."""
        header = self._header
        moment = {"time": header.time} | header.cosmology
        if header.scale_factor and header.redshift is not None:
            moment |= {"scale_factor": header.scale_factor, "redshift": header.redshift}
        return moment

    def cells(self, level: int = 0) -> tuple[int, int, int]:
        """The cells x, y, z of the whole domain at the resolution of `level`."""
        x, y, z = self._header.level_cells[self._checked(level)]
        return x, y, z

    def boxes(self, level: int = 0) -> NDArray[np.int32]:
        """The boxes of `level` as `[box, 0 or 1, axis]`: first cell and end (half-open) along x, y, z."""
        self._checked(level)
        with translated_errors():
            boxes = extension().plotfile_boxes(str(self.folder), level)
        return np.asarray(boxes).reshape(-1, 2, 3)

    def __getitem__(self, field: str) -> xr.DataArray:
        """The field on the coarsest level."""
        return self.covering_grid(field)

    def __contains__(self, field: object) -> bool:
        return field in self._header.fields

    def covering_grid(self, field: str, level: int = 0) -> xr.DataArray:
        """The field on the whole domain at the resolution of `level`.

        Each cell has the value of the finest level up to `level` that covers it; a coarser cell fills all finer ones
        in it.
        """
        import xarray as xr

        cells = self.cells(level)
        with translated_errors():
            values = np.asarray(extension().covering_grid(str(self.folder), field, level))
        attributes = {"units": _UNITS.get(field, "1"), "level": level, **self.attrs}
        return xr.DataArray(values, _centres(self._header, cells), ("z", "y", "x"), name=field, attrs=attributes)

    def halos(self, field: str = "density", level: int = 0, **options: Any) -> xr.Dataset:
        """The halos of a field at the resolution of `level`; `options` are those of `sidestream.halos`."""
        from .arrays import halos

        return halos(self.covering_grid(field, level), self.box_size, **options)

    def power_spectrum(self, field: str = "density", level: int = 0) -> xr.Dataset:
        """The power spectrum of a field at the resolution of `level`, with k in 1/Mpc."""
        from .arrays import power_spectrum

        return power_spectrum(self.covering_grid(field, level), self.box_size)

    def _checked(self, level: int) -> int:
        if not 0 <= level < self.levels:
            known = f"it has the levels 0 to {self.levels - 1}" if self.levels > 1 else "it has level 0 only"
            raise Error(f"there is no level {level}", self.folder, known)
        return level


def _parse_header(lines: list[str]) -> PlotfileHeader:
    count = int(lines[1])
    fields = [line.strip() for line in lines[2 : 2 + count]]
    dimension, time, finest = lines[2 + count : 5 + count]
    low, high = ([float(x) for x in line.split()] for line in lines[5 + count : 7 + count])
    levels = int(finest) + 1
    level_cells = [_cells(box) for box in re.findall(_BOX, lines[8 + count])]
    if len(level_cells) != levels or levels < 1 or int(dimension) != 3:
        raise ValueError("not one index box of a three-dimensional domain for each level")
    boxes = _box_counts(lines, 12 + count + levels, levels)
    return PlotfileHeader(fields, level_cells[0], float(time), levels, low, high, level_cells, boxes)


def _cells(box: tuple[str, str]) -> list[int]:
    first, last = ([int(i) for i in text.split(",")] for text in box)
    return [b - a + 1 for a, b in zip(first, last, strict=True)]


def _box_counts(lines: list[str], begin: int, levels: int) -> list[int]:
    """The numbers of boxes: each level has a line with it, one with its step, three a box and one with a path."""
    counts: list[int] = []
    for _ in range(levels):
        counts.append(int(lines[begin].split()[1]))
        begin += 3 + 3 * counts[-1]
    return counts


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


def _centres(header: PlotfileHeader, cells: tuple[int, int, int]) -> dict[str, Any]:
    coords = {}
    for axis, n, low, high in zip("xyz", cells, header.low, header.high, strict=True):
        centres = low + (np.arange(n) + 0.5) * (high - low) / n
        coords[axis] = (axis, centres, {"units": "Mpc", "long_name": f"comoving {axis}"})
    return coords

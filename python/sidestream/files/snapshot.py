"""Files of a simulation's state, of any format: what is in them, fields, particles, analyses.

Everything is read by the compiled part, which knows the formats; here are only names and units.
"""

from __future__ import annotations

import json
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import extension, translated_errors
from ..error import Caution, Error
from .analysis_units import DENSITY_UNIT, MPC, MSUN_PER_MPC3, unit_attribute
from .damage import errors_of
from .formats import bytes_of
from .unit_names import canonical, in_our_spelling

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray
    from typing_extensions import Self

    from .exports import Cells, Region

_DARK = "dark_matter_density"

# What vouches for the numbers in a file, in words.
LOST = "lost"
CHECKSUMS = {
    "kept": "kept",
    "lost": "lost: Sidestream wrote the file, but it is old, was copied in part or is damaged",
    "none": "none: another program wrote the file",
}


class Snapshot(ABC):
    """The state of a simulation at a moment, wherever it comes from: fields, particles, analyses.

    Fields come as `xarray.DataArray` on `[z, y, x]` with the centres of the cells as coordinates, in the units of the
    file. On a refined mesh the coarsest level holds averages where it is refined; `covering_grid` gives any level.

    Example:
        >>> plot = sidestream.open("runs/demo/plt00120")
        >>> plot["density"].mean()
        >>> plot.levels, plot.cells(1), plot.boxes(1).shape
        (3, (128, 128, 128), (96, 2, 3))
        >>> fine = plot.covering_grid("density", level=2)
        >>> halos = plot.halos(level=1, t_halo="200 mean")
        >>> plot.particles().mass.sum()
        >>> plot.species, plot.particles("stars").creation_time.max()
    """

    def __init__(self, path: Path, facts: str) -> None:
        self.path = path
        self._facts: dict[str, Any] = in_our_spelling(json.loads(facts))
        if self.seal == LOST:
            lost = f"the checksums are {CHECKSUMS[LOST]}; nothing in it can be checked"
            hint = "copy it anew and whole; an old file gets checksums by `sidestream convert`"
            warnings.warn(Caution(Error(lost, path, hint)), stacklevel=4)
        self._derived: dict[str, tuple[Any, str]] = {}

    @abstractmethod
    def _read_covering(self, field: str, level: int, part: Cells | None = None) -> NDArray[np.float64]:
        """A field of its own at the resolution of `level`, on the whole domain or a part."""

    @abstractmethod
    def _read_particles(self, species: str) -> dict[str, Any]:
        """The columns of a species."""

    @abstractmethod
    def _read_boxes(self, level: int) -> NDArray[np.int32]:
        """Six numbers a box."""

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.cells()))
        levels = f", {self.levels} levels" if self.levels > 1 else ""
        return (
            f"<sidestream.{type(self).__name__} {str(self.path)!r}, {self.kind} of format {self.format}, {size} "
            f"cells{levels}, fields: {', '.join(self.fields)}>"
        )

    @property
    def format(self) -> str:
        """The name of the format: `nyx`, `flash`, ..."""
        return str(self._facts["format"])

    @property
    def kind(self) -> str:
        """`checkpoint` when a run of Sidestream goes on from it to the bit, else `plot file`."""
        return str(self._facts["kind"])

    @property
    def seal(self) -> str:
        """`kept` where checksums of Sidestream vouch for the file, `none` in one of another program.

        `lost` says that Sidestream wrote it, but that it is old, was copied in part or is damaged: nothing in it can be
        checked, and opening it warns of that.
        """
        return str(self._facts["seal"])

    @property
    def fields(self) -> list[str]:
        """The names of the fields: those of the file, then those that `derive` added."""
        return [str(field["name"]) for field in self._facts["fields"]] + list(self._derived)

    @property
    def units(self) -> dict[str, str]:
        """The unit of each field, `g/cm^3` however the file spells it; empty where the file does not say."""
        own = {str(field["name"]): str(field["units"]) for field in self._facts["fields"]}
        return own | {name: unit for name, (_, unit) in self._derived.items()}

    @property
    def quantities(self) -> dict[str, str]:
        """The field of each quantity that a simulation calls so, whatever the format: `{"gas_density": "density"}`."""
        named = extension().quantity_of
        return {str(named(str(field["name"]))): str(field["name"]) for field in self._facts["fields"]}

    @property
    def length_unit(self) -> str:
        """The unit of coordinates and of `box_size`: `Mpc` (comoving), `cm`, or empty: the problem's own."""
        return str(self._facts["length_unit"])

    @property
    def levels(self) -> int:
        """The number of levels of refinement; 1 on a uniform grid."""
        return len(self._facts["levels"])

    @property
    def is_sparse(self) -> bool:
        """Whether it holds a part of the domain, as regions that were saved do: other cells are NaN."""
        return bool(self._facts.get("is_sparse", False))

    @property
    def periodic(self) -> tuple[bool, bool, bool]:
        """Whether the domain goes on at its other side along x, y, z."""
        x, y, z = map(bool, self._facts["periodic"])
        return x, y, z

    @property
    def box_size(self) -> tuple[float, float, float]:
        """The sides x, y, z of the whole domain [`length_unit`]."""
        x, y, z = map(float, self._facts["length"])
        return x, y, z

    @property
    def origin(self) -> tuple[float, float, float]:
        """The lower corner x, y, z of the domain [`length_unit`]."""
        x, y, z = map(float, self._facts["origin"])
        return x, y, z

    @property
    def attrs(self) -> dict[str, float]:
        """Step, time, scale factor, redshift and cosmology, as far as the file tells."""
        facts = self._facts
        moment = {"step": facts["step"], "time": facts["time"]}
        cosmology = {name: facts[name] for name in ("omega_m", "omega_lambda", "hubble") if facts[name]}
        scale_factor = facts["scale_factor"]
        if cosmology or self.length_unit == "Mpc" or scale_factor != 1:
            moment |= {"scale_factor": scale_factor, "redshift": 1 / scale_factor - 1} | cosmology
        return moment

    @property
    def state_numbers(self) -> dict[str, float]:
        """Of a checkpoint: what a run needs beside fields and particles to go on from it."""
        return {} if self.kind != "checkpoint" else {name: float(n) for name, n in self._facts["attributes"].items()}

    def cells(self, level: int = 0) -> tuple[int, int, int]:
        """The cells x, y, z of the whole domain at the resolution of `level`."""
        x, y, z = self._facts["levels"][self._checked(level)]["cells"]
        return x, y, z

    def boxes(self, level: int = 0) -> NDArray[np.int32]:
        """The boxes of `level` as `[box, 0 or 1, axis]`: first cell and end (half-open) along x, y, z."""
        return self._read_boxes(self._checked(level)).reshape(-1, 2, 3)

    def __getitem__(self, field: str) -> xr.DataArray:
        """The field on the coarsest level, by its name in the file or by that of its quantity."""
        return self.covering_grid(field)

    def __contains__(self, field: object) -> bool:
        return isinstance(field, str) and self._named(field) in self.fields

    def __iter__(self) -> Iterator[str]:
        """The names of the fields, as of a mapping: `for name in plot: plot[name]`."""
        return iter(self.fields)

    def __len__(self) -> int:
        """The number of fields."""
        return len(self.fields)

    def __bool__(self) -> bool:
        """True: a file of particles alone is there too."""
        return True

    def keys(self) -> list[str]:
        """The same as `fields`, so that `dict(plot)` reads all of them."""
        return self.fields

    def derive(self, name: str, expression: str, unit: str = "1") -> Self:
        """Adds a field that follows from others, cell by cell, in the words of `[quantity.NAME]` of configurations.

        Returns the snapshot, which has it from now on.

        Args:
            name: of the new field, another than those there are.
            expression: of the file's fields and of derived ones, numbers, `gamma`, `redshift` and `scale_factor`, with
                + - * /, comparisons and functions.
            unit: of the new field.

        Example:
            >>> plot.derive("hot", "where(Temp > 1e5, density, 0)", unit=plot.units["density"])
            >>> plot.covering_grid("hot", level=1).sum()
        """
        if name in self.fields or name in self.quantities:
            raise Error(f"there is a field `{name}` already", self.path, "give the new one another name")
        with translated_errors():
            derived = extension().DerivedQuantity(name, expression)
            derived.check(list(dict.fromkeys([*self.fields, *self.quantities])), "redshift" in self.attrs)
        if not derived.of:
            raise Error(
                f"the expression {expression!r} names no field", self.path, f"there are: {', '.join(self.fields)}"
            )
        self._derived[name] = (derived, canonical(unit))
        return self

    def covering_grid(self, field: str, level: int = 0) -> xr.DataArray:
        """The field on the whole domain at the resolution of `level`.

        Each cell has the value of the finest level up to `level` that covers it; a coarser cell fills all finer ones
        in it.
        """
        import xarray as xr

        from .exports import about

        cells = self.cells(level)
        field = self._named(field)
        values = self._covering(field, level)
        attributes = about(self, field) | {"level": level} | self.attrs
        return xr.DataArray(values, self._centres(cells), ("z", "y", "x"), name=field, attrs=attributes)

    def to_xarray(
        self, fields: Sequence[str] | None = None, level: int = 0, region: Region | None = None
    ) -> xr.Dataset:
        """Fields at the resolution of `level` in one dataset over `z`, `y`, `x`, with units and centres of cells.

        Args:
            fields: their names, or those of their quantities; all by default.
            level: of the resolution; coarser cells fill all finer ones in them.
            region: the corners (x, y, z) of a part of the domain [`length_unit`]: the cells that reach into it, which
                alone are read.

        Example:
            >>> plot.to_xarray(["density", "Temp"], level=2, region=((3, 3, 3), (5, 5, 5)))
        """
        from .exports import to_xarray

        return to_xarray(self, fields, level, region)

    def to_yt(self, fields: Sequence[str] | None = None, species: Sequence[str] | None = None) -> Any:
        """Fields and particles as a dataset of yt, with units, levels, redshift and cosmology.

        A uniform grid is read at once, and so are particles; of a refined mesh, each box when yt asks for it, so the
        file has to stay. Needs yt (`pip install "sidestream[yt]"`).

        Args:
            fields: their names, or those of their quantities; all by default.
            species: whose particles come, each a particle type of yt; all by default.

        Example:
            >>> dataset = plot.to_yt()
            >>> yt.ProjectionPlot(dataset, "z", ("gas", "density"))
        """
        from .exports import to_yt

        return to_yt(self, fields, species)

    @property
    def species(self) -> list[str]:
        """The names of the species of particles: `dark_matter` where the file does not tell; none without particles."""
        return [str(species["name"]) for species in self._facts["species"]]

    def particles(self, species: str = "") -> xr.Dataset:
        """The particles of a species: a dataset over `particle` with `id`, `x`, `y`, `z`, `mass` and what else it has.

        Empty, with no variable, when the file has no particles. A mass that all of them share, which files keep as one
        number, is there for each.

        Args:
            species: one of `species`; the first, where none is named.
        """
        from .particles import table_of

        return table_of(self, species)

    def halos(
        self,
        field: str | None = None,
        level: int = 0,
        t_boundary: float | str | None = None,
        t_halo: float | str | None = None,
        connectivity: int = 14,
        periodic: bool | None = None,
    ) -> xr.Dataset:
        """The halos of a field at the resolution of `level`, as `sidestream.halos` finds them.

        Without a `field`, of gas and dark matter together, as a run finds them. Files in cm and g/cm^3 are analysed in
        Mpc and Msun/Mpc^3; what has other units keeps them. Without thresholds they follow the kind of field: means for
        densities of matter, else standard deviations. Halos reach across the faces of the box along the axes that are
        `periodic` in the file, or by the word given here along all or none.
        """
        from ..arrays.analyses import check_connectivity, halos_of, threshold
        from ..arrays.blocks import blocks_of

        check_connectivity(connectivity)
        given = {"t_boundary": t_boundary, "t_halo": t_halo}
        options: dict[str, Any] = {name: threshold(value, name) for name, value in given.items() if value is not None}
        options |= {"connectivity": connectivity} | self._field_option(field)
        grid, sides, (unit, length) = self._for_analyses(field, level)
        own = self.periodic[::-1]
        blocks = blocks_of(grid, True, axes=own) if periodic is None else blocks_of(grid, periodic)
        return halos_of(blocks, _three(sides), options, self._moment, unit=unit, length_unit=length)

    def friends_of_friends(
        self,
        linking_length: float = 0.2,
        field: str | None = None,
        level: int = 0,
        min_particles: int = 20,
        species: str = "",
    ) -> xr.Dataset:
        """The friends-of-friends halos of the particles, as a task with `finder = "fof"` finds them.

        Args:
            linking_length: in mean separations of the particles.
            field: a density, in which halos have their peaks and spheres; without it gas and dark matter together.
            level: the resolution of the density.
            min_particles: smaller groups are left out.
            species: of the particles; the first, where none is named.
        """
        from ..arrays.analyses import halos_of
        from ..arrays.blocks import blocks_of
        from .particles import for_analyses

        grid, sides, (unit, length) = self._for_analyses(field, level)
        options = {"finder": "fof", "linking_length": linking_length, "min_particles": min_particles}
        options |= self._field_option(field)
        blocks = blocks_of(grid, True, axes=self.periodic[::-1])
        particles = for_analyses(self, species)
        return halos_of(
            blocks, _three(sides), options, self._moment, particles=particles, unit=unit, length_unit=length
        )

    def power_spectrum(self, field: str = "density", level: int = 0) -> xr.Dataset:
        """The power spectrum of a field at the resolution of `level`; k is in 1/Mpc if the file's lengths allow it."""
        from ..arrays.analyses import power_spectrum_of

        grid, sides, (_, length) = self._for_analyses(field, level)
        return power_spectrum_of(grid, _three(sides), length)

    def describe(self) -> dict[str, Any]:
        """What is in the file, as a plain dictionary of texts, numbers and lists."""
        facts = self._facts
        moment = {name: value for name, value in self.attrs.items() if name != "step"}
        species = [{key: one[key] for key in ("name", "particles", "numbers")} for one in facts["species"]]
        return {
            "kind": self.kind,
            "path": str(self.path),
            "format": self.format,
            "checksums": CHECKSUMS[self.seal],
            "step": facts["step"],
            "cells": list(self.cells()),
            "levels": self.levels,
            "boxes": [level["boxes"] for level in facts["levels"]],
            "low": list(self.origin),
            "high": [low + side for low, side in zip(self.origin, self.box_size, strict=True)],
            "length_unit": self.length_unit or None,
            "particles": facts["particles"],
            **moment,
            "bytes": bytes_of(self.path),
            **({"attributes": facts["attributes"]} if facts["attributes"] else {}),
            "fields": facts["fields"],
            **({"particle_reals": facts["particle_reals"]} if facts["particle_reals"] else {}),
            **({"species": species} if species else {}),
        }

    def _named(self, name: str) -> str:
        """The file's name of a field that is asked for by its own or by that of its quantity."""
        return name if name in self.fields else self.quantities.get(name, name)

    def _covering(self, field: str, level: int, part: Cells | None = None) -> NDArray[np.float64]:
        if field not in self._derived:
            return self._read_covering(field, level, part)
        derived, _ = self._derived[field]
        parts = [self._covering(self._named(name), level, part) for name in derived.of]
        with translated_errors():
            return np.asarray(derived(parts, self.attrs.get("scale_factor", 1.0), self._facts["gamma"]))

    def _field_option(self, field: str | None) -> dict[str, str]:
        """For the analysis `halos`, which knows densities by the names of quantities."""
        own = None if field is None else self._named(field)
        return {} if own is None else {"field": {name: of for of, name in self.quantities.items()}.get(own, own)}

    def _matter(self) -> list[str]:
        """The fields that are all matter together."""
        there = self.quantities
        if "total_density" in there:
            return [there["total_density"]]
        parts = [there[name] for name in ("gas_density", _DARK) if name in there]
        if not parts or (_DARK not in there and "dark_matter" in self.species):
            raise Error(
                "the file has dark matter as particles, but no density of it" if parts else "the file has no density",
                self.path,
                "`sidestream halos find` adds it up; or name a field",
            )
        return parts

    def _for_analyses(self, field: str | None, level: int) -> tuple[xr.DataArray, list[float], tuple[str, str]]:
        """The field and the sides of the box, in Msun/Mpc^3 and Mpc where the file's units allow it; and their units.

        Without a name it is the density of all matter.
        """
        first, *more = [field] if field is not None else self._matter()
        grid = sum((self.covering_grid(part, level) for part in more), self.covering_grid(first, level))
        unit, length = self.units[self._named(first)], MPC.get(self.length_unit)
        density = None if length is None else MSUN_PER_MPC3.get(unit)
        grid = grid if density in (None, 1.0) else grid * density
        units = unit if density is None else DENSITY_UNIT, self.length_unit if length is None else "Mpc"
        return grid, [(length or 1.0) * side for side in self.box_size], units

    @property
    def _moment(self) -> dict[str, float]:
        return {name: float(value) for name, value in self.attrs.items() if name not in ("step", "time")}

    def _centres(self, cells: tuple[int, int, int]) -> dict[str, Any]:
        coords = {}
        for axis, n, low, side in zip("xyz", cells, self.origin, self.box_size, strict=True):
            centres = low + (np.arange(n) + 0.5) * side / n
            comoving = "comoving " if self.length_unit == "Mpc" else ""
            coords[axis] = (axis, centres, unit_attribute(self.length_unit) | {"long_name": f"{comoving}{axis}"})
        return coords

    def _checked(self, level: int) -> int:
        if not 0 <= level < self.levels:
            known = f"it has the levels 0 to {self.levels - 1}" if self.levels > 1 else "it has level 0 only"
            raise Error(f"there is no level {level}", self.path, known)
        return level


class SnapshotFile(Snapshot):
    """A plot file or checkpoint of any format. Opening reads what is small; a field is read when it is asked for."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with errors_of(Path(path)):
            super().__init__(Path(path), extension().describe_file(str(path)))

    def _read_covering(self, field: str, level: int, part: Cells | None = None) -> NDArray[np.float64]:
        with errors_of(self.path):
            return np.asarray(extension().covering_grid(str(self.path), field, level, *(part or ())))

    def _read_particles(self, species: str) -> dict[str, Any]:
        with errors_of(self.path):
            return dict(extension().file_particles(str(self.path), species))

    def _read_boxes(self, level: int) -> NDArray[np.int32]:
        with errors_of(self.path):
            return np.asarray(extension().file_boxes(str(self.path), level))


def _three(sides: list[float]) -> tuple[float, float, float]:
    x, y, z = map(float, sides)
    return x, y, z

"""Particles of a snapshot: as a table with units, and as analyses take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..error import Error
from .analysis_units import MASS_UNIT, MPC, MSUN, unit_attribute

if TYPE_CHECKING:
    from pathlib import Path

    import xarray as xr
    from numpy.typing import NDArray

_MASS_NAMES = ("mass", "particle_mass")


class _Snapshot(Protocol):
    path: Path
    _facts: dict[str, Any]

    @property
    def attrs(self) -> dict[str, Any]: ...
    @property
    def length_unit(self) -> str: ...
    @property
    def origin(self) -> tuple[float, float, float]: ...
    def _read_particles(self, species: str) -> dict[str, Any]: ...


def table_of(snapshot: _Snapshot, species: str) -> xr.Dataset:
    """See `Snapshot.particles`."""
    import xarray as xr

    if snapshot._facts["particles"] is None and not species:
        return xr.Dataset(attrs=snapshot.attrs)
    columns = snapshot._read_particles(species)
    for axis, origin in zip("xyz", snapshot.origin, strict=True):
        columns[axis] = columns[axis] + origin
    units = dict.fromkeys("xyz", snapshot.length_unit) | _units_of_numbers(snapshot)
    if (each := _common_mass(snapshot, species)) and not set(_MASS_NAMES) & set(columns):
        columns["mass"] = np.broadcast_to(each, columns["x"].shape)
        units["mass"] = MASS_UNIT.get(snapshot.length_unit, "")
    table = {name: ("particle", values, unit_attribute(units.get(name, ""))) for name, values in columns.items()}
    return xr.Dataset(table, attrs=snapshot.attrs)


def for_analyses(snapshot: _Snapshot, species: str) -> dict[str, NDArray[Any]]:
    """Ids, positions from the corner of the box, and masses, in Mpc and Msun where the file's units allow it."""
    if snapshot._facts["particles"] is None:
        raise Error("the file has no particles", snapshot.path, "find halos of a density instead")
    columns = snapshot._read_particles(species)
    mass = next((name for name in _MASS_NAMES if name in columns), None)
    each = _common_mass(snapshot, species)
    if mass is None and not each:
        raise Error("the particles have no masses", snapshot.path, f"they have: {', '.join(columns)}")
    factor = MPC.get(snapshot.length_unit, 1.0)
    found: dict[str, NDArray[Any]] = {axis: factor * np.asarray(columns[axis], dtype=float) for axis in "xyz"}
    if mass is None:
        found["mass"] = np.full(len(found["x"]), each)
    else:
        found["mass"] = MSUN.get(_units_of_numbers(snapshot)[mass], 1.0) * np.asarray(columns[mass], dtype=float)
    return found | {"id": np.asarray(columns["id"], dtype=np.int64)}


def _units_of_numbers(snapshot: _Snapshot) -> dict[str, str]:
    return {str(real["name"]): str(real["units"]) for real in snapshot._facts["particle_reals"]}


def _common_mass(snapshot: _Snapshot, species: str) -> float:
    """The mass that all particles of a species have, in the file's unit; 0 where each has its own or none."""
    return next(float(one["mass"]) for one in snapshot._facts["species"] if species in ("", one["name"]))

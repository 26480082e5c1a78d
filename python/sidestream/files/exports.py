"""Snapshots for other tools: a dataset of xarray, and one of yt."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..error import Error
from ..units import needs_h

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

Cells = tuple[tuple[int, int, int], tuple[int, int, int]]  # x, y, z of the first cell, and of the end
Region = tuple[Sequence[float], Sequence[float]]  # lower and upper corner x, y, z

# Quantities that yt knows, where its name is another than that of the file.
_YT_NAMES = {"gas_density": "density"} | {
    name: name for name in ("temperature", "pressure", "velocity_x", "velocity_y", "velocity_z", "dark_matter_density")
}
# Of files in comoving centimetres, where velocities are those of comoving lengths: the unit in yt, and the power of the
# scale factor that the numbers take (docs/reference/flash.md).
_COMOVING_CM = {
    "g/cm^3": ("g/cmcm**3", 0),
    "cm/s": ("cm/s", 1),
    "(cm/s)^2": ("cm**2/s**2", 2),
    "cm^2/s^2": ("cm**2/s**2", 2),
    "erg/g": ("cm**2/s**2", 2),
    "g/cm^3 cm/s": ("g/cmcm**3*cm/s", 1),
    "g/cm^2/s": ("g/cmcm**3*cm/s", 1),
    "g/cm^3 (cm/s)^2": ("g/cmcm**3*cm**2/s**2", 2),
    "erg/cm^3": ("g/cmcm**3*cm**2/s**2", 2),
    "K": ("K", 2),
}
# Columns of particles, where their name in yt is not `particle_` and their own.
_YT_COLUMNS = {"id": "particle_index"} | {axis: f"particle_position_{axis}" for axis in "xyz"}
_YT_COLUMNS |= {f"{axis}vel": f"particle_velocity_{axis}" for axis in "xyz"}
# Mass and time that go with lengths in Mpc, as `time` of a file has them; with others it is g and s.
_OF_MPC: dict[str, Any] = {"mass_unit": "Msun", "time_unit": (1.0, "Mpc*s/km")}
_OF_OTHERS: dict[str, Any] = {"mass_unit": (1.0, "g"), "time_unit": (1.0, "s")}


class _Snapshot(Protocol):
    """What is read of a snapshot; `sidestream.files.snapshot.Snapshot` says what each is."""

    path: Path

    @property
    def fields(self) -> list[str]: ...
    @property
    def units(self) -> dict[str, str]: ...
    @property
    def quantities(self) -> dict[str, str]: ...
    @property
    def attrs(self) -> dict[str, float]: ...
    @property
    def levels(self) -> int: ...
    @property
    def length_unit(self) -> str: ...
    @property
    def origin(self) -> tuple[float, float, float]: ...
    @property
    def box_size(self) -> tuple[float, float, float]: ...
    @property
    def periodic(self) -> tuple[bool, bool, bool]: ...
    @property
    def species(self) -> list[str]: ...
    def particles(self, species: str = "") -> xr.Dataset: ...
    def cells(self, level: int = 0) -> tuple[int, int, int]: ...
    def boxes(self, level: int = 0) -> NDArray[np.int32]: ...
    def _named(self, name: str) -> str: ...
    def _centres(self, cells: tuple[int, int, int]) -> dict[str, Any]: ...
    def _covering(self, field: str, level: int, part: Cells | None = None) -> NDArray[np.float64]: ...


def to_xarray(snapshot: _Snapshot, fields: Sequence[str] | None, level: int, region: Region | None) -> xr.Dataset:
    """See `Snapshot.to_xarray`."""
    import xarray as xr

    cells = snapshot.cells(level)
    part = ((0, 0, 0), cells) if region is None else _cells_of(snapshot, level, region)
    x, y, z = (slice(first, end) for first, end in zip(*part, strict=True))
    cuts = {"x": x, "y": y, "z": z}
    coords = {
        axis: (axis, centres[cuts[axis]], about) for axis, (_, centres, about) in snapshot._centres(cells).items()
    }
    variables = {}
    for name, own in _chosen(snapshot, fields).items():
        variables[name] = (("z", "y", "x"), snapshot._covering(own, level, part), about(snapshot, own))
    return xr.Dataset(variables, coords, attrs={"level": level} | snapshot.attrs)


def about(snapshot: _Snapshot, own: str) -> dict[str, str]:
    """The attributes of a field: its unit, and where comoving numbers are not those of the quantity, what they are."""
    unit = snapshot.units[own]
    is_comoving = snapshot.length_unit != "" and "redshift" in snapshot.attrs
    power = _unit_in_yt(unit, snapshot.length_unit, is_comoving)[1]
    told = {"long_name": f"{own} / a" + (f"^{power}" if power > 1 else "")} if power else {}
    return ({"units": unit} if unit else {}) | told


def to_yt(snapshot: _Snapshot, fields: Sequence[str] | None, species: Sequence[str] | None) -> Any:
    """See `Snapshot.to_yt`."""
    yt = _yt()
    named = {_name_in_yt(snapshot, own): own for own in _chosen(snapshot, fields).values()}
    own_unit = _length_in_yt(snapshot)
    is_comoving = own_unit != "" and "redshift" in snapshot.attrs
    scale_factor = float(snapshot.attrs.get("scale_factor", 1.0)) if is_comoving else 1.0
    low, sides = np.array(snapshot.origin), np.array(snapshot.box_size)
    about: dict[str, Any] = {
        "length_unit": (scale_factor, own_unit) if own_unit else (1.0, "cm"),
        **(_OF_MPC if own_unit == "Mpc" else _OF_OTHERS),
        "bbox": np.stack([low, low + sides], axis=1),
        "sim_time": float(snapshot.attrs["time"]),
        "periodicity": snapshot.periodic,
        "dataset_name": snapshot.path.name,
    }
    units = {own: _known_unit(snapshot, snapshot.units[own], is_comoving) for own in named.values()}

    def cells(own: str, level: int, part: Cells) -> NDArray[np.float64]:
        values = snapshot._covering(own, level, part).T  # yt has x first
        power = units[own][1]
        return np.ascontiguousarray(values if power == 0 else values * scale_factor**power)

    columns = _particle_columns(snapshot, species, is_comoving, scale_factor)
    if snapshot.levels == 1:
        whole = ((0, 0, 0), snapshot.cells())
        data: dict[Any, Any] = {name: (cells(own, 0, whole), units[own][0]) for name, own in named.items()}
        for one, table in columns.items():
            data |= {(one, name): column for name, column in table.items()}
        dataset = yt.load_uniform_grid(data, snapshot.cells(), **about)
    else:
        grids = _grids(snapshot, {name: (own, units[own][0]) for name, own in named.items()}, cells)
        for one, table in columns.items():
            _share_out(snapshot, one, table, grids)
        dataset = yt.load_amr_grids(grids, snapshot.cells(), refine_by=2, **about)
    if is_comoving:
        _set_cosmology(dataset, snapshot)
    if "hubble" in snapshot.attrs:  # what `h` in units is, which yt takes for 1 where lengths have no unit
        dataset.unit_registry.modify("h", float(snapshot.attrs["hubble"]))
    return dataset


Columns = dict[str, tuple["NDArray[Any]", str]]  # by their names in yt: numbers and unit


def _particle_columns(
    snapshot: _Snapshot, species: Sequence[str] | None, is_comoving: bool, scale_factor: float
) -> dict[str, Columns]:
    """The particles of each species that was asked for, and of which there are any."""
    found: dict[str, Columns] = {}
    for one in snapshot.species if species is None else species:
        table = snapshot.particles(one)
        if not table.sizes.get("particle"):
            continue
        found[one] = {}
        for own, column in table.data_vars.items():
            name = _YT_COLUMNS.get(str(own), f"particle_{own}")
            unit, power = _known_unit(snapshot, str(column.attrs.get("units", "")), is_comoving)
            values = column.values if power == 0 else column.values * scale_factor**power
            own_unit = {"x": "code_length", "y": "code_length", "z": "code_length"}.get(str(own), unit)
            found[one][name] = (values, "code_mass" if name == "particle_mass" and not unit else own_unit)
    return found


def _share_out(snapshot: _Snapshot, species: str, columns: Columns, grids: list[dict[Any, Any]]) -> None:
    """Gives each grid the particles that lie in it; boxes hold leaves, so that each lies in one."""
    low, sides = np.array(snapshot.origin), np.array(snapshot.box_size)
    places = (np.stack([columns[f"particle_position_{axis}"][0] for axis in "xyz"], axis=1) - low) / sides
    grid_of = np.zeros(len(places), dtype=int)
    before = 0
    for level in range(snapshot.levels):
        boxes, cells = snapshot.boxes(level), np.array(snapshot.cells(level))
        if not len(boxes):
            continue
        unit = np.gcd.reduce(boxes, axis=(0, 1))  # cells of which all boxes have whole numbers, a number an axis
        owners = np.full(-(-cells // unit), -1)
        for number, (first, end) in enumerate(boxes // unit):
            owners[tuple(slice(a, b) for a, b in zip(first, end, strict=True))] = before + number
        at = np.clip((places * cells).astype(int), 0, cells - 1) // unit
        own = owners[tuple(at.T)]
        grid_of = np.where(own >= 0, own, grid_of)
        before += len(boxes)
    order = np.argsort(grid_of, kind="stable")
    ends = np.searchsorted(grid_of[order], np.arange(len(grids) + 1))
    for grid, first, end in zip(grids, ends[:-1], ends[1:], strict=True):
        for name, (values, unit_of) in columns.items():
            grid[species, name] = (values[order[first:end]], unit_of)


def _grids(
    snapshot: _Snapshot, named: dict[str, tuple[str, str]], cells: Callable[..., NDArray[np.float64]]
) -> list[dict[Any, Any]]:
    """The boxes of all levels, with functions that read their cells."""
    low, sides = np.array(snapshot.origin), np.array(snapshot.box_size)
    grids = []
    for level in range(snapshot.levels):
        spacing = ((low + sides) - low) / np.array(
            snapshot.cells(level)
        )  # as yt has it: edges must be equal to the bit
        for first, end in snapshot.boxes(level):
            part = (tuple(map(int, first)), tuple(map(int, end)))
            grid: dict[Any, Any] = {
                "left_edge": low + first * spacing,
                "right_edge": low + end * spacing,
                "dimensions": end - first,
                "level": level,
            }
            for name, (own, unit) in named.items():
                grid["stream", name] = (_reader(cells, own, level, part), unit)
            grids.append(grid)
    return grids


def _reader(cells: Callable[..., NDArray[np.float64]], own: str, level: int, part: Any) -> Callable[..., Any]:
    return lambda *_: cells(own, level, part)


def _set_cosmology(dataset: Any, snapshot: _Snapshot) -> None:
    """Yt makes every dataset from arrays one without cosmology; this is what its readers of files set."""
    attributes = snapshot.attrs
    dataset.cosmological_simulation = 1
    dataset.current_redshift = float(attributes["redshift"])
    dataset.omega_matter = float(attributes.get("omega_m", 0.0))
    dataset.omega_lambda = float(attributes.get("omega_lambda", 0.0))
    dataset.hubble_constant = float(attributes.get("hubble", 1.0))
    dataset.set_units()


def _chosen(snapshot: _Snapshot, fields: Sequence[str] | None) -> dict[str, str]:
    """The names of the file by the names that were asked for."""
    if isinstance(fields, str):
        raise Error(f"the fields are a text, {fields!r}, and no list", snapshot.path, f"give [{fields!r}]")
    chosen = {name: snapshot._named(name) for name in (snapshot.fields if fields is None else fields)}
    for name, own in chosen.items():
        if own not in snapshot.fields:
            raise Error(f"there is no field `{name}`", snapshot.path, f"there are: {', '.join(snapshot.fields)}")
    return chosen


def _cells_of(snapshot: _Snapshot, level: int, region: Region) -> Cells:
    """The cells of a level that reach into a region; an error where that is none, or not inside of the domain."""
    corners = np.asarray(region, dtype=float)
    unit = f" {snapshot.length_unit}" if snapshot.length_unit else ""
    low, sides = np.array(snapshot.origin), np.array(snapshot.box_size)
    hint = f"give two corners x, y, z from {low.tolist()} to {(low + sides).tolist()}{unit}"
    if corners.shape != (2, 3) or not np.all(np.isfinite(corners)) or not np.all(corners[0] < corners[1]):
        raise Error("a region is a lower and an upper corner", snapshot.path, hint)
    cells = np.array(snapshot.cells(level))
    places = (corners - low) / sides * cells
    rounding = 1e-9 * cells
    if np.any(places[0] < -rounding) or np.any(places[1] > cells + rounding):
        raise Error("the region reaches out of the domain", snapshot.path, hint)
    first = np.maximum(np.floor(places[0] + rounding), 0).astype(int)
    end = np.minimum(np.ceil(places[1] - rounding), cells).astype(int)
    end = np.maximum(end, first + 1)
    return _three(first), _three(end)


def _three(numbers: NDArray[np.int_]) -> tuple[int, int, int]:
    x, y, z = map(int, numbers)
    return x, y, z


def _name_in_yt(snapshot: _Snapshot, own: str) -> str:
    quantity = next((name for name, field in snapshot.quantities.items() if field == own), own)
    return _YT_NAMES.get(quantity, own)


def _length_in_yt(snapshot: _Snapshot) -> str:
    from unyt import Unit
    from unyt.dimensions import length
    from unyt.exceptions import UnitParseError

    unit = snapshot.length_unit
    try:
        is_length = not unit or Unit(unit).dimensions == length
    except UnitParseError:
        is_length = False
    if not is_length:
        hint = "write the file with lengths in a unit such as Mpc, kpc, AU or cm, or with none"
        raise Error(f"yt does not know `{unit}`, the unit of its lengths", snapshot.path, hint)
    return unit


def _known_unit(snapshot: _Snapshot, unit: str, is_comoving: bool) -> tuple[str, int]:
    """The same as `_unit_in_yt`; an error where the unit has an h that the file does not tell."""
    if needs_h(unit) and "hubble" not in snapshot.attrs:
        hint = "leave out what is in it: name other `fields`, and other `species` or none"
        raise Error(f"the unit `{unit}` needs h, which the file does not tell", snapshot.path, hint)
    return _unit_in_yt(unit, snapshot.length_unit, is_comoving)


def _unit_in_yt(unit: str, length: str, is_comoving: bool) -> tuple[str, int]:
    """The unit as yt reads it, and the power of the scale factor that the numbers take."""
    if length == "cm" and is_comoving and unit in _COMOVING_CM:
        return _COMOVING_CM[unit]
    text = "" if unit == "1" else unit.replace("^", "**").replace(" ", "*")
    return (re.sub(r"/(Mpc|kpc|pc)\*\*3", r"/\1cm**3", text) if is_comoving else text), 0


def _yt() -> Any:
    try:
        import yt
    except ImportError as problem:
        raise Error("yt is not installed", hint='`pip install "sidestream[yt]"` installs it') from problem
    return yt

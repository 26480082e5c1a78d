"""Plain arrays of other programs, in NumPy and HDF5 files: as plot files, so that all that is done with those is done
with them."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import console
from ..arrays.numbers import REAL_KINDS, as_reals
from ..core import extension, translated_errors
from ..error import Error, UsageError
from .arrays_inside import AXES, named, places_in, shown
from .formats import format_of
from .opening import is_there, unknown
from .unit_names import PER_MPC, canonical, goes_with_mpc, in_ours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

FORMAT = "raw"  # of the plot files
_ALONE, _LONGEST_NAME = "field", 256  # of fields in plot files
BOX_CELLS = 64  # of a side at most: as many ranks as there are boxes read a part each
_NUMPY = {".npy": b"\x93NUMPY", ".npz": b"PK"}  # how such files begin
_LENGTHS = {"": 1.0} | {name: 1 / per for name, per in PER_MPC.items()}


@dataclass(frozen=True)
class Description:
    """What the files do not say themselves.

    Attributes:
        box: the sides of the box, `"20 Mpc"` or `"20,20,40 kpc"`: of all axes, or along x, y, z; in Mpc, kpc, pc, km, m
            or cm, or in the problem's own unit.
        unit: of all arrays that do not tell theirs by an attribute `units`.
    """

    box: str | None = None
    unit: str | None = None

    def sides(self) -> tuple[tuple[float, float, float], str]:
        """Those of x, y, z and their unit: Mpc, or none.

        Raises:
            UsageError: it is no box, or nobody says.
        """
        hint = 'write --box "20 Mpc" or --box "20,20,40 kpc": sides along x, y, z'
        if self.box is None:
            raise UsageError("arrays do not say how large their box is", hint=hint)
        numbers, _, unit = self.box.strip().partition(" ")
        try:
            sides = [float(side) for side in numbers.split(",")]
        except ValueError:
            sides = []
        sides = sides * 3 if len(sides) == 1 else sides
        unit = unit.strip()
        if len(sides) != 3 or unit not in _LENGTHS or not all(0 < side < np.inf for side in sides):
            raise UsageError(f"`{self.box}` is no box", hint=hint)
        x, y, z = (side * _LENGTHS[unit] for side in sides)
        return (x, y, z), "Mpc" if unit else ""


def is_plain(path: Path) -> bool:
    """Whether the path names plain arrays: a NumPy file, or `FILE.h5:/DATASET` (or a group of data sets)."""
    return (path.suffix in _NUMPY and not path.is_dir()) or named(path) is not None


@contextmanager
def as_plot_files(paths: Sequence[Path], about: Description) -> Iterator[list[Path]]:
    """The paths, where plain arrays are replaced by plot files that are gone in the end.

    Raises:
        UsageError: a description of arrays is missing, or belongs to none.
        Error: arrays cannot be read, or are not named; one about a plot file made here names the arrays instead.
    """
    for path in paths:
        if not is_plain(path) and is_there(path) and places_in(path) and not format_of(path):
            raise unknown(path)
    if not any(map(is_plain, paths)):
        if about != Description():
            raise UsageError("--box and --unit describe plain arrays", paths[0], "leave them out: the file has its own")
        yield list(paths)
        return
    with tempfile.TemporaryDirectory(prefix="sidestream-") as folder:
        made = [
            write_plot_file(path, about, Path(folder), step) if is_plain(path) else path
            for step, path in enumerate(paths)
        ]
        try:
            yield made
        except Error as problem:
            for path, own in zip(paths, made, strict=True):
                problem = problem.renamed(str(own), str(path))
            raise problem


def write_plot_file(path: Path, about: Description, folder: Path, step: int) -> Path:
    """Writes the arrays that `path` names as a plot file into `folder`; without copies of arrays that are doubles.

    The fields are called as the data sets are, or as the file without the number at its end, which is the step; `step`
    is taken where it has none.

    Raises:
        Error: there is no such array, or it is none of three axes of numbers, or they are of different shapes.
    """
    sides, length_unit = about.sides()
    name, number = _named(_file(path))
    found = _arrays(path, name)
    arrays: dict[str, Doubles] = {}
    units: dict[str, str] = {}
    for field, (values, own_unit) in found.items():
        told = own_unit or about.unit or "1"
        if not _is_ascii(canonical(told)):
            console.say(f"warning: `{field}` of {path} is in `{told}`, which is left out: units are in ASCII")
            told = "1"
        unit, factor = in_ours(told) if length_unit else (canonical(told), 1.0)
        if length_unit and factor == 1.0 and not goes_with_mpc(unit):
            console.say(
                f"warning: `{field}` of {path} is in `{told}`, which is not converted, while lengths become Mpc: write "
                "densities as g/cm^3, kg/m^3, Msun/kpc^3 or Msun/Mpc^3 and velocities as km/s, m/s or cm/s"
            )
        doubles = np.ascontiguousarray(values, dtype=np.float64)
        arrays[field], units[field] = (doubles if factor == 1 else doubles * factor), unit
    target = folder / f"{_file(path).name}.{FORMAT}"
    with translated_errors():
        extension().write_arrays(
            str(target),
            FORMAT,
            arrays,
            units,
            sides,
            length_unit,
            step if number is None else number,
            None,
            {},
            BOX_CELLS,
        )
    return target


def _file(path: Path) -> Path:
    parts = named(path)
    return path if parts is None else parts[0]


def _named(file: Path) -> tuple[str, int | None]:
    """The name of a file without the number at its end, and that number."""
    match = re.fullmatch(r"(.*?)[_.-]?(\d+)", file.stem)
    return (match[1] or file.stem, int(match[2])) if match else (file.stem, None)


def _arrays(path: Path, name: str) -> dict[str, tuple[Any, str]]:
    """The arrays by their names, each with its unit as far as it tells."""
    if not is_there(_file(path)):
        raise Error("there is no such file", _file(path), "give the name of a NumPy or HDF5 file")
    if not _file(path).is_file():
        raise Error("this is no regular file", _file(path), "give the name of a NumPy or HDF5 file")
    inside = named(path)
    if inside is None or inside[0].suffix in _NUMPY:
        found = _in_numpy(_file(path), name, None if inside is None else inside[1])
    else:
        found = _in_hdf5(path, *inside)
    found = _called_in_ascii(path, found)
    _check(path, {field: values for field, (values, _) in found.items()})
    return found


def _called_in_ascii(path: Path, found: dict[str, tuple[Any, str]]) -> dict[str, tuple[Any, str]]:
    """Those whose names plot files can hold; one that is alone is called otherwise."""
    odd = [name for name in found if not _is_ascii(name)]
    if odd and len(found) == 1:
        console.say(f"warning: `{odd[0]}` of {path} is called `{_ALONE}`: names of fields are in ASCII")
        return {_ALONE: found[odd[0]]}
    for name in odd:
        console.say(f"warning: `{name}` of {path} is left out: names of fields are in ASCII")
    if len(odd) == len(found):
        raise Error(
            "no array has a name in ASCII",
            path,
            f"name one of them: {_file(path).name}:/NAME, or give them other names",
        )
    return {name: of for name, of in found.items() if name not in odd}


def _is_ascii(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and name.isascii() and name.isprintable()


def _in_numpy(path: Path, name: str, inside: str | None) -> dict[str, tuple[Any, str]]:
    try:
        with path.open("rb") as file:
            begins = file.read(8)
        if not begins.startswith(_NUMPY[path.suffix]):
            raise Error(
                "this is no file of NumPy, whatever its name says", path, "write arrays with numpy.save or h5py"
            )
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
        arrays: Mapping[str, Any] = {name: loaded} if path.suffix == ".npy" else loaded
        found = {field: (arrays[field], "") for field in arrays if inside in (None, "/", field)}
    except OSError as problem:
        hint = "look whether it may be read, and is whole"
        raise Error(f"the arrays cannot be read: {problem.strerror or problem}", path, hint) from problem
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as problem:
        hint = "the file is damaged, was cut, or holds other things than numbers: write it again with numpy.save"
        raise Error("the arrays cannot be read", path, hint) from problem
    if not found:
        what = "no array" if inside is None else f"no `{inside}`"
        raise Error(f"there is {what} in the file", path, f"there are: {', '.join(arrays) or 'no arrays'}")
    return {field: of for field, of in found.items() if np.ndim(of[0]) == AXES} or found


def _in_hdf5(path: Path, file: Path, inside: str) -> dict[str, tuple[Any, str]]:
    import h5py

    try:
        with h5py.File(file) as opened:
            place = opened.get(inside)
            if place is None:
                raise Error(f"there is no `{inside}` in the file", path, _what_there_is(file))
            sets = {inside.rsplit("/", 1)[-1]: place} if isinstance(place, h5py.Dataset) else dict(place.items())
            found = {
                name: (each[()], _text(each.attrs.get("units", "")))
                for name, each in sets.items()
                if isinstance(each, h5py.Dataset) and (each is place or each.ndim == AXES)
            }
    except (OSError, ValueError, KeyError) as problem:
        hint = "the file is damaged or was cut: write it again with h5py"
        raise Error(f"the arrays cannot be read: {problem}", path, hint) from problem
    if not found:
        raise Error("there is no array of three axes", path, _what_there_is(file))
    return found


def _what_there_is(file: Path) -> str:
    places = places_in(file)
    return f"those that are there: {shown(places)}" if places else "the file holds no array of three axes (z, y, x)"


def _text(unit: Any) -> str:
    return unit.decode() if isinstance(unit, bytes) else str(unit)


def _check(path: Path, arrays: Mapping[str, Any]) -> None:
    shapes = {name: np.shape(values) for name, values in arrays.items()}
    for name, values in arrays.items():
        what = f"`{name}` is an array of {values.dtype} of the shape {shapes[name]}"
        if values.dtype.kind not in REAL_KINDS:
            raise Error(what, path, as_reals(values.dtype))
        if values.ndim != AXES or values.size == 0:
            raise Error(what, path, "arrays of three axes (z, y, x) are taken: array.reshape(1, ny, nx) of two axes")
    if len(set(shapes.values())) > 1:
        raise Error("the arrays are of different shapes", path, ", ".join(f"{name} {s}" for name, s in shapes.items()))

"""The arrays that files of other programs hold, and how they are named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

AXES = 3
SHOWN = 5  # places at most
_ENDINGS = "h5|hdf5|hdf|nc|npz"
_NAMED = re.compile(rf"(.+?\.(?:{_ENDINGS})):/?(.*)", re.DOTALL)


def named(path: Path) -> tuple[Path, str] | None:
    """The file and what is named in it, of `FILE.h5:/GROUP/NAME`."""
    match = _NAMED.fullmatch(str(path))
    return (Path(match[1]), match[2] or "/") if match else None


def places_in(file: Path) -> dict[str, list[str]]:
    """The arrays of three axes in a file of HDF5, of each group: `{"FILE.h5:/gas": ["density", "temperature"]}`.

    Nothing where it is no HDF5 file, is damaged, or cannot be named so.
    """
    import h5py

    if named(Path(f"{file}:/")) is None or not file.is_file() or not h5py.is_hdf5(file):
        return {}
    groups: dict[str, list[str]] = {}

    def take(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.ndim == AXES:
            group, _, own = name.rpartition("/")
            groups.setdefault(group, []).append(own)

    with suppress(OSError), h5py.File(file) as opened:  # whoever reads it says what is damaged
        opened.visititems(take)
    return {f"{file}:/{group}": names for group, names in groups.items()}


def some_of(names: list[str]) -> str:
    """Some names in a sentence."""
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def shown(places: Mapping[str, list[str]]) -> str:
    """Some places and what is there in a sentence: `FILE.h5:/gas (density, temperature)`."""
    return some_of([f"{place} ({', '.join(names)})" for place, names in places.items()])

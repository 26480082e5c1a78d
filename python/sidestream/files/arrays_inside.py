"""The arrays that HDF5 files of other programs hold, and how they are named."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

AXES = 3
SHOWN = 5  # places at most
_ENDINGS = "h5|hdf5|hdf|nc"
_NAMED = re.compile(rf"(.+?\.(?:{_ENDINGS})):/?(.*)", re.DOTALL)


def named(path: Path) -> tuple[Path, str] | None:
    """The file and what is named in it, of `FILE.h5:/GROUP/NAME`."""
    match = _NAMED.fullmatch(str(path))
    return (Path(match[1]), match[2] or "/") if match else None


def places_in(file: Path) -> list[str]:
    """How all arrays of three axes in a file are named, a line for each group: `FILE.h5:/gas (density, temperature)`.

    Nothing where it is no HDF5 file, is damaged, or cannot be named so.
    """
    import h5py

    if named(Path(f"{file}:/")) is None or not file.is_file() or not h5py.is_hdf5(file):
        return []
    groups: dict[str, list[str]] = {}

    def take(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.ndim == AXES:
            group, _, own = name.rpartition("/")
            groups.setdefault(group, []).append(own)

    with suppress(OSError), h5py.File(file) as opened:  # whoever reads it says what is damaged
        opened.visititems(take)
    return [f"{file}:/{group} ({', '.join(names)})" for group, names in groups.items()]


def shown(places: list[str]) -> str:
    """Some of them in a sentence."""
    return ", ".join(places[:SHOWN]) + (f" and {len(places) - SHOWN} more" if len(places) > SHOWN else "")

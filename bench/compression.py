"""Compressed files of a state: how small, how fast, and how far off halos and spectra are, beside the bound.

usage: python bench/compression.py PLOTFILE [--ranks N] [--repeats N]

The fields of PLOTFILE, a plot file of any format, are written again by `sidestream convert` in the format `sidestream`
for each choice of `--compress`. Prints JSON. `ratio` is against the uncompressed fields;
`compress_megabytes_per_second` is of uncompressed bytes of all ranks, packing included, `read_megabytes_per_second` of
one process that opens the file; both are the best of the repeats. `largest_error` is the largest difference of a cell
over the largest magnitude of the field; of halos and of the spectrum it is what changes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import sidestream
from sidestream.launch.conversion import Conversion, convert

FIELDS = ("density", "Temp", "x_velocity", "particle_mass_density")
CHOICES = ("none", "zstd", *(f"zfp 1e-{digits} relative" for digits in (9, 7, 5, 4, 3, 2)))


def main() -> None:
    """Prints a JSON object with a row for each choice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plotfile", type=Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [_row(words, choice, Path(folder)) for choice in CHOICES]
    for row in rows:
        row["ratio"] = rows[0]["bytes"] / row["bytes"]
    exact = rows[0].pop("_results")
    for row in rows[1:]:
        row |= _differences(exact, row.pop("_results"))
    print(json.dumps({"plotfile": words.plotfile.name, "ranks": words.ranks, "rows": rows}))


def _row(words: argparse.Namespace, choice: str, folder: Path) -> dict[str, Any]:
    seconds = []
    target = folder / "again"
    for _ in range(words.repeats):
        request = Conversion(
            words.plotfile, target, "sidestream", FIELDS, ("dark_matter",), overwrite=True, compress=(choice,)
        )
        seconds.append(float(convert(request, words.ranks)["io"]["exchange_s"]))
    plot = sidestream.SnapshotFile(target)
    read = []
    for _ in range(words.repeats):
        begin = time.perf_counter()
        fields = {name: plot[name].values for name in plot.fields}
        read.append(time.perf_counter() - begin)
    halos = plot.halos()
    spectra = {name: plot.power_spectrum(name) for name in ("density", "particle_mass_density")}
    cells = sum(field.nbytes for field in fields.values())
    return {
        "compress": choice,
        "bytes": _bytes_of_fields(target),
        "compress_megabytes_per_second": cells / 1e6 / min(seconds),
        "read_megabytes_per_second": cells / 1e6 / min(read),
        "_results": (fields, halos, spectra),
    }


def _bytes_of_fields(path: Path) -> int:
    """What the cells take in an HDF5 file of blocks, without tables and particles."""
    with h5py.File(path) as file:
        return sum(
            data.id.get_storage_size() for data in file.values() if isinstance(data, h5py.Dataset) and data.ndim == 4
        )


def _differences(exact: Any, found: Any) -> dict[str, Any]:
    (fields, halos, spectra), (other_fields, other_halos, other_spectra) = exact, found
    return {
        "largest_error": {
            name: float(np.abs(other_fields[name] - field).max() / np.abs(field).max())
            for name, field in fields.items()
        },
        "halos": int(other_halos.sizes["halo"]) - int(halos.sizes["halo"]),
        "halo_masses": _shift_of_masses(halos.mass.values, other_halos.mass.values),
        "spectrum": {
            name: float(np.abs(other_spectra[name].power / spectrum.power - 1).max())
            for name, spectrum in spectra.items()
        },
    }


def _shift_of_masses(exact: np.ndarray, found: np.ndarray) -> float | None:
    """By how much the mass function moves: the largest relative change of the n-th largest mass, over all n."""
    if len(exact) != len(found):
        return None
    return float(np.abs(np.sort(found) / np.sort(exact) - 1).max())


if __name__ == "__main__":
    main()

"""ENZO's own files, as the slides on its I/O have them, in HDF4 and in HDF5, in turns.

The root grid comes together on a rank, and each grid is a serial file of its owner. Grids, fields and particles are
those of `sidestream bench io --case enzo`. Every file is read back and compared. Prints one JSON
object: seconds of the slowest rank of each repetition, and how many times as long HDF4 takes.

    pip install pyhdf
    mpirun -n 4 python bench/hdf4_grids.py --size AMR64 --folder /scratch
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import h5py
import numpy as np
from mpi4py import MPI
from pyhdf import SD

from sidestream.parallel_files.hierarchy import COLUMN_BYTES, FIELDS, SIZES, Hierarchy, initial, refined

Arrays = dict[str, Any]
COLUMNS = {8: "f8", 4: "f4"}


def arrays_of(hierarchy: Hierarchy, grid: int) -> Arrays:
    """A grid's fields and columns of particles, with numbers that tell them apart."""
    cells, particles = int(hierarchy.cells[grid]), int(hierarchy.particles[grid])
    fields = {f"field{n}": np.arange(cells, dtype="f4") + np.float32(100 * n + grid) for n in range(FIELDS)}
    columns = {f"column{n}": np.arange(particles, dtype=COLUMNS[w]) + n for n, w in enumerate(COLUMN_BYTES)}
    return {name: values for name, values in (fields | columns).items() if values.size}


def gathered(comm: MPI.Comm, parts: Arrays) -> Arrays:
    """Arrays of which each rank has a part, whole on the first."""
    whole = {}
    for name, part in parts.items():
        sizes = comm.gather(part.size)
        out = np.empty(sum(sizes), part.dtype) if comm.rank == 0 else None
        comm.Gatherv(part, (out, sizes) if comm.rank == 0 else None)
        whole[name] = out
    return whole


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def write_hdf5(path: Path, arrays: Arrays) -> None:
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            file[name] = values


def read_hdf5(path: Path) -> Arrays:
    with h5py.File(path, "r") as file:
        return {name: file[name][:] for name in file}


def write_hdf4(path: Path, arrays: Arrays) -> None:
    file = SD.SD(str(path), SD.SDC.WRITE | SD.SDC.CREATE | SD.SDC.TRUNC)
    for name, values in arrays.items():
        data = file.create(name, SD.SDC.FLOAT64 if values.dtype == np.float64 else SD.SDC.FLOAT32, values.shape)
        data[:] = values
        data.endaccess()
    file.end()


def read_hdf4(path: Path) -> Arrays:
    file = SD.SD(str(path), SD.SDC.READ)
    arrays = {name: file.select(name).get() for name in file.datasets()}
    file.end()
    return arrays


WAYS: dict[str, tuple[Callable[[Path, Arrays], None], Callable[[Path], Arrays]]] = {
    "hdf5": (write_hdf5, read_hdf5),
    "hdf4": (write_hdf4, read_hdf4),
}


class Study:
    """A hierarchy dealt to ranks: a part of the root each, and whole subgrids."""

    def __init__(self, comm: MPI.Comm, hierarchy: Hierarchy, folder: Path) -> None:
        self.comm, self.folder = comm, folder
        root = arrays_of(hierarchy, 0)
        self.parts = {name: np.array_split(values, comm.size)[comm.rank] for name, values in root.items()}
        owners = hierarchy.owners(comm.size)
        own = [int(grid) for grid in 1 + np.flatnonzero(owners == comm.rank)]
        self.grids = {grid: arrays_of(hierarchy, grid) for grid in own}

    def paths(self) -> Iterator[tuple[int, Path]]:
        """Of the grids that this rank writes and reads."""
        for grid in [0] * (self.comm.rank == 0) + list(self.grids):
            yield grid, self.folder / f"grid{grid:06}"

    def dump(self, way: str, is_durable: bool) -> None:
        root = gathered(self.comm, self.parts)
        for grid, path in self.paths():
            WAYS[way][0](path, root if grid == 0 else self.grids[grid])
            if is_durable:
                sync(path)

    def read(self, way: str) -> dict[int, Arrays]:
        found = {grid: WAYS[way][1](path) for grid, path in self.paths()}
        for name, own in self.parts.items():
            pieces = np.array_split(found[0][name], self.comm.size) if self.comm.rank == 0 else None
            part = np.empty_like(own)
            sizes = [piece.size for piece in pieces] if pieces is not None else None
            whole = (np.concatenate(pieces), sizes) if pieces is not None else None
            self.comm.Scatterv(whole, part)
            found.setdefault(-1, {})[name] = part
        return found

    def check(self, found: dict[int, Arrays]) -> None:
        for grid, arrays in {-1: self.parts, **self.grids}.items():
            assert all(np.array_equal(found[grid][name], values) for name, values in arrays.items()), grid

    def timed(self, work: Callable[[], Any]) -> tuple[float, Any]:
        self.comm.Barrier()
        began = MPI.Wtime()
        result = work()
        return self.comm.allreduce(MPI.Wtime() - began, op=MPI.MAX), result


def measured(study: Study, repetitions: int, names: dict[str, bool]) -> dict[str, dict[str, list[float]]]:
    """`names`: dumps, and whether they are brought to the disk."""
    times: dict[str, dict[str, list[float]]] = {}
    for _ in range(repetitions):
        for name, is_durable in names.items():
            for way in WAYS:
                if study.comm.rank == 0:
                    shutil.rmtree(study.folder, ignore_errors=True)
                    study.folder.mkdir(parents=True)
                seconds, _ = study.timed(lambda way=way, is_durable=is_durable: study.dump(way, is_durable))
                times.setdefault(name, {}).setdefault(way, []).append(seconds)
                seconds, found = study.timed(lambda way=way: study.read(way))
                times.setdefault("read, warm", {}).setdefault(way, []).append(seconds)
                study.check(found)
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="AMR64")
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    comm = MPI.COMM_WORLD
    folder = arguments.folder / "hdf4_grids"
    report: dict[str, Any] = {"benchmark": "hdf4_grids", "size": arguments.size, "ranks": comm.size}
    for name, hierarchy in (("initial", initial(SIZES[arguments.size])), ("refined", refined(SIZES[arguments.size]))):
        study = Study(comm, hierarchy, folder)
        times = measured(study, arguments.repetitions, {"dump": False, "dump with fsync": True})
        for what, of in times.items():
            ratios = [four / five for four, five in zip(of["hdf4"], of["hdf5"], strict=True)]
            spread = {"median": median(ratios), "least": min(ratios), "largest": max(ratios)}
            report[f"{name}, {what}"] = {"seconds": of, "hdf4 over hdf5": spread}
    if comm.rank == 0:
        shutil.rmtree(folder)
        json.dump(report, sys.stdout, indent=1)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

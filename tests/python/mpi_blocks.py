"""Fields in blocks have the results of the whole, on any ranks. usage: mpirun -n N python mpi_blocks.py"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from mpi4py import MPI

import oracles
import sidestream

COMM = MPI.COMM_WORLD
FIELD = oracles.formula_field(16)


def own_slab() -> tuple[np.ndarray, tuple[int, int, int]]:
    edges = np.linspace(0, 16, COMM.size + 1).astype(int)
    return FIELD[edges[COMM.rank] : edges[COMM.rank + 1]], (int(edges[COMM.rank]), 0, 0)


def dealt_blocks(side: int) -> tuple[list[np.ndarray], list[tuple[int, int, int]]]:
    """Cubes in an order and to ranks that follow no rule; the last rank gets none if there are several."""
    corners = [(z, y, x) for z in range(0, 16, side) for y in range(0, 16, side) for x in range(0, 16, side)]
    owners = np.random.default_rng(5).integers(0, max(COMM.size - 1, 1), len(corners))
    mine = [corner for corner, owner in zip(corners, owners, strict=True) if owner == COMM.rank][::-1]
    return [FIELD[tuple(slice(c, c + side) for c in corner)] for corner in mine], mine


def check_halos() -> None:
    expected = sidestream.halos(FIELD, 8.0, 20.0, 40.0)
    slab, origin = own_slab()
    assert sidestream.halos(slab, 8.0, 20.0, 40.0, comm=COMM, origin=origin, shape=FIELD.shape).identical(expected)
    for side in (4, 8):
        blocks, origins = dealt_blocks(side)
        assert sidestream.halos(blocks, 8.0, 20.0, 40.0, comm=COMM, origin=origins).identical(expected)


def check_tree(sets: str) -> None:
    whole = sidestream.merge_tree(FIELD, sets=sets)
    blocks, origins = dealt_blocks(4)
    tree = sidestream.merge_tree(blocks, sets=sets, comm=COMM, origin=origins, shape=FIELD.shape)
    t_boundary, t_halo = (20.0, 40.0) if sets == "above" else (0.05, 0.02)
    check_queries(tree, whole, t_boundary, t_halo)
    folder = COMM.bcast(tempfile.mkdtemp() if COMM.rank == 0 else None)
    tree.save(f"{folder}/tree.nc")
    check_queries(sidestream.open_tree(f"{folder}/tree.nc", comm=COMM), whole, t_boundary, t_halo)
    check_queries(sidestream.open_tree(f"{folder}/tree.nc"), whole, t_boundary, t_halo)
    COMM.Barrier()
    if COMM.rank == 0:
        Path(f"{folder}/tree.nc").unlink()
        Path(folder).rmdir()


def check_queries(tree: sidestream.MergeTree, whole: sidestream.MergeTree, t_boundary: float, t_halo: float) -> None:
    assert tree.branches.identical(whole.branches)
    assert tree.halos(t_boundary, t_halo, box_size=8.0).identical(whole.halos(t_boundary, t_halo, box_size=8.0))
    assert tree.components(t_boundary, t_halo) == whole.components(t_boundary, t_halo)
    top = int(whole.branches["maximum"][0])
    assert tree.component_of(top, t_boundary) == top
    assert tree.connected(top, 77, t_boundary) == whole.connected(top, 77, t_boundary)


def check_errors() -> None:
    slab, origin = own_slab()
    last = COMM.rank == COMM.size - 1
    wrong = [
        ({"array": slab[0] if last else slab}, "2 dimensions"),
        ({"origin": (0, 0) if last else origin}, "three whole numbers"),
        ({"array": np.where(slab > 0, np.nan, slab) if last else slab}, "holds nan"),
        ({"array": slab[:, :8] if last else slab, "shape": FIELD.shape}, "cells"),
        ({"shape": (32, 16, 16)}, "cells"),
        ({"periodic": (True, False) if last else True}, "neither True nor False"),
    ]
    for change, what in wrong:
        try:
            sidestream.halos(**({"array": slab, "box_size": 8.0, "comm": COMM, "origin": origin} | change))
        except sidestream.Error as problem:
            assert what in str(problem), problem
        else:
            raise AssertionError(f"no error: {what}")


if __name__ == "__main__":
    check_halos()
    for name in ("above", "below"):
        check_tree(name)
    check_errors()
    COMM.Barrier()
    if COMM.rank == 0:
        print("all is well")

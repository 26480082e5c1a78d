"""How many files a plot file in the Nyx format should have (Friesen et al. 2016), by the model beside what they had."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from .fit import fitted
from .machine import EDISON, GIB, Machine
from .methods import Workload, files_in_turns
from .queues import Numbers
from .schedule import simulate

COMPONENTS, BOX_CELLS = 10, 32
MOST_RANKS = 8192
GRIDS = (128, 256, 512, 1024, 2048)
FILES = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
BEST_GIB_PER_S = {512: 5.0, 2048: 20.0}


def ranks_of(cells: int, most_ranks: int = MOST_RANKS) -> int:
    """A box a rank, on at most so many."""
    return min(most_ranks, (cells // BOX_CELLS) ** 3)


def speed(machine: Machine, cells: int, files: int, most_ranks: int = MOST_RANKS) -> float:
    """Bytes a second of a plot file of so many cells a side in so many files, a request for each box of 32^3."""
    boxes = (cells // BOX_CELLS) ** 3
    ranks = ranks_of(cells, most_ranks)
    own = boxes // ranks
    work = Workload(ranks, own * 8 * BOX_CELLS**3, COMPONENTS)
    return simulate(machine, ranks, files_in_turns(machine, work, files, parts=own)).bandwidth


def best_speed(machine: Machine, cells: int) -> float:
    """That of the best number of files."""
    return max(speed(machine, cells, files) for files in FILES if files <= ranks_of(cells))


def misfit(machine: Machine) -> Numbers:
    """Logarithms of the best speeds over the published ones."""
    return np.array([np.log(best_speed(machine, cells) / (wanted * GIB)) for cells, wanted in BEST_GIB_PER_S.items()])


def calibrated(machine: Machine) -> Machine:
    """The machine with the cost of creating a file and of a request that give `BEST_GIB_PER_S`."""
    return fitted(machine, ("create_s", "request_s"), misfit)


def default_files(rows: list[dict[str, Any]]) -> int:
    """The number of files whose greatest loss beside the best one of each grid is least."""
    best: dict[int, float] = {}
    for row in rows:
        best[row["cells"]] = max(best.get(row["cells"], 0.0), row["gib_per_s"])
    losses: dict[int, float] = {}
    for row in rows:
        losses[row["files"]] = max(losses.get(row["files"], 1.0), best[row["cells"]] / row["gib_per_s"])
    return min(losses, key=losses.__getitem__)


def study(most_ranks: int = MOST_RANKS, machine: Machine = EDISON) -> dict[str, Any]:
    """Speeds of all grids and numbers of files; ranks cap the files."""
    rows: list[dict[str, Any]] = []
    for cells in GRIDS:
        ranks = ranks_of(cells, most_ranks)
        for files in FILES:
            gib_per_s = speed(machine, cells, min(files, ranks), most_ranks) / GIB
            rows.append({"cells": cells, "ranks": ranks, "files": files, "gib_per_s": gib_per_s})
    found = {cells: max(row["gib_per_s"] for row in rows if row["cells"] == cells) for cells in GRIDS}
    published = [
        {
            "cells": cells,
            "published": wanted,
            "model": found[cells],
            "error": found[cells] / wanted - 1,
            "is_fitted": True,
        }
        for cells, wanted in BEST_GIB_PER_S.items()
    ]
    return {
        "rows": rows,
        "published": published if most_ranks >= MOST_RANKS else [],
        "default_files": default_files(rows),
        "machine": asdict(machine),
    }

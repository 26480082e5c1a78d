"""The I/O study of Latham et al. (2012): FLASH on Blue Gene/P, by the model beside what they published."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .fit import fitted
from .machine import EDISON, GIB, INTREPID, MIB, Machine
from .methods import METHODS, Choice, Workload, aligned, combined, outcome, staged
from .schedule import simulate

BLOCK_BYTES = 8 * 16**3
LAYOUT_BLOCKS = 32  # a rank, of the layout study
SCALING_BYTES = 374_480  # of a variable a rank, of the scaling study: 11.4 blocks
LAYOUT_RANKS = (512, 1024, 2048, 4096, 8192)
SCALING_RANKS = (16, 64, 256, 1024, 4096, 8192, 16384, 32768, 65536)
PRODUCTION_S = 0.07 * 12 * 3600
OURS = "Sidestream"


def checkpoint(ranks: int, variable_bytes: int = SCALING_BYTES) -> Workload:
    """10 variables in double precision."""
    return Workload(ranks, variable_bytes, 10)


def plot_file(ranks: int, variable_bytes: int = SCALING_BYTES) -> Workload:
    """3 variables in single precision."""
    return Workload(ranks, variable_bytes // 2, 3)


WORKLOADS: dict[str, Callable[[int, int], Workload]] = {"checkpoint": checkpoint, "plot file": plot_file}


def seconds(machine: Machine, work: Workload, method: str) -> float:
    """Of one file."""
    return outcome(machine, work, method).seconds


def ratio(machine: Machine, work: Workload, slow: str, fast: str) -> float:
    """How many times as fast `fast` is."""
    return seconds(machine, work, slow) / seconds(machine, work, fast)


FITTED = (
    ("call_s", "PnetCDF blocking", "PnetCDF 5-D", 3.0),
    ("library_s", "HDF5 collective", "HDF5 collective 5-D", 2.0),
    ("handover_s", "HDF5 independent", "HDF5 collective", 10.0),
)


def misfit(machine: Machine) -> np.ndarray:
    """Logarithms of the ratios that `FITTED` names over the published ones."""
    work = checkpoint(8192, LAYOUT_BLOCKS * BLOCK_BYTES)
    took = {method: seconds(machine, work, method) for method in dict.fromkeys(m for row in FITTED for m in row[1:3])}
    return np.array([np.log(took[slow] / took[fast] / wanted) for _, slow, fast, wanted in FITTED])


def calibrated(machine: Machine) -> Machine:
    """The machine with the cost of a call, of the library and of a lock that give the ratios of `FITTED`."""
    return fitted(machine, tuple(name for name, *_ in FITTED), misfit)


@dataclass(frozen=True)
class Published:
    """A figure of the paper, how it is had from the model, and whether the model was fitted to it."""

    text: str
    low: float
    high: float
    unit: str
    model: Callable[[Machine], float]
    is_fitted: bool = False

    def row(self, machine: Machine) -> dict[str, Any]:
        """The figure beside the model's; the error is that of the nearest value of its range."""
        value = self.model(machine)
        nearest = min(max(value, self.low), self.high)
        row = {"text": self.text, "published": [self.low, self.high], "unit": self.unit, "model": value}
        return row | {"error": value / nearest - 1, "is_fitted": self.is_fitted}


def _of_layout(slow: str, fast: str) -> Callable[[Machine], float]:
    return lambda machine: ratio(machine, checkpoint(8192, LAYOUT_BLOCKS * BLOCK_BYTES), slow, fast)


def _at_scale(make: Callable[[int], Workload], slow: str, fast: str) -> Callable[[Machine], float]:
    return lambda machine: ratio(machine, make(65_536), slow, fast)


def _production(machine: Machine) -> float:
    """Checkpoints and plot files only: the sizes of the particle files are not known."""
    return 5 * seconds(machine, checkpoint(65_536), "HDF5 collective") + 17 * seconds(
        machine, plot_file(65_536), "HDF5 collective"
    )


PUBLISHED = (
    Published("checkpoint, 8,192 ranks: PnetCDF 5-D against a variable at a time", 3, 3, "times as fast",
              _of_layout("PnetCDF blocking", "PnetCDF 5-D"), True),
    Published("checkpoint, 8,192 ranks: HDF5 5-D against a variable at a time", 2, 2, "times as fast",
              _of_layout("HDF5 collective", "HDF5 collective 5-D"), True),
    Published("checkpoint, 8,192 ranks: collective HDF5 against independent", 10, 10, "times as fast",
              _of_layout("HDF5 independent", "HDF5 collective"), True),
    Published("checkpoint, 8,192 ranks: nonblocking PnetCDF against 5-D", 1, 1, "times as fast",
              _of_layout("PnetCDF 5-D", "PnetCDF nonblocking")),
    Published("checkpoint, 65,536 ranks: nonblocking PnetCDF against blocking", 3, 4, "times as fast",
              _at_scale(checkpoint, "PnetCDF blocking", "PnetCDF nonblocking")),
    Published("plot file, 65,536 ranks: nonblocking PnetCDF against blocking", 1.4, 1.4, "times as fast",
              _at_scale(plot_file, "PnetCDF blocking", "PnetCDF nonblocking")),
    Published("checkpoint, 65,536 ranks: size", 229, 229, "GiB", lambda machine: checkpoint(65_536).file_bytes / GIB),
    Published("plot file, 65,536 ranks: size", 35, 35, "GiB", lambda machine: plot_file(65_536).file_bytes / GIB),
    Published("production run, 65,536 ranks: 5 checkpoints, 17 plot files, of all its I/O",
              0, PRODUCTION_S, "s", _production),
)  # fmt: skip


def drop(scaling: list[dict[str, Any]]) -> dict[str, Any]:
    """Whether the speed of checkpoints falls from 32,768 to 65,536 ranks, a method, and what falling would take."""
    speeds: dict[str, dict[int, float]] = {}
    for row in scaling:
        if row["content"] == "checkpoint":
            speeds.setdefault(row["method"], {})[row["ranks"]] = row["gib_per_s"]
    known = {method: of[65_536] / of[32_768] for method, of in speeds.items() if {32_768, 65_536} <= of.keys()}
    is_falling = any(value < 1 for method, value in known.items() if method.startswith(("PnetCDF", "HDF5 c")))
    return {
        "ratio_of_speeds": known,
        "is_explained": is_falling,
    }


def sweep(machine: Machine, ranks: int) -> Iterator[dict[str, Any]]:
    """Buffers of 4, 16 and 64 MiB, and how many ranks share a writer: nonblocking PnetCDF and ours."""
    for buffer in (4, 16, 64):
        for share in (8, 32, 128, 512):
            work = replace(checkpoint(ranks), buffer_bytes=buffer * MIB, ranks_an_aggregator=share)
            choice = Choice(work.aggregators, buffer * MIB)
            yield {
                "buffer_mib": buffer,
                "ranks_a_writer": share,
                "PnetCDF nonblocking": simulate(machine, ranks, combined(machine, work)).seconds,
                OURS: simulate(machine, ranks, aligned(machine, work, choice)).seconds,
            }


def curve(machine: Machine, ranks: tuple[int, ...], variable_bytes: int) -> list[dict[str, Any]]:
    """Every method at every number of ranks."""
    rows = []
    for content, make in WORKLOADS.items():
        for count in ranks:
            work = make(count, variable_bytes)
            for method in METHODS:
                if content == "plot file" and method in CONVERTING:
                    continue
                found = outcome(machine, work, method)
                head = {"content": content, "ranks": count, "method": method}
                rows.append(head | asdict(found) | {"gib_per_s": found.bandwidth / GIB})
    return rows


CONVERTING = ("HDF5 collective", "HDF5 collective 5-D")  # to single precision, which makes them independent


def ahead(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each content and number of ranks how many times as fast ours is as the best other."""
    found = []
    for content, ranks in dict.fromkeys((row["content"], row["ranks"]) for row in rows):
        here = {row["method"]: row["seconds"] for row in rows if (row["content"], row["ranks"]) == (content, ranks)}
        others = {name: time for name, time in here.items() if name != OURS}
        best = min(others, key=others.__getitem__)
        found.append({"content": content, "ranks": ranks, "best": best, "factor": others[best] / here[OURS]})
    return found


def in_burst_buffers(machine: Machine, ranks: tuple[int, ...]) -> list[dict[str, Any]]:
    """What a checkpoint holds the run that is staged in burst buffers, beside one that is written at once."""
    rows = []
    for count in ranks:
        work = checkpoint(count)
        at_once_s = seconds(machine, work, OURS)
        rows.append({"ranks": count, "at_once_s": at_once_s} | asdict(staged(machine, work)))
    return rows


def study(most_ranks: int = 65_536, machine: Machine = INTREPID) -> dict[str, Any]:
    """All that is drawn and printed, up to so many ranks."""
    layout = curve(machine, tuple(n for n in LAYOUT_RANKS if n <= most_ranks), LAYOUT_BLOCKS * BLOCK_BYTES)
    scaling = curve(machine, tuple(n for n in SCALING_RANKS if n <= most_ranks), SCALING_BYTES)
    report: dict[str, Any] = {"machine": asdict(machine), "layout": layout, "scaling": scaling, "ahead": ahead(scaling)}
    counts = tuple(n for n in SCALING_RANKS if n <= most_ranks)
    elsewhere = curve(EDISON, counts, SCALING_BYTES)
    report["ahead_elsewhere"] = {"machine": EDISON.name, "rows": ahead(elsewhere)}
    buffers = {"machine": EDISON.name, "bytes_per_s": EDISON.burst_bandwidth, "rows": in_burst_buffers(EDISON, counts)}
    report["burst_buffers"] = buffers
    report["sweep"] = list(sweep(machine, most_ranks))
    report["drop"] = drop(scaling)
    report["published"] = [point.row(machine) for point in PUBLISHED] if most_ranks >= 65_536 else []
    return report

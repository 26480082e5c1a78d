"""Steps of turbulence on 64 to 262,144 ranks of a modelled machine: process grids, allocations, share of communication.

Who sends how much to whom is asked of the planner (bench_fft_at_scale); what it costs follows from machine_model.py
with the numbers of Blue Waters below. One number, the speed of the nodes, is fitted to one published step; the others
are predicted. Nothing is measured here.

usage: fft_at_scale.py [--program PATH] [--json PATH] [--figure PATH]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from machine_model import (
    ALLOCATIONS,
    Allocation,
    Application,
    Demand,
    Machine,
    Order,
    Times,
    compact,
    demands_of,
    fitted,
    sites_needed,
    step_times,
)
from schedules import PROGRAM, Case, load
from torus import Torus, best_shape

SIZES = ((512, 64), (1024, 512), (2048, 4096), (4096, 32768), (8192, 262144))  # cells a side, ranks
FIT = (2048, 4096)

# Yeung and Pekurovsky (2013): seconds a step on Blue Waters, pure MPI.
PUBLISHED_S = {(2048, 4096): 3.20, (4096, 32768): 5.15, (8192, 262144): 22.9}
PUBLISHED_BADLY_PLACED_S = 54.0  # of the last

STEP = Application("RK2, 5 variables to space and back in each substep, single precision", 8, 20, 0.25)

# Best time of a pair of transforms of 128^3 by one rank, bench_fft: 14.2e9 flops/s on a core (AMD EPYC, Zen 4) whose
# vector units do 16 a cycle at up to 3.7 GHz.
KERNEL_SHARE_OF_PEAK = 14.2e9 / (16 * 3.7e9)
INTERLAGOS_CORE_FLOPS = 2.3e9 * 8 / 2  # two integer cores share the 8 flops a cycle of a module

SOURCES = {
    "nodes": "32 integer cores at 2.3 GHz, 8 flops a cycle for each two: Blue Waters user guide, NCSA",
    "memory_bandwidth": "two sockets of four channels of DDR3-1600, as commonly given: the peak",
    "rank_flops": "peak of the core times the share of peak that our lines reach (bench_fft)",
    "network interface": "6 GB/s of 8.3 in each direction measured; 0.7 to 1.4 microseconds a message, taken as "
    "L = 0.7 and 2 o = 0.7: van der Steen, Overview of recent supercomputers, Cray XE6 (EuroBen 2013)",
    "links": "9.4 GB/s along x and, inside a blade, y; 4.7 between blades along y; 15 inside a chassis and 9.4 between "
    "along z: as commonly given for machines with Gemini, not checked against a document of Cray",
    "torus": "24^3 routers of two nodes each; fixed order of axes: Blue Waters user guide; Alverson et al., HOTI 2010",
    "nic_gap": "an assumption, varied below",
    "pointwise": "a fifth of the time of a serial step of ours",
    "step": "variables and order of the step as published; transforms and precision are assumptions, varied below",
}


def blue_waters() -> Machine:
    place = np.arange(24)
    x = np.full(24, 9.4e9)
    y = np.where(place % 2 == 0, 9.4e9, 4.7e9)
    z = np.where(place % 8 == 7, 9.4e9, 15e9)
    return Machine(
        name="Blue Waters",
        torus=Torus((24, 24, 24), (x, y, z)),
        ranks_a_node=32,
        nodes_a_site=2,
        latency_s=0.7e-6,
        overhead_s=0.35e-6,
        gap_s=0.7e-6,
        rank_bandwidth=6e9,
        nic_bandwidth=6e9,
        nic_gap_s=0.1e-6,
        memory_bandwidth=2 * 4 * 12.8e9,
        rank_flops=KERNEL_SHARE_OF_PEAK * INTERLAGOS_CORE_FLOPS,
    )


def grids(cells: int, ranks: int) -> list[Case]:
    """Process grids of powers of two, rows not more than columns, with work for every rank."""
    cases = []
    rows = 1
    while rows * rows <= ranks:
        if rows <= cells // 2 and ranks // rows <= cells:
            cases.append(Case(cells, rows, ranks // rows))
        rows *= 2
    return cases


def dealiased(case: Case) -> Case:
    """The same without the modes that the rule of two thirds drops."""
    return replace(case, kept=(case.cells // 3 + 1, 2 * (case.cells // 3) + 1))


Size = tuple[int, int]


@dataclass(frozen=True)
class Asked:
    """What a schedule asks of the machine in an allocation and order of messages."""

    case: Case
    demands: tuple[Demand, ...]

    def step(self, machine: Machine, step: Application = STEP) -> Times:
        return step_times(machine, self.case, self.demands, step)


@dataclass(frozen=True)
class Prediction:
    """Steps of one size: on each grid in the best cuboid, and on the best grid in each allocation."""

    size: Size
    by_grid: dict[str, Times]
    best: Case
    by_allocation: dict[str, Times]
    dealiased: Times


def grid_name(case: Case) -> str:
    return f"{case.rows} x {case.columns}"


class Schedules:
    """Those of all sizes and grids, and what they ask in the best cuboids."""

    def __init__(self, machine: Machine, program: Path) -> None:
        cases = [case for size in SIZES for case in grids(*size)]
        self.machine, self._program = machine, program
        self._loaded = {one.case: one for one in load(cases, program)}

    def compact(self, size: Size, order: Order) -> list[Asked]:
        place = compact(self.machine, size[1])
        return [self.asked(case, place, order) for case in grids(*size)]

    def asked(self, case: Case, place: Allocation, order: Order) -> Asked:
        if case not in self._loaded:
            (self._loaded[case],) = load([case], self._program)
        return Asked(case, demands_of(self.machine, self._loaded[case], place, order))


def predict(machine: Machine, schedules: Schedules, asked: list[Asked], order: Order) -> Prediction:
    """`asked`: what each grid of one size asks in the best cuboid."""
    best = min(asked, key=lambda one: one.step(machine).total)
    ranks = best.case.ranks
    others = {name: make(machine, ranks) for name, make in ALLOCATIONS.items() if name != "compact"}
    elsewhere = {name: schedules.asked(best.case, place, order).step(machine) for name, place in others.items()}
    return Prediction(
        size=(best.case.cells, ranks),
        by_grid={grid_name(one.case): one.step(machine) for one in asked},
        best=best.case,
        by_allocation={"compact": best.step(machine)} | elsewhere,
        dealiased=schedules.asked(dealiased(best.case), compact(machine, ranks), order).step(machine),
    )


def fit(machine: Machine, asked: list[Asked], step: Application = STEP) -> Machine:
    return fitted(machine, [one.step(machine, step) for one in asked], PUBLISHED_S[FIT])


@dataclass(frozen=True)
class Variant:
    """Another reading of what was published or of the machine, fitted to the same step; no speed where none fits."""

    name: str
    node_speed: float | None
    seconds: dict[Size, float]


def variants(machine: Machine, asked: dict[Size, list[Asked]]) -> Iterator[Variant]:
    readings = (
        ("as above", machine, STEP),
        ("34 transforms (fluxes of 3 velocities and 2 scalars)", machine, replace(STEP, transforms=34)),
        ("double precision", machine, replace(STEP, element_bytes=16)),
        ("a message of a node every microsecond", replace(machine, nic_gap_s=1e-6), STEP),
        ("a message of a node every 3 microseconds", replace(machine, nic_gap_s=3e-6), STEP),
        ("interfaces at 3 GB/s", replace(machine, nic_bandwidth=3e9), STEP),
    )
    for name, other, step in readings:
        try:
            yield _variant(name, fit(other, asked[FIT], step), asked, step)
        except ValueError:  # the network alone takes longer than was published
            yield Variant(name, None, {})
    slower = _fitted_network(machine, asked[FIT])
    yield _variant(f"nodes as they are, {slower.network_speed:.2f} of the network by the fit", slower, asked, STEP)


def _variant(name: str, machine: Machine, asked: dict[Size, list[Asked]], step: Application) -> Variant:
    seconds = {size: min(one.step(machine, step).total for one in asked[size]) for size in PUBLISHED_S}
    return Variant(name, machine.node_speed, seconds)


def _fitted_network(machine: Machine, asked: list[Asked]) -> Machine:
    steps = [one.step(machine) for one in asked]
    speed = min(part.network / (PUBLISHED_S[FIT] - part.node - part.messages) for part in steps)
    return replace(machine, network_speed=speed)


def size_name(size: Size) -> str:
    return f"{size[0]}^3, {size[1]:,}"


def markdown(titles: list[str], rows: list[list[str]]) -> str:
    lines = [titles, ["---"] + ["---:"] * (len(titles) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def published(size: Size, seconds: float) -> tuple[str, str]:
    if size not in PUBLISHED_S:
        return "", ""
    error = seconds / PUBLISHED_S[size] - 1
    return f"{PUBLISHED_S[size]:.2f}", "fitted" if size == FIT else f"{100 * error:+.0f} %"


def summary_table(predictions: list[Prediction]) -> str:
    titles = ["cells, ranks", "best grid", "lines", "packing", "messages", "network", "step [s]", "communication"]
    rows = []
    for one in predictions:
        part = one.by_allocation["compact"]
        parts = (part.lines + part.pointwise, part.packing, part.messages, part.network, part.total)
        row = [size_name(one.size), grid_name(one.best), *(f"{value:.2f}" for value in parts)]
        rows.append([*row, f"{100 * part.communication:.0f} %", *published(one.size, part.total)])
    return markdown([*titles, "published [s]", "error"], rows)


def allocation_table(machine: Machine, predictions: list[Prediction]) -> str:
    titles = ["cells, ranks", "cuboid", *ALLOCATIONS, "scattered / compact", "dealiased, compact"]
    rows = []
    for one in predictions:
        shape = best_shape(machine.torus, sites_needed(machine, one.size[1]))
        totals = {name: one.by_allocation[name].total for name in ALLOCATIONS}
        values = [*totals.values(), totals["scattered"] / totals["compact"], one.dealiased.total]
        rows.append([size_name(one.size), " x ".join(map(str, shape)), *(f"{value:.2f}" for value in values)])
    return markdown(titles, rows)


def grid_table(predictions: list[Prediction]) -> str:
    rows = []
    for one in predictions:
        steps = ", ".join(f"{name}: {part.total:.2f}" for name, part in one.by_grid.items())
        rows.append([size_name(one.size), steps])
    return markdown(["cells, ranks", "step on each grid, compact [s]"], rows)


def variant_table(found: list[Variant]) -> str:
    titles = ["reading", "speed of nodes", *map(size_name, PUBLISHED_S)]
    rows = []
    for one in found:
        speed = f"{one.node_speed:.2f}" if one.node_speed else "none fits"
        rows.append([one.name, speed, *(f"{one.seconds[size]:.2f}" if one.seconds else "" for size in PUBLISHED_S)])
    return markdown(titles, [*rows, ["published", "", *(f"{seconds:.2f}" for seconds in PUBLISHED_S.values())]])


@dataclass(frozen=True)
class Outcome:
    """All that is said about one order of messages."""

    order: Order
    machine: Machine
    predictions: list[Prediction]
    variants: list[Variant]

    def tables(self) -> str:
        head = f"**Messages {self.order.value}.** Speed of the nodes by the fit: {self.machine.node_speed:.2f}"
        tables = (
            summary_table(self.predictions),
            allocation_table(self.machine, self.predictions),
            grid_table(self.predictions),
            variant_table(self.variants),
        )
        return "\n\n".join((head, *tables))

    def report(self) -> dict:
        return {
            "node_speed_fitted": self.machine.node_speed,
            "sizes": [_size_report(one) for one in self.predictions],
            "variants": [
                {"name": one.name, "node_speed": one.node_speed, "step_s": list(one.seconds.values())}
                for one in self.variants
            ],
        }


def _size_report(one: Prediction) -> dict:
    part = one.by_allocation["compact"]
    known = PUBLISHED_S.get(one.size)
    return {
        "cells": one.size[0],
        "ranks": one.size[1],
        "best_grid": [one.best.rows, one.best.columns],
        "communication_share": part.communication,
        "published_s": known,
        "relative_error": part.total / known - 1 if known else None,
        "by_allocation": {name: _entry(times) for name, times in one.by_allocation.items()},
        "by_grid": {name: _entry(times) for name, times in one.by_grid.items()},
        "dealiased": _entry(one.dealiased),
    }


def _entry(times: Times) -> dict[str, float]:
    return asdict(times) | {"total": times.total}


def report_of(outcomes: list[Outcome]) -> dict:
    return {
        "benchmark": "fft_at_scale",
        "simulated": True,
        "machine": outcomes[0].machine.name,
        "fitted_to": {"cells": FIT[0], "ranks": FIT[1], "step_s": PUBLISHED_S[FIT]},
        "published_badly_placed_s": PUBLISHED_BADLY_PLACED_S,
        "step": asdict(STEP),
        "sources": SOURCES,
        "orders": {one.order.value: one.report() for one in outcomes},
    }


def outcome(schedules: Schedules, order: Order) -> Outcome:
    asked = {size: schedules.compact(size, order) for size in SIZES}
    machine = fit(schedules.machine, asked[FIT])
    predictions = [predict(machine, schedules, asked[size], order) for size in SIZES]
    return Outcome(order, machine, predictions, list(variants(schedules.machine, asked)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=PROGRAM, help="bench_fft_at_scale")
    parser.add_argument("--json", type=Path, help="write everything here")
    parser.add_argument("--figure", type=Path, help="draw the predictions here (needs matplotlib)")
    arguments = parser.parse_args()
    started = time.monotonic()
    schedules = Schedules(blue_waters(), arguments.program)
    outcomes = [outcome(schedules, order) for order in Order]
    print(f"{schedules.machine.name}, modelled. {STEP.name}.")
    for one in outcomes:
        print(f"\n{one.tables()}")
    print(f"\n{time.monotonic() - started:.0f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps(report_of(outcomes), indent=2) + "\n")
    if arguments.figure:
        from fft_at_scale_figure import draw

        draw(report_of(outcomes), arguments.figure)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The model of fft_at_scale.py beside SimGrid's simulated MPI (libsimgrid-dev): the same schedules on the same torus.

SimGrid sends every message of an MPI_Alltoallv (each rank one partner a step) over links that flows share fairly;
nothing is computed and no network interface bounds a node. So is the model here: links and LogGP alone.
usage: fft_at_scale_smpi.py [--json]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from fft_at_scale import blue_waters
from machine_model import NOBODY, Allocation, Machine, Order, demand_of, exchange_seconds
from schedules import Case, Exchange, Schedule, load
from torus import Shape, uniform_torus

SOURCE = Path(__file__).parent / "smpi" / "transposes.cpp"
LINK_BANDWIDTH = 9.4e9
ELEMENT_BYTES = 8
LIMIT_S = 900.0


@dataclass(frozen=True)
class Setup:
    case: Case
    shape: Shape
    ranks_a_node: int


# Rings of odd length: SimGrid sends all one way where both ways are equally short, the model half each way.
SETUPS = (
    Setup(Case(256, 4, 16), (5, 5, 3), 1),
    Setup(Case(512, 8, 8), (5, 5, 3), 1),
    Setup(Case(1024, 16, 32), (9, 9, 7), 1),
    Setup(Case(2048, 32, 64), (9, 9, 7), 4),
)


def machine_of(setup: Setup) -> Machine:
    return replace(
        blue_waters(),
        torus=uniform_torus(setup.shape, LINK_BANDWIDTH),
        ranks_a_node=setup.ranks_a_node,
        nodes_a_site=1,
        rank_bandwidth=np.inf,
        nic_bandwidth=np.inf,
        nic_gap_s=0.0,
    )


def platform(machine: Machine) -> str:
    shape = ",".join(map(str, machine.torus.shape))
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="torus" topology="TORUS" topo_parameters="{shape}" prefix="node" radical="0-{machine.torus.sites - 1}"
    suffix="" speed="1Gf" core="{machine.ranks_a_node}" bw="{LINK_BANDWIDTH:.0f}Bps" lat="100ns"
    sharing_policy="SPLITDUPLEX" loopback_bw="100GBps" loopback_lat="100ns"/>
</platform>
"""


def schedule_text(exchanges: list[Exchange]) -> str:
    lines = [str(ELEMENT_BYTES)]
    for one in exchanges:
        kinds, places = one.cells.shape
        lines.append(f"{one.ranks} {kinds} {places}")
        lines += [" ".join(map(str, row)) for row in zip(one.group, one.place, one.kind, strict=True)]
        lines += [" ".join(str(int(count)) for count in row) for row in one.cells]
    return "\n".join(lines) + "\n"


def simulated(machine: Machine, schedule: Schedule, folder: Path) -> list[float]:
    """Seconds of each transpose by SimGrid."""
    (folder / "platform.xml").write_text(platform(machine))
    (folder / "schedule").write_text(schedule_text(list(schedule.exchanges.values())))
    hosts = [f"node{rank // machine.ranks_a_node}" for rank in range(schedule.case.ranks)]
    (folder / "hosts").write_text("\n".join(hosts) + "\n")
    settings = (
        "smpi/alltoallv:ring",
        "smpi/simulate-computation:no",
        "smpi/shared-malloc-blocksize:33554432",
        "smpi/bw-factor:0:1.0",  # else those of a cluster with Ethernet, by the size of the message
        "smpi/lat-factor:0:1.0",
        "network/crosstraffic:0",
    )
    words = ["smpirun", "-np", str(schedule.case.ranks), "-platform", "platform.xml", "-hostfile", "hosts"]
    words += [f"--cfg={setting}" for setting in settings] + ["./transposes", "schedule"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    return [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("transpose ")]


def compare(setup: Setup, folder: Path) -> list[dict]:
    machine = machine_of(setup)
    (schedule,) = load([setup.case])
    place = Allocation("all", np.arange(machine.torus.sites), NOBODY)
    began = time.monotonic()
    seconds = simulated(machine, schedule, folder)
    wall_s = time.monotonic() - began
    entries = []
    for (name, exchange), theirs in zip(schedule.exchanges.items(), seconds, strict=True):
        together, pairwise = (
            sum(exchange_seconds(machine, demand_of(machine, exchange, place, order), ELEMENT_BYTES)) for order in Order
        )
        entries.append(
            {
                "ranks": setup.case.ranks,
                "cells": setup.case.cells,
                "grid": [setup.case.rows, setup.case.columns],
                "torus": setup.shape,
                "transpose": name,
                "together_s": together,
                "pairwise_s": pairwise,
                "smpi_s": theirs,
                "pairwise_to_smpi": pairwise / theirs,
                "smpi_wall_s": wall_s,
            }
        )
    return entries


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    arguments = parser.parse_args()
    compiler = shutil.which("smpicxx")
    if compiler is None:
        print("smpicxx is not installed (Debian: libsimgrid-dev)")
        return 1
    entries = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([compiler, "-O2", "-std=c++20", SOURCE, "-o", folder / "transposes"], check=True)
        for setup in SETUPS:
            entries += compare(setup, folder)
    if arguments.json:
        print(json.dumps(entries, indent=2))
        return 0
    titles = ("ranks, cells", "grid", "torus", "transpose", "together [ms]", "pairwise [ms]", "SMPI [ms]", "ratio")
    print("| " + " | ".join(titles) + " |\n|---|---|---|---|---:|---:|---:|---:|")
    for one in entries:
        grid, torus = (" x ".join(map(str, one[key])) for key in ("grid", "torus"))
        times = " | ".join(f"{1e3 * one[key]:.3f}" for key in ("together_s", "pairwise_s", "smpi_s"))
        where = f"{one['ranks']:,}, {one['cells']}^3 | {grid} | {torus} | {one['transpose']}"
        print(f"| {where} | {times} | {one['pairwise_to_smpi']:.2f} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Transforms of real fields there and back by other libraries, beside `sidestream bench fft` on the same work.

Each library transforms N^3 doubles on the ranks of `mpirun`, from slabs and from pencils to wherever it leaves the
modes, by the same protocol: the slowest rank of the fastest step. Prints one JSON object; a peer that is not installed
is named as missing. FFTW-MPI is the one of `bench/fft.cpp` (slabs, transposed modes, the best of five measured plans).

    pip install mpi4py-fft dtfft-fftw-openmpi            # or dtfft-fftw-mpich, as the MPI is; with FFTW, which is GPL
    python bench/fft_peers.py --cells 128 --ranks 1 2 4
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FFTW_MPI = ROOT / "build" / "release" / "bench" / "bench_fft"
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}
Step = Callable[[], None]


def best_of(comm: Any, step: Step, repetitions: int) -> float:
    """Seconds of the slowest rank in the fastest of some steps, after one that does not count."""
    from mpi4py import MPI

    times = []
    for _ in range(repetitions + 1):
        comm.Barrier()
        began = MPI.Wtime()
        step()
        times.append(comm.allreduce(MPI.Wtime() - began, op=MPI.MAX))
    return min(times[1:])


@contextmanager
def mpi4py_fft(comm: Any, cells: int, layout: str) -> Iterator[Step]:
    """FFTW for the lines, subarray datatypes and MPI_Alltoallw for the transposes."""
    from mpi4py_fft import PFFT, newDistArray

    grid = {"grid": (-1,)} if layout == "slabs" else {}
    plan = PFFT(comm, [cells] * 3, axes=(0, 1, 2), dtype=float, planner_effort="FFTW_MEASURE", **grid)
    field, modes = newDistArray(plan, False), newDistArray(plan, True)

    def step() -> None:
        plan.forward(field, modes, normalize=False)
        plan.backward(modes, field)

    yield step
    plan.destroy()


@contextmanager
def dtfft(comm: Any, cells: int, layout: str) -> Iterator[Step]:
    """FFTW for the lines; transposes tuned when the plan is made."""
    import dtfft
    from mpi4py import MPI

    is_slabs = layout == "slabs"
    plan = dtfft.PlanR2C(
        [cells] * 3,
        comm=comm.Create_cart([1, 1, comm.size] if is_slabs else [1, *MPI.Compute_dims(comm.size, 2)]),
        effort=dtfft.Effort.PATIENT,
        executor=dtfft.Executor.FFTW3,
        config=dtfft.Config(enable_z_slab=is_slabs),
    )
    field, modes = plan.get_ndarray(plan.alloc_size), plan.get_ndarray(plan.alloc_size)
    field[...] = 0

    def step() -> None:
        plan.execute(field, modes, dtfft.Execute.FORWARD)
        plan.execute(modes, field, dtfft.Execute.BACKWARD)

    yield step


PEERS = {"mpi4py-fft": mpi4py_fft, "dtFFT": dtfft}


def child(peer: str, cells: int, layout: str, repetitions: int) -> None:
    """One peer on the ranks of this job."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with PEERS[peer](comm, cells, layout) as step:
        seconds = best_of(comm, step, repetitions)
    if comm.rank == 0:
        print(json.dumps({"seconds": seconds}))


def on_ranks(ranks: int, words: list[str]) -> dict[str, Any]:
    """The last line that a job of MPI prints, as JSON, or what is missing."""
    command = ["mpirun", "--oversubscribe", "-n", str(ranks), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | OPEN_MPI, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1] if words[0] == sys.executable else done.stdout)
    problems = [line for line in done.stderr.splitlines() if "Error" in line or "error" in line]
    return {"missing": problems[0] if problems else f"exit code {done.returncode}"}


def of_sidestream(ranks: int, cells: int, repetitions: int) -> dict[str, Any]:
    """The fastest way on slabs (one row) and on pencils (more), all ranks at work."""
    words = ["-m", "sidestream", "bench", "fft", "-n", ranks, "--cells", cells, "--repetitions", repetitions, "--json"]
    done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, env=os.environ | OPEN_MPI)
    if done.returncode != 0:
        return {"missing": done.stderr.strip().splitlines()[-1]}
    cases = [case for case in json.loads(done.stdout)["cases"] if "seconds" in case]
    result: dict[str, Any] = {}
    for layout in ("slabs", "pencils"):
        fitting = [
            case
            for case in cases
            if case["rows"] * case["columns"] == ranks and (case["rows"] == 1) == (layout == "slabs" or ranks == 1)
        ]
        result[layout] = min(fitting, key=lambda case: case["seconds"])
    return result


def of_fftw_mpi(ranks: int, cells: int) -> dict[str, Any]:
    """What `bench/fft.cpp` measures of FFTW-MPI."""
    if not FFTW_MPI.exists():
        return {"missing": f"{FFTW_MPI.relative_to(ROOT)}: `cmake --build build/release --target bench_fft`"}
    report = on_ranks(ranks, [str(FFTW_MPI), str(cells)])
    return report if "missing" in report else {"slabs": {"seconds": report["sizes"][0]["fftw_mpi"]["min_s"]}}


def version_of(peer: str) -> str | None:
    """As installed, under any of its names."""
    names = ["dtfft-fftw-openmpi", "dtfft-fftw-mpich"] if peer == "dtFFT" else [peer]
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def compare(cells: int, ranks: int, repetitions: int) -> dict[str, Any]:
    """All libraries on one number of ranks."""
    found: dict[str, Any] = {
        "Sidestream": of_sidestream(ranks, cells, repetitions),
        "FFTW-MPI": of_fftw_mpi(ranks, cells),
    }
    for peer in PEERS:
        version = version_of(peer)
        if version is None:
            found[peer] = {"missing": f"{peer} is not installed"}
            continue
        found[peer] = {"version": version}
        for layout in ("slabs", "pencils"):
            words = [sys.executable, __file__, "--child", peer, layout, "--cells", str(cells)]
            found[peer][layout] = on_ranks(ranks, [*words, "--repetitions", str(repetitions)])
    return {"ranks": ranks, "libraries": found}


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=128)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--child", nargs=2, metavar=("PEER", "LAYOUT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child[0], arguments.cells, arguments.child[1], arguments.repetitions)
        return
    load = os.getloadavg()[0]
    runs = [compare(arguments.cells, ranks, arguments.repetitions) for ranks in arguments.ranks]
    print(
        json.dumps({"bench": "fft_peers", "cells": arguments.cells, "load": [load, os.getloadavg()[0]], "runs": runs})
    )


if __name__ == "__main__":
    main()

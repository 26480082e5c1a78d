"""A small program whose block of cells is analysed in situ by ParaView's Catalyst, and by a session of Sidestream.

usage: python bench/beside_paraview.py [--cells 64 128] [--steps 20] [--repeats 5] [--jobs JOB ...]

The program is NumPy on one core: a cube of cells that grow a little at each step. Both read it where it lies. Jobs at
each step: `nothing`; `picture`, the middle plane as PNG, a pixel a cell; `pdf`, 60 logarithmic bins (in ParaView a
Calculator and a Histogram); `histogram`, 60 bins of equal width (in Sidestream a task in Python); `sums`, total, least,
most. Prints JSON, of medians with the least and the largest over the repeats, which take turns: `publish_ms`, the call
at a step, the median of the steps (`publish_cpu_ms`: its CPU time, for machines that others use); `start_s`, from
before the import until the first moment is done; `memory_mb`, the peak of the process over that of the program before;
the median ratios of Catalyst's to Sidestream's; and how the last results differ.

This is Catalyst's interface of before the three calls, vtkCPProcessor, which ParaView brings to Python: its pipelines
are those of Catalyst 2, without Conduit. It needs ParaView with Python and an X server, where it draws in software:

    apt install paraview python3-paraview xvfb
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

JOBS = ("nothing", "picture", "pdf", "histogram", "sums")
BINS, LOW, HIGH = 60, 0.01, 10.0
GROWTH = 1.01
ONE_CORE = {"OMP_NUM_THREADS": "1", "VTK_SMP_MAX_THREADS": "1", "LP_NUM_THREADS": "1"}
PIPELINE = Path(__file__).with_name("beside_paraview_pipeline.py")
TASKS = {
    "nothing": "",
    "picture": 'analysis = "display"\nquantity = "height"\naxis = "z"\nlimits = [LOW, HIGH]\n'
    "pyramid = false\nframe = 0\nwhole = true\n",
    "pdf": 'analysis = "pdf"\nfields = ["height"]\nbins = BINS\nlow = LOW\nhigh = HIGH\nin_means = false\n',
    "histogram": 'analysis = "python"\nfile = "tasks.py"\nfunction = "histogram"\n',
    "sums": 'analysis = "python"\nfile = "tasks.py"\nfunction = "sums"\n',
}
FUNCTIONS = f"""
import numpy as np
import sidestream

EDGES = np.linspace({LOW}, {HIGH}, {BINS} + 1)

@sidestream.analysis(fields=["height"])
def histogram(snapshot):
    return {{"counts": snapshot.histogram([block.cells for _, (block,) in snapshot.each_block("height")], EDGES)}}

@sidestream.analysis(fields=["height"])
def sums(snapshot):
    cells = [block.cells for _, (block,) in snapshot.each_block("height")]
    return {{"total": snapshot.sum(*cells), "least": snapshot.min(*cells), "most": snapshot.max(*cells)}}
"""
Publish = Callable[[int], None]


# --- the program


def program(way: str, job: str, cells: int, steps: int, folder: Path) -> None:
    """All its steps; prints what they took."""
    field = np.random.default_rng(1).lognormal(size=(cells, cells, cells))
    before = memory_mb()
    began = time.perf_counter()
    publish, close = (with_catalyst if way == "catalyst" else with_sidestream)(field, job, folder)
    start, wall, cpu = time.perf_counter() - began, [], []
    for step in range(1, steps + 1):
        field *= GROWTH
        began, began_cpu = time.perf_counter(), time.process_time()
        publish(step)
        wall.append(1e3 * (time.perf_counter() - began))
        cpu.append(1e3 * (time.process_time() - began_cpu))
    peak = memory_mb()
    close()
    took = {"start_s": start, "publish_ms": statistics.median(wall), "publish_cpu_ms": statistics.median(cpu)}
    print(json.dumps(took | {"memory_mb": peak - before}))


def memory_mb() -> float:
    """The peak of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def with_catalyst(field: np.ndarray, job: str, folder: Path) -> tuple[Publish, Callable[[], None]]:
    """ParaView in this process, one moment done."""
    from paraview.catalyst import bridge

    bridge.initialize()
    if job != "nothing":
        bridge.add_pipeline(str(PIPELINE), 2)
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonDataModel import vtkImageData

    cells = len(field)
    image = vtkImageData()
    image.SetDimensions(cells + 1, cells + 1, cells + 1)
    array = numpy_to_vtk(field.reshape(-1), deep=0)
    array.SetName("height")
    image.GetCellData().AddArray(array)

    def publish(step: int) -> None:
        array.Modified()
        bridge.coprocess(float(step), step, image, "input", [0, cells] * 3)

    publish(0)
    return publish, bridge.finalize


def with_sidestream(field: np.ndarray, job: str, folder: Path) -> tuple[Publish, Callable[[], None]]:
    """A session in this process, one moment done."""
    import sidestream

    run = sidestream.session(folder / f"{job}.toml", folder / "run", quiet=True, existing="overwrite")
    run.mesh(field.shape)
    run.field("height", field)
    run.begin()
    return lambda step: run.step(step, float(step)), run.close


# --- both, by turns


def config_of(job: str) -> str:
    """What a session does."""
    if job == "nothing":
        return ""
    words = TASKS[job].replace("BINS", str(BINS)).replace("LOW", str(LOW)).replace("HIGH", str(HIGH))
    return f"[task.{job}]\n{words}every = 1\n"


def run(way: str, job: str, cells: int, steps: int, folder: Path, python: str) -> dict[str, float]:
    """One program from its start to its end."""
    child = [__file__, "--child", way, job, str(cells), str(steps), str(folder)]
    command = [sys.executable, *child] if way == "sidestream" else [python, *child]
    words = {"JOB": job, "OUT": folder, "LIMITS": f"{LOW} {HIGH}", "CELLS": cells, "BINS": BINS}
    environment = os.environ | {f"BESIDE_{name}": str(word) for name, word in words.items()} | ONE_CORE
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        raise SystemExit(f"error: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return json.loads(lines[-1])


def differences(job: str, folder: Path) -> dict[str, float]:
    """Between the last results of both."""
    import sidestream

    if job == "nothing":
        return {}
    if job == "picture":
        return of_pictures(folder)
    own = sidestream.open(folder / "run").result(job, -1)
    with np.load(folder / "numbers.npz") as stored:
        others = dict(stored)
    if "counts" in others:
        counts = own["height_count" if job == "pdf" else "counts"].values
        inner = slice(1, -1)  # ParaView's first and last bin take what lies beyond
        return {"cells_in_other_bins": int(np.abs(counts - others["counts"])[inner].sum())}
    return {"largest_relative": max(abs(float(own[name].squeeze()) / float(others[name]) - 1) for name in others)}


def of_pictures(folder: Path) -> dict[str, float]:
    from matplotlib.image import imread

    own = imread(sorted((folder / "run/results/picture").glob("*.pictures/height.png"))[-1])[..., :3]
    distance = np.abs(own - imread(folder / "picture.png")[..., :3]).max(axis=-1)
    return {"largest_of_255": round(255 * float(distance.max())), "pixels_beyond_2": int((distance > 2.5 / 255).sum())}


def compare(job: str, cells: int, words: argparse.Namespace) -> dict[str, Any]:
    """One job by both."""
    took: dict[str, list[dict[str, float]]] = {"catalyst": [], "sidestream": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / f"{job}.toml").write_text(config_of(job))
        (folder / "tasks.py").write_text(FUNCTIONS)
        for _ in range(words.repeats):
            for way, rows in took.items():
                rows.append(run(way, job, cells, words.steps, folder, words.python))
        result: dict[str, Any] = {"differs": differences(job, folder)}
    for way, rows in took.items():
        result[way] = {key: spread([row[key] for row in rows]) for key in rows[0]}
    for key in ("publish_ms", "publish_cpu_ms"):
        pairs = zip(took["catalyst"], took["sidestream"], strict=True)
        result[f"{key}_ratio"] = round(statistics.median(theirs[key] / ours[key] for theirs, ours in pairs), 3)
    return result


def spread(values: list[float]) -> list[float]:
    """Median, least, largest."""
    return [round(value, 4) for value in (statistics.median(values), min(values), max(values))]


def paraview_version(python: str) -> str:
    """Of the package for this interpreter; who lacks it is told."""
    if shutil.which("Xvfb") is None:
        raise SystemExit("error: Xvfb is not installed\nhint: apt install xvfb")
    code = "import paraview.modules.vtkPVCatalyst; from paraview import simple as pv; v = pv.GetParaViewVersion()"
    code += "; print(v.major, v.minor, sep='.')"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: {python} has no ParaView with Catalyst\nhint: apt install paraview python3-paraview")
    return done.stdout.strip().splitlines()[-1]


@contextmanager
def x_server() -> Iterator[None]:
    """One without a screen, for all that draws."""
    read, write = os.pipe()
    words = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x1024x24", "-noreset"]
    server = subprocess.Popen(words, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as answer:
        os.environ["DISPLAY"] = f":{answer.readline().strip()}"
    try:
        yield
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    """Prints a JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=JOBS)
    parser.add_argument("--python", default="/usr/bin/python3", help="the interpreter that has ParaView")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.child:
        way, job, cells, steps, folder = words.child
        program(way, job, int(cells), int(steps), Path(folder))
        return
    version, load = paraview_version(words.python), os.getloadavg()[0]
    with x_server():
        sizes = {cells: {job: compare(job, cells, words) for job in words.jobs} for cells in words.cells}
    answer = {
        "benchmark": "beside_paraview",
        "paraview": version,
        "steps": words.steps,
        "repeats": words.repeats,
        "load": [load, os.getloadavg()[0]],
        "cells": sizes,
    }
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()

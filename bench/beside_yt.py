"""The same jobs on the same plot files by yt and by Sidestream: their seconds, and whether the numbers agree.

usage: python bench/beside_yt.py [--cells 64] [--run FOLDER] [--repeats 5] [--jobs JOB ...]

The plot files, in Nyx's format, are those of `bench/beside_yt.toml`, whose cells are as large for any --cells; FOLDER
is a run of it, which is made where there is none. Jobs: `pdf`, 200 bins of the gas density; `projection` and `slice` of
it, as arrays; `pictures`, both as PNG files; `sums`, the total and the extremes of the density and the mean temperature
by mass; `groups`, friends of friends among the particles, in yt by the finder of yt_astro_analysis (its kernel: its
catalogue refuses the particles of Nyx's files, to whose masses yt gives no unit).

Each is done by yt in a process of Python, by Sidestream's functions in one, and by `sidestream analyze` on one rank and
on two. `cold` is a whole command with one file, from its start to its end; `warm` is what each further file takes: a
command with all files less one with the last alone, over their number less one. Ways take turns. Prints JSON of wall
and CPU times (`cpu`, of all ranks): the median, the least and the largest, and the median ratio to yt's. All write
their results to a disk. `differs` is how far numbers are from those of yt, relative, or how many cells or groups.

    pip install yt yt_astro_analysis
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sidestream

PROGRAM = [sys.executable, "-m", "sidestream"]
BOX = Path(__file__).with_suffix(".toml")
BINS, LOW, HIGH = 200, 1e-3, 1e5
LINK = 0.2
LEAST = 20  # particles of a group that counts
Numbers = dict[str, Any]

TASKS = {
    "pdf": f'[task.pdf]\nanalysis = "pdf"\nfields = ["gas_density"]\nbins = {BINS}\nlow = {LOW}\nhigh = {HIGH}\n',
    "projection": '[task.projection]\nanalysis = "projection"\nfields = ["gas_density"]\n',
    "slice": '[task.slice]\nanalysis = "slice"\nfields = ["gas_density"]\n',
    "sums": '[task.sums]\nanalysis = "python"\nfile = "sums.py"\n',
    "groups": f'[task.groups]\nanalysis = "halos"\nfinder = "fof"\nlinking_length = {LINK}\nmin_particles = {LEAST}\n',
}
TASKS["pictures"] = TASKS["projection"] + TASKS["slice"]
SUMS = """
import numpy as np
import sidestream

@sidestream.analysis(fields=["gas_density", "temperature"])
def sums(snapshot):
    cells = [(rho.cells, heat.cells) for _, (rho, heat) in snapshot.each_block("gas_density", "temperature")]
    density = [rho for rho, _ in cells]
    total = snapshot.sum(*density)
    heat = snapshot.sum(*[rho * heat for rho, heat in cells])
    extremes = {"least": snapshot.min(*density), "most": snapshot.max(*density)}
    return {"total": total, "temperature": heat / total} | extremes
"""


def of_group_sizes(names: np.ndarray) -> np.ndarray:
    """How many particles the groups have that count, the largest first."""
    sizes = np.unique(names, return_counts=True)[1]
    return np.sort(sizes[sizes >= LEAST])[::-1]


# --- yt


def in_yt(job: str, path: Path, out: Path) -> Numbers:
    """One job with one file."""
    import yt

    yt.set_log_level(40)
    data = yt.load(path)
    data.force_periodicity()  # yt asks a file of Nyx for it in vain
    return YT[job](data, out)


def yt_pdf(data: Any, out: Path) -> Numbers:
    density = data.all_data()["boxlib", "density"].d
    edges = density.mean() * np.geomspace(LOW, HIGH, BINS + 1)
    return {"counts": np.histogram(density, edges)[0]}


def yt_plane(plane: Any, data: Any) -> np.ndarray:
    return plane.to_frb(data.domain_width[0], tuple(data.domain_dimensions[:2]))["boxlib", "density"].d


def yt_projection(data: Any, out: Path) -> Numbers:
    plane = yt_plane(data.proj(("boxlib", "density"), "z"), data)
    return {"plane": plane / plane.mean()}


def yt_slice(data: Any, out: Path) -> Numbers:
    return {"plane": yt_plane(data.slice("z", data.domain_center[2]), data)}


def sums(density: np.ndarray, heat: np.ndarray) -> Numbers:
    """What both make of the arrays that they have read."""
    total = density.sum()
    return {
        "total": total,
        "temperature": (density * heat).sum() / total,
        "least": density.min(),
        "most": density.max(),
    }


def yt_sums(data: Any, out: Path) -> Numbers:
    every = data.all_data()
    return sums(every["boxlib", "density"].d, every["boxlib", "Temp"].d)


def yt_groups(data: Any, out: Path) -> Numbers:
    from yt_astro_analysis.halo_analysis.halo_finding.fof.EnzoFOF import RunFOF

    every = data.all_data()
    side = data.domain_width.d
    positions = [every["DM", f"particle_position_{axis}"].d / side[i] for i, axis in enumerate("xyz")]
    names = RunFOF(*positions, LINK / len(positions[0]) ** (1 / 3))
    return {"sizes": of_group_sizes(names[names >= 0])}


def yt_pictures(data: Any, out: Path) -> Numbers:
    import yt

    for plot in (yt.ProjectionPlot, yt.SlicePlot):
        plot(data, "z", ("boxlib", "density")).save(str(out / plot.__name__))
    return {}


YT: dict[str, Callable[[Any, Path], Numbers]] = {
    "pdf": yt_pdf,
    "projection": yt_projection,
    "slice": yt_slice,
    "sums": yt_sums,
    "groups": yt_groups,
    "pictures": yt_pictures,
}

# --- Sidestream's functions in Python


def in_sidestream(job: str, path: Path, out: Path) -> Numbers:
    """One job with one file."""
    return SIDESTREAM[job](sidestream.open(path))


def our_pdf(plot: Any) -> Numbers:
    density = plot["gas_density"].values
    return {"counts": np.histogram(density, density.mean() * np.geomspace(LOW, HIGH, BINS + 1))[0]}


def our_projection(plot: Any) -> Numbers:
    plane = plot["gas_density"].values.mean(axis=0)
    return {"plane": plane / plane.mean()}


def our_slice(plot: Any) -> Numbers:
    density = plot["gas_density"].values
    return {"plane": density[len(density) // 2]}


def our_sums(plot: Any) -> Numbers:
    return sums(plot["gas_density"].values, plot["temperature"].values)


def our_groups(plot: Any) -> Numbers:
    particles = plot.particles()
    positions = np.stack([particles[axis].values for axis in "xyz"], axis=1)
    names = sidestream.friends_of_friends(positions, plot.box_size, linking_length=our_length(plot, len(positions)))
    return {"sizes": of_group_sizes(names)}


def our_length(plot: Any, particles: int) -> float:
    return LINK * float(np.prod(plot.box_size) / particles) ** (1 / 3)


SIDESTREAM: dict[str, Callable[[Any], Numbers]] = {
    "pdf": our_pdf,
    "projection": our_projection,
    "slice": our_slice,
    "sums": our_sums,
    "groups": our_groups,
}


def child(way: str, job: str, out: Path, paths: list[Path]) -> None:
    """All files in one process, with a file of numbers for each."""
    work = in_yt if way == "yt" else in_sidestream
    out.mkdir(exist_ok=True)
    for path in paths:
        with contextlib.redirect_stdout(sys.stderr):
            numbers = work(job, path, out)
        np.savez(out / path.name, **numbers)


# --- commands


def words_of(way: str, job: str, folder: Path, paths: list[Path]) -> list[list[str]]:
    """What a shell would be told, in turn."""
    files = [str(path) for path in paths]
    out = str(folder / way)
    if way in ("yt", "sidestream"):
        return [[sys.executable, __file__, "--child", way, job, out, *files]]
    options = ["--config", str(folder / f"{job}.toml"), "--out", out, "--overwrite"]
    words = [[*PROGRAM, "analyze", *files, *options, "-n", way.removeprefix("analyze_")]]
    if job == "pictures":
        words.append([*PROGRAM, "plot", out])
    return words


def seconds(commands: list[list[str]]) -> np.ndarray:
    """Wall and CPU time of commands, which have to succeed."""
    began = now()
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        if done.returncode != 0:
            raise SystemExit(f"error: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return now() - began


def now() -> np.ndarray:
    """The time, and what the processes that have ended took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return np.array([time.perf_counter(), used.ru_utime + used.ru_stime])


def numbers_of(way: str, job: str, folder: Path, path: Path) -> Numbers:
    """What a way made of the file."""
    if way in ("yt", "sidestream"):
        with np.load(folder / way / f"{path.name}.npz") as stored:
            return dict(stored)
    table = sidestream.open(folder / way).result(job, -1)
    match job:
        case "pdf":
            return {"counts": table["gas_density_count"].values}
        case "groups":
            return {"sizes": np.sort(table["particles"].values)[::-1]}
        case "sums":
            return {name: float(table[name].values.squeeze()) for name in ("total", "temperature", "least", "most")}
    plane = table["gas_density"].values.squeeze()
    return {"plane": plane / plane.mean() if job == "projection" else plane}


def difference(numbers: Numbers, others: Numbers) -> float | int:
    """The largest relative one, or how many cells or groups differ."""
    for name in ("counts", "sizes"):
        if name in numbers:
            one, other = np.asarray(numbers[name]), np.asarray(others[name])
            return int(np.abs(one - other).sum()) if one.shape == other.shape else abs(len(one) - len(other))
    return max(float(np.max(np.abs(np.asarray(others[name]) / np.asarray(numbers[name]) - 1))) for name in numbers)


def compare(job: str, ways: list[str], folder: Path, files: list[Path], repeats: int) -> dict[str, Any]:
    """One job by all ways, which take turns."""
    (folder / f"{job}.toml").write_text(TASKS[job])
    cold: dict[str, list[np.ndarray]] = {way: [] for way in ways}
    warm: dict[str, list[np.ndarray]] = {way: [] for way in ways}
    numbers: dict[str, Numbers] = {}
    for _ in range(repeats):
        for way in ways:
            cold[way].append(seconds(words_of(way, job, folder, files[-1:])))
            everything = seconds(words_of(way, job, folder, files))
            warm[way].append((everything - cold[way][-1]) / (len(files) - 1))
            if job != "pictures":
                numbers[way] = numbers_of(way, job, folder, files[-1])
    return {
        way: times("cold", cold[way], cold[ways[0]])
        | times("warm", warm[way], warm[ways[0]])
        | ({"differs": difference(numbers[ways[0]], numbers[way])} if way in numbers else {})
        for way in ways
    }


def times(name: str, taken: list[np.ndarray], of_yt: list[np.ndarray]) -> dict[str, Any]:
    """Medians, the least and the largest, and the medians of the ratios of neighbours in time."""
    row: dict[str, Any] = {}
    for clock, (own, other) in enumerate(zip(np.transpose(taken), np.transpose(of_yt), strict=True)):
        key = f"{name}_s" if clock == 0 else f"{name}_cpu_s"
        row[key] = [round(float(value), 4) for value in (np.median(own), own.min(), own.max())]
        row[f"{key}_over_yt"] = round(float(np.median(own / other)), 3)
    return row


def plot_files(run: Path, cells: int) -> list[Path]:
    """Those of the run, which is made if it is not there."""
    if not run.exists():
        box = f'cosmology.box="{10 * cells / 64:g} Mpc/h"'
        words = ["run", BOX, "-n", 2, "--out", run, "--set", f"mesh.cells=[{cells},{cells},{cells}]", "--set", box]
        seconds([[*PROGRAM, *map(str, words)]])
    files = sorted(run.glob("plt*"))
    if len(files) < 2:
        raise SystemExit(f"error: {run} has {len(files)} plot files; two or more are needed")
    return files


def main() -> None:
    """Prints a JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", nargs="+", choices=list(YT), default=list(YT))
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.child:
        way, job, out, *paths = words.child
        child(way, job, Path(out), [Path(path) for path in paths])
        return
    missing = [name for name in ("yt", "yt_astro_analysis") if importlib.util.find_spec(name) is None]
    if "yt" in missing:
        raise SystemExit("error: yt is not installed\nhint: pip install yt yt_astro_analysis")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sums.py").write_text(SUMS)
        files = plot_files(words.run or folder / "run", words.cells)
        jobs: dict[str, Any] = {}
        for job in words.jobs:
            if job == "groups" and "yt_astro_analysis" in missing:
                jobs[job] = {"missing": "yt_astro_analysis"}
                continue
            ways = ["yt", *(["sidestream"] if job in SIDESTREAM else []), "analyze_1", "analyze_2"]
            jobs[job] = compare(job, ways, folder, files, words.repeats)
        answer = {
            "benchmark": "beside_yt",
            "yt": importlib.metadata.version("yt"),
            "files": len(files),
            "bytes_of_a_file": sum(path.stat().st_size for path in files[-1].rglob("*")),
            "repeats": words.repeats,
            "load": [load, os.getloadavg()[0]],
            "jobs": jobs,
        }
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()

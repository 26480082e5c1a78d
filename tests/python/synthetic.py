"""Writes a run folder as a simulation would leave it, with made-up but plausible results.

As a program it makes one to look at: python synthetic.py DIR
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import h5py
import numpy as np

TASKS = ("halos", "spectra", "pdfs", "phase", "picture")
BOX, CELLS, STEPS = 14.2, 64, 60
HUBBLE, OMEGA_M, OMEGA_B = 0.675, 0.31, 0.0487
MEAN = 2.775e11 * HUBBLE**2 * OMEGA_M  # Msun/Mpc^3
FIELDS = ("gas_density", "dark_matter_density", "total_density")

CONFIG = """simulation = "cosmology"

[mesh]
cells = [64, 64, 64]
block = 32

[cosmology]
box = "14.2 Mpc"
z_start = 50
z_end = 2

[coupling]
sidecars = 1

[task.halos]
analysis = "halos"
transport = "in-transit"
every = 10

[task.spectra]
analysis = "power_spectrum"
every = 10

[task.pdfs]
analysis = "pdf"
every = 10

[task.phase]
analysis = "phase"
transport = "in-situ"
every = 10

[task.picture]
analysis = "projection"
every = 20
"""

CHECKPOINT = Path(__file__).parents[1] / "data" / "chk00050.hdf5_chk"


def redshift_of(step: int, steps: int = STEPS) -> float:
    scale = np.geomspace(1 / 51, 1 / 3, steps + 1)[step]
    return float(1 / scale - 1)


def write_run(folder: Path, steps: int = STEPS, status: str | None = "finished") -> Path:
    """Writes the whole folder; `status=None` leaves the end out, as a run that is still going on."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(CONFIG)
    for step in range(10, steps + 1, 10):
        write_results(folder, step, steps)
    compute, sidecar = events(steps, status)
    write_log(folder / "events.jsonl", compute)
    write_log(folder / "events.sidecar.jsonl", sidecar)
    write_plotfile(folder / f"plt{steps:05d}", redshift_of(steps, steps))
    shutil.copy(CHECKPOINT, folder)
    return folder


def write_log(path: Path, log: list[dict]) -> None:
    path.write_text("".join(json.dumps(event) + "\n" for event in log))


def events(steps: int, status: str | None) -> tuple[list[dict], list[dict]]:
    random = np.random.default_rng(1)
    compute: list[dict] = [start_event()]
    sidecar: list[dict] = []
    t, free = 1.2, 1.0
    for step in range(1, steps + 1):
        wall = float(0.8 + 0.1 * random.random())
        t += wall
        moment = {"step": step, "redshift": redshift_of(step, steps)}
        compute.append({"event": "step", "t": t, **moment, "dt_limit": "gas", "wall_s": wall, "progress": step / steps})
        if step % 10 == 0:
            t, free = publish_all(compute, sidecar, t, free, moment)
        if step == 50:
            t += 0.6
            compute.append(checkpoint_event(t))
    if status == "finished":
        t += 0.5
        compute.append(plotfile_event(t, steps))
    if status:
        parts = {"hydro": 24.0, "gravity": 9.5, "particles": 7.1, "ghost cells": 3.0, "time step": 0.4}
        compute.append(bill_event(max(t, free), parts, 3))
        sidecar.append(bill_event(max(t, free), {"idle: waiting for a publish": 20.0}, 1))
        compute.append(end_event(status, max(t, free), steps))
    return compute, sidecar


def start_event() -> dict:
    return {
        "event": "run_start",
        "t": 0.0,
        "version": "0.1.0",
        "simulation": "cosmology",
        "ranks": 4,
        "sidecars": 1,
        "cells": [CELLS] * 3,
        "block": 32,
        "box_mpc": BOX,
        "z_start": 50.0,
        "z_end": 2.0,
        "machine": {"host": "delta", "cpu": "Example CPU 3000", "cores": 4},
        "tasks": list(TASKS),
        "started": "2026-01-02T03:04:05Z",
    }


def checkpoint_event(t: float) -> dict:
    return {
        **{"event": "checkpoint", "t": t, "step": 50, "path": "demo/chk00050.hdf5_chk", "format": "sidestream"},
        **{"bytes": 2.1e7, "write_s": 0.6, "asynchronous": True, "copy_s": 0.02, "wait_s": 0.1},
        "io": access({"<100": 3, "1M-4M": 10}, 2.1e7),
    }


def plotfile_event(t: float, step: int) -> dict:
    return {
        **{"event": "plotfile", "t": t, "step": step, "path": f"demo/plt{step:05d}", "format": "nyx"},
        **{"bytes": 4.2e6, "write_s": 0.5, "asynchronous": False, "copy_s": 0.0, "wait_s": 0.0},
        "io": access({"100-1K": 6, "100K-1M": 8}, 4.2e6),
    }


def access(sizes: dict[str, int], size: float) -> dict:
    writes = sum(sizes.values())
    return {
        **{"files": 2, "writes": writes, "reads": 0, "bytes_written": size, "bytes_read": 0},
        **{"sequential": writes - 2, "consecutive": writes - 4, "write_sizes": sizes, "read_sizes": {}},
        **{"metadata_s": 0.01, "data_s": 0.2, "sync_s": 0.25, "exchange_s": 0.04},
    }


def bill_event(t: float, parts: dict[str, float], ranks: int) -> dict:
    parts = parts | {"everything else": t - sum(parts.values())}
    lines = [
        {"line": name, "for": "simulation", "mean_s": seconds, "max_s": 1.1 * seconds}
        for name, seconds in parts.items()
    ]
    return {"event": "bill", "t": t, "ranks": ranks, "wall_s": t, "lines": lines}


def end_event(status: str, t: float, steps: int) -> dict:
    return {
        "event": "run_end",
        "t": t,
        "status": status,
        "wall_s": t,
        "steps": steps,
        "peak_memory_mb": 312.0,
    }


def publish_all(compute: list[dict], sidecar: list[dict], t: float, free: float, moment: dict) -> tuple[float, float]:
    for task in TASKS:
        in_situ = task == "phase"
        dropped = task == "picture" and moment["step"] % 20 != 0
        transport = "in-situ" if in_situ else "in-transit"
        pack, wait = (0.0, 0.0) if in_situ else (0.03, 0.25 if task == "pdfs" else 0.01)
        t += pack + wait
        action = "in-situ" if in_situ else "dropped" if dropped else "sent"
        common = {"task": task, "transport": transport, **moment}
        compute.append(
            {"event": "publish", "t": t, **common, "pack_s": pack, "wait_s": wait, "bytes": 4.2e6, "action": action}
        )
        if dropped:
            continue
        duration = {"halos": 2.4, "spectra": 0.8, "pdfs": 0.4, "phase": 0.3, "picture": 0.2}[task]
        start = t if in_situ else max(t, free)
        if not in_situ and t > free:
            sidecar.append({"event": "receive", "t": t, "step": moment["step"], "wait_s": t - free, "bytes": 4.2e6})
        done = start + duration
        log = compute if in_situ else sidecar
        log.append(
            {
                "event": "analysis",
                "t": done,
                **common,
                "analysis": task,
                "start": start,
                "wait_s": 0.02,
                "compute_s": duration,
                "bytes_in": 4.2e6,
                "result": f"results/{task}/{moment['step']:06d}.nc",
                "summary": "214 halos" if task == "halos" else "done",
            }
        )
        if in_situ:
            t = done
        else:
            free = done
    return t, free


def write_results(folder: Path, step: int, steps: int = STEPS) -> None:
    z = redshift_of(step, steps)
    growth = 1 / (1 + z)
    write_result(folder, "halos", "halos", step, z, halo_table(step, growth))
    write_result(folder, "spectra", "power_spectrum", step, z, spectra(growth))
    write_result(folder, "pdfs", "pdf", step, z, pdfs(growth))
    write_result(folder, "phase", "phase", step, z, phase(step))
    if step % 20 == 0:
        write_result(folder, "picture", "projection", step, z, projection(growth), axis="z")


Table = dict[str, tuple[tuple[str, ...], np.ndarray, str]]  # name: (dimensions, values, units)


def halo_table(step: int, growth: float) -> Table:
    random = np.random.default_rng(step)
    n = int(900 * growth**2 * np.exp(-0.02 / growth))
    cells = np.maximum(1, (3 * random.pareto(1.1, n)).astype(np.int64))
    mass = cells * 120 * MEAN * (BOX / CELLS) ** 3
    rows = ("halo",)
    table: Table = {"id": (rows, np.sort(random.choice(CELLS**3, n, replace=False)), "1")}
    for axis in "xyz":
        table[axis] = (rows, random.uniform(0, BOX, n), "Mpc")
    return table | {
        "mass": (rows, mass, "Msun"),
        "cells": (rows, cells, "1"),
        "peak": (rows, MEAN * random.uniform(200, 3000, n), "Msun/Mpc^3"),
    }


def spectra(growth: float) -> Table:
    k = 2 * np.pi / (BOX * HUBBLE) * np.arange(1, 33)
    power = 2.2e4 * (k / 0.02) / (1 + (k / 0.016) ** 2) ** 1.3 * (1.3 * growth) ** 2
    table: Table = {"k": (("k_bin",), k, "h/Mpc"), "modes": (("k_bin",), 4 * np.arange(1, 33) ** 2, "1")}
    for field, factor in zip(FIELDS, (0.8, 1.1, 1.0), strict=True):
        table[f"{field}_power"] = (("k_bin",), factor * power, "(Mpc/h)^3")
    return table


def pdfs(growth: float) -> Table:
    edges = np.geomspace(1e-3, 1e5, 81)
    centre = np.sqrt(edges[1:] * edges[:-1])
    table: Table = {
        "overdensity": (("bin",), centre, "1"),
        "overdensity_low": (("bin",), edges[:-1], "1"),
        "overdensity_high": (("bin",), edges[1:], "1"),
    }
    for field, factor in zip(FIELDS, (0.9, 1.1, 1.0), strict=True):
        width = 0.2 + 4 * growth * factor
        pdf = np.exp(-0.5 * ((np.log(centre) + width**2 / 2) / width) ** 2) / (centre * width * 2.507)
        count = np.round(pdf * np.diff(edges) * CELLS**3).astype(np.int64)
        table[f"{field}_count"] = (("bin",), count, "1")
        table[f"{field}_pdf"] = (("bin",), np.where(count > 0, pdf, 0), "1")
    return table


def phase(step: int) -> Table:
    random = np.random.default_rng(step)
    density = np.exp(random.normal(-0.5, 1.4, 40000))
    temperature = 1.1e4 * density**0.58 * np.exp(np.abs(random.normal(0, 0.35, density.size)) * density**0.3)
    d_edges, t_edges = np.geomspace(1e-3, 1e5, 81), np.geomspace(1, 1e8, 81)
    count, _, _ = np.histogram2d(temperature, density, bins=(t_edges, d_edges))
    return {
        "density_low": (("density_bin",), d_edges[:-1], "1"),
        "density_high": (("density_bin",), d_edges[1:], "1"),
        "temperature_low": (("temperature_bin",), t_edges[:-1], "K"),
        "temperature_high": (("temperature_bin",), t_edges[1:], "K"),
        "count": (("temperature_bin", "density_bin"), count.astype(np.int64), "1"),
    }


def projection(growth: float) -> Table:
    random = np.random.default_rng(3)
    wave = np.fft.fftfreq(CELLS)[:, None] ** 2 + np.fft.rfftfreq(CELLS)[None, :] ** 2
    noise = np.fft.rfft2(random.normal(size=(CELLS, CELLS))) / (wave + 4e-4) ** 0.8
    field = np.fft.irfft2(noise, s=(CELLS, CELLS))
    column = MEAN * BOX * np.exp(3 * growth * (field - field.mean()) / field.std())
    centres = (np.arange(CELLS) + 0.5) * BOX / CELLS
    table: Table = {"y": (("y",), centres, "Mpc"), "x": (("x",), centres, "Mpc")}
    for name in ("gas_density", "dark_matter_density"):
        table[name] = (("y", "x"), column, "Msun/Mpc^2")
    return table


def write_result(
    folder: Path, task: str, analysis: str, step: int, redshift: float, table: Table, **attributes: object
) -> Path:
    """One result file: netCDF-4 as plain HDF5 with dimension scales."""
    path = folder / "results" / task / f"{step:06d}.nc"
    path.parent.mkdir(parents=True, exist_ok=True)
    sizes = {d: n for dims, values, _ in table.values() for d, n in zip(dims, np.shape(values), strict=True)}
    with h5py.File(path, "w") as file:
        scales = {name: file.create_dataset(name, data=_axis(table, name, size)) for name, size in sizes.items()}
        for name, scale in scales.items():
            missing = f"This is a netCDF dimension but not a netCDF variable.{sizes[name]:10d}"
            scale.make_scale(name if name in table else missing)
        for name, (dims, values, units) in table.items():
            dataset = scales.get(name) or file.create_dataset(name, data=values)
            if name not in scales:
                for index, dim in enumerate(dims):
                    dataset.dims[index].attach_scale(scales[dim])
            dataset.attrs.update({"units": units, "long_name": name.replace("_", " ")})
        file.attrs.update(root_attributes(analysis, task, step, redshift) | attributes)
    return path


def root_attributes(analysis: str, task: str, step: int, redshift: float) -> dict:
    return {
        "analysis": analysis,
        "task": task,
        "step": step,
        "redshift": redshift,
        "scale_factor": 1 / (1 + redshift),
        "time_gyr": 17.0 * (1 + redshift) ** -1.5,
        "box_mpc": BOX,
        "hubble": HUBBLE,
        "omega_m": OMEGA_M,
        "omega_b": OMEGA_B,
        "sigma8": 0.811,
        "ns": 0.965,
        "t_boundary": 81.66 * MEAN,
        "t_halo": 200 * MEAN,
        "mean_density": MEAN,
    }


def _axis(table: Table, name: str, size: int) -> np.ndarray:
    return table[name][1] if name in table else np.zeros(size, dtype=np.float32)


def write_plotfile(path: Path, redshift: float, cells: int = 8) -> Path:
    """A plot file of two fields in one box, with the headers of the AMReX layout."""
    (path / "Level_0").mkdir(parents=True, exist_ok=True)
    box = f"((0,0,0) ({cells - 1},{cells - 1},{cells - 1}) (0,0,0))"
    header = ["HyperCLaw-V1.1", "2", "density", "Temp", "3", "1.5", "0", "0 0 0", f"{BOX} {BOX} {BOX}", "", box, "60"]
    header += [" ".join([repr(BOX / cells)] * 3), "0", "0", "0 1 1.5", "60", *[f"0 {BOX}"] * 3, "Level_0/Cell", ""]
    (path / "Header").write_text("\n".join(header))
    (path / "comoving_a").write_text(f"{1 / (1 + redshift)!r}\n")
    cosmology = (
        " Cosmology Information\n Omega_m (comoving): 0.31\n Omega_lambda (comoving): 0.69\n h (comoving): 0.675\n"
    )
    (path / "job_info").write_text(f"Nyx-compatible\n{cosmology}")
    values = np.arange(2 * cells**3, dtype="<f8")
    fab = f"FAB ((8, (64 11 52 0 1 12 0 1023)),(8, (8 7 6 5 4 3 2 1))){box} 2\n"
    (path / "Level_0" / "Cell_D_00000").write_bytes(fab.encode() + values.tobytes())
    extremes = [f"0,{float(cells**3)!r},", f"{cells**3 - 1.0!r},{2 * cells**3 - 1.0!r},"]
    cell_h = ["1", "1", "2", "0", "(1 0", box, ")", "1", "FabOnDisk: Cell_D_00000 0", ""]
    cell_h += ["1,2", extremes[0], "", "1,2", extremes[1], ""]
    (path / "Level_0" / "Cell_H").write_text("\n".join(cell_h))
    return path


if __name__ == "__main__":
    write_run(Path(sys.argv[1]))

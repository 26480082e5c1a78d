#!/usr/bin/env python3
"""Makes the pictures of docs/gallery.md from runs of the examples.

usage: gallery.py FOLDER

The runs are made in FOLDER (some minutes on two cores), and taken from there if they are there already.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.colors import ListedColormap
from matplotlib.patches import Rectangle

import sidestream
from sidestream.launch.launcher import find_program, mpi_environment

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs/images/gallery"
RANKS = ("#4477aa", "#ee6677", "#228833", "#ccbb44")
INTERVALS = (2, 4, 8, 16, 32, 64)  # steps between two results of a task
T_BOUNDARY, T_HALO = "30 mean", "60 mean"  # of examples/mergers.toml


def mergers_run(folder: Path) -> sidestream.Run:
    """examples/mergers.toml with one more task for each interval, and the merge tree of the last moment."""
    settings = ["task.tree.analysis=merge_tree", "task.tree.at_redshift=[0]", "task.tree.cut_off=20 mean"]
    for steps in INTERVALS:
        task = f"task.every_{steps}"
        settings += [f"{task}.analysis=halos", f"{task}.link=true", f"{task}.every={steps}"]
        settings += [f"{task}.t_boundary={T_BOUNDARY}", f"{task}.t_halo={T_HALO}", f"{task}.only_if=redshift < 4.01"]
        settings += [f"{task}.at_redshift=[4, 0]", f"{task}.spherical_overdensity=[]"]
    out = folder / "mergers"
    if not (out / "mergers.halos.nc").exists():
        start([find_program(), ROOT / "examples/mergers.toml", "--out", out, "--overwrite", "--quiet"], settings)
    return sidestream.open(out)


def start(line: list[object], settings: list[str]) -> None:
    words = [str(word) for word in line] + [word for setting in settings for word in ("--set", setting)]
    environment = mpi_environment(os.environ, 2)
    subprocess.run(["mpirun", "-n", "2", *words], env=environment, check=True)


def draw_tree(run: sidestream.Run) -> None:
    """The branches of the merge tree with several halos that has most, cut at both thresholds."""
    tree = sidestream.open_tree(next((run.folder / "results/tree").glob("*.nc")))
    mean = float(xr.open_dataset(next((run.folder / "results/tree").glob("*.nc")), engine="h5netcdf").mean_density)
    branches = tree.branches
    parent = dict(zip(branches.maximum.values.tolist(), branches.parent.values.tolist(), strict=True))
    birth, death = branches.birth.values / mean, np.maximum(branches.death.values / mean, 0)
    roots = np.array([_elders(name, parent)[-1] for name in parent])
    is_tall = birth >= 1.15 * death
    is_halo = (birth >= 60) & (death < 30)
    names, number = np.unique(roots, return_inverse=True)
    halos, tall = np.bincount(number, is_halo), np.bincount(number, is_tall)
    shown = names[np.lexsort((tall, halos > 1))[-1]]
    chosen = np.flatnonzero(is_tall & (roots == shown)).tolist()
    place = {int(branches.maximum[row]): x for x, row in enumerate(_in_order(chosen, branches, parent))}
    floor = 20.0
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    for row in chosen:
        x, low = place[int(branches.maximum[row])], max(death[row], floor)
        colour, width = (RANKS[0], 2) if is_halo[row] else ("0.65", 1)
        axes.plot([x, x], [low, birth[row]], color=colour, lw=width)
        if int(branches.parent[row]) in place:
            axes.plot([x, place[int(branches.parent[row])]], [low, low], color="0.65", lw=0.8)
    for value, name, colour in ((30, "t_boundary", RANKS[2]), (60, "t_halo", RANKS[1])):
        axes.axhline(value, color=colour, ls="--", lw=1)
        axes.text(len(place) + 0.4, value, name, color=colour, va="center", ha="left", backgroundcolor="w")
    axes.set(yscale="log", ylabel="density over its mean", xticks=[], xlim=(-1, 1.15 * len(place) + 1))
    axes.set_xlabel("maxima of one tree; where two branches meet is the saddle between them")
    save(figure, "merge_tree")


def _elders(name: int, parent: dict[int, int]) -> list[int]:
    found = [name]
    while parent[found[-1]] >= 0:
        found.append(parent[found[-1]])
    return found


def _in_order(rows: list[int], branches: xr.Dataset, parent: dict[int, int]) -> list[int]:
    """Each branch beside the one that it joins."""
    names = {int(branches.maximum[row]): row for row in rows}
    children: dict[int, list[int]] = {}
    for name in names:
        children.setdefault(parent[name] if parent[name] in names else -1, []).append(name)

    def walk(name: int) -> list[int]:
        below = sorted(children.get(name, []), key=lambda child: float(branches.death[names[child]]), reverse=True)
        return [name] + [found for child in below for found in walk(child)]

    return [names[name] for top in children.get(-1, []) for name in walk(top)]


def draw_mergers(run: sidestream.Run) -> None:
    """How many mergers are found, by how many steps lie between two results."""
    found, major = [], []
    for steps in INTERVALS:
        links = run.merger_tree(f"every_{steps}").links
        is_merger = (links.is_main_descendant == 1) & (links.is_main_progenitor == 0)
        found.append(int(is_merger.sum()))
        main = links.where(links.is_main_progenitor == 1, drop=True)
        mass_of = {(step, halo): mass for step, halo, mass in _rows(main)}
        merged = links.where(is_merger, drop=True)
        major.append(sum(mass >= 0.25 * mass_of.get((step, halo), np.inf) for step, halo, mass in _rows(merged)))
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    axes.plot(INTERVALS, found, "o-", color=RANKS[0], label="all")
    axes.plot(INTERVALS, major, "s-", color=RANKS[1], label="of at least a quarter of the main progenitor")
    axes.set(xscale="log", xlabel="steps between two results", ylabel="mergers found, z = 4 to 0", ylim=(0, None))
    axes.set_xticks(INTERVALS, [str(steps) for steps in INTERVALS])
    axes.minorticks_off()
    axes.legend(frameon=False)
    save(figure, "mergers")
    print("mergers by steps:", list(zip(INTERVALS, found, map(int, major), strict=True)))


def _rows(links: xr.Dataset) -> Iterator[tuple[float, float, float]]:
    """Step, descendant and mass of the progenitor of each link."""
    return zip(*(links[name].values for name in ("step", "descendant", "progenitor_mass")), strict=True)


def draw_plan(folder: Path) -> None:
    """What four ranks own, and from whom the cells come that they need: moved, not computed."""
    line = ["mpirun", "-n", "4", sys.executable, __file__, "--as-rank", str(folder)]
    subprocess.run(line, env=mpi_environment(os.environ, 4), check=True)
    senders = [np.load(folder / f"senders.{rank}.npy") for rank in range(4)]
    colours = ListedColormap(RANKS)
    figure, (owned, needed) = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    for rank in range(4):
        for y, x, height, width in chunks_owned(rank):
            owned.add_patch(Rectangle((x, y), width, height, fc=RANKS[rank], ec="w", lw=1.5))
        y, x, height, width = chunk_needed(rank)
        needed.imshow(senders[rank], extent=(x, x + width, y + height, y), cmap=colours, vmin=-0.5, vmax=3.5)
        needed.add_patch(Rectangle((x, y), width, height, fill=False, ec="k", lw=2))
        middle = (x + width / 2, y + height / 2)
        needed.text(*middle, f"rank {rank}", ha="center", va="center", color="w", weight="bold")
    owned.set_title("owned: each rank a colour")
    needed.set_title("needed: a quadrant each, by who sent the cell")
    for axes in (owned, needed):
        axes.set(xlim=(0, SIDE), ylim=(SIDE, 0), aspect="equal", xticks=[], yticks=[])
    save(figure, "redistribution")


SIDE = 32


def chunks_owned(rank: int) -> list[tuple[int, int, int, int]]:
    """Stripes and a column: y, x, height, width."""
    stripes = [(4 * row, 0, 4, 24) for row in range(8) if row % 4 == rank]
    return [*stripes, (8 * rank, 24, 8, 8)]


def chunk_needed(rank: int) -> tuple[int, int, int, int]:
    return 16 * (rank // 2), 16 * (rank % 2), 16, 16


def be_a_rank(folder: Path) -> None:
    """Sends its number in all cells that it owns."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    owned, needed = chunks_owned(comm.rank), chunk_needed(comm.rank)
    data = sidestream.DataDescription((SIDE, SIDE), dtype=np.int32)
    mapping = data.map(owned=[as_slices(chunk) for chunk in owned], needed=as_slices(needed), comm=comm)
    [senders] = mapping.reorganise([np.full(chunk[2:], comm.rank, np.int32) for chunk in owned])
    np.save(folder / f"senders.{comm.rank}.npy", senders)


def as_slices(chunk: tuple[int, int, int, int]) -> tuple[slice, slice]:
    y, x, height, width = chunk
    return np.s_[y : y + height, x : x + width]


def save(figure: plt.Figure, name: str) -> None:
    """As small as a PNG of few colours is."""
    figure.savefig(PICTURES / f"{name}.png", dpi=100, metadata={"Software": None})
    plt.close(figure)
    print(PICTURES / f"{name}.png", (PICTURES / f"{name}.png").stat().st_size, "bytes")


def main() -> None:
    folder = Path(sys.argv[-1]).absolute()
    if "--as-rank" in sys.argv:
        be_a_rank(folder)
        return
    folder.mkdir(parents=True, exist_ok=True)
    draw_plan(folder)
    run = mergers_run(folder)
    draw_tree(run)
    draw_mergers(run)


if __name__ == "__main__":
    main()

"""The figures of the papers' I/O studies, drawn from the report of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN = {
    "independent": ("tab:green", "^"),
    "file a rank": ("tab:brown", "x"),
    "64 files in turns": ("tab:pink", "+"),
    "HDF5 independent": ("tab:gray", "v"),
    "HDF5 collective": ("tab:orange", "o"),
    "HDF5 collective 5-D": ("tab:red", "s"),
    "PnetCDF blocking": ("tab:cyan", "o"),
    "PnetCDF 5-D": ("tab:purple", "s"),
    "PnetCDF nonblocking": ("tab:blue", "."),
    "Sidestream": ("black", "*"),
}
IOR_GIB_PER_S, IOR_RANKS = 40.0, 65_536


def flash(found: dict[str, Any]) -> Figure:
    """Times of the layout study and speeds of the scaling study, of checkpoints and plot files."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8.5), layout="constrained")
    axes = figure.subplots(2, 2)
    panels = (
        (axes[0, 0], "layout", "checkpoint", "seconds", "Layouts, checkpoint (as Figure 3)"),
        (axes[0, 1], "layout", "plot file", "seconds", "Layouts, plot file (as Figure 4)"),
        (axes[1, 0], "scaling", "checkpoint", "gib_per_s", "Weak scaling, checkpoint (as Figure 7)"),
        (axes[1, 1], "scaling", "plot file", "gib_per_s", "Weak scaling, plot file (as Figure 8)"),
    )
    for place, study, content, key, title in panels:
        rows = [row for row in found[study] if row["content"] == content]
        _lines(place, rows, key)
        unit = "time of a file [s]" if key == "seconds" else "speed [GiB/s]"
        place.set(title=title, xlabel="ranks", ylabel=unit, xscale="log", yscale="log")
        ranks = list(dict.fromkeys(row["ranks"] for row in rows))
        place.set_xticks(ranks, [f"{count:,}" for count in ranks], rotation=35, ha="right")
        place.minorticks_off()
        place.grid(alpha=0.3)
    axes[1, 0].plot([IOR_RANKS], [IOR_GIB_PER_S], "k+", markersize=12, label="IOR, published")
    axes[1, 0].legend(fontsize="x-small")
    figure.suptitle(f"MODEL of {found['machine']['name']}: nothing here was measured but the cross")
    return figure


def _lines(axes: Axes, rows: list[dict[str, Any]], key: str) -> None:
    for method, (colour, marker) in DRAWN.items():
        chosen = [row for row in rows if row["method"] == method]
        if chosen:
            ranks, values = [row["ranks"] for row in chosen], [row[key] for row in chosen]
            axes.plot(ranks, values, color=colour, marker=marker, label=method, linewidth=1)


def nyx(found: dict[str, Any]) -> Figure:
    """Speeds of plot files by the number of their files, a line for each grid."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for cells in dict.fromkeys(row["cells"] for row in found["rows"]):
        chosen = [row for row in found["rows"] if row["cells"] == cells]
        axes.plot(
            [row["files"] for row in chosen], [row["gib_per_s"] for row in chosen], marker="o", label=f"{cells}^3"
        )
    for row in found["published"]:
        axes.axhline(row["published"], color="black", linewidth=0.8, linestyle=":")
        words = f"best of {row['cells']}^3, published"
        axes.text(8192, 1.05 * row["published"], words, ha="right", fontsize="x-small")
    axes.set(xscale="log", yscale="log", xlabel="files", ylabel="speed [GiB/s]")
    files = list(dict.fromkeys(row["files"] for row in found["rows"]))
    axes.set_xticks(files, [f"{count:,}" for count in files])
    axes.minorticks_off()
    axes.set(title="MODEL of plot files in the Nyx format by the number of files (as Figure 5)")
    axes.grid(alpha=0.3)
    axes.legend(title="cells", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def transfer(found: dict[str, Any]) -> Figure:
    """Speeds of transfers by the number of sidecars, the size of the grid and that of its blocks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.2), layout="constrained")
    panels = (("sidecars", "sidecars"), ("grids", "cells"), ("blocks", "block"))
    labels = {"sidecars": "sidecars", "cells": "cells a side of the grid", "block": "cells a side of a block"}
    for axes, (sweep, key) in zip(figure.subplots(1, 3), panels, strict=True):
        rows = [row for row in found["points"] if row["sweep"] == sweep]
        values = [row[key] for row in rows]
        for way, marker in (("box by box", "o"), ("a message a pair", "*")):
            axes.plot(values, [row[way] for row in rows], marker=marker, label=way)
        axes.axhline(58, color="black", linewidth=0.8, linestyle=":", label="best, published")
        axes.set(xscale="log", yscale="log", xlabel=labels[key], ylabel="speed [GiB/s]")
        axes.set_xticks(values, [str(value) for value in values], rotation=35, ha="right")
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize="small")
    ranks = found["points"][0]["ranks"]
    figure.suptitle(f"MODEL of transfers on {ranks:,} ranks of {found['machine']['name']} (as Figures 6 and 7)")
    return figure


WAYS = {
    "gathered on a root": "tab:gray",
    "two-phase MPI-IO": "tab:blue",
    "parallel HDF5": "tab:orange",
    "Sidestream": "black",
}


def enzo(found: dict[str, Any]) -> Figure:
    """Times of an initial read and a dump by every method, a file system a panel, on the most ranks."""
    from matplotlib.figure import Figure

    ranks = max(row["ranks"] for row in found["rows"])
    sizes = list(dict.fromkeys(row["size"] for row in found["rows"]))
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    panels = figure.subplots(1, len(found["machines"]), sharey=True)
    for axes, (system, machine) in zip(panels, found["machines"].items(), strict=True):
        for number, (method, colour) in enumerate(WAYS.items()):
            chosen = {
                row["size"]: row["read_s"] + row["dump_s"]
                for row in found["rows"]
                if (row["system"], row["method"], row["ranks"]) == (system, method, ranks)
            }
            places = [sizes.index(size) + 0.2 * (number - 1.5) for size in chosen]
            axes.bar(places, list(chosen.values()), 0.18, color=colour, label=method)
        axes.set(title=system, yscale="log")
        axes.set_xlabel(machine["name"], fontsize="small")
        axes.set_xticks(range(len(sizes)), sizes)
        axes.grid(alpha=0.3, axis="y")
    panels[0].set_ylabel("initial read and dump [s]")
    panels[0].legend(fontsize="small")
    figure.suptitle(f"MODEL of refined grids with particles on {ranks} ranks: nothing here was measured")
    return figure


FIGURES: dict[str, Callable[[dict[str, Any]], Figure]] = {
    "flash": flash,
    "nyx": nyx,
    "enzo": enzo,
    "transfer": transfer,
}

"""The picture of docs/reference/fft_at_scale.md, from the report of fft_at_scale.py."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

PARTS = (
    (("lines", "pointwise"), "lines and points", "#4477aa"),
    (("packing",), "packing", "#88ccee"),
    (("messages", "network"), "network", "#cc6677"),
)


def draw(report: dict, path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    _steps(left, report)
    _allocations(right, report)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _bars(axes: Axes, names: list[str], entries: list[dict]) -> None:
    bottom = [0.0] * len(entries)
    for keys, label, color in PARTS:
        heights = [sum(entry[key] for key in keys) for entry in entries]
        axes.bar(names, heights, bottom=bottom, label=label, color=color, width=0.7)
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]


def _steps(axes: Axes, report: dict) -> None:
    sizes = report["sizes"]
    names = [f"{size['cells']}³\n{size['ranks']:,}" for size in sizes]
    _bars(axes, names, [size["by_allocation"]["compact"] for size in sizes])
    for i, size in enumerate(sizes):
        if size["published_s"]:
            is_fit = size["ranks"] == report["fitted_to"]["ranks"]
            label = "published, fitted" if is_fit else "published" if size is sizes[-1] else None
            axes.plot(i, size["published_s"], "k_" if is_fit else "k*", markersize=14 if is_fit else 9, label=label)
    axes.plot(len(sizes) - 1, report["published_badly_placed_s"], "kx", label="published, badly placed")
    axes.set(yscale="symlog", ylabel="step [s]", xlabel="cells, ranks", title="Best grid, compact")
    axes.set_yscale("symlog", linthresh=10)
    axes.set_yticks([0, 2, 4, 6, 8, 10, 20, 50], ["0", "2", "4", "6", "8", "10", "20", "50"])
    axes.minorticks_off()
    axes.legend(frameon=False, loc="upper left")


def _allocations(axes: Axes, report: dict) -> None:
    largest = report["sizes"][-1]
    places, grids = largest["by_allocation"], largest["by_grid"]
    names = [*places, *(name.replace(" x ", "\n") for name in grids)]
    _bars(axes, names, [*places.values(), *grids.values()])
    axes.axvline(len(places) - 0.5, color="0.6", linewidth=0.8)
    axes.set(ylabel="step [s]", title=f"{largest['cells']}³ on {largest['ranks']:,}: allocations | rows, columns")
    axes.tick_params(axis="x", labelsize=8)

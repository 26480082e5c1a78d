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
    together, pairwise = (report["orders"][order]["sizes"] for order in ("together", "pairwise"))
    names = [f"{size['cells']}³\n{size['ranks']:,}" for size in together]
    _bars(axes, names, [size["by_allocation"]["compact"] for size in together])
    totals = [size["by_allocation"]["compact"]["total"] for size in pairwise]
    axes.plot(range(len(totals)), totals, "o", color="#aa3377", markersize=5, label="pairwise")
    last = len(totals) - 1
    axes.plot(
        last, pairwise[-1]["by_allocation"]["scattered"]["total"], "s", color="#aa3377", label="pairwise, scattered"
    )
    places = [i for i, size in enumerate(together) if size["published_s"]]
    axes.plot(
        places, [together[i]["published_s"] for i in places], "k*", markersize=9, label="published (2048³ fitted)"
    )
    axes.plot(last, report["published_badly_placed_s"], "kx", label="published, badly placed")
    axes.set(ylabel="step [s]", xlabel="cells, ranks", title="Best grid, compact; bars: messages together")
    axes.set_yscale("symlog", linthresh=10)
    axes.set_yticks([0, 2, 4, 6, 8, 10, 20, 50], ["0", "2", "4", "6", "8", "10", "20", "50"])
    axes.minorticks_off()
    axes.legend(frameon=False, loc="upper left", fontsize=8)


def _allocations(axes: Axes, report: dict) -> None:
    names, entries = [], []
    for order in ("together", "pairwise"):
        largest = report["orders"][order]["sizes"][-1]
        names += [f"{place}\n{order}" for place in largest["by_allocation"]]
        entries += largest["by_allocation"].values()
    _bars(axes, names, entries)
    axes.set(ylabel="step [s]", title=f"{largest['cells']}³ on {largest['ranks']:,} ranks: allocations")
    axes.tick_params(axis="x", labelsize=7, rotation=30)

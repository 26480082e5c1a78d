"""`sidestream bench transfer`: transfers from ranks that compute to sidecars, measured here and modelled at scale."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from ... import console
from ..launcher import BENCH_TRANSFER
from .cases import MODEL_NOTE, require_folder, require_ranks, table, write
from .program import report_of

WAYS = ("redistribution", "box by box", "bare messages", "memory copy")
MODEL_WAYS = ("box by box", "a message a pair")


@dataclass(frozen=True)
class TransferRequest:
    """What the user asked for."""

    ranks: int
    cells: int = 128
    block: int = 32
    components: int = 10
    sidecars: int | None = None
    repetitions: int = 7
    most_ranks: int = 8192
    out: Path | None = None
    is_measured: bool = True
    launcher: str | None = None

    def arguments(self) -> list[str]:
        """The arguments of `sidestream-bench-transfer`."""
        words = []
        for option in ("cells", "block", "components", "sidecars", "repetitions"):
            if getattr(self, option) is not None:
                words += [f"--{option}", str(getattr(self, option))]
        return words


def run(request: TransferRequest) -> dict[str, Any]:
    """Measures and models the transfers, and writes the figure and the report where that was asked for."""
    from ...parallel_files import transfer as model

    require_ranks(request.most_ranks, model.RANKS)
    require_folder(request.out)
    measured = None
    if request.is_measured:
        measured = compare(report_of(BENCH_TRANSFER, request.arguments(), request.ranks, request.launcher))
    report = {"case": "transfer", "measured": measured, "modelled": model.study(request.most_ranks), "note": MODEL_NOTE}
    if request.out is not None:
        write(report, request.out)
    return report


def compare(report: dict[str, Any]) -> dict[str, Any]:
    """Adds to each point the speeds [GB/s], of medians, and what share of bare messages and of a plain copy they are,
    the median of the shares of each repetition; and the best split."""
    for point in report["points"]:
        times = point["seconds"]
        point["gb_per_s"] = {way: 1e-9 * point["bytes"] / median(times[way]) for way in WAYS}
        for peer in WAYS[2:]:
            point[f"of {peer}"] = {
                way: median(theirs / own for own, theirs in zip(times[way], times[peer], strict=True))
                for way in WAYS[:2]
            }
    splits = [point for point in report["points"] if point["sweep"] == "sidecars"]
    best = max(splits, key=lambda point: point["gb_per_s"]["redistribution"])
    report["best_ratio"] = (report["ranks"] - best["sidecars"]) / best["sidecars"]
    return report


def print_report(report: dict[str, Any]) -> None:
    """Prints the measured points, then the model beside what was published."""
    out = console.out()
    if report["measured"] is not None:
        _print_measured(report["measured"])
    out.print(report["note"])
    found = report["modelled"]
    lines = []
    for point in found["points"]:
        numbers = [str(point[name]) for name in ("ranks", "sidecars", "cells", "block")]
        lines.append([point["sweep"], *numbers, *(f"{point[way]:.1f}" for way in MODEL_WAYS)])
    columns = ("sweep", "ranks", "sidecars", "cells", "block", *(f"{way}: GiB/s" for way in MODEL_WAYS))
    table(found["machine"]["name"], columns, lines)
    for row in found["published"]:
        error = "fitted" if row["is_fitted"] else f"{100 * row['error']:+.0f} %"
        out.print(f"{row['text']}: {row['model']:.3g}, published {row['published']:.3g} ({error})")


def _print_measured(measured: dict[str, Any]) -> None:
    lines = []
    for point in measured["points"]:
        numbers = [str(point[name]) for name in ("sidecars", "cells", "block")]
        speeds = [f"{point['gb_per_s'][way]:.2f}" for way in WAYS]
        shares = [f"{point[f'of {peer}']['redistribution']:.2f}" for peer in WAYS[2:]]
        lines.append([point["sweep"], *numbers, *speeds, *shares])
    columns = ("sweep", "sidecars", "cells", "block", *(f"{way}: GB/s" for way in WAYS), "of bare", "of copy")
    table(f"{measured['ranks']} ranks, {measured['machine']}", columns, lines)
    console.out().print(f"fastest with {measured['best_ratio']:.3g} ranks that compute for each sidecar")

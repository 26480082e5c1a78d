"""`sidestream bench move`: starts the benchmark of exchange strategies, compares its cases and prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ... import console
from ..launcher import BENCH_MOVE
from .program import report_of

COPY, CHUNKWISE = "memory copy", "alltoallw a chunk"


@dataclass(frozen=True)
class MoveRequest:
    """What the user asked for."""

    ranks: int
    cells: int = 128
    block: int = 16
    repetitions: int = 15
    strategies: str | None = None
    wisdom: str | None = None
    launcher: str | None = None

    def arguments(self) -> list[str]:
        """The arguments of `sidestream-bench-move`."""
        words = []
        for option in ("cells", "block", "repetitions", "strategies", "wisdom"):
            value = getattr(self, option)
            if value is not None:
                words += [f"--{option}", str(value)]
        return words


def measure(request: MoveRequest) -> dict[str, Any]:
    """Runs the benchmark; returns its report with the comparisons of `compare`."""
    return compare(report_of(BENCH_MOVE, request.arguments(), request.ranks, request.launcher))


def compare(report: dict[str, Any]) -> dict[str, Any]:
    """Adds to each case its least time, its speed, and its ratios to the plain copy and to the scheme of one
    `MPI_Alltoallw` a chunk, of the least times: above one is faster."""
    for movement in report["movements"]:
        good = {case["name"]: case for case in movement["cases"] if "error" not in case}
        for case in good.values():
            case["least_s"] = min(case["seconds"])
            case["gb_per_s"] = 1e-9 * movement["bytes"] / case["least_s"]
        for case in good.values():
            for key, peer in (("of_copy", COPY), ("of_chunkwise", CHUNKWISE)):
                if peer in good:
                    case[key] = good[peer]["least_s"] / case["least_s"]
    return report


def print_report(report: dict[str, Any]) -> None:
    """Prints a table for each movement."""
    from rich.table import Table

    out = console.out()
    out.print(f"{report['machine']}; {report['cells']}^3 cells of 8 bytes")
    for movement in report["movements"]:
        title = f"{movement['name']}, {movement['bytes'] / 1e6:.1f} MB"
        table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
        table.add_column("strategy")
        for name in ("ms", "GB/s", "x copy", "x chunkwise"):
            table.add_column(name, justify="right")
        table.add_column("")
        for case in movement["cases"]:
            table.add_row(*_row(case))
        out.print(table)
    if report["wisdom"] != "none":
        out.print(f"what tuning found is kept in {report['wisdom']}")


def _row(case: dict[str, Any]) -> list[str]:
    if "error" in case:
        return [case["name"], "", "", "", "", case["error"]]
    numbers = [f"{1e3 * case['least_s']:.3g}", f"{case['gb_per_s']:.2f}"]
    numbers += [f"{case[key]:.2f}" if key in case else "" for key in ("of_copy", "of_chunkwise")]
    chosen = case.get("strategy", case["name"])
    return [case["name"], *numbers, "" if chosen == case["name"] else f"took {chosen}"]

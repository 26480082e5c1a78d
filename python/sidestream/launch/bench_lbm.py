"""`sidestream bench lbm`: starts the benchmark of lattice Boltzmann steps and prints what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import console
from .bench_program import report_of
from .launcher import BENCH_LBM


@dataclass(frozen=True)
class LbmRequest:
    """What the user asked for."""

    ranks: int
    plane: int = 2048
    space: int = 160
    steps: int = 10
    repetitions: int = 5
    collision: str = "trt"
    launcher: str | None = None

    def arguments(self) -> list[str]:
        """The arguments of `sidestream-bench-lbm`."""
        words = []
        for option in ("plane", "space", "steps", "repetitions", "collision"):
            words += [f"--{option}", str(getattr(self, option))]
        return words


def measure(request: LbmRequest) -> dict[str, Any]:
    """Runs the benchmark; returns its report."""
    return report_of(BENCH_LBM, request.arguments(), request.ranks, request.launcher)


def print_report(report: dict[str, Any]) -> None:
    """Prints a line for each lattice and precision."""
    from rich.table import Table

    out = console.out()
    out.print(f"{report['machine']}; collision {report['collision']}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("lattice", "precision", "cells"):
        table.add_column(name)
    for name in ("M updates/s", "bytes each", "copy GB/s", "share of roofline"):
        table.add_column(name, justify="right")
    for case in report["cases"]:
        cells = " x ".join(str(n) for n in case["cells"] if n > 1)
        numbers = (
            f"{max(case['million_updates_per_s']):.1f}",
            f"{case['bytes_an_update']:.0f}",
            f"{max(case['copy_gb_per_s']):.2f}",
            f"{case['share_of_roofline']:.2f}",
        )
        table.add_row(case["lattice"], case["precision"], cells, *numbers)
    out.print(table)

"""`sidestream bench fft`: starts the benchmark of Fourier transforms and prints what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import console
from .bench_program import report_of
from .launcher import BENCH_FFT


@dataclass(frozen=True)
class FftRequest:
    """What the user asked for."""

    ranks: int
    cells: int = 128
    block: int = 32
    repetitions: int = 10
    source: str = "pencils"
    strategies: str | None = None
    wisdom: str | None = None
    launcher: str | None = None

    def arguments(self) -> list[str]:
        """The arguments of `sidestream-bench-fft`."""
        words = ["--from", self.source]
        for option in ("cells", "block", "repetitions", "strategies", "wisdom"):
            value = getattr(self, option)
            if value is not None:
                words += [f"--{option}", str(value)]
        return words


def measure(request: FftRequest) -> dict[str, Any]:
    """Runs the benchmark; returns its report."""
    return report_of(BENCH_FFT, request.arguments(), request.ranks, request.launcher)


def print_report(report: dict[str, Any]) -> None:
    """Prints a table of process grids and strategies, and how exact the transforms were."""
    from rich.table import Table

    out = console.out()
    out.print(
        f"{report['machine']}; forward and backward, {report['cells']}^3 real cells of 8 bytes from {report['from']}"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("process grid")
    table.add_column("strategy")
    table.add_column("ms", justify="right")
    table.add_column("")
    for number, case in enumerate(report["cases"]):
        time = f"{1e3 * case['seconds']:.3g}" if "seconds" in case else ""
        note = case.get("error", "fastest" if number == report["fastest"] else "")
        table.add_row(f"{case['rows']} x {case['columns']}", case["strategy"], time, note)
    out.print(table)
    errors = report["sinusoid_errors"]
    out.print(
        f"errors for a sinusoid: {errors['spike']:.1e} of its mode, {errors['other_modes']:.1e} in the others, "
        f"{errors['round_trip']:.1e} there and back"
    )
    if report["wisdom"] != "none":
        out.print(f"the fastest is kept in {report['wisdom']}")

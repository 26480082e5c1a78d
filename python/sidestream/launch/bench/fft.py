"""`sidestream bench fft`: starts the benchmark of Fourier transforms and prints what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ... import console
from ..launcher import BENCH_FFT
from .program import report_of


@dataclass(frozen=True)
class FftRequest:
    """What the user asked for."""

    ranks: int
    cells: int = 128
    block: int = 32
    repetitions: int = 10
    components: int = 1
    kept: int | None = None
    source: str = "pencils"
    threads: int = 1
    thread_mode: str = "funneled"
    strategies: str | None = None
    wisdom: str | None = None
    launcher: str | None = None

    def arguments(self) -> list[str]:
        """The arguments of `sidestream-bench-fft`."""
        words = ["--from", self.source]
        for option, value in vars(self).items():
            if option not in ("ranks", "source", "launcher") and value is not None:
                words += [f"--{option.replace('_', '-')}", str(value)]
        return words


#: What the time of a step is divided into.
PARTS = ("transform", "pack", "exchange", "unpack")


def _work(report: dict[str, Any]) -> str:
    components = f", {report['components']} components" if report["components"] > 1 else ""
    kept = f", waves up to {report['kept']} kept" if report["kept"] is not None else ""
    threads = f", up to {report['threads']} threads a rank, {report['thread_mode']}" if report["threads"] > 1 else ""
    return components + kept + threads


def measure(request: FftRequest) -> dict[str, Any]:
    """Runs the benchmark; returns its report."""
    return report_of(BENCH_FFT, request.arguments(), request.ranks, request.launcher)


def print_report(report: dict[str, Any]) -> None:
    """Prints a table of process grids, strategies, depths and threads, where time goes, and how exact it all was."""
    from rich.table import Table

    out = console.out()
    out.print(
        f"{report['machine']}; forward and backward, {report['cells']}^3 real cells of 8 bytes from {report['from']}"
        f"{_work(report)}; {report['engine']}"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("process grid")
    table.add_column("strategy")
    table.add_column("under way")
    has_threads = report["threads"] > 1
    if has_threads:
        table.add_column("threads", justify="right")
    table.add_column("ms", justify="right")
    for part in PARTS:
        table.add_column(part, justify="right")
    table.add_column("")
    for number, case in enumerate(report["cases"]):
        times = [case["seconds"], *(case["parts"][part] for part in PARTS)] if "seconds" in case else []
        texts = [f"{1e3 * seconds:.3g}" for seconds in times] or [""] * (1 + len(PARTS))
        note = case.get("error", "fastest" if number == report["fastest"] else "")
        pieces = " components" if case["pieces"] == "components" else ""
        way = [f"{case['rows']} x {case['columns']}", case["strategy"], f"{case['depth']}{pieces}"]
        table.add_row(*way, *([str(case["threads"])] if has_threads else []), *texts, note)
    out.print(table)
    out.print("ms of the slowest rank in the fastest step; `alltoallw` packs and unpacks inside its exchange")
    errors = report["sinusoid_errors"]
    out.print(
        f"errors for a sinusoid: {errors['spike']:.1e} of its mode, {errors['other_modes']:.1e} in the others, "
        f"{errors['round_trip']:.1e} there and back"
    )
    if report["wisdom"] != "none":
        out.print(f"the fastest is kept in {report['wisdom']}")

"""`sidestream bench lbm`: starts the benchmark of lattice Boltzmann steps and prints what it found."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from ... import console
from ...error import Error
from ..launcher import BENCH_LBM
from .program import report_of


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
    peer: bool = True

    def arguments(self) -> list[str]:
        """The arguments of `sidestream-bench-lbm`."""
        words = []
        for option in ("plane", "space", "steps", "repetitions", "collision"):
            words += [f"--{option}", str(getattr(self, option))]
        return words


def measure(request: LbmRequest) -> dict[str, Any]:
    """Runs the benchmark and then, on one rank, lbmpy where it is installed; returns the report with both."""
    report = report_of(BENCH_LBM, request.arguments(), request.ranks, request.launcher)
    report["peer"] = peer = _why_no_peer(request)
    return report if peer is not None else compare(report, _peer(request))


def compare(report: dict[str, Any], peers: list[dict[str, Any]]) -> dict[str, Any]:
    """Adds to each case the rates of the peer and `of_peer`, the best rate over its best: above one is faster."""
    report["peer"] = "lbmpy"
    for case, peer in zip(report["cases"], peers, strict=True):
        case["peer_million_updates_per_s"] = peer["million_updates_per_s"]
        case["of_peer"] = max(case["million_updates_per_s"]) / max(peer["million_updates_per_s"])
    return report


def _why_no_peer(request: LbmRequest) -> str | None:
    """Why there is nothing to compare with; None where there is."""
    if not request.peer:
        return "not asked for"
    if request.ranks > 1:
        return "lbmpy runs on one rank"
    if request.collision == "regularised":
        return "lbmpy has no such collision"
    return None if importlib.util.find_spec("lbmpy") else "lbmpy is not installed"


def _peer(request: LbmRequest) -> list[dict[str, Any]]:
    numbers = (request.plane, request.space, request.steps, request.repetitions)
    command = [sys.executable, "-m", "sidestream.launch.bench.lbm_peer", *map(str, numbers), request.collision]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Error(f"lbmpy failed: {done.stderr.strip().splitlines()[-1]}", "", "--no-peer does without it")
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def print_report(report: dict[str, Any]) -> None:
    """Prints a line for each lattice and precision."""
    from rich.table import Table

    out = console.out()
    out.print(f"{report['machine']}; collision {report['collision']}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("lattice", "precision", "cells"):
        table.add_column(name)
    published = ("published every 10 steps", "of processor time", "of bytes")
    for name in ("M updates/s", "bytes each", "copy GB/s", "share of roofline", "x lbmpy", *published):
        table.add_column(name, justify="right")
    for case in report["cases"]:
        cells = " x ".join(str(n) for n in case["cells"] if n > 1)
        numbers = (
            f"{max(case['million_updates_per_s']):.1f}",
            f"{case['bytes_an_update']:.0f}",
            f"{max(case['copy_gb_per_s']):.2f}",
            f"{case['share_of_roofline']:.2f}",
            f"{case['of_peer']:.2f}" if "of_peer" in case else "",
            *(f"{100.0 * case[f'publish_overhead{of}']:+.1f} %" for of in ("", "_of_processor", "_of_bytes")),
        )
        table.add_row(case["lattice"], case["precision"], cells, *numbers)
    out.print(table)
    if report["peer"] != "lbmpy":
        out.print(f"no peer: {report['peer']}")

"""`sidestream bench io`: starts the benchmark, compares its cases and prints them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from ... import console
from ...error import Error
from ..launcher import BENCH_IO
from ..programs import terminable
from .program import report_of

Case = dict[str, Any]

SMALL_BINS = ("<100", "100-1K", "1K-10K", "10K-100K")  # tables and headers
TIMES = {"seconds": "without fsync", "seconds_synced": "with fsync"}


@dataclass(frozen=True)
class BenchRequest:
    """What the user asked for."""

    ranks: int
    folder: Path
    repetitions: int = 7
    blocks: int = 32
    block: int | None = None  # cells of a block along an axis; none: 16
    contents: str | None = None
    formats: str | None = None
    methods: str | None = None
    buffers: str | None = None  # MiB, of the method `aggregated`
    aggregators: str | None = None
    hierarchies: str | None = None  # refined grids and particles of these sizes in place of blocks
    reads: bool = False  # of files that are there, in place of writing
    model: bool = False
    launcher: str | None = None

    def arguments(self, folder: Path) -> list[str]:
        """The arguments of `sidestream-bench-io`, which writes in `folder`."""
        words = ["--folder", str(folder), "--repetitions", str(self.repetitions), "--blocks", str(self.blocks)]
        for option in ("block", "contents", "formats", "methods", "buffers", "aggregators", "hierarchies"):
            if getattr(self, option):
                words += [f"--{option}", str(getattr(self, option))]
        return words + ["--reads"] * self.reads + (["--model", "--sync", "no"] if self.model else [])


def measure(request: BenchRequest) -> dict[str, Any]:
    """Runs the benchmark; returns its report with the comparisons of `compare`."""
    with terminable(), passing_folder(request.folder, "--folder") as folder:
        return compare(report_of(BENCH_IO, request.arguments(folder), request.ranks, request.launcher))


@contextmanager
def passing_folder(outer: Path, option: str) -> Iterator[Path]:
    """A folder that goes at the end, with all that had to be made for it, however the end comes; `option` names it."""
    missing = [path for path in (outer, *outer.parents) if not path.exists()]
    try:
        try:
            outer.mkdir(parents=True, exist_ok=True)
            folder = tempfile.TemporaryDirectory(prefix=".bench_io_", dir=outer)
        except OSError as problem:
            raise Error(
                f"cannot write there: {problem.strerror}",
                outer,
                hint=f"choose another folder with {option}, or make room",
            ) from problem
        with folder as name:
            yield Path(name)
    finally:
        with suppress(OSError):  # somebody else has files there by now
            for path in missing:
                path.rmdir()


def compare(report: dict[str, Any]) -> dict[str, Any]:
    """Adds to each case its speed, and its ratio to the disk and to the best and the worst other case."""
    for case in _good(report):
        for key in TIMES:
            if case[key]:
                case["speed_" + key] = _speed(report, case, key)
    report["claims"] = [] if report["model"] else [found for claim in CLAIMS for found in claim.found_in(report)]
    return report


def _good(report: dict[str, Any]) -> list[Case]:
    return [case for case in report["cases"] if "error" not in case]


def _cases(report: dict[str, Any], content: str, method: str) -> list[Case]:
    return [case for case in _good(report) if (case["content"], case["method"]) == (content, method)]


def _speed(report: dict[str, Any], case: Case, key: str) -> dict[str, float]:
    times = case[key]
    speed = {
        "mb_per_s": case["bytes"] / 1e6 / median(times),
        "slowest": case["bytes"] / 1e6 / max(times),
        "fastest": case["bytes"] / 1e6 / min(times),
    }
    others = [
        other
        for other in _good(report)
        if other["content"] == case["content"] and other["format"] != "plain" and other is not case and other[key]
    ]
    if others:
        speed["of_best_peer"] = min(ratio(case, other, key) for other in others)
        speed["of_worst_peer"] = max(ratio(case, other, key) for other in others)
    for disk in _cases(report, case["content"], "sequential"):
        speed["of_disk"] = ratio(case, disk, key)
    return speed


def ratio(case: Case, other: Case, key: str) -> float:
    """How many times as fast `case` is as `other`: the median over the repetitions, which were taken in turns."""
    pairs = zip(case[key], other[key], strict=True)
    return float(median(theirs / own for own, theirs in pairs) * case["bytes"] / other["bytes"])


def large_writes(case: Case) -> int:
    """Writes of 100 kB and more: the data without tables and headers."""
    sizes: dict[str, int] = case["calls"]["sizes"]
    return sum(count for name, count in sizes.items() if name not in SMALL_BINS)


@dataclass(frozen=True)
class Claim:
    """That a case is so many times as fast as the best one of others."""

    text: str
    content: str
    subject: Callable[[Case], bool]
    peer: Callable[[Case], bool]
    wanted: float

    def found_in(self, report: dict[str, Any]) -> list[dict[str, Any]]:
        """The claim with what was measured, for times without and with fsync."""
        cases = [case for case in _good(report) if case["content"] == self.content]
        subjects, peers = [list(filter(chosen, cases)) for chosen in (self.subject, self.peer)]
        found = []
        for key, words in TIMES.items():
            if subjects and peers and subjects[0][key] and all(peer[key] for peer in peers):
                factor = min(ratio(subjects[0], peer, key) for peer in peers)
                text = f"{self.text}, {words}"
                found.append({"text": text, "factor": factor, "wanted": self.wanted, "holds": factor >= self.wanted})
        return found


def _is(formats: Sequence[str], methods: Sequence[str]) -> Callable[[Case], bool]:
    return lambda case: case["format"] in formats and (not methods or case["method"] in methods)


def _has(*methods: str) -> Callable[[Case], bool]:
    return lambda case: case["method"] in methods


ENGINE = _is(["flash"], ["engine"])
_OTHERS = _has("gathered", "mpi-io", "hdf5-parallel")
CLAIMS = (
    Claim("engine against collective HDF5 a variable", "checkpoint", ENGINE, _is(["flash"], ["hdf5-collective"]), 1.6),
    Claim(
        "engine against the best combined PnetCDF",
        "checkpoint",
        ENGINE,
        lambda case: case["method"] in ("pnetcdf-nonblocking", "pnetcdf-buffered"),
        1.25,
    ),
    Claim("engine against one file a rank", "checkpoint", ENGINE, _is(["plain"], ["file-per-rank"]), 1.0),
    Claim(
        "engine against one 5-D dataset, collective HDF5 or PnetCDF",
        "checkpoint",
        ENGINE,
        _is(["flash-5d", "flash-netcdf-5d"], ["hdf5-collective", "pnetcdf-blocking"]),
        1.0,
    ),
    Claim("AMReX plot file against plain writing", "plotfile", _is(["nyx"], []), _is(["plain"], ["sequential"]), 0.9),
    *(
        Claim(
            f"engine against gathered, MPI-IO and parallel HDF5, {size} {what}",
            f"{size} {what}",
            _has("engine"),
            _OTHERS,
            1.0,
        )
        for size in ("AMR64", "AMR128", "AMR256")
        for what in ("read", "dump")
    ),
)


def print_report(report: dict[str, Any]) -> None:
    """Prints a table for each content, then how the claims fared."""
    from rich.table import Table

    out = console.out()
    out.print(f"{report['ranks']} ranks, {report['cores']} cores, {report['processor']}, {report['file_system']}")
    if report["model"]:
        out.print("times are those of a MODEL file system, not of this machine's disk")
    if report.get("reads") and not report["cold_cache"]:
        out.print(f"files of {report['file_system']} are in memory: no cold cache on {report['file_system']}")
    for content in dict.fromkeys(case["content"] for case in report["cases"]):
        cases = [case for case in report["cases"] if case["content"] == content]
        title = f"{content}, {cases[0]['bytes'] / 1e6:.1f} MB"
        table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
        words, numbers, row = READING if report.get("reads") else WRITING
        for name in words:
            table.add_column(name)
        for name in numbers:
            table.add_column(name, justify="right")
        for case in cases:
            table.add_row(*row(case))
        out.print(table)
    for claim in report["claims"]:
        verdict = "holds" if claim["holds"] else "does not hold"
        out.print(f"{claim['text']}: {claim['factor']:.2f} times as fast (wanted {claim['wanted']}): {verdict}")
    for case in report["cases"]:
        if "error" in case:
            console.print_error(Error.from_text(case["error"]))


def _writing_row(case: Case) -> list[str]:
    if "error" in case:
        return [case["format"], case["method"], "failed"]
    large, calls = large_writes(case), case["calls"]
    size = f"{case['bytes'] / large / 2**20:.3g} MiB" if large else ""
    row = [case["format"], case["method"] or "its own", str(large), size, str(calls["writes"] - large)]
    row.append(str(calls["writing_ranks"]))
    return row + [cell for key in TIMES for cell in _speed_cells(case, key)]


def _reading_row(case: Case) -> list[str]:
    if "error" in case:
        return [case["format"], "failed"]
    calls = case["calls"]
    counts = [str(calls["reads"]), f"{calls['read_bytes'] / case['bytes']:.2f}"]
    return [case["format"], *counts, *_speed_cells(case, "seconds")]


def _speed_cells(case: Case, key: str) -> list[str]:
    speed = case.get("speed_" + key, {})
    ratios = [f"{speed[name]:.2f}" if name in speed else "" for name in ("of_disk", "of_best_peer", "of_worst_peer")]
    return [f"{speed['mb_per_s']:.0f}" if speed else "", *ratios]


def print_parts(report: dict[str, Any]) -> None:
    """Prints what takes the time of each case: at the rank that writes longest and, in parentheses, at a mean rank."""
    from rich.table import Table

    for content in dict.fromkeys(case["content"] for case in report["cases"]):
        for key, words in TIMES.items():
            cases = [case for case in _good(report) if case["content"] == content and case[key]]
            if not cases:
                continue
            title = f"{content}, {words}: ms at the rank that writes longest (of all ranks on average)"
            table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
            for name in ("format", "method"):
                table.add_column(name)
            for name in (*PARTS, "MiB"):
                table.add_column(name, justify="right")
            for case in cases:
                table.add_row(case["format"], case["method"] or "its own", *part_cells(case, key))
            console.out().print(table)


def part_cells(case: Case, key: str) -> list[str]:
    """Of the times of `TIMES` that `key` names: a cell for each of `PARTS`, then the memory of the busiest rank."""
    found = case[key.replace("seconds", "parts")]
    longest = max(range(len(found["write_s"])), key=found["write_s"].__getitem__)
    cells = []
    for part in PARTS.values():
        values = [1e3 * part({name: of[rank] for name, of in found.items()}) for rank in range(len(found["write_s"]))]
        cells.append(f"{_short(values[longest])} ({_short(mean(values))})")
    return [*cells, f"{max(found['memory_bytes']) / 2**20:.1f}"]


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def _in_library(of: dict[str, float]) -> float:
    return max(0.0, of["data_s"] - of["write_s"] - of["read_s"])


def _rest(of: dict[str, float]) -> float:
    named = ("write_s", "read_s", "sync_s", "exchange_s", "copy_s", "wait_s")
    return max(0.0, of["total_s"] - sum(of[name] for name in named) - _in_library(of))


# A library exchanges, copies and waits in its calls, beside the calls of the system; the rest are tables and agreement.
PARTS: dict[str, Callable[[dict[str, float]], float]] = {
    "total": lambda of: of["total_s"],
    "write": lambda of: of["write_s"],
    "read": lambda of: of["read_s"],
    "fsync": lambda of: of["sync_s"],
    "exchange": lambda of: of["exchange_s"],
    "copies": lambda of: of["copy_s"],
    "wait": lambda of: of["wait_s"],
    "library": _in_library,
    "rest": _rest,
}

SPEEDS = ("MB/s", "of disk", "best", "worst")
WRITING = (("format", "method"), ("writes", "of", "small", "ranks", *SPEEDS, "fsync: MB/s", *SPEEDS[1:]), _writing_row)
READING = (("format",), ("reads", "bytes read / wanted", *SPEEDS), _reading_row)

"""How many writes of which size, by how many ranks, with which memory and messages, each way of writing takes at scale.

Nothing is measured here: the numbers follow from how the methods work. `--check REPORT` holds the same formulas against
the counts of a report of `sidestream bench io --json`.

The cases are those of Latham et al. (FLASH on Blue Gene/P): 10 variables of 16^3 blocks in double precision, a plot
file of 3 in single; one aggregator for 32 ranks with a buffer of 16 MiB. Its layout study had about 32 blocks a rank,
its scaling study 374,480 bytes of a variable a rank (11.4 blocks).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sidestream.parallel_files.file_domains import BUFFER_BYTES as BUFFER
from sidestream.parallel_files.file_domains import chosen_aggregators, file_domains
from sidestream.parallel_files.machine import GIB, KIB, MIB

BLOCK_BYTES = 8 * 16**3
RANKS_AN_AGGREGATOR = 32
RANKS_A_NODE, UNIT = 4, 4 * MIB  # of Blue Gene/P, and of its file system
RANGE_BYTES = 16  # what a rank tells an aggregator of a run of bytes that it will send


@dataclass(frozen=True)
class Workload:
    """Variables that lie one after another in a file; each rank has one piece of each."""

    name: str
    ranks: int
    piece_bytes: float  # of a variable on a rank
    variables: int
    aggregators: int

    @property
    def variable_bytes(self) -> float:
        return self.ranks * self.piece_bytes

    @property
    def file_bytes(self) -> float:
        return self.variables * self.variable_bytes


@dataclass(frozen=True)
class Cost:
    """What a method takes."""

    writes: int
    largest: float  # bytes of a write
    writers: int
    rounds: int  # of exchange and writing, in which ranks wait for each other
    messages: int  # that carry data, from the busiest rank
    rank_bytes: float  # buffers of a rank beyond the state itself
    aggregator_bytes: float  # the same of a rank that writes

    def row(self, name: str) -> list[str]:
        memory = f"{size(self.rank_bytes)} / {size(self.aggregator_bytes)}"
        counts = [f"{self.writes:,}", size(self.largest), f"{self.writers:,}", str(self.rounds), str(self.messages)]
        return [name, *counts, memory]


def size(count: float) -> str:
    """A number of bytes with a unit."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.0f} B"


def ceil_div(a: float, b: float) -> int:
    return -int(-a // b)


def messages_of(work: Workload, pieces: int, share: float) -> int:
    """To how many aggregators the pieces of a rank go, when each has `share` bytes of the file."""
    met = 1 if share % work.piece_bytes == 0 else ceil_div(work.piece_bytes, share) + 1
    return min(work.aggregators, pieces * met)


def independent(work: Workload) -> Cost:
    """Each rank packs a variable and writes its piece; Sidestream's `engine` does so with pieces of 256 KiB or more."""
    return Cost(work.ranks * work.variables, work.piece_bytes, work.ranks, 0, 0, work.piece_bytes, work.piece_bytes)


def collective(work: Workload) -> Cost:
    """Two-phase writing of one variable after another: an aggregator's part of it, a buffer at a time."""
    share = work.variable_bytes / work.aggregators
    rounds = work.variables * ceil_div(share, BUFFER)
    messages = work.variables * messages_of(work, 1, share)
    buffer = min(share, BUFFER)
    return Cost(
        rounds * work.aggregators,
        buffer,
        work.aggregators,
        rounds,
        messages,
        work.piece_bytes,
        work.piece_bytes + buffer,
    )


def combined(work: Workload) -> Cost:
    """Two-phase writing of all variables in one request: an aggregator's part of the file."""
    share = work.file_bytes / work.aggregators
    rounds, buffer = ceil_div(share, BUFFER), min(share, BUFFER)
    packed = work.variables * work.piece_bytes
    messages = messages_of(work, work.variables, share)
    return Cost(rounds * work.aggregators, buffer, work.aggregators, rounds, messages, packed, packed + buffer)


def one_dataset(work: Workload) -> Cost:
    """The 5-D layout: a rank's cells of all variables are one piece of the file."""
    return collective(replace(work, piece_bytes=work.variables * work.piece_bytes, variables=1))


def aggregated(work: Workload, unit: int = UNIT) -> Cost:
    """Sidestream: domains of whole units of the file, dealt to the aggregators in turns, and written in six rounds or
    so where windows are no smaller than a MiB for it. While a window is written the next one is on its way."""
    total = round(work.file_bytes)
    cut = file_domains(total, work.aggregators, unit)
    window, writes = cut.window_bytes, cut.writes(total)
    met = 1 if window % work.piece_bytes == 0 else ceil_div(work.piece_bytes, window) + 1
    packed = min(2, cut.turns) * ceil_div(work.variables, cut.turns) * work.piece_bytes
    told = RANGE_BYTES * met * work.ranks * work.variables / cut.writers
    return Cost(
        writes,
        min(window, total),
        cut.writers,
        cut.rounds,
        min(work.variables * met, writes),
        packed,
        packed + min(2, cut.rounds) * window + told,
    )


def aggregated_by_default(work: Workload) -> Cost:
    """The same with as many aggregators as it chooses where units are large and the file system does not name its
    servers."""
    return aggregated(replace(work, aggregators=chosen_by(work, UNIT, ceil_div(work.ranks, RANKS_A_NODE))))


def aggregated_on_a_disk(work: Workload) -> Cost:
    """The same on one node's own disk, whose units are pages."""
    return aggregated(replace(work, aggregators=chosen_by(work, 4 * KIB, nodes=1)), 4 * KIB)


def chosen_by(work: Workload, unit: int, nodes: int) -> int:
    return chosen_aggregators(round(work.file_bytes), unit, work.ranks, nodes)


METHODS: dict[str, Callable[[Workload], Cost]] = {
    "independent, per variable": independent,
    "collective, per variable": collective,
    "collective, one 5-D dataset": one_dataset,
    "combined request (nonblocking PnetCDF)": combined,
    "Sidestream aggregated, as many aggregators": aggregated,
    "Sidestream aggregated, its own choice": aggregated_by_default,
}

# What the paper reports for these cases.
PAPER = (
    ("checkpoint at 65,536 ranks", "229 GiB", lambda: size(65_536 * 374_480 * 10)),
    ("plot file at 65,536 ranks", "35 GiB", lambda: size(65_536 * 374_480 / 2 * 3)),
    ("a variable of a checkpoint on an aggregator", "about 11 MiB", lambda: size(32 * 374_480)),
    ("a variable of a plot file on an aggregator", "about 6 MiB", lambda: size(32 * 374_480 / 2)),
    ("three variables of a plot file, combined", "17 MiB", lambda: size(3 * 32 * 374_480 / 2)),
)


def workloads() -> Iterator[Workload]:
    for ranks in (8_192, 65_536):
        yield Workload(
            f"layout study, checkpoint on {ranks:,} ranks", ranks, 32 * BLOCK_BYTES, 10, ranks // RANKS_AN_AGGREGATOR
        )
    yield Workload("scaling study, checkpoint on 65,536 ranks", 65_536, 374_480, 10, 65_536 // RANKS_AN_AGGREGATOR)
    yield Workload("scaling study, plot file on 65,536 ranks", 65_536, 374_480 / 2, 3, 65_536 // RANKS_AN_AGGREGATOR)


def markdown(titles: list[str], rows: list[list[str]]) -> str:
    lines = [titles, ["---"] + ["---:"] * (len(titles) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def print_tables() -> None:
    titles = [
        "method",
        "writes",
        "of up to",
        "writing ranks",
        "rounds",
        "data messages a rank",
        "memory: rank / writer",
    ]
    for work in workloads():
        name = work.name[0].upper() + work.name[1:]
        print(f"\n**{name}** ({size(work.file_bytes)}, one aggregator for {RANKS_AN_AGGREGATOR} ranks)\n")
        print(markdown(titles, [cost(work).row(method) for method, cost in METHODS.items()]))
    print("\n**Beside the paper**\n")
    print(markdown(["what", "paper", "here"], [[what, paper, here()] for what, paper, here in PAPER]))


def predictions(report: dict) -> Iterator[tuple[str, str, int]]:
    """The formulas at the size of a report."""
    ranks = report["ranks"]
    for content, width, variables in (("checkpoint", 8, 10), ("plotfile", 4, 3)):
        piece = report["blocks_a_rank"] * report["block"] ** 3 * width
        work = Workload(content, ranks, piece, variables, aggregators=1)
        yield content, "hdf5-independent", independent(work).writes
        yield content, "mpiio-independent", independent(work).writes
        yield content, "aggregated", aggregated_on_a_disk(work).writes


def check(report: dict) -> int:
    """Compares counts of 4-D HDF5 files with the formulas; returns how many differ or are not there."""
    small = ("<100", "100-1K", "1K-10K", "10K-100K")
    wrong = 0
    for content, method, expected in predictions(report):
        cases = [
            case
            for case in report["cases"]
            if (case["content"], case["format"], case["method"]) == (content, "flash", method) and "error" not in case
        ]
        for case in cases:
            found = sum(count for name, count in case["calls"]["sizes"].items() if name not in small)
            wrong += found != expected
            print(f"{content} {method}: {found} writes, {expected} by the formula")
        if not cases:
            wrong += 1
            print(f"{content} {method}: the report has no such case in the format `flash`")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", metavar="REPORT", type=Path, help="compare with the counts of a report")
    arguments = parser.parse_args()
    if arguments.check:
        return 1 if check(json.loads(arguments.check.read_text())) else 0
    print_tables()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

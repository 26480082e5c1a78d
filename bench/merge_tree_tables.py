"""Tables for docs/reference/halo_performance.md out of reports of bench_merge_tree_traffic.

usage: merge_tree_tables.py REPORT...
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def pair(counts: dict[str, float]) -> str:
    """Mean and largest of the ranks."""
    return ", ".join(
        f"{counts[name]:.1f}" if counts["mean"] < 10 else f"{counts[name]:.0f}" for name in ("mean", "max")
    )


def markdown(titles: list[str], rows: list[list[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def row(report: dict, case: dict) -> list[str]:
    surfaces, meetings = case["surfaces"], case["meetings"]
    return [
        f"{report['block']}^3",
        f"{case['ranks']:,}",
        f"{case['branches']:,}",
        pair(surfaces["all"]["messages"]),
        pair(surfaces["all"]["bytes"]),
        str(meetings["rounds"]),
        pair(meetings["values"]["messages"]),
        pair(meetings["values"]["bytes"]),
        pair(meetings["all"]["messages"]),
        pair(meetings["all"]["bytes"]),
        f"{meetings['bytes_with_counts_from_all']['mean']:.0f}",
    ]


def listing(case: dict) -> tuple[float, float, float]:
    """Of the list of branches: mean bytes of a rank, all answers of the busiest rank, rounds."""
    both = [case["listing_branches"][name] for name in ("questions", "answers")]
    return sum(b["all"]["bytes"]["mean"] for b in both), both[1]["all"]["bytes"]["max"], sum(b["rounds"] for b in both)


def main() -> int:
    reports = [json.loads(Path(path).read_text()) for path in sys.argv[1:]]
    titles = ["block", "ranks", "branches", "surfaces: messages", "bytes", "meetings: rounds", "messages of values"]
    titles += ["bytes of values", "all messages", "all bytes", "bytes with counts from all ranks"]
    for name, title in (("full_tree", "The tree of all cells"), ("halos", "Halos at 81.66 means")):
        print(f"\n{title}:\n")
        print(markdown(titles, [row(report, case) for report in reports for case in report[name]]))
    for report in reports:
        for case in report["full_tree"]:
            mean, most, rounds = listing(case)
            name = f"{report['block']}^3 on {case['ranks']}"
            print(f"\nlisting {name}: {mean:.0f} mean, {most:.0f} largest, {rounds} rounds")
    return 0 if reports else 2


if __name__ == "__main__":
    raise SystemExit(main())

"""Tables for the documentation out of reports of `sidestream bench io --json`.

usage: io_tables.py REPORT...
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median

SMALL = ("<100", "100-1K", "1K-10K", "10K-100K")


def large(sizes: dict[str, int]) -> int:
    return sum(count for name, count in sizes.items() if name not in SMALL)


def milliseconds(times: list[float]) -> str:
    return f"{1e3 * median(times):.1f} ({1e3 * min(times):.1f})" if times else ""


def ratios(case: dict, key: str) -> list[str]:
    speed = case.get("speed_" + key, {})
    return [f"{speed[name]:.2f}" if name in speed else "" for name in ("of_disk", "of_best_peer", "of_worst_peer")]


def row(case: dict) -> list[str]:
    if "error" in case:
        return [case["format"], case["method"], "failed", *[""] * 10]
    calls = case["calls"]
    writes = large(calls["sizes"])
    mean = f"{case['bytes'] / writes / 2**20:.3g} MiB" if writes else ""
    counts = [f"{writes} x {mean}", str(calls["writes"] - writes), str(calls["writing_ranks"]), str(calls["syncs"])]
    cells = [case["format"], case["method"] or "its own", *counts]
    for key in ("seconds", "seconds_synced"):
        cells.append(milliseconds(case[key]))
        cells += ratios(case, key)
    return cells


def reading_row(cold: dict, warm: dict) -> list[str]:
    if "error" in cold or "error" in warm:
        return [cold["format"], "failed", *[""] * 5]
    calls = cold["calls"]
    row = [cold["format"], str(calls["reads"]), f"{calls['read_bytes'] / cold['bytes']:.2f}"]
    for case in (cold, warm):
        row += [milliseconds(case["seconds"]), ratios(case, "seconds")[0]]
    return row


def reading_tables(report: dict) -> str:
    titles = ["format", "reads", "bytes read over wanted", "cold: ms, median (best)", "of disk", "warm: ms", "of disk"]
    lines = []
    of = {(case["content"], case["format"]): case for case in report["cases"]}
    formats = list(dict.fromkeys(case["format"] for case in report["cases"]))
    for content in dict.fromkeys(case["content"].split(",")[0] for case in report["cases"]):
        names = [f"{content}, {cache} cache" for cache in ("cold", "warm")]
        rows = [reading_row(*(of[name, form] for name in names)) for form in formats if (names[0], form) in of]
        lines += [f"\n**{content.capitalize()}**, {of[names[0], 'plain']['bytes'] / 1e6:.2f} MB\n"]
        lines += ["| " + " | ".join(cells) + " |" for cells in (titles, ["---"] + ["---:"] * 6, *rows)]
    return "\n".join(lines)


def tables(report: dict) -> str:
    if report.get("reads"):
        return reading_tables(report)
    titles = ["format", "method", "data writes", "small writes", "writing ranks", "fsyncs"]
    for which in ("", " with fsync"):
        titles += [f"ms{which}, median (best)", "of disk", "of best peer", "of worst peer"]
    lines = []
    where = f"{report['ranks']} ranks on {report['cores']} cores, {report['processor']}, {report['file_system']}"
    for content in dict.fromkeys(case["content"] for case in report["cases"]):
        cases = [case for case in report["cases"] if case["content"] == content]
        times = "times of the model file system" if report["model"] else f"{report['repetitions']} repetitions in turns"
        lines += [f"\n**{content.capitalize()}**, {cases[0]['bytes'] / 1e6:.1f} MB, {where}, {times}\n"]
        lines += ["| " + " | ".join(cells) + " |" for cells in (titles, ["---", "---"] + ["---:"] * 12)]
        lines += ["| " + " | ".join(row(case)) + " |" for case in cases]
    lines += [""] * bool(report.get("claims"))
    for claim in report.get("claims", []):
        lines.append(f"* {claim['text']}: {claim['factor']:.2f} (wanted {claim['wanted']})")
    return "\n".join(lines)


def main() -> int:
    for path in sys.argv[1:]:
        print(tables(json.loads(Path(path).read_text())))
    return 0 if sys.argv[1:] else 2


if __name__ == "__main__":
    raise SystemExit(main())

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


def mean_size(case: dict) -> str:
    """Of the large writes; empty where there are none."""
    writes = large(case["calls"]["sizes"])
    return f"{case['bytes'] / writes / 2**20:.3g} MiB" if writes else ""


def milliseconds(times: list[float]) -> str:
    return f"{1e3 * median(times):.1f} ({1e3 * min(times):.1f})" if times else ""


def ratios(case: dict, key: str) -> list[str]:
    speed = case.get("speed_" + key, {})
    return [f"{speed[name]:.2f}" if name in speed else "" for name in ("of_disk", "of_best_peer", "of_worst_peer")]


def ways(report: dict, content: str) -> list[dict]:
    """The cases of a content; `flash` files are `sidestream` files under other names."""
    return [case for case in report["cases"] if case["content"] == content and case["format"] != "flash"]


def counted(case: dict) -> list[str]:
    """What reaches the file system."""
    way = [case["format"], case["method"] or "its own"]
    if "error" in case:
        return [*way, "failed", *[""] * 5]
    calls = case["calls"]
    writes = large(calls["sizes"])
    others = (calls["writes"] - writes, calls["writing_ranks"], calls["syncs"])
    return [*way, str(writes), mean_size(case), f"{calls['largest'] / 2**20:.3g} MiB", *map(str, others)]


def timed(case: dict) -> list[str]:
    """How long it takes, and how fast that is beside other ways."""
    way = [case["format"], case["method"] or "its own"]
    if "error" in case:
        return [*way, "failed", *[""] * 8]
    writes, size = large(case["calls"]["sizes"]), mean_size(case)
    cells = [*way, f"{writes} x {size}" if size else f"{case['calls']['writes']} small"]
    for key in ("seconds", "seconds_synced"):
        cells += [milliseconds(case[key]), *ratios(case, key)]
    return cells


def table(titles: list[str], words: int, rows: list[list[str]]) -> list[str]:
    """`words`: so many columns are of text."""
    rule = ["---"] * words + ["---:"] * (len(titles) - words)
    return ["| " + " | ".join(cells) + " |" for cells in (titles, rule, *rows)]


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
        lines += table(titles, 1, rows)
    return "\n".join(lines)


def tables(report: dict) -> str:
    if report.get("reads"):
        return reading_tables(report)
    counts = ["format", "method", "data writes", "of on average", "largest", "small writes", "writing ranks", "fsyncs"]
    times = ["format", "method", "data writes"]
    for which in ("", " with fsync"):
        times += [f"ms{which}, median (best)", "of disk", "of best peer", "of worst peer"]
    lines = [f"{report['ranks']} ranks on {report['cores']} cores, {report['processor']}, {report['file_system']}, "]
    lines[0] += "times of the model file system" if report["model"] else f"{report['repetitions']} repetitions in turns"
    contents = list(dict.fromkeys(case["content"] for case in report["cases"]))
    for titles, row in ((counts, counted), (times, timed)):
        for content in contents:
            cases = ways(report, content)
            lines += [f"\n**{content.capitalize()}**, {cases[0]['bytes'] / 1e6:.1f} MB\n"]
            lines += table(titles, 2, [row(case) for case in cases])
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

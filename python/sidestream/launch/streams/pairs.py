"""A job that publishes and one that reads: what goes between them, how they are started, how long a step took."""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...error import Error
from ..launcher import BENCH_STREAM, find_program, prepare

TECHNIQUES = ("bounding-box", "write-block", "auto")
ROWS = "rows"  # the bounding box as it is where nobody packs: each run of numbers that lie together is a message
LIMIT_S = 600.0
ALIKE = 0.05  # two techniques that differ by less are told apart by nobody


@dataclass(frozen=True)
class Pair:
    """A job that publishes a plane of doubles, one that reads it, and how."""

    writers: int
    readers: int
    width: int
    height: int
    layout: str = "columns"
    ahead: int = 1  # steps that may wait for the reader

    @property
    def bytes(self) -> int:
        """Of a step."""
        return 8 * self.width * self.height


@dataclass(frozen=True)
class Way:
    """How jobs are started, and where they meet."""

    listen: str = "tcp://127.0.0.1:*"
    keys: str = ""
    run_launcher: str | None = None
    reader_launcher: str | None = None
    steps: int = 16


def run_pair(pair: Pair, techniques: Sequence[str], way: Way) -> dict[str, Any]:
    """Both jobs, once; each step is read by all techniques, by turns. Returns a row of the report.

    Of each technique: what a step takes in the second half, when `auto` has found the faster one, at its best and in
    the median, and what ranks had of it.
    """
    with tempfile.TemporaryDirectory(prefix="sidestream-") as folder:
        run = str(Path(folder) / "run")
        words = ["publish", run, "--width", str(pair.width), "--height", str(pair.height)]
        words += ["--steps", str(way.steps), "--ahead", str(pair.ahead), "--listen", way.listen]
        words += ["--keys", way.keys] if way.keys else []
        words += ["--wait-for", str(len(set(techniques) - {ROWS})), *(["--rows"] if ROWS in techniques else [])]
        reads = ["read", run, "--technique", ",".join(techniques), "--layout", pair.layout]
        reads += ["--keys", way.keys] if way.keys not in ("", "none") else []
        with (
            job(words, pair.writers, way.run_launcher) as publish,
            job(reads, pair.readers, way.reader_launcher) as read,
        ):
            try:
                text, trouble = read.communicate(timeout=LIMIT_S)
                if read.returncode != 0:
                    publish.terminate()
                _, trouble_of_run = publish.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired as problem:
                raise Error(f"the jobs did not end within {LIMIT_S:.0f} s", hint="ask for fewer ranks") from problem
    for ended, said in ((read, trouble), (publish, trouble_of_run)):
        if ended.returncode != 0:
            raise Error(f"a job of the benchmark ended with {ended.returncode}: {said.strip()[:500]}")
    report: dict[str, Any] = json.loads(text)
    steps: list[dict[str, dict[str, Any]]] = report["steps"]
    if not all(one["is_right"] for step in steps for one in step.values()):
        raise Error("numbers came that were not those that were sent")
    row: dict[str, Any] = {"writers": pair.writers, "readers": pair.readers, "bytes": pair.bytes}
    row |= {"layout": pair.layout, "step_s": typical(report["step_s"])}
    later = steps[len(steps) // 2 :]
    for technique in techniques:
        row[technique] = _summary([step[technique] for step in later], pair.bytes)
    return row | judged(later, row) if set(TECHNIQUES) <= set(techniques) else row


def typical(seconds: Sequence[float]) -> float:
    """The median of the later half, when memory has been touched before."""
    return statistics.median(seconds[len(seconds) // 2 :])


def _summary(steps: list[dict[str, Any]], size: int) -> dict[str, Any]:
    best = min(steps, key=lambda step: float(step["seconds"]))
    return best | {
        "median_s": statistics.median(step["seconds"] for step in steps),
        "least_redistribute_s": min(step["redistribute_s"] for step in steps),
        "gb_per_s": 1e-9 * size / best["seconds"],
    }


def judged(steps: list[dict[str, dict[str, Any]]], row: dict[str, Any]) -> dict[str, Any]:
    """Which technique is the faster one, how `auto` did beside it in the same steps, and why the other lost.

    `auto_of_faster` compares its own transfers, which differ as those of one technique do; `choice_of_faster` only what
    it chose: each of its steps counts as the median of the technique that it took.
    """
    medians = {technique: float(row[technique]["median_s"]) for technique in TECHNIQUES[:2]}
    faster = min(medians, key=medians.__getitem__)
    chosen_s = statistics.fmean(medians[step["auto"]["technique"]] for step in steps)
    return {
        "faster": faster,
        "auto_of_faster": statistics.median(step[faster]["seconds"] / step["auto"]["seconds"] for step in steps),
        "choice_of_faster": medians[faster] / chosen_s,
        "why": why_write_block_loses(row),
    }


def why_write_block_loses(row: dict[str, Any]) -> str:
    """In words, from what was measured; empty where it does not lose."""
    boxes, blocks = row["bounding-box"], row["write-block"]
    behind_s = blocks["median_s"] - boxes["median_s"]
    if behind_s < ALIKE * boxes["median_s"]:
        return ""
    behind = f"{1e3 * behind_s:.1f} ms behind"
    moved_s = blocks["redistribute_s"] - boxes["redistribute_s"]
    unequal = blocks["most_bytes_a_rank"] * row["readers"] / blocks["bytes"]
    reasons = []
    if moved_s > 0.1 * behind_s:
        reasons.append(f"redistribution takes {1e3 * moved_s:.1f} ms")
    if unequal > 1 + ALIKE:
        reasons.append(f"one reader takes {unequal:.2f} times an even share")
    if boxes["connections"] > blocks["connections"] and not reasons:
        reasons.append(
            f"{blocks['most_connections_a_rank']} connections a reader fetch less at once than "
            f"{boxes['most_connections_a_rank']}"
        )
    return f"{behind}: " + (", ".join(reasons) or "both fetch the same cells; the machine was busy")


@contextmanager
def job(words: Sequence[str], ranks: int, launcher: str | None) -> Iterator[subprocess.Popen[str]]:
    """The program of the benchmark on some ranks, ended if it has not ended by then."""
    launch = prepare(find_program(BENCH_STREAM), words, ranks, launcher)
    with subprocess.Popen(
        launch.command,
        env=launch.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(10)
                process.kill()

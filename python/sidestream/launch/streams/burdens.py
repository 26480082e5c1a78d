"""What a stream costs the run: with nobody listening, with a reader that stalls, and sent by one core or another."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...error import Error
from ...machine import available_cores
from .pairs import LIMIT_S, Pair, Way, job

WORK_PER_CELL_S = 2e-7  # processor time of a step of gas and particles: docs/reference/performance.md
TURNS = 3
STEPS = 10
SWEEP_MEGABYTES = (1, 16, 64)
SWEEP_WORK_MS = (20, 100, 500)


def report(way: Way) -> dict[str, Any]:
    """All three."""
    return {"idle": idle(way), "stalled": stalled(way), "core": core_set_aside(way)}


def idle(way: Way) -> dict[str, Any]:
    """The part of a step that a publish takes for which nobody has come."""
    pair = Pair(1, 0, 1024, 512)
    steps = _publish(pair, way, ["--work", str(_work_ms(pair))])
    publish_s, step_s = (_median(steps[key]) for key in ("publish_s", "step_s"))
    return {"publish_s": publish_s, "step_s": step_s, "share_of_step": publish_s / step_s}


def stalled(way: Way) -> dict[str, Any]:
    """A run whose reader takes nothing after the first step, beside one without a reader, by turns.

    `ratio`: of their steps; `processor_ratio`: of the processor time of these, which does not depend on who else is
    busy; `publish_share`: the part of a step that goes by in the publish.
    """
    pair = Pair(1, 1, 1024, 512)
    words = ["--work", str(_work_ms(pair)), "--policy", "drop-oldest", "--ahead", "2"]
    alone, beside = [], []
    for _ in range(TURNS):
        alone.append(_publish(pair, way, words))
        beside.append(_publish(pair, way, words, ["--stall"]))

    def ratio(of: str, to: str, others: list[dict[str, list[float]]]) -> float:
        pairs = zip(beside, others, strict=True)
        return statistics.median(_median(one[of]) / _median(other[to]) for one, other in pairs)

    return {
        "step_s": [_median(one["step_s"]) for one in alone],
        "stalled_step_s": [_median(one["step_s"]) for one in beside],
        "ratio": ratio("step_s", "step_s", alone),
        "processor_ratio": ratio("processor_s", "processor_s", alone),
        "publish_share": ratio("publish_s", "step_s", beside),
    }


def core_set_aside(way: Way) -> dict[str, Any]:
    """Steps of more and more work and data, where all cores compute and send, and where one core only sends.

    `sending_s` is the processor time beside the work, of all ranks, where all do both.
    """
    cores = available_cores()
    if cores < 2:
        return {"skipped": "a core can be set aside where there are two"}
    rows = [_sweep_row(megabytes, work_ms, cores, way) for megabytes in SWEEP_MEGABYTES for work_ms in SWEEP_WORK_MS]
    return {"cores": cores, "rows": rows, "crossings": crossings(rows)}


def _sweep_row(megabytes: int, work_ms: int, cores: int, way: Way) -> dict[str, Any]:
    height = megabytes * 10**6 // 8192
    words = ["--work", str(work_ms)]
    shared, aside = [], []
    for _ in range(TURNS):
        shared.append(_publish(Pair(cores, 1, 1024, height), way, words, []))
        aside.append(_publish(Pair(cores - 1, 1, 1024, height), way, [*words, "--core", str(cores - 1)], []))
    shared_s, aside_s = ([_median(one["step_s"]) for one in runs] for runs in (shared, aside))
    return {
        "megabytes": megabytes,
        "work_ms": work_ms,
        "shared_s": min(shared_s),
        "aside_s": min(aside_s),
        "aside_of_shared": statistics.median(one / other for one, other in zip(aside_s, shared_s, strict=True)),
        "sending_s": cores * min(_median(one["processor_s"]) for one in shared) - 1e-3 * work_ms,
    }


def crossings(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each amount of data, the most work of a step at which a core set aside is the faster way; None: at none."""
    found = []
    for megabytes in sorted({row["megabytes"] for row in rows}):
        faster = [row["work_ms"] for row in rows if row["megabytes"] == megabytes and row["aside_of_shared"] < 1]
        found.append({"megabytes": megabytes, "most_work_ms": max(faster, default=None)})
    return found


def _work_ms(pair: Pair) -> int:
    return round(1e3 * WORK_PER_CELL_S * pair.width * pair.height)


def _median(of_steps: list[float]) -> float:
    """Without the first, in which memory is new."""
    return statistics.median(of_steps[2:])


def _publish(pair: Pair, way: Way, words: Sequence[str], reads: Sequence[str] | None = None) -> dict[str, list[float]]:
    """A run of some steps, with a reader (`reads`: its options) or without; how long its steps took."""
    with tempfile.TemporaryDirectory(prefix="sidestream-") as folder:
        run = str(Path(folder) / "run")
        size = ["--width", str(pair.width), "--height", str(pair.height), "--steps", str(STEPS)]
        wait = ["--wait-for", "0" if reads is None else "1"]
        with job(
            ["publish", run, *size, *wait, "--listen", way.listen, *words], pair.writers, way.run_launcher
        ) as run_:
            if reads is None:
                return _told(run_.communicate(timeout=LIMIT_S))
            with job(["read", run, "--technique", "bounding-box", *reads], pair.readers, way.reader_launcher):
                assert run_.stdout is not None
                line = run_.stdout.readline()  # it waits for readers after that, and one that stalls is ended now
                return _told((line, ""))


def _told(output: tuple[str, str]) -> dict[str, list[float]]:
    text, trouble = output
    if not text:
        raise Error(f"the job that publishes says nothing: {trouble.strip()[:500]}")
    told: dict[str, list[float]] = json.loads(text)
    return told
